//! Measures host steal for single detours: how much time the host reports to have taken between two timer
//! ticks.
//!
//! `/proc/stat` reports steal in steps of 10 ms. The kernel keeps it in nanoseconds in each CPU's run queue
//! (`struct rq`, `prev_steal_time`), updated by every timer tick. A small BPF program reads it there and
//! passes on each change. It needs no compiler, no kernel headers and no kprobe; everything it leaves in the
//! kernel belongs to file descriptors and ends with them.

pub mod btf;
mod layout;
mod program;
mod ring;

use crate::bpf::{self, MapKind, PerCpu, ProgramKind};
use crate::{cpus, rights};
use anechoic_recording::{Problem, ProblemKind, remedy_of};
use btf::Btf;
use layout::Layout;
use program::{ASKED, LOST, STATE_WORDS};
use ring::Ring;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;

const TYPE_DATA: &str = "/sys/kernel/btf/vmlinux";

/// The name that `bpftool` shows.
const NAME: &str = "anechoic_steal";

/// Why steal of single detours cannot be read.
#[derive(Debug)]
pub enum StealError {
    /// This process may not use BPF.
    NotPermitted(Problem),
    /// The kernel's verifier rejected the program.
    Refused(Problem),
    /// Any other reason.
    Other(Problem),
}

impl StealError {
    fn problem(&self) -> Problem {
        let (Self::NotPermitted(problem) | Self::Refused(problem) | Self::Other(problem)) = self;
        problem.clone()
    }

    /// Builds an argument for `map_err` from what was tried.
    fn when(doing: &str) -> impl FnOnce(io::Error) -> StealError {
        move |error| match error.kind() {
            io::ErrorKind::PermissionDenied => StealError::not_permitted(doing),
            _ => StealError::Other(
                ProblemKind::Unavailable
                    .problem(format!("cannot {doing}: {error}"), remedy_of(&error)),
            ),
        }
    }

    /// Returns the error of a process that may not use BPF.
    #[must_use]
    pub fn not_permitted(doing: &str) -> Self {
        let remedy = format!(
            "{} (in a container, allow the bpf call)",
            rights::remedy("cap_bpf,cap_perfmon")
        );
        Self::NotPermitted(
            ProblemKind::Unavailable.problem(format!("not permitted to {doing}"), remedy),
        )
    }
}

anechoic_recording::error_from_problem!(StealError);

impl From<bpf::LoadError> for StealError {
    fn from(bpf::LoadError { error, verdict }: bpf::LoadError) -> StealError {
        if error.raw_os_error() == Some(libc::EPERM) {
            return StealError::not_permitted("load a BPF program");
        }
        let why = format!("the kernel refused the program that reads steal: {verdict} ({error})");
        let remedy = "it needs Linux 6.4, or 5.11 with addresses visible in /proc/kallsyms";
        StealError::Refused(ProblemKind::Unavailable.problem(why, remedy))
    }
}

/// Steal that the kernel of one CPU accounted between two timer ticks.
///
/// Both times are those of a reading at the end of the tick's function, some microseconds after the kernel
/// did its accounting in the same interrupt. A user thread on this CPU therefore sees a detour around each of
/// the two times, and the stolen time lies in the detours that overlap the interval between them, both ends
/// included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StealReading {
    /// The CPU.
    pub cpu: u32,
    /// `CLOCK_MONOTONIC` of the previous reading, whether it had changed or not, in nanoseconds.
    pub previous_ns: u64,
    /// `CLOCK_MONOTONIC` of this reading, in nanoseconds.
    pub at_ns: u64,
    /// Steal accounted on this CPU from boot to the previous reading, in nanoseconds.
    pub previous_steal_ns: u64,
    /// Steal accounted on this CPU since boot, in nanoseconds; more than `previous_steal_ns`.
    pub steal_ns: u64,
}

/// Reads steal at every timer tick of some CPUs until it is dropped.
///
/// A CPU whose tick is stopped (idle, or `nohz_full`) gives no reading until it ticks again; the next reading
/// then covers the pause. A kernel booted with `highres=off`, or without a steal clock, gives no readings.
pub struct StealReader {
    ring: Ring,
    states: PerCpu<STATE_WORDS>,
    _attached: OwnedFd,
}

impl StealReader {
    /// Starts reading on `cpus`; all others lose a few nanoseconds per tick and give no readings.
    ///
    /// # Errors
    /// Returns [`StealError`] and has then changed nothing.
    pub fn start(cpus: &[u32]) -> Result<StealReader, StealError> {
        StealReader::run(Loaded::new(&layout()?, cpus, ring::size(cpus.len()))?)
    }

