//! A run of the command by the kernel's counters alone: what it lost at least and at most.

use crate::record::started::Started;
use anechoic_analyze::Summary;
use anechoic_analyze::certificate::CertifiedRun;
use anechoic_measure::run::Subject;
use anechoic_recording::{Problem, rows::Counter};
use anechoic_system::counters::{RUN_DELAY, STEAL, Snapshot, run_delay_ns};
use anechoic_system::who;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::process::ExitStatus;
use std::time::Instant;

/// How often the command's time in the run queue is read: what it waited after the last reading is not known.
const NAP: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// A run, and for how long a CPU quota held it back.
pub(super) struct Counted {
    pub(super) run: CertifiedRun,
    pub(super) held_back_ns: Option<u64>,
}

/// Runs the command. At least lost is what its first process waited in run queues: others that it starts are not counted.
/// At most is what all threads waited on these CPUs, with what the hypervisor took, what a quota held back, and as large a
/// part as the loops lost before.
pub(super) fn run(
    mut started: Started<'_>,
    cpus: &[u32],
    before: &Summary,
) -> Result<(Counted, Option<ExitStatus>), Problem> {
    let limits = who::Limits::read();
    let first = Snapshot::take(cpus, || 0).counters;
    let begun = Instant::now();
    started.begin()?;
    let mut waited_ns = 0;
    loop {
        if let Some(end) = started.end() {
            let _ = poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&NAP));
        }
        // A process that has ended shows it until it is waited for.
        waited_ns =
            started.processes().first().and_then(|pid| run_delay_ns(*pid)).unwrap_or(waited_ns);
        if started.over().is_some() {
            break;
        }
    }
    let wall_ns = begun.elapsed().as_nanos() as u64;
    let last = Snapshot::take(cpus, || 0).counters;
    let limits = limits.read_again().since(&limits);
    let held_back_ns = limits.map(|limits| limits.held_ns());
    let cpu_ns = started.cpu_time().map_or(0, |time| time.ns);
    let rose = |name: &str| sum(&last, name).saturating_sub(sum(&first, name));
    let total = &before.total;
    let by_loops = total.interval.map_or(total.noise, |interval| interval.high);
    let wanted_ns = cpu_ns + waited_ns;
    let at_most_ns = rose(RUN_DELAY).max(waited_ns)
        + rose(STEAL)
        + held_back_ns.unwrap_or(0)
        + (by_loops * cpu_ns as f64).round() as u64;
    let run = CertifiedRun {
        wall_ns,
        cpu_ns: Some(cpu_ns),
        wanted_ns,
        lost_ns: waited_ns,
        at_most_ns: at_most_ns.min(wanted_ns),
        longest_ns: None,
    };
    Ok((Counted { run, held_back_ns }, started.wait()))
}

fn sum(counters: &[Counter], name: &str) -> u64 {
    counters.iter().filter(|counter| counter.name == name).map(|counter| counter.value).sum()
}
