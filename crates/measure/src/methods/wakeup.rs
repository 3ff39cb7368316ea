//! Wake-up latency: how late a timer wakes a thread that sleeps until absolute times, as cyclictest and timerlat measure it,
//! or another thread, as ptsematest does.

use super::{Method, frame};
use crate::experiment::{Cell, Experiment, Host, Order, Pinning, Policy, Wake};
use crate::timed::waking::set_deadline;
use anechoic_recording::options::{Answers, OptionRow, Value};
use anechoic_recording::run::NotAvailable;
use anechoic_recording::stop::StopCondition;
use anechoic_recording::wakeup::WakingCall;
use anechoic_recording::{Problem, ProblemKind, methods};
use anechoic_system::cpus::{run_on, set_policy};
use anechoic_system::idle::Shallow;
use anechoic_system::rights;
use rustix::time::{ClockId, Timespec, clock_getres};
use std::collections::BTreeMap;
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
/// The policy of threads with deadlines.
const DEADLINE: &str = "deadline";
/// What is measured where the kernel pins no thread with a deadline.
const UNPINNED: &str = "one thread was measured, on the CPU that the scheduler chose, because the kernel pins no thread with a deadline to a part of its CPUs: \
                        kernel.sched_rt_runtime_us=-1 allows it, and so does a cpuset of its own for the CPU (cpuset.cpus.partition=root); kernel events of it \
                        are not attributed";
/// What wakes a thread if no other thread does.
const TIMER: &str = "timer";
/// Seed of the order, the same in every run.
const SEED: u64 = 1;

pub(super) static METHOD: Method = Method {
    title: "wake-up latency",
    source: "Gleixner, cyclictest; Bristot de Oliveira, timerlat",
    about: "Wake-up latency: how late a timer or another thread wakes a thread",
    details: "On each CPU a thread sleeps until absolute times and reads the counter as soon as it runs. A sample is the time from the \
              programmed expiry to that reading. The expiries lie on a fixed grid: a thread that is so late that the next ones have passed \
              does not try to catch up, and they are counted as overruns. With kernel events, a fifth of the wake-ups is measured \
              without them, which shows what they cost. With --wake another thread wakes it by a system call, and a sample begins \
              just before that call.",
    examples: "  anechoic measure wakeup                              every CPU, once in a millisecond for 10 s
  anechoic measure wakeup --interval 100us,1ms,10ms --cpus 1
  anechoic measure wakeup --wake timer,futex --waker-cpus 0 --cpus 1  woken by a timer, and by a thread on CPU 0
  anechoic measure wakeup --idle any,shallow --late 50us  what leaving idle states costs, and how many are late
  anechoic measure wakeup --duration 8h --stop-on 'wakeup>200us' --keep 10s  until one is later, and what happened before it",
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

fn wakes() -> Vec<(&'static str, &'static str)> {
    vec![
        (TIMER, "its own timer, which expires"),
        ("futex", "another thread, by futex"),
        ("pipe", "another thread, which writes to a pipe"),
        ("eventfd", "another thread, which writes to an eventfd"),
    ]
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
        "wake",
        Value::Choice(wakes),
        "HOW",
        "What wakes the threads, measured alternately",
    )
    .many()
    .default(TIMER),
    OptionRow::new(
        "waker-cpus",
        Value::Cpus,
        "LIST",
        "CPUs of the threads that wake: the first for the first measured CPU, and so on, then from the start again [default: the same CPU]",
    ),
    OptionRow::new(
        "duration",
        Value::Duration,
        "TIME",
        "Time for the expiries of one interval and one kind of idle",
    )
    .default("10s"),
    OptionRow::new(
        "policy",
        Value::Choice(policies),
        "POLICY",
        "Scheduling policy of the threads [default: fifo where it is allowed, else other]",
    ),
    OptionRow::new(
        "priority",
        Value::Count { least: 1, most: 99 },
        "N",
        "Priority under SCHED_FIFO [default: 80]",
    ),
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
        "working-set",
        Value::Numbers(super::switch::bytes),
        "SIZE",
        "Memory that a thread reads after each wake-up, twice: what cold caches cost",
    ),
    OptionRow::new(
        STOP_ON,
        Value::Numbers(later_than),
        "CONDITION",
        "End the measurement at the first wake-up that is later, on any measured CPU ('wakeup>100us', exit code 2). All wake-ups are measured with kernel events then",
    ),
    OptionRow::new(
        KEEP,
        Value::Duration,
        "TIME",
        "With --stop-on: keep only this much time before that wake-up, or before the end, and up to a quarter or about a second more. It stays in memory, so that the command may wait for days",
    )
    .requires(STOP_ON),
    OptionRow::new(
        "blocks",
        Value::Count { least: 1, most: 1000 },
        "N",
        "Number of blocks; each measures everything once, in a different order [default: 5]",
    ),
];

