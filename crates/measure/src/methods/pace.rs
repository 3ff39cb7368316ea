//! Probes of the pace: what slows work that nothing interrupts.

use super::memory::data_caches;
use super::{Method, frame};
use crate::experiment::{Cell, Experiment, Host, Pages, Pinning, Probes};
use anechoic_kernels::memory::Line;
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::probes::{
    ADDITIONS, CHAIN, CODE, FIRST_LEVEL, LAST_LEVEL, MEMORY, Probe, SECOND_LEVEL, STREAM,
};
use anechoic_recording::{Problem, ProblemKind, methods};
use std::time::Duration;

/// The shortest time, in which each probe has a few hundred samples.
const SHORTEST: Duration = Duration::from_secs(1);
/// Bytes of code that the first-level cache does not hold.
const CODE_BYTES: u64 = 256 << 10;
/// Memory that most last-level caches do not hold.
const BEYOND: u64 = 64 << 20;
/// What a step reads in sequence.
const STREAM_BYTES: u64 = 512 << 10;
/// Largest working set of the last-level cache.
const MOST_OF_LAST: u64 = 4 << 20;

pub(super) static METHOD: Method = Method {
    title: "probes of the pace",
    source: "Delimitrou & Kozyrakis 2013",
    about: "Pace: what slows work that nothing interrupts: clock rate, the core's other thread, caches, memory",
    details: "On each CPU eight short pieces of work take turns, each within a few milliseconds: a chain of additions, independent additions, \
              much code, loads from the first-, the second- and the last-level cache and from memory, and memory in sequence. A sample is the \
              middle of nine steps, so that interrupts do not count. Which of them are slower than at best shows what was short.",
    examples: "  anechoic measure pace --duration 1m
  anechoic measure pace --cpus 1,3          without probing the others, which the probes disturb",
    options: &[OPTIONS],
    result: "probed",
    ..Method::new(methods::PACE, experiment)
};

static OPTIONS: &[OptionRow] = &[
    OptionRow::new("duration", Value::Duration, "TIME", "Time for the probes").default("10s"),
    frame::ONE_POLICY,
    frame::ALL_CPUS,
];

fn experiment(answers: &Answers, host: &Host) -> Result<Experiment, Problem> {
    let duration: Duration = answers.one("duration")?;
    if duration < SHORTEST {
        let why = format!("{duration:?} is too short for probes that take turns");
        return Err(
            ProblemKind::Usage.problem(why, format!("use --duration {SHORTEST:?} or longer"))
        );
    }
    let (caches, note) = data_caches(&host.machine, host.cpus[0]);
    let probes = probes(caches.second, caches.last);
    has_room(&probes, host.cpus.len() as u64)?;
    let probes: &'static [Probe] = probes.leak();
    let cell = Cell::probing(Probes { duration, probes }, Pinning::Cpus(host.cpus.clone()));
    let cell = Cell { policy: frame::policy(answers.one("policy")?), ..cell };
    let cells = vec![cell];
    frame::leave_a_cpu(&cells, answers, host, "--policy fifo")?;
    let large = (caches.last > BEYOND).then(|| {
        let (last, beyond) = (caches.last >> 20, BEYOND >> 20);
        format!("the last-level cache has {last} MiB, and may hold the {beyond} MiB of the probes memory and stream")
    });
    let notes = note.into_iter().chain(large).collect();
    Ok(Experiment { notes, pages: Pages::Base, ..Experiment::listed(METHOD.id, cells) })
}

/// Refuses to probe more CPUs than there is memory for.
fn has_room(probes: &[Probe], cpus: u64) -> Result<(), Problem> {
    let each = probes.iter().map(|probe| probe.bytes).sum::<u64>();
    frame::fitting(vec![each * cpus], 0, None).map(|_| ()).map_err(|problem| {
        let why = format!("the probes need {} MiB for each CPU: {problem}", each >> 20);
        ProblemKind::Unavailable.problem(why, "probe fewer CPUs (--cpus), or free memory")
    })
}

/// Returns the operations in an iteration of a kernel.
fn operations(kernel: &str) -> u64 {
    anechoic_kernels::work::find(kernel).map_or(1, |kernel| u64::from(kernel.instructions.max(1)))
}

/// Returns a probe without memory.
fn plain(name: &str, kernel: &str, iterations: u64) -> Probe {
    Probe {
        name: name.into(),
        kernel: kernel.into(),
        bytes: 0,
        step_bytes: 0,
        iterations,
        operations: iterations * operations(kernel),
        warms_up: false,
    }
}

/// Gives a probe memory, of which a step works on a part.
fn with(probe: Probe, bytes: u64, step_bytes: u64) -> Probe {
    Probe { bytes: bytes / step_bytes * step_bytes, step_bytes, ..probe }
}

/// Gives a probe memory that a cache holds, over which it passes before its steps.
fn in_cache(probe: Probe, bytes: u64) -> Probe {
    Probe { warms_up: true, ..with(probe, bytes, bytes) }
}

/// Returns the probes for caches of these sizes, in bytes. A step takes some 15 to 130 µs.
fn probes(second: u64, last: u64) -> Vec<Probe> {
    let lines = |bytes: u64| bytes / Line::BYTES;
    let of_second = second / 4;
    let of_last = (2 * second).min(last / 2).min(MOST_OF_LAST);
    vec![
        plain(CHAIN, "intadd-chain", 500),
        plain(ADDITIONS, "intadd", 1_500),
        in_cache(plain(CODE, "code", 10 * lines(CODE_BYTES)), CODE_BYTES),
        plain(FIRST_LEVEL, "l1load", 100),
        in_cache(plain(SECOND_LEVEL, "read-random", 4 * lines(of_second)), of_second),
        with(plain(LAST_LEVEL, "read-random-on", 1_024), of_last, of_last),
        with(plain(MEMORY, "read-random-on", 300), BEYOND, BEYOND),
        with(plain(STREAM, "read-sequential", lines(STREAM_BYTES)), BEYOND, STREAM_BYTES),
    ]
}
