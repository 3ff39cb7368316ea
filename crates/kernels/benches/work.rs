//! The cost of the work kernels: per instruction, for the loop around the instructions, and per call for the
//! measurement.
//!
//! Kernels are compared in alternation, so that a change of the clock frequency affects all of them. A time
//! is the mean of the third decile of its repetitions (Tsafrir 2007), which leaves out disturbed ones.

use anechoic_kernels::counter::boundary;
use anechoic_kernels::work::{KERNELS, Kernel, find};

type Run = fn(u64) -> u64;

/// Number of repetitions of everything.
const ROUNDS: usize = 1_000;

/// Length of a repetition, in ticks.
const REPETITION_TICKS: u64 = 100_000;

/// Calls without work in one repetition.
const CALLS: u32 = 1_000;

/// Mean of what lies between the 20th and the 30th percentile.
fn third_decile(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    let decile = &samples[samples.len() / 5..samples.len() * 3 / 10];
    decile.iter().sum::<f64>() / decile.len() as f64
}

/// Returns the ticks of one call with this many iterations.
fn ticks(run: Run, iterations: u64) -> u64 {
    let begin = boundary().0;
    run(iterations);
    boundary().0 - begin
}

/// Returns the number of iterations that last about a repetition. The first call of a kernel, which loads its
/// code and data into memory and caches, is ignored.
fn iterations(run: Run) -> u64 {
    let shortest = |iterations| (0..5).map(|_| ticks(run, iterations)).min();
    let mut iterations = 1;
    while shortest(iterations) < Some(REPETITION_TICKS / 2) {
        iterations *= 2;
    }
    iterations
}

/// Returns the ticks of one iteration of each, measured in turn.
fn in_turn(runs: &[Run]) -> Vec<f64> {
    let counts: Vec<u64> = runs.iter().map(|&run| iterations(run)).collect();
    let mut samples = vec![Vec::with_capacity(ROUNDS); runs.len()];
    for _ in 0..ROUNDS {
        for ((&run, &count), samples) in runs.iter().zip(&counts).zip(&mut samples) {
            samples.push(ticks(run, count) as f64 / count as f64);
        }
    }
    samples.into_iter().map(third_decile).collect()
}

/// Prints ticks per instruction of each kernel, and cycles, because a chained addition takes one.
fn instructions() {
    let kernels: Vec<&Kernel> = KERNELS.iter().filter(|k| k.instructions > 0).collect();
    let runs: Vec<Run> = kernels.iter().map(|kernel| kernel.run).collect();
    let times = in_turn(&runs);
    let each = |i: usize| times[i] / f64::from(kernels[i].instructions);
    let chain = kernels.iter().position(|k| k.id == "intadd-chain").expect("is in the table");
    let cycle = each(chain);
    println!("{:<14} {:>9} {:>9}   per instruction", "kernel", "ticks", "cycles");
    for (i, kernel) in kernels.iter().enumerate() {
        println!("{:<14} {:>9.3} {:>9.3}", kernel.id, each(i), each(i) / cycle);
    }
}

/// Loops over additions as those of `intadd` and `intadd-chain`, of other lengths.
#[cfg(target_arch = "x86_64")]
macro_rules! additions {
    ($name:ident, $times:literal, $($line:literal),+) => {
        fn $name(iterations: u64) -> u64 {
            // SAFETY: changes the declared registers; no memory, no stack.
            unsafe {
                core::arch::asm!(
                    ".p2align 6",
                    "2:",
                    concat!(".rept ", $times),
                    $($line,)+
                    ".endr",
                    "dec {left}",
                    "jnz 2b",
                    "/* {a} {b} {c} {d} {e} {f} {g} {h} */",
                    a = inout(reg) 1_u64 => _, b = inout(reg) 2_u64 => _,
                    c = inout(reg) 3_u64 => _, d = inout(reg) 5_u64 => _,
                    e = inout(reg) 7_u64 => _, f = inout(reg) 11_u64 => _,
                    g = inout(reg) 13_u64 => _, h = inout(reg) 17_u64 => _,
                    step = in(reg) 19_u64,
                    left = inout(reg) iterations => _,
                    options(nomem, nostack),
                );
            }
            iterations
        }
    };
    ($name:ident, $times:literal, independent) => {
        additions!(
            $name, $times,
            "add {a}, {step}", "add {b}, {step}", "add {c}, {step}", "add {d}, {step}",
            "add {e}, {step}", "add {f}, {step}", "add {g}, {step}", "add {h}, {step}"
        );
    };
}

/// Returns how much longer an instruction of the loop of 512 takes than one additional instruction would.
#[cfg(target_arch = "x86_64")]
fn loop_overhead() {
    additions!(independent_1024, 128, independent);
    additions!(chain_1024, 1024, "add {a}, {step}");
    println!("\nloop overhead: 512 instructions over half of the 512 that a loop of 1024 adds");
    for (id, twice) in [("intadd", independent_1024 as Run), ("intadd-chain", chain_1024)] {
        let times = in_turn(&[find(id).expect("is in the table").run, twice]);
        let ideal = times[1] - times[0];
        println!("{id:<14} {:>8.2} %", 100.0 * (times[0] / ideal - 1.0));
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn loop_overhead() {}

/// Returns the cost of a step without work: two boundaries with and without a kernel's call in between.
fn frame() {
    let mut columns = [
        ("two bare boundaries", None),
        ("with one iteration of empty", Some("empty")),
        ("with one iteration of counter", Some("counter")),
        ("with one iteration of intadd", Some("intadd")),
    ]
    .map(|(what, id)| (what, id.map(|id| find(id).expect("is in the table").run), Vec::new()));
    for _ in 0..ROUNDS {
        for (_, run, samples) in &mut columns {
            let mut last = boundary().0;
            let begin = last;
            for _ in 0..CALLS {
                if let Some(run) = run {
                    run(1);
                }
                last = boundary().0;
            }
            samples.push((last - begin) as f64 / f64::from(CALLS));
        }
    }
    println!("\na boundary and what comes before it, mean of {CALLS} in a row");
    let bare = third_decile(columns[0].2.clone());
    for (what, _, samples) in columns {
        let ticks = third_decile(samples);
        println!("{what:<30} {ticks:>8.2} ticks, {:>8.2} more", ticks - bare);
    }
}

fn main() {
    instructions();
    loop_overhead();
    frame();
}
