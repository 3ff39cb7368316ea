//! Proof of host steal for single detours: how much time the host says it took between two ticks.
//!
//! `/proc/stat` gives steal in steps of 10 ms. The kernel has it in nanoseconds in each CPU's run
//! queue (`struct rq`, `prev_steal_time`), brought up to date by every timer tick. A small BPF
//! program reads it there and hands over each change. It needs no compiler, no kernel headers and
//! no kprobe; all that it leaves in the kernel is held by file descriptors and gone with them.

pub mod btf;
mod layout;
mod program;
mod ring;

use crate::bpf::{self, MapKind, PerCpu, ProgramKind};
use crate::cpus;
use anechoic_recording::{Problem, ProblemKind};
use btf::{Btf, BtfError};
use layout::Layout;
use program::{ASKED, LOST, STATE_WORDS};
use ring::Ring;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;

const TYPE_DATA: &str = "/sys/kernel/btf/vmlinux";

/// What `bpftool` shows.
const NAME: &str = "anechoic_steal";

/// Why steal of single detours cannot be read.
#[derive(Debug)]
pub enum StealError {
    /// The kernel does not describe its types.
    NoTypeData {
        /// Why the file cannot be read.
        error: io::Error,
    },
    /// The kernel keeps no such account, or in another shape.
    Layout(BtfError),
    /// BPF is refused to this process.
    NotPermitted {
        /// What was tried.
        doing: &'static str,
    },
    /// The kernel's verifier did not accept the program.
    Refused {
        /// The last line of the verifier.
        verdict: String,
        /// The error number that came with it.
        error: io::Error,
    },
    /// A CPU that this kernel can never have.
    NoCpu {
        /// The CPU.
        cpu: u32,
        /// Those that are possible.
        possible: String,
    },
    /// Anything else.
    System {
        /// What was tried.
        doing: &'static str,
        /// The kernel's reason.
        error: io::Error,
    },
}

impl StealError {
    fn problem(&self) -> Problem {
        match self {
            Self::NoTypeData { error } => ProblemKind::Unavailable.problem(
                format!("steal per detour needs {TYPE_DATA} ({error})"),
                "use a kernel built with CONFIG_DEBUG_INFO_BTF",
            ),
            Self::Layout(error) => ProblemKind::Unavailable.problem(
                error.to_string(),
                "steal per detour needs a kernel with CONFIG_PARAVIRT, CONFIG_FAIR_GROUP_SCHED \
                    and CONFIG_HIGH_RES_TIMERS",
            ),
            Self::NotPermitted { doing } => ProblemKind::Unavailable.problem(
                format!("not permitted to {doing}"),
                "run as root or with: setcap cap_bpf,cap_perfmon+ep ANECHOIC (in a \
                     container, allow the bpf call)",
            ),
            Self::Refused { verdict, error } => ProblemKind::Unavailable.problem(
                format!("the kernel refused the program that reads steal: {verdict} ({error})"),
                "it needs Linux 6.4, or 5.11 and addresses shown in /proc/kallsyms",
            ),
            Self::NoCpu { cpu, possible } => ProblemKind::Usage.problem(
                format!("no CPU {cpu} to read steal of"),
                format!("this machine can have CPUs {possible}"),
            ),
            Self::System { doing, error } => {
                ProblemKind::Unavailable.problem(format!("cannot {doing}: {error}"), "")
            }
        }
    }
}

anechoic_recording::error_from_problem!(StealError);

impl From<BtfError> for StealError {
    fn from(error: BtfError) -> Self {
        Self::Layout(error)
    }
}

impl StealError {
    /// For `map_err`: what was tried, and the kernel's answer.
    fn when(doing: &'static str) -> impl FnOnce(io::Error) -> StealError {
        move |error| match error.kind() {
            io::ErrorKind::PermissionDenied => StealError::NotPermitted { doing },
            _ => StealError::System { doing, error },
        }
    }
}

impl From<bpf::LoadError> for StealError {
    fn from(refused: bpf::LoadError) -> StealError {
        match refused.error.raw_os_error() {
            Some(libc::EPERM) => StealError::NotPermitted { doing: "load a BPF program" },
            _ => StealError::Refused { verdict: refused.verdict, error: refused.error },
        }
    }
}

/// Steal that one CPU's kernel booked between two of its ticks.
///
/// Both times are those of a reading, at the end of the tick's function and some microseconds
/// after the kernel did its account in the same interrupt. So a user thread that runs on this
/// CPU sees a detour around each of the two times, and the stolen time lies in the detours that
/// overlap the interval from one to the other, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StealReading {
    /// The CPU.
    pub cpu: u32,
    /// `CLOCK_MONOTONIC` of the reading before this one, in nanoseconds, whether that had changed
    /// or not.
    pub previous_ns: u64,
    /// `CLOCK_MONOTONIC` of this reading, in nanoseconds.
    pub at_ns: u64,
    /// Steal booked on this CPU since boot, up to the reading before, in nanoseconds.
    pub previous_steal_ns: u64,
    /// Steal booked on this CPU since boot, in nanoseconds; more than `previous_steal_ns`.
    pub steal_ns: u64,
}

