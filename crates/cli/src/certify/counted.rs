//! A run of the command by the kernel's counters alone: what it lost at least.

use crate::record::started::Started;
use anechoic_analyze::certificate::CertifiedRun;
use anechoic_measure::run::Subject;
use anechoic_recording::Problem;
use anechoic_system::counters::run_times;
use anechoic_system::who;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::process::ExitStatus;
use std::time::Instant;

/// The kernel shows the CPU time of a process that has ended in steps of this at most.
const STEP_NS: u64 = 10_000_000;
/// How often the command's time in the run queue is read.
const NAP: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// A run, and for how long a CPU quota held it back.
pub(super) struct Counted {
    pub(super) run: CertifiedRun,
    pub(super) held_back_ns: Option<u64>,
}

/// Runs the command. At least lost is what its first thread waited in the run queue, if that had all of the CPU time: what it
/// waits for another thread of the command is no noise, and the kernel does not tell whom it waited for. At most is not known:
/// interrupts are in the CPU time.
pub(super) fn run(mut started: Started<'_>) -> Result<(Counted, Option<ExitStatus>), Problem> {
    let begun = Instant::now();
    started.begin()?;
    let pid = started.processes().first().copied().unwrap_or_default();
    let limits = who::Limits::read_of_process(pid);
    let mut times = None;
    loop {
        if let Some(end) = started.end() {
            let _ = poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&NAP));
        }
        // A process that has ended shows it until it is waited for.
        times = run_times(pid).or(times);
        if started.over().is_some() {
            break;
        }
    }
    let wall_ns = begun.elapsed().as_nanos() as u64;
    let held_back_ns = limits.read_again().since(&limits).map(|limits| limits.held_ns());
    let cpu_ns = started.cpu_time().map_or(0, |time| time.ns);
    let is_all = |ran_ns: u64| ran_ns + cpu_ns / 100 + STEP_NS >= cpu_ns;
    let lost_ns = times.filter(|times| is_all(times.ran_ns)).map_or(0, |times| times.waited_ns);
    let run = CertifiedRun {
        wall_ns,
        cpu_ns: Some(cpu_ns),
        wanted_ns: cpu_ns + lost_ns,
        lost_ns,
        at_most_ns: None,
        longest_ns: None,
    };
    Ok((Counted { run, held_back_ns }, started.wait()))
}
