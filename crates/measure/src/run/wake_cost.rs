//! What a wake-up takes before anything is measured, which bounds the interval.

use crate::experiment::{Experiment, Policy, Work};
use crate::timed::expiry::{Instant, sleep_until};
use anechoic_recording::{Problem, ProblemKind};
use anechoic_system::cpus;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Number of wake-ups, of which the median counts.
const TRIED: usize = 31;
/// How long each sleep is, in ns.
const SLEEP_NS: u64 = 200_000;
/// How long the wake-ups of a CPU may take together.
const PATIENCE: Duration = Duration::from_secs(2);
/// An interval has room for this many wake-ups, so that the thread sleeps for a part of it.
const ROOM: u32 = 2;

/// Refuses an interval in which a thread would hardly sleep. Where another thread keeps the CPU, nothing is known.
///
/// # Errors
/// An interval has no room for two wake-ups.
pub(super) fn check(experiment: &Experiment) -> Result<(), Problem> {
    let waking = experiment.cells.iter().filter_map(|cell| match cell.work {
        // A deadline thread may not run where it is not pinned.
        Work::Wake(wake) if cell.policy != Policy::Deadline => Some((wake.interval, cell)),
        _ => None,
    });
    let Some((interval, cell)) = waking.min_by_key(|(interval, _)| *interval) else {
        return Ok(());
    };
    let cost = |&cpu: &u32| median_on(cpu, cell.policy);
    let cost = cell.on.cpus().iter().filter_map(cost).max().unwrap_or_default();
    let least = cost.saturating_mul(ROOM);
    if interval >= least {
        return Ok(());
    }
    let least_us = least.as_micros().div_ceil(10) * 10;
    let why = format!(
        "an interval of {interval:?} has no room for {ROOM} wake-ups, which take {cost:.1?} each on this machine"
    );
    Err(ProblemKind::Usage.problem(why, format!("use --interval {least_us}us or longer")))
}

/// Returns the median of a thread on this CPU; none if a thread of higher priority has the CPU for long.
fn median_on(cpu: u32, policy: Policy) -> Option<Duration> {
    let ((begun, tid), (done, median)) = (mpsc::channel(), mpsc::channel());
    let name = format!("wake cost {cpu}");
    thread::Builder::new().name(name).spawn(move || try_on(cpu, policy, &begun, &done)).ok()?;
    let (tid, home) = (tid.recv().ok()?, cpus::allowed());
    let found = median.recv_timeout(PATIENCE).ok();
    if found.is_none() {
        let _ = cpus::pin_thread(tid, &cpus::elsewhere(cpu, &home)); // where it ends
    }
    found
}

/// Sends which thread it is, and the median on this CPU.
fn try_on(cpu: u32, policy: Policy, begun: &mpsc::Sender<i32>, done: &mpsc::Sender<Duration>) {
    let _ = begun.send(cpus::thread_id());
    if cpus::pin(&[cpu]).is_ok() {
        let _ = done.send(median(policy));
    }
}

/// Returns the median time from an expiry until the calling thread runs under this policy.
fn median(policy: Policy) -> Duration {
    if let Some(priority) = policy.priority() {
        let _ = cpus::set_policy(libc::SCHED_FIFO, priority); // the loops refuse to start without it
    }
    let mut late = [0_u64; TRIED];
    for late in &mut late {
        let due_ns = Instant::now().ns + SLEEP_NS;
        sleep_until(due_ns);
        *late = Instant::now().ns.saturating_sub(due_ns);
    }
    late.sort_unstable();
    Duration::from_nanos(late[TRIED / 2])
}

/// Returns how much later the kernel may let timers of ordinary threads of this process expire, in ns.
pub(super) fn timer_slack_ns() -> u64 {
    rustix::thread::current_timer_slack().unwrap_or(0)
}
