//! Programs on timer events: loads them and reads their counts.

use super::program::{self, COUNT, CUT_SHORT, DURATION, STATE_WORDS};
use super::{Delivered, InjectError};
use anechoic_recording::ProblemKind;
use anechoic_system::bpf::{self, Instruction, LoadError, PerCpu, ProgramKind};
use anechoic_system::perf::TimerInterrupts;
use anechoic_system::{cpus, rights};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The name that `bpftool` shows.
const NAME: &str = "anechoic_inject";

/// One program on the timer events of all CPUs, with a state for each CPU.
#[derive(Debug)]
pub(super) struct Programs {
    states: PerCpu<STATE_WORDS>,
    possible: Vec<u32>,
    duration_ns: u64,
}

impl Programs {
    /// Loads programs that spin for `duration`, at most [`program::LONGEST`].
    pub(super) fn that_spin(
        timers: &[TimerInterrupts],
        duration: Duration,
    ) -> Result<Self, InjectError> {
        let duration_ns = duration.as_nanos() as u64;
        Programs::load(timers, duration_ns, |states| program::spin(states, duration))
    }

    /// Loads programs that only count.
    pub(super) fn that_count(timers: &[TimerInterrupts]) -> Result<Self, InjectError> {
        Programs::load(timers, 0, program::count)
    }

    fn load(
        timers: &[TimerInterrupts],
        duration_ns: u64,
        code: impl FnOnce(&OwnedFd) -> Vec<Instruction>,
    ) -> Result<Self, InjectError> {
        let possible = cpus::system("possible");
        let states = PerCpu::new(NAME, possible.len()).map_err(when("make a BPF map"))?;
        // The events keep the program alive, and the program keeps its map.
        let program = bpf::load(NAME, ProgramKind::PerfEvent, &code(states.fd()), None)
            .map_err(|error| refused(&error, "Linux 5.3 with CONFIG_BPF_EVENTS"))?;
        let attach = |timer: &TimerInterrupts| timer.attach(&program);
        timers.iter().try_for_each(attach).map_err(when("attach a BPF program to a perf event"))?;
        Ok(Programs { states, possible, duration_ns })
    }

    /// Resets the counts to 0. Call it while the timers are off.
    pub(super) fn reset(&self) -> Result<(), InjectError> {
        let mut state = [0; STATE_WORDS];
        state[DURATION] = self.duration_ns;
        let states = vec![state; self.possible.len()];
        self.states.write(states).map_err(when("fill a BPF map"))
    }

    /// Returns what was delivered on `cpus` since the reset; `None` if the kernel cannot answer.
    pub(super) fn delivered(&self, cpus: &[u32]) -> Option<Vec<Delivered>> {
        let states = self.states.read().ok()?;
        let delivered = cpus.iter().map(|cpu| {
            let place = self.possible.iter().position(|possible| possible == cpu);
            let state = place.and_then(|place| states.get(place))?;
            let count = Some(state[COUNT]);
            Some(Delivered { count, cut_short: state[CUT_SHORT], overruns: None })
        });
        delivered.collect()
    }
}

/// Builds an argument for `map_err` from what was tried.
pub(super) fn when(doing: &'static str) -> impl FnOnce(io::Error) -> InjectError {
    move |error| match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => not_permitted(doing, &error),
        Some(libc::ENOSYS) => InjectError::NotOffered(ProblemKind::Usage.problem(
            "this kernel has no BPF",
            "use --kind thread, or a kernel built with CONFIG_BPF_SYSCALL",
        )),
        _ => InjectError::cannot(doing, &error),
    }
}

fn not_permitted(doing: &str, error: &io::Error) -> InjectError {
    let permit = rights::remedy("cap_bpf,cap_perfmon");
    let remedy = format!("{permit} (in a container, allow the bpf call); or use --kind thread");
    InjectError::not_permitted(doing, error, &remedy)
}

/// Converts the error of a rejected program; `needs` names the oldest kernel that accepts it.
pub(super) fn refused(refused: &LoadError, needs: &str) -> InjectError {
    let error = &refused.error;
    match error.raw_os_error() {
        Some(libc::EPERM) => not_permitted("load a BPF program", error),
        _ => {
            let why =
                format!("the kernel refused the program that spins: {} ({error})", refused.verdict);
            InjectError::Other(ProblemKind::Unavailable.problem(why, format!("it needs {needs}")))
        }
    }
}