    fn run(loaded: Loaded) -> Result<StealReader, StealError> {
        let ring = Ring::open(&loaded.ring, loaded.ring_bytes)
            .map_err(StealError::when("map the BPF ring buffer"))?;
        let attached = bpf::attach(&loaded.program)
            .map_err(StealError::when("attach a BPF program to hrtimer_expire_exit"))?;
        // The attachment keeps the program alive, and the program keeps its maps.
        Ok(StealReader { ring, states: loaded.states, _attached: attached })
    }

    /// Returns the readings since the last call, in time order for each CPU.
    ///
    /// It makes no system call. The buffer holds 1 MiB per CPU (at most 64 MiB), which is a reading for each
    /// of 21,845 ticks. A reading that finds it full is dropped and counted, see [`Self::lost`].
    pub fn drain(&mut self) -> Vec<StealReading> {
        let reading = |[cpu, previous_ns, at_ns, previous_steal_ns, steal_ns]: [u64; 5]| {
            StealReading { cpu: cpu as u32, previous_ns, at_ns, previous_steal_ns, steal_ns }
        };
        self.ring.drain().into_iter().map(reading).collect()
    }

    /// Returns how many readings found the buffer full since the start.
    ///
    /// After a lost reading, the `previous_steal_ns` of its CPU's next reading is more than the `steal_ns`
    /// before it.
    ///
    /// # Errors
    /// Fails if the kernel has no memory to answer.
    pub fn lost(&self) -> Result<u64, StealError> {
        let states = self.states.read().map_err(StealError::when("read a BPF map"))?;
        Ok(states.iter().map(|state| state[LOST]).sum())
    }
}

/// Checks whether [`StealReader::start`] would work, as far as possible without attaching anything.
///
/// It takes some milliseconds.
///
/// # Errors
/// Returns why it would not.
pub fn supported() -> Result<(), StealError> {
    Loaded::new(&layout()?, &[], ring::size(0)).map(drop)
}

/// Finds where the running kernel keeps the data.
fn layout() -> Result<Layout, StealError> {
    let types = fs::read(TYPE_DATA).map_err(|error| {
        let why = format!("steal per detour needs {TYPE_DATA} ({error})");
        let remedy = "use a kernel built with CONFIG_DEBUG_INFO_BTF";
        StealError::Other(ProblemKind::Unavailable.problem(why, remedy))
    })?;
    Btf::parse(&types).and_then(|types| Layout::find(&types)).map_err(|why| {
        let remedy = "steal per detour needs a kernel with CONFIG_PARAVIRT, CONFIG_FAIR_GROUP_SCHED \
                      and CONFIG_HIGH_RES_TIMERS";
        StealError::Other(ProblemKind::Unavailable.problem(why, remedy))
    })
}

/// The program in the kernel, not attached yet.
struct Loaded {
    program: OwnedFd,
    states: PerCpu<STATE_WORDS>,
    ring: OwnedFd,
    ring_bytes: u32,
}

impl Loaded {
    /// Called after the layout is known, because the remedy in an error must work, and no privilege helps if
    /// the kernel does not keep the data.
    fn new(layout: &Layout, cpus: &[u32], ring_bytes: u32) -> Result<Loaded, StealError> {
        let states = states(cpus)?;
        let ring = bpf::create_map(NAME, MapKind::RingBuffer, 0, 0, ring_bytes, None)
            .map_err(StealError::when("make a BPF ring buffer"))?;
        let load = |layout: &Layout| {
            let code = program::assemble(layout, states.fd(), &ring);
            let kind = ProgramKind::Tracing { tracepoint: layout.tracepoint };
            bpf::load(NAME, kind, &code, None).map_err(StealError::from)
        };
        let program = load(layout).or_else(|refusal| match layout.with_address() {
            Some(layout) if matches!(refusal, StealError::Refused(_)) => load(&layout),
            _ => Err(refusal),
        })?;
        Ok(Loaded { program, states, ring, ring_bytes })
    }
}

/// Creates a state per possible CPU and marks the requested ones.
fn states(cpus: &[u32]) -> Result<PerCpu<STATE_WORDS>, StealError> {
    let possible = cpus::system("possible");
    let mut values = vec![[0; STATE_WORDS]; possible.len()];
    for &cpu in cpus {
        let Some(place) = possible.iter().position(|&other| other == cpu) else {
            let why = format!("cannot read steal of CPU {cpu}: it does not exist");
            let remedy = format!("this machine can have CPUs {}", cpus::list(&possible));
            return Err(StealError::Other(ProblemKind::Usage.problem(why, remedy)));
        };
        values[place][ASKED] = 1;
    }
    let states = PerCpu::new(NAME, possible.len()).map_err(StealError::when("make a BPF map"))?;
    states.write(values).map_err(StealError::when("fill a BPF map"))?;
    Ok(states)
}

#[cfg(test)]
mod tests;
