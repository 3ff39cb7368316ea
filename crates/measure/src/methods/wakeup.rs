//! Wake-up latency: how late a timer wakes a thread that sleeps until absolute times, as cyclictest and timerlat measure it.

use super::{Method, frame};
use crate::experiment::{Cell, Experiment, Host, Order, Policy, Wake};
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::run::NotAvailable;
use anechoic_recording::{Problem, ProblemKind, methods};
use anechoic_system::cpus::{run_on, set_policy};
use anechoic_system::idle::Shallow;
use anechoic_system::rights;
use std::time::Duration;

/// The usual priority: above threaded interrupts (50), below the kernel's own most urgent threads (99).
const PRIORITY: i32 = 80;
/// The longest interval, after which an interrupted run ends.
const LONGEST: Duration = Duration::from_secs(1);
/// Blocks in which several things are measured alternately.
const BLOCKS: u64 = 5;
/// Number of wake-ups with kernel events for each one without, which shows what the events cost.
const CONTROL: u64 = 4;
/// The smallest number of expiries in a block.
const LEAST: u64 = 1;
/// Seed of the order, the same in every run.
const SEED: u64 = 1;

pub(super) static METHOD: Method = Method {
    title: "wake-up latency",
    source: "Gleixner, cyclictest; Bristot de Oliveira, timerlat",
    about: "Wake-up latency: how late a timer wakes a thread",
    details: "On each CPU a thread sleeps until absolute times and reads the counter as soon as it runs. A sample is the time from the \
              programmed expiry to that reading. The expiries lie on a fixed grid: a thread that is so late that the next ones have passed \
              does not try to catch up, and they are counted as overruns. With kernel events, a fifth of the wake-ups is measured \
              without them, which shows what they cost.",
    examples: "  anechoic measure wakeup                              every CPU, once in a millisecond for 10 s
  anechoic measure wakeup --interval 100us,1ms,10ms --cpus 1
  anechoic measure wakeup --idle any,shallow --late 50us  what leaving idle states costs, and how many are late",
    options: &[OPTIONS],
    result: methods::WAKEUP,
    ..Method::new(methods::WAKEUP, experiment)
};

fn idles() -> Vec<(&'static str, &'static str)> {
    vec![
        ("any", "as the machine is"),
        ("shallow", "kept out of deep idle states, as cyclictest does (/dev/cpu_dma_latency at 0)"),
    ]
}

fn starts() -> Vec<(&'static str, &'static str)> {
    vec![("aligned", "at the same times on all CPUs"), ("staggered", "spread over the interval")]
}

static OPTIONS: &[OptionRow] = &[
    OptionRow::new(
        "interval",
        Value::Duration,
        "TIME",
        "Times between two expiries, measured alternately",
    )
    .many()
    .default("1ms"),
    OptionRow::new(
        "duration",
        Value::Duration,
        "TIME",
        "Time for the expiries of one interval and one kind of idle",
    )
    .default("10s"),
    OptionRow::new(
        "policy",
        Value::Choice(frame::policies),
        "POLICY",
        "Scheduling policy of the threads [default: fifo where it is allowed, else other]",
    ),
    OptionRow::new(
        "priority",
        Value::Count { least: 1, most: 99 },
        "N",
        "Priority under SCHED_FIFO",
    )
    .default("80"),
    OptionRow::new(
        "idle",
        Value::Choice(idles),
        "KIND",
        "Idle states to measure with, alternately",
    )
    .many()
    .default("any"),
    OptionRow::new(
        "start",
        Value::Choice(starts),
        "HOW",
        "When the threads of several CPUs are woken",
    )
    .default("aligned"),
    OptionRow::new("late", Value::Duration, "TIME", "Count wake-ups later than this")
        .default("100us"),
    OptionRow::new(
        "blocks",
        Value::Count { least: 1, most: 1000 },
        "N",
        "Number of blocks; each measures everything once, in a different order [default: 5]",
    ),
];

fn experiment(answers: &Answers, host: &Host) -> Result<Experiment, Problem> {
    let (policy, ordinary) = policy(answers, host)?;
    let (idles, refused) = idle(answers)?;
    let duration: Duration = answers.one("duration")?;
    let staggered = answers.one::<&str>("start")? == "staggered";
    let late = answers.one("late")?;
    let blocks = answers.given("blocks").unwrap_or(BLOCKS);
    let mut intervals = answers.all::<Duration>("interval");
    intervals.sort_unstable();
    intervals.dedup();
    let mut cells = Vec::new();
    for (group, interval) in (0..).zip(intervals) {
        let expiries = expiries(interval, duration, blocks)?;
        for &shallow in &idles {
            for events_off in [false, true] {
                let parts = if events_off { CONTROL } else { 1 };
                let expiries = (expiries / parts).max(LEAST);
                let wake = Wake { interval, expiries, staggered, shallow, late };
                let cell = Cell::waking(wake, host.cpus.clone());
                cells.push(Cell { policy, events_off, group, ..cell });
            }
        }
    }
    Ok(Experiment {
        blocks: u32::try_from(blocks).unwrap_or(u32::MAX),
        order: Order::Shuffled { seed: SEED },
        notes: ordinary.into_iter().collect(),
        absent: refused.into_iter().collect(),
        ..Experiment::listed(METHOD.id, cells)
    })
}

