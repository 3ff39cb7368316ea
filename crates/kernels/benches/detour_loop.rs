//! The detour loop compared with the physical limit, bare back-to-back counter reads, measured in turn on the
//! CPU that this runs on. Both sides leave out disturbed batches.

use anechoic_kernels::counter;
use anechoic_kernels::detour::{Gap, Watch};
use core::arch::asm;
use core::num::NonZeroU64;

const PAIRS: usize = 200;
const READS: u64 = 1_000;
const BATCHES: usize = 400;

/// Reads the counter `reads` times with only the loop's decrement in between and returns the first and the
/// last value. This is the physical limit of a detour loop.
#[inline(never)]
fn bare_reads(reads: NonZeroU64) -> Gap {
    let start = counter::ordered();
    let end: u64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the counter and changes the declared registers; no memory, no stack.
    unsafe {
        asm!(
            "2:", "rdtsc", "dec {left}", "jnz 2b",
            "shl rdx, 32", "or rax, rdx",
            left = inout(reg) reads.get() => _,
            out("rax") end, out("rdx") _,
            options(nomem, nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reads the counter and changes the declared registers; no memory, no stack.
    unsafe {
        asm!(
            "2:", "isb", "mrs {end}, cntvct_el0", "subs {left}, {left}, #1", "b.ne 2b",
            left = inout(reg) reads.get() => _,
            end = out(reg) end,
            options(nomem, nostack),
        );
    }
    Gap { start, end }
}

/// Returns the median over batches of the mean ticks of one bare read, so a disturbed batch does not count.
fn bare_ticks() -> f64 {
    let reads = NonZeroU64::new(READS).expect("not zero");
    let mut batches = [0_u64; BATCHES];
    for batch in &mut batches {
        let gap = bare_reads(reads);
        *batch = gap.end - gap.start;
    }
    batches.sort_unstable();
    batches[BATCHES / 2] as f64 / READS as f64
}

/// Returns the mean ticks of one iteration without the gaps over `threshold`, and the shortest gap.
fn loop_ticks(threshold: u64) -> (f64, u64) {
    let mut watch = Watch::begin();
    let begin = watch.last;
    let until = begin + READS * BATCHES as u64 * 24;
    let (mut lost, mut detours) = (0, 0);
    while watch.last < until {
        let gap = watch.next_gap(threshold, until);
        if gap.end - gap.start > threshold {
            lost += gap.end - gap.start;
            detours += 1;
        }
    }
    let mean = (watch.last - begin - lost) as f64 / (watch.iterations - detours) as f64;
    (mean, watch.shortest)
}

fn main() {
    let threshold = (8.0 * bare_ticks()) as u64;
    let mut pairs: Vec<(f64, f64, u64)> = (0..PAIRS)
        .map(|_| {
            let (mean, shortest) = loop_ticks(threshold);
            (mean, bare_ticks(), shortest)
        })
        .collect();
    let shortest = pairs.iter().map(|p| p.2).min().unwrap_or(0);
    pairs.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    let (mean, bare, _) = pairs[PAIRS / 2];
    let ratio = |i: usize| pairs[i].0 / pairs[i].1;
    println!("detour loop, mean undisturbed iteration: {mean:.2} ticks");
    println!("bare counter read:                       {bare:.2} ticks");
    println!(
        "ratio, median of {PAIRS} pairs:              {:.3} (5th to 95th percentile {:.3} to {:.3})",
        ratio(PAIRS / 2),
        ratio(PAIRS / 20),
        ratio(PAIRS - PAIRS / 20)
    );
    println!("shortest gap:                            {shortest} ticks");
    println!("threshold:                               {threshold} ticks");
}
