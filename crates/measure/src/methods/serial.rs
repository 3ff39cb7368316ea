//! The serial tick model: the cost of interrupts for one program or several copies of it (Tsafrir 2007).
//!
//! The measurement repeats in several blocks, each in a different order, so that a change of the host is not
//! mistaken for an effect of the interrupts.

use super::{Method, frame};
use crate::experiment::{Amount, Cell, Experiment, Host, Order, Pinning, Sample, Samples};
use crate::inject::Injection;
use crate::kernel::Kernel;
use anechoic_kernels::memory::Params;
use anechoic_recording::machine::Machine;
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::{Problem, ProblemKind, methods};
use std::cmp::Reverse;
use std::time::Duration;

/// The kernel of the null system call.
const TRAP: &str = "trap";
/// The kernel of the loop that records interrupts and the gaps around them.
const WATCHED: &str = "intadd-chain";
/// The kernel that sorts.
const SORT: &str = "sort";
/// Length of a sample of the first two kernels.
const GRAIN: Duration = Duration::from_micros(100);
/// Samples of each of these two, in all blocks together.
const SAMPLES: u64 = 5_000;
/// Length of one repetition of another work.
const REPETITION: Duration = Duration::from_millis(5);
/// Bytes to sort if the size of the cache is not known.
const USUAL_BYTES: u64 = 256 << 10;
/// Seed of the order of rates, the same in every run.
const SEED: u64 = 1;

pub(super) static METHOD: Method = Method {
    title: "serial tick model",
    source: "Tsafrir 2007",
    about: "Serial tick model: what timer interrupts cost a sort, at several added rates and for several copies",
    details: "On one CPU: null system calls, a watched loop that records the parts of an interrupt, and sorts of an array that \
              fills half of the L2 cache, or another work. Shows the fitted model, like `anechoic predict ticks` for a recording.",
    examples: "  anechoic measure serial                             about a minute on the last CPU
  anechoic measure serial --rates none,1khz,10khz --copies 1 --cpus 1
  anechoic measure serial --work ./matrix.so:step     what interrupts cost your own function",
    options: &[OPTIONS],
    one_cpu: true,
    needs_events: Some("measuring the direct cost of an interrupt needs kernel events"),
    result: "ticks",
    ..Method::new(methods::SERIAL, experiment)
};

static OPTIONS: &[OptionRow] = &[
    OptionRow::new(
        "rates",
        Value::RateOrNone,
        "RATE",
        "Rates of the added interrupts, measured alternately; `none` adds no interrupts",
    )
    .many()
    .default("none,500hz,1khz,2khz,5khz,10khz"),
    OptionRow::new(
        "copies",
        Value::Count { least: 1, most: 64 },
        "N",
        "Numbers of copies of the work that run at the same time, measured alternately",
    )
    .many()
    .default("1,2,4,8"),
    OptionRow::new(
        "work",
        Value::Work(frame::KERNELS),
        "KERNEL",
        "Work whose time is measured instead of the sort, in repetitions of 5 ms: your own function, ./FILE.so:FUNCTION, or another work kernel",
    ),
    OptionRow::new(
        "blocks",
        Value::Count { least: 1, most: 10_000 },
        "N",
        "Number of blocks; each measures everything once, in a different order",
    )
    .default("5"),
    OptionRow::new(
        "sort-time",
        Value::Duration,
        "TIME",
        "Duration of the work of one rate and one number of copies in one block",
    )
    .default("300ms"),
];

fn experiment(answers: &Answers, host: &Host) -> Result<Experiment, Problem> {
    let [cpu] = host.cpus[..] else {
        return Err(ProblemKind::Usage
            .problem("this method measures only one CPU", "name one, for example --cpus 1"));
    };
    let blocks: u64 = answers.one("blocks")?;
    let noises = noises(cpu, answers.all("rates"))?;
    let mut copies: Vec<u64> = answers.all("copies");
    copies.sort_unstable();
    copies.dedup();
    let beside = SAMPLES.div_ceil(blocks);
    let trap = Sample { watched: false, ..Sample::filling(Kernel::find(TRAP)?, GRAIN, beside) };
    let watched = Sample::filling(Kernel::find(WATCHED)?, GRAIN, beside);
    let half = l2_bytes(&host.machine, cpu).map(|bytes| bytes / 2).filter(|&bytes| bytes > 0);
    let own: Option<&'static str> = answers.given("work");
    let work = match own {
        Some(name) => repeated(name)?,
        None => Sample {
            kernel: Kernel::on_memory(SORT, Params { bytes: half.unwrap_or(USUAL_BYTES) })?,
            amount: Amount::Pass,
            ..trap
        },
    };
    let work = Sample { samples: Samples::Fill(answers.one("sort-time")?), watched: false, ..work };
    let on = |sample| Cell::sampling(sample, Pinning::Cpus(vec![cpu]));

    let mut cells = vec![on(trap)];
    for noise in &noises {
        cells.push(Cell { noise: noise.clone(), group: 1, ..on(watched) });
    }
    for (group, &copies) in (2..).zip(&copies) {
        for noise in &noises {
            let copies = copies as u32; // 64 at most
            cells.push(Cell { noise: noise.clone(), copies, group, ..on(work) });
        }
    }
    let unknown = "the size of the L2 cache is not known, so the sorted array has";
    let note =
        (half.is_none() && own.is_none()).then(|| format!("{unknown} {} KiB", USUAL_BYTES >> 10));
    Ok(Experiment {
        blocks: u32::try_from(blocks).unwrap_or(u32::MAX),
        order: Order::Shuffled { seed: SEED },
        needs_events: true,
        notes: note.into_iter().collect(),
        ..Experiment::listed(METHOD.id, cells)
    })
}

/// Returns repetitions of a work other than the sort.
fn repeated(name: &'static str) -> Result<Sample, Problem> {
    if [TRAP, WATCHED].contains(&name) {
        let why = format!("{name} is measured beside the work, to know what an interrupt takes");
        let remedy = "name another work kernel, or your own function: --work ./FILE.so:FUNCTION";
        return Err(ProblemKind::Usage.problem(why, remedy));
    }
    Ok(Sample::filling(Kernel::find(name)?, REPETITION, 1))
}

/// Returns the added interrupts by rising rate, each rate once, starting with none.
fn noises(cpu: u32, mut periods: Vec<Option<Duration>>) -> Result<Vec<Option<Injection>>, Problem> {
    periods.sort_by_key(|period| period.map(Reverse));
    periods.dedup();
    if periods.len() < 2 {
        let (why, remedy) = (
            "the cost of interrupts cannot be computed from one rate",
            "name two or more, for example --rates none,1khz",
        );
        return Err(ProblemKind::Usage.problem(why, remedy));
    }
    let noise = |period| Injection::interrupts(cpu, period);
    let noises: Vec<_> = periods.into_iter().map(|period| period.map(noise)).collect();
    noises.iter().flatten().try_for_each(|noise| noise.check(false))?;
    Ok(noises)
}

/// Returns the size of the CPU's second-level data cache in bytes.
fn l2_bytes(machine: &Machine, cpu: u32) -> Option<u64> {
    let known = machine.cpus.iter().find(|known| known.cpu == cpu)?;
    let data = known.caches.iter().filter(|cache| cache.kind != "Instruction");
    data.filter(|cache| cache.level == 2).map(|cache| cache.size_bytes).next()
}