/// Returns the number of expiries of one block.
fn expiries(interval: Duration, duration: Duration, blocks: u64) -> Result<u64, Problem> {
    if interval > LONGEST || interval.is_zero() {
        let why =
            format!("{interval:?} is no interval: it must be above 0 and at most {LONGEST:?}");
        return Err(ProblemKind::Usage.problem(why, "use for example --interval 1ms"));
    }
    let block = duration / u32::try_from(blocks).unwrap_or(u32::MAX);
    let expiries = block.as_nanos() / interval.as_nanos();
    match u64::try_from(expiries) {
        Ok(expiries @ 1..) => Ok(expiries),
        _ => {
            let why = format!("no interval of {interval:?} fits into a block of {block:?}");
            Err(ProblemKind::Usage.problem(why, "use a longer --duration, or fewer --blocks"))
        }
    }
}

/// Returns the policy of the threads, and a note if it is only the ordinary one because the kernel refuses SCHED_FIFO.
fn policy(answers: &Answers, host: &Host) -> Result<(Policy, Option<String>), Problem> {
    let priority = answers.one::<u64>("priority")?;
    let fifo = Policy::Fifo(i32::try_from(priority).unwrap_or(PRIORITY));
    match answers.given::<&str>("policy") {
        Some("other") => return Ok((Policy::Other, None)),
        Some(_) => return Ok((fifo, None)),
        None => {}
    }
    let first = host.cpus.first().copied().unwrap_or(0);
    let allowed = |priority: i32| run_on(first, move || set_policy(libc::SCHED_FIFO, priority));
    match fifo.priority().map(allowed) {
        Some(Ok(Err(error))) => {
            let note = format!(
                "the threads had the ordinary policy, because the kernel refuses SCHED_FIFO ({error}): {}",
                rights::fifo_remedy()
            );
            Ok((Policy::Other, Some(note)))
        }
        _ => Ok((fifo, None)),
    }
}

/// Returns for each kind of idle whether deep states are avoided; and which kind this process cannot measure.
fn idle(answers: &Answers) -> Result<(Vec<bool>, Option<NotAvailable>), Problem> {
    let asked = answers.all::<&str>("idle");
    let mut kinds: Vec<bool> = asked.into_iter().map(|kind| kind == "shallow").collect();
    kinds.sort_unstable();
    kinds.dedup();
    let Some(refused) = kinds.contains(&true).then(Shallow::hold).and_then(Result::err) else {
        return Ok((kinds, None));
    };
    kinds.retain(|shallow| !shallow);
    match kinds.is_empty() {
        true => Err(refused),
        false => Ok((kinds, Some(refused.not_available("wake-ups without deep idle states")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Work;

    fn host() -> Host {
        let machine = anechoic_system::machine::describe();
        Host { cpus: vec![anechoic_system::cpus::allowed()[0]], machine }
    }

    #[test]
    fn every_interval_is_measured_with_events_and_for_a_quarter_of_that_time_without() {
        let given = [("interval", "1ms,100us,1ms"), ("duration", "1s"), ("policy", "other")];
        let made = METHOD.with(&given, &host()).expect("an experiment");
        let waking = made.cells.iter().map(|cell| match cell.work {
            Work::Wake(wake) => {
                (wake.interval.as_micros(), cell.events_off, wake.expiries, cell.group)
            }
            _ => unreachable!("only wake-ups"),
        });
        let expected = [
            (100, false, 2_000, 0),
            (100, true, 500, 0),
            (1_000, false, 200, 1),
            (1_000, true, 50, 1),
        ];
        assert_eq!(waking.collect::<Vec<_>>(), expected);
        assert_eq!(made.blocks, 5);
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        for (given, expected) in [
            (("interval", "2s"), "is no interval"),
            (("duration", "1ms"), "fits into a block"),
            (("blocks", "0"), "0 is not between"),
            (("priority", "100"), "100 is not between"),
        ] {
            let error = METHOD.with(&[given], &host()).expect_err(expected).to_string();
            assert!(error.contains(expected), "{given:?}: {error}");
        }
    }
}