/// Reads steal at every tick of some CPUs until it is dropped.
///
/// A CPU whose tick is stopped (idle, or `nohz_full`) gives no reading until it ticks again; the
/// next then spans the pause. A kernel booted with `highres=off` or without a steal clock gives
/// none at all.
pub struct StealReader {
    ring: Ring,
    states: PerCpu<STATE_WORDS>,
    _attached: OwnedFd,
}

impl StealReader {
    /// Starts reading on `cpus`; others cost a few nanoseconds per tick and give nothing.
    ///
    /// # Errors
    /// Each [`StealError`]; then nothing was changed.
    pub fn start(cpus: &[u32]) -> Result<StealReader, StealError> {
        StealReader::run(Loaded::new(&layout()?, cpus, ring::size(cpus.len()))?)
    }

    fn run(loaded: Loaded) -> Result<StealReader, StealError> {
        let ring = Ring::open(&loaded.ring, loaded.ring_bytes)
            .map_err(StealError::when("map the BPF ring buffer"))?;
        let attached = bpf::attach(&loaded.program)
            .map_err(StealError::when("attach a BPF program to hrtimer_expire_exit"))?;
        // The attachment holds the program, and the program its maps.
        Ok(StealReader { ring, states: loaded.states, _attached: attached })
    }

    /// Takes out the readings since the last call, in the order of each CPU's time.
    ///
    /// No system call. The buffer holds 1 MiB per CPU (64 MiB at most): a reading at each of
    /// 21,845 ticks. A reading that finds it full is dropped and counted, see [`Self::lost`].
    pub fn drain(&mut self) -> Vec<StealReading> {
        let reading = |[cpu, previous_ns, at_ns, previous_steal_ns, steal_ns]: [u64; 5]| {
            StealReading { cpu: cpu as u32, previous_ns, at_ns, previous_steal_ns, steal_ns }
        };
        self.ring.drain().into_iter().map(reading).collect()
    }

    /// How many readings found the buffer full since the start.
    ///
    /// Where one is missing, the `previous_steal_ns` of its CPU's next reading is more than the
    /// `steal_ns` before it.
    ///
    /// # Errors
    /// [`StealError::System`] if the kernel has no memory to answer.
    pub fn lost(&self) -> Result<u64, StealError> {
        let states = self.states.read().map_err(StealError::when("read a BPF map"))?;
        Ok(states.iter().map(|state| state[LOST]).sum())
    }
}

/// Whether [`StealReader::start`] would work, as far as can be known without attaching anything.
///
/// Some milliseconds.
///
/// # Errors
/// Each [`StealError`] but [`StealError::NoCpu`].
pub fn supported() -> Result<(), StealError> {
    Loaded::new(&layout()?, &[], ring::size(0)).map(drop)
}

/// Where the running kernel keeps what is read.
fn layout() -> Result<Layout, StealError> {
    let types = fs::read(TYPE_DATA).map_err(|error| StealError::NoTypeData { error })?;
    Ok(Layout::find(&Btf::parse(&types)?)?)
}

/// The program in the kernel, not yet run by anything.
struct Loaded {
    program: OwnedFd,
    states: PerCpu<STATE_WORDS>,
    ring: OwnedFd,
    ring_bytes: u32,
}

impl Loaded {
    /// Asked for after the layout is known: the remedy that an error names must be one that works,
    /// and no privilege helps where the kernel has no such account.
    fn new(layout: &Layout, cpus: &[u32], ring_bytes: u32) -> Result<Loaded, StealError> {
        let states = states(cpus)?;
        let ring = bpf::create_map(NAME, MapKind::RingBuffer, 0, 0, ring_bytes)
            .map_err(StealError::when("make a BPF ring buffer"))?;
        let load = |layout: &Layout| {
            let code = program::assemble(layout, states.fd(), &ring);
            let kind = ProgramKind::Tracing { tracepoint: layout.tracepoint };
            bpf::load(NAME, kind, &code).map_err(StealError::from)
        };
        let program = load(layout).or_else(|refusal| match layout.with_address() {
            Some(layout) if matches!(refusal, StealError::Refused { .. }) => load(&layout),
            _ => Err(refusal),
        })?;
        Ok(Loaded { program, states, ring, ring_bytes })
    }
}

/// A state per possible CPU, with those marked that are asked for.
fn states(cpus: &[u32]) -> Result<PerCpu<STATE_WORDS>, StealError> {
    let possible = cpus::system("possible");
    let mut values = vec![[0; STATE_WORDS]; possible.len()];
    for &cpu in cpus {
        let Some(place) = possible.iter().position(|&other| other == cpu) else {
            return Err(StealError::NoCpu { cpu, possible: cpus::list(&possible) });
        };
        values[place][ASKED] = 1;
    }
    let states = PerCpu::new(NAME, possible.len()).map_err(StealError::when("make a BPF map"))?;
    states.write(values).map_err(StealError::when("fill a BPF map"))?;
    Ok(states)
}

#[cfg(test)]
mod tests;