/// The option with what ends the measurement before its time.
const STOP_ON: &str = "stop-on";
/// The option with how much of the time before is kept.
const KEEP: &str = "keep";

/// Reads the latency above which a wake-up ends the measurement, in ns.
fn later_than(text: &str) -> Result<Vec<u64>, String> {
    match text.parse() {
        Ok(StopCondition::Wakeup(ns)) => Ok(vec![ns]),
        // Its time is wrong.
        Err(why) if text.contains(['>', '=']) && text.trim().starts_with(methods::WAKEUP) => {
            Err(format!("{why}; write for example 'wakeup>100us'"))
        }
        Ok(_) | Err(_) => {
            Err(format!("'{text}' ends no wake-ups; write for example 'wakeup>100us'"))
        }
    }
}

/// Returns what ends a measurement of wake-ups before its time, and how much of the time before is kept at least.
#[must_use]
pub fn stop(answers: &Answers) -> (Option<StopCondition>, Option<Duration>) {
    let later_than = answers.given::<Vec<u64>>(STOP_ON).and_then(|ns| ns.first().copied());
    (later_than.map(StopCondition::Wakeup), answers.given(KEEP))
}

fn policies() -> Vec<(&'static str, &'static str)> {
    let mut policies = frame::policies();
    policies.push((DEADLINE, "SCHED_DEADLINE, with the interval as period; by timers"));
    policies
}

fn experiment(answers: &Answers, host: &Host) -> Result<Experiment, Problem> {
    let (policy, note) = policy(answers)?;
    let (idles, refused) = idle(answers)?;
    let duration: Duration = answers.one("duration")?;
    let staggered = answers.one::<&str>("start")? == "staggered";
    let late = answers.one("late")?;
    let set_bytes =
        answers.given::<Vec<u64>>("working-set").and_then(|asked| asked.first().copied());
    let set_bytes = set_bytes.unwrap_or(0);
    let calls = calls(answers);
    let wakers = wakers(answers, host, &calls)?;
    let (stop_on, _) = stop(answers);
    let blocks = answers.given("blocks").unwrap_or(BLOCKS);
    let mut intervals = answers.all::<Duration>("interval");
    intervals.sort_unstable();
    intervals.dedup();
    let mut cells = Vec::new();
    let unpinned = match policy {
        Policy::Deadline => !deadline(&intervals, &calls, host)?,
        Policy::Other | Policy::Fifo(_) => false,
    };
    for (group, interval) in (0..).zip(intervals) {
        let expiries = expiries(interval, duration, blocks)?;
        let kinds =
            idles.iter().flat_map(|&shallow| calls.iter().map(move |&call| (shallow, call)));
        // What ends the measurement is to be explained.
        let controls: &[bool] = if stop_on.is_some() { &[false] } else { &[false, true] };
        for ((shallow, call), events_off) in
            kinds.flat_map(|kind| controls.iter().map(move |&off| (kind, off)))
        {
            let parts = if events_off { CONTROL } else { 1 };
            let expiries = (expiries / parts).max(LEAST);
            let wake = Wake { interval, expiries, staggered, shallow, late, call, set_bytes };
            let cell = Cell::waking(wake, host.cpus.clone());
            let on = if unpinned { Pinning::Anywhere } else { cell.on };
            cells.push(Cell { policy, events_off, group, on, ..cell });
        }
    }
    Ok(Experiment {
        blocks: u32::try_from(blocks).unwrap_or(u32::MAX),
        order: Order::Shuffled { seed: SEED },
        notes: note
            .into_iter()
            .chain(coarse())
            .chain(unpinned.then(|| UNPINNED.to_owned()))
            .collect(),
        absent: refused.into_iter().collect(),
        wakers,
        ..Experiment::listed(METHOD.id, cells)
    })
}

/// Returns the calls that wake the threads; none where their own timers do.
fn calls(answers: &Answers) -> Vec<Option<WakingCall>> {
    let asked = answers.all::<&str>("wake");
    let call = |name: &str| WakingCall::ALL.into_iter().find(|call| call.name() == name);
    let mut calls: Vec<Option<WakingCall>> = asked.into_iter().map(call).collect();
    calls.sort_unstable();
    calls.dedup();
    calls
}

