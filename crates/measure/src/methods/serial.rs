//! The serial tick model: what interrupts cost one program, or several copies of it (Tsafrir 2007).
//!
//! All of it is gone through in several blocks, each in another order, so that a host that changes
//! meanwhile is not taken for an effect of the interrupts.

use super::Method;
use crate::experiment::{Amount, Cell, Experiment, Host, On, Order, Sample, Samples};
use crate::inject::{Injection, Timing};
use crate::kernel::Kernel;
use crate::run::RunError;
use anechoic_kernels::memory::Params;
use anechoic_recording::injection::InjectionKind;
use anechoic_recording::machine::Machine;
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::{ProblemKind, methods};
use std::cmp::Reverse;
use std::time::Duration;

/// Kernel of the null system call.
const TRAP: &str = "trap";
/// Kernel of the loop that sees the interrupts and the gaps around them.
const WATCHED: &str = "intadd-chain";
/// What is sorted.
const SORT: &str = "sort";
/// Length of a sample of the first two.
const GRAIN: Duration = Duration::from_micros(100);
/// Samples of each of them, in all blocks together.
const SAMPLES: u64 = 5_000;
/// Bytes that are sorted where the size of the cache is not known.
const USUAL_BYTES: u64 = 256 << 10;
/// Of the order of rates: the same in every run.
const SEED: u64 = 1;

pub(super) static METHOD: Method = Method {
    id: methods::SERIAL,
    title: "serial tick model",
    source: "Tsafrir 2007",
    about: "The serial tick model: what interrupts cost a sort, at several rates of added ones, for one and more copies",
    details: "On one CPU: null system calls, a watched loop for the parts of an interrupt, and sorts of an array that fills \
              half of the L2 cache. Shows the model of it; `anechoic predict ticks` does that of a recording.",
    examples: "  anechoic measure serial                             about a minute on the last CPU
  anechoic measure serial --rates none,1khz,10khz --copies 1 --cpus 1",
    options: &[OPTIONS],
    one_cpu: true,
    needs_events: Some("what an interrupt costs directly is known from kernel events only"),
    of_ranks: false,
    experiment,
    result: "ticks",
};

static OPTIONS: &[OptionRow] = &[
    OptionRow::new(
        "rates",
        Value::RateOrNone,
        "RATE",
        "Rates of the interrupts that are added, and `none`, measured alternately",
    )
    .many()
    .default("none,500hz,1khz,2khz,5khz,10khz"),
    OptionRow::new(
        "copies",
        Value::Count { least: 1, most: 64 },
        "N",
        "How many copies of the sort run at once, measured alternately",
    )
    .many()
    .default("1,2,4,8"),
    OptionRow::new(
        "blocks",
        Value::Count { least: 1, most: 10_000 },
        "N",
        "How often all of it is gone through, each time in another order",
    )
    .default("5"),
    OptionRow::new(
        "sort-time",
        Value::Duration,
        "TIME",
        "How long the sorts of one rate and number of copies last in one block",
    )
    .default("300ms"),
];

fn experiment(answers: &Answers, host: &Host) -> Result<Experiment, RunError> {
    let [cpu] = host.cpus[..] else {
        return Err(ProblemKind::Usage
            .problem("this measures one CPU", "name one, like --cpus 1")
            .into());
    };
    let blocks: u64 = answers.one("blocks")?;
    let noises = noises(cpu, answers.all("rates"))?;
    let mut copies: Vec<u64> = answers.all("copies");
    copies.sort_unstable();
    copies.dedup();
    let beside = SAMPLES.div_ceil(blocks);
    let trap = Sample { watched: false, ..Sample::of(Kernel::find(TRAP)?, GRAIN, beside) };
    let watched = Sample::of(Kernel::find(WATCHED)?, GRAIN, beside);
    let half = l2_bytes(&host.machine, cpu).map(|bytes| bytes / 2).filter(|&bytes| bytes > 0);
    let sort = Sample {
        kernel: Kernel::on_memory(SORT, Params { bytes: half.unwrap_or(USUAL_BYTES) })?,
        amount: Amount::Pass,
        samples: Samples::Fill(answers.one("sort-time")?),
        maiv_ppm: None,
        watched: false,
    };
    let on = |sample| Cell::sampling(sample, On::Cpus(vec![cpu]));

    let mut cells = vec![on(trap)];
    for noise in &noises {
        cells.push(Cell { noise: noise.clone(), group: 1, ..on(watched) });
    }
    for (group, &copies) in (2..).zip(&copies) {
        for noise in &noises {
            let copies = copies as u32; // 64 at most
            cells.push(Cell { noise: noise.clone(), copies, group, ..on(sort) });
        }
    }
    let unknown = "the size of the L2 cache is not known: sorts are of";
    let note = half.is_none().then(|| format!("{unknown} {} KiB", USUAL_BYTES >> 10));
    Ok(Experiment {
        blocks: u32::try_from(blocks).unwrap_or(u32::MAX),
        order: Order::Shuffled { seed: SEED },
        needs_events: true,
        notes: note.into_iter().collect(),
        ..Experiment::listed(METHOD.id, cells)
    })
}

/// The interrupts that are added, by rising rate, each rate once; nothing first.
fn noises(
    cpu: u32,
    mut periods: Vec<Option<Duration>>,
) -> Result<Vec<Option<Injection>>, RunError> {
    periods.sort_by_key(|period| period.map(Reverse));
    periods.dedup();
    if periods.len() < 2 {
        let (why, remedy) = (
            "one rate tells nothing of what interrupts cost",
            "ask for two or more, like --rates none,1khz",
        );
        return Err(ProblemKind::Usage.problem(why, remedy).into());
    }
    let noise = |period| Injection {
        kind: InjectionKind::Interrupt,
        timing: Timing::Periodic { period },
        duration: Duration::ZERO,
        cpus: vec![cpu],
    };
    let noises: Vec<_> = periods.into_iter().map(|period| period.map(noise)).collect();
    noises.iter().flatten().try_for_each(|noise| noise.check(false))?;
    Ok(noises)
}

/// Size of the CPU's second-level cache for data, in bytes.
fn l2_bytes(machine: &Machine, cpu: u32) -> Option<u64> {
    let known = machine.cpus.iter().find(|known| known.cpu == cpu)?;
    let data = known.caches.iter().filter(|cache| cache.kind != "Instruction");
    data.filter(|cache| cache.level == 2).map(|cache| cache.size_bytes).next()
}