/// Returns the CPU of the waking thread of each measured CPU where another one was asked for.
fn wakers(
    answers: &Answers,
    host: &Host,
    calls: &[Option<WakingCall>],
) -> Result<BTreeMap<u32, u32>, Problem> {
    let Some(asked) = answers.given::<Vec<u32>>("waker-cpus") else { return Ok(BTreeMap::new()) };
    if calls.iter().all(Option::is_none) {
        let why = "--waker-cpus has no effect, because timers wake the threads";
        return Err(ProblemKind::Usage.problem(why, "add --wake futex, pipe or eventfd"));
    }
    Ok(host.cpus.iter().copied().zip(asked.into_iter().cycle()).collect())
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

/// Notes that timers expire with the tick alone, which the kernel's clock shows.
fn coarse() -> Option<String> {
    let Timespec { tv_sec, tv_nsec } = clock_getres(ClockId::Monotonic);
    let resolution = Duration::new(tv_sec.try_into().ok()?, tv_nsec.try_into().ok()?);
    (resolution > Duration::from_micros(1)).then(|| {
        format!(
            "this kernel has no high-resolution timers (highres=off): they expire with its tick, up to {resolution:?} late, which is part of the latency"
        )
    })
}

/// Returns the policy of the threads, and a note if it is only the ordinary one because the kernel refuses SCHED_FIFO.
fn policy(answers: &Answers) -> Result<(Policy, Option<String>), Problem> {
    let priority = answers.given::<u64>("priority").and_then(|asked| i32::try_from(asked).ok());
    let fifo = Policy::Fifo(priority.unwrap_or(PRIORITY));
    match answers.given::<&str>("policy") {
        Some(policy @ ("other" | DEADLINE)) if priority.is_some() => {
            let why = format!("--priority has no effect with --policy {policy}");
            return Err(
                ProblemKind::Usage.problem(why, "use --policy fifo, or leave --priority out")
            );
        }
        Some("other") => return Ok((Policy::Other, None)),
        Some(DEADLINE) => return Ok((Policy::Deadline, None)),
        Some(_) => return Ok((fifo, None)),
        None => {}
    }
    match fifo.priority().and_then(fifo_refusal) {
        Some(error) => {
            let note = format!(
                "the threads had the ordinary policy, because the kernel refuses SCHED_FIFO ({error}): {}",
                rights::fifo_remedy()
            );
            Ok((Policy::Other, Some(note)))
        }
        None => Ok((fifo, None)),
    }
}

/// Returns why the kernel refuses SCHED_FIFO with this priority, if it does. A new thread asks, and not on a measured CPU, which
/// another real-time thread may have.
fn fifo_refusal(priority: i32) -> Option<std::io::Error> {
    std::thread::spawn(move || set_policy(libc::SCHED_FIFO, priority).err()).join().ok().flatten()
}

/// Returns why the kernel refuses a thread with this interval as deadline, if it does.
fn refusal(interval: Duration) -> Option<std::io::Error> {
    let ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
    std::thread::spawn(move || set_deadline(ns).err()).join().ok().flatten()
}

/// Returns whether a thread with a deadline may be pinned to each measured CPU.
///
/// # Errors
/// The kernel allows none of these intervals, or threads wake it.
fn deadline(
    intervals: &[Duration],
    calls: &[Option<WakingCall>],
    host: &Host,
) -> Result<bool, Problem> {
    if calls.iter().any(Option::is_some) {
        let why = "with --policy deadline threads are woken by their own timers only";
        return Err(ProblemKind::Usage.problem(why, "leave --wake out, or use --policy fifo"));
    }
    let refused = intervals.iter().find_map(|&interval| Some((interval, refusal(interval)?)));
    if let Some((interval, error)) = refused {
        let why = format!("the kernel refuses SCHED_DEADLINE every {interval:?} ({error})");
        let remedy = match error.raw_os_error() {
            Some(libc::EINVAL) => {
                "use an --interval of at least 100us (kernel.sched_deadline_period_min_us)"
            }
            Some(libc::EBUSY) => {
                "other threads have the time that deadlines may use: end them, or use a longer --interval"
            }
            _ => {
                "run as root, and with all CPUs of the machine (no taskset, no cpuset), or use --policy fifo"
            }
        };
        return Err(ProblemKind::Unavailable.problem(why, remedy));
    }
    let ns = intervals.first().map_or(0, |interval| interval.as_nanos() as u64);
    let pinned = |&cpu: &u32| matches!(run_on(cpu, move || set_deadline(ns)), Ok(Ok(())));
    Ok(host.cpus.iter().all(pinned))
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
            (("waker-cpus", "0"), "--waker-cpus has no effect"),
        ] {
            let error = METHOD.with(&[given], &host()).expect_err(expected).to_string();
            assert!(error.contains(expected), "{given:?}: {error}");
        }
        let both = [("policy", "other"), ("priority", "7")];
        let error = METHOD.with(&both, &host()).expect_err("no priority").to_string();
        assert!(error.contains("--priority has no effect"), "{error}");
        let called = [("policy", "deadline"), ("wake", "futex")];
        let error = METHOD.with(&called, &host()).expect_err("no calls").to_string();
        assert!(error.contains("by their own timers"), "{error}");
    }
}
