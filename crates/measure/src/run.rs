//! A run: what loops see on all asked CPUs, with the kernel's events beside it.
//!
//! The loops of a run go through rounds. A detour run has one round, in which all of them watch the
//! counter; the methods that take samples have one for each kernel and policy, and for each CPU
//! where those are measured one by one.

mod adopt;
mod arenas;
mod bsp;
mod buffers;
mod calibrate;
mod describe;
mod detours;
mod finish;
mod fixed_time;
mod fixed_work;
mod housekeeper;
mod injectors;
mod job;
mod kernel_side;
mod loops;
mod meeting;
mod paces;
mod place;
mod round;
mod schedule;
mod serial;
mod sorting;
mod steady;
mod stepping;
mod store;
mod unsaved;
mod work;
mod worker;

use crate::ensemble::{EnsembleError, Placement, Team};
use crate::inject::{InjectError, Injection};
use crate::methods::Experiment;
use crate::methods::bsp::Phases;
use crate::methods::serial::Serial;
use anechoic_recording::News;
use anechoic_recording::run::Run;
use anechoic_system::{clock, cpus, machine};
use arenas::Arenas;
use housekeeper::{Home, free_cpus};
use injectors::Injectors;
use kernel_side::KernelSide;
use loops::Loops;
use round::Hub;
use schedule::Scheduled;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

pub use calibrate::CalibrateError;
pub use worker::WorkerError;
pub(crate) use worker::{block_signals, set_policy};

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The CPUs, ascending, at least one.
    pub cpus: Vec<u32>,
    /// What the loops do.
    pub task: Task,
    /// Whether kernel events are wanted.
    pub trace: bool,
    /// Measure with a TSC that is not invariant.
    pub allow_variant_tsc: bool,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// Version of the tool, for the record.
    pub tool_version: String,
    /// Which run of how many this is.
    pub repetition: Option<(u32, u32)>,
    /// The ranks that measure together; absent where this process measures by itself.
    pub team: Option<Team>,
    /// The thread that watches, if one does: [`Stage::Begun`] and [`Stage::News`] come then.
    pub watcher: Option<i32>,
}

/// What the loops of a run do.
#[derive(Debug, Clone)]
pub enum Task {
    /// Watch the counter.
    Detours(Detours),
    /// Take samples.
    Samples(Experiment),
    /// Measure for the serial tick model, on the first of the CPUs.
    Serial(Serial),
    /// Take part in a bulk-synchronous job.
    Phases(Phases),
}

/// How to watch for detours.
#[derive(Debug, Clone)]
pub struct Detours {
    /// For how long.
    pub duration: Duration,
    /// A gap over this many nanoseconds is a detour; calibrated where absent.
    pub threshold_ns: Option<u64>,
    /// SCHED_FIFO instead of SCHED_OTHER.
    pub fifo: bool,
    /// Period of switching the events on and off, to measure what the tracer costs.
    pub alternate: Option<Duration>,
    /// Noise that is made meanwhile.
    pub injection: Option<Injection>,
}

impl Plan {
    /// What is measured, as recordings name it.
    fn method(&self) -> &'static str {
        match &self.task {
            Task::Detours(_) => describe::DETOURS,
            Task::Samples(asked) => asked.method.id,
            Task::Serial(_) => crate::methods::serial::METHOD.id,
            Task::Phases(_) => crate::methods::bsp::METHOD.id,
        }
    }

    /// What is injected in its rounds, in the order of their numbers.
    fn injections(&self) -> Vec<&Injection> {
        match &self.task {
            Task::Detours(detours) => detours.injection.iter().collect(),
            Task::Samples(asked) => {
                asked.noise.iter().filter_map(|noise| noise.injection.as_ref()).collect()
            }
            Task::Serial(asked) => asked.rates.iter().flatten().collect(),
            Task::Phases(_) => Vec::new(),
        }
    }

    /// Where this process is one of several ranks of its host that all measure: where they are.
    fn ranks(&self) -> Option<&Placement> {
        let team = self.team.as_ref().filter(|_| matches!(self.task, Task::Phases(_)))?;
        Some(&team.placement)
    }

    /// CPUs that are measured on this host, by this process or by other ranks.
    fn measured(&self) -> Vec<u32> {
        let others = self.ranks().map(Placement::own_cpus).unwrap_or_default();
        let all: BTreeSet<u32> = self.cpus.iter().copied().chain(others).collect();
        all.into_iter().collect()
    }

    /// CPUs whose kernel events tell of this run: the measured ones, and those with injected noise.
    fn traced(&self) -> Vec<u32> {
        let injected = self.injections().into_iter().flat_map(|injection| &injection.cpus);
        let all: BTreeSet<u32> = self.measured().iter().chain(injected).copied().collect();
        all.into_iter().collect()
    }

    /// Whether another rank of this host records what the kernel tells.
    fn is_told_by_another(&self) -> bool {
        self.ranks().is_some_and(|placement| !placement.leads())
    }

    fn alternate(&self) -> Option<Duration> {
        match &self.task {
            Task::Detours(detours) => detours.alternate,
            Task::Samples(_) | Task::Serial(_) | Task::Phases(_) => None,
        }
    }
}

/// Why a run did not take place. Whatever happens after its start ends up in the recording.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A CPU cannot be measured.
    #[error(transparent)]
    Cpu(#[from] cpus::CpuError),
    /// The counter cannot be used.
    #[error(transparent)]
    Clock(#[from] clock::ClockError),
    /// A loop could not start.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// There is no such work kernel.
    #[error("there is no work kernel '{asked}'; `anechoic measure kernels` lists those there are")]
    Kernel {
        /// What was asked.
        asked: String,
    },
    /// A series of no samples.
    #[error("0 repetitions measure nothing; ask for at least one")]
    NoSamples,
    /// A signal came before anything was measured.
    #[error("ended by a signal before anything was measured")]
    CalledOff,
    /// A sample that nothing could end early.
    #[error(
        "a repetition of {asked_s} s in one piece could not be ended early; leave out --pure, or ask for at most {most_s} s"
    )]
    TooLong {
        /// What was asked.
        asked_s: u64,
        /// The longest.
        most_s: u64,
    },
    /// Kernel events alone tell what this needs to know, and there are none.
    #[error("without kernel events there is no direct cost of an interrupt: {why}")]
    NoEvents {
        /// Why not, and what would help.
        why: String,
    },
    /// The ranks have nothing to meet through.
    #[error(
        "ranks that are joined by a shared directory cannot meet at the end of a phase; start `anechoic-mpi measure bsp` under mpirun, or `anechoic measure bsp` with threads as ranks"
    )]
    NoMeetings,
    /// Several SCHED_FIFO ranks wait for each other on one CPU for ever.
    #[error(
        "several ranks are on CPU {cpu}: under SCHED_FIFO each would keep the others from meeting it; start fewer ranks, or leave out --fifo"
    )]
    Shared {
        /// The CPU.
        cpu: u32,
    },
    /// The ranks of the job could not come together.
    #[error(transparent)]
    Ensemble(#[from] EnsembleError),
    /// The noise that was asked for cannot be made.
    #[error(transparent)]
    Inject(#[from] InjectError),
    /// A kernel's work cannot be set to the asked duration.
    #[error(transparent)]
    Calibrate(#[from] CalibrateError),
    /// The recording cannot be written.
    #[error(transparent)]
    Write(#[from] anechoic_recording::WriteError),
    /// No memory for the buffers.
    #[error("no memory for the buffers of {cpus} CPUs: {error}; measure fewer with --cpus")]
    Memory {
        /// CPUs asked for.
        cpus: usize,
        /// The kernel's reason.
        error: rustix::io::Errno,
    },
    /// Thresholds near one iteration of the loop make every slower iteration a detour.
    #[error(
        "a threshold of {asked_ns} ns is not above two iterations of the loop ({iteration_ns} ns each on this machine); ask for at least {least_ns} ns"
    )]
    Threshold {
        /// What was asked.
        asked_ns: u64,
        /// What an iteration takes.
        iteration_ns: u64,
        /// The least that makes sense.
        least_ns: u64,
    },
    /// No detour would be as long as that.
    #[error(
        "no detour over {threshold:?} can be seen in {duration:?}; measure longer with --duration, or ask for a lower --threshold"
    )]
    TooShort {
        /// The threshold.
        threshold: Duration,
        /// How long it was to measure.
        duration: Duration,
    },
}

/// What a run tells while it goes on.
#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    /// The kernels are being calibrated.
    Calibrating,
    /// The loops start; progress may be drawn only if a CPU is left for it.
    Started {
        /// How long it will take, undisturbed.
        total: Duration,
        /// Whether a CPU is left that is not measured.
        may_draw: bool,
    },
    /// The loops are about to start; what is known of them. Where the run is watched.
    Begun(Box<Run>),
    /// What was seen since the last time. Where the run is watched: about five times a second if a CPU is
    /// left that is not measured, else once.
    News(Box<News>),
    /// This much has passed; comes only where drawing disturbs nothing.
    Passed(Duration),
    /// The loops are over; what they saw is being saved.
    Saving,
}

/// Measures as planned and writes the recording to `dir`, which must not exist or be empty.
///
/// Ends early when `stop` becomes true; what was measured until then is complete.
///
/// # Errors
/// Whatever keeps the run from starting. Later trouble (a full disk) is a note in the result.
pub fn run(
    plan: &Plan,
    dir: &Path,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(Stage),
) -> Result<Run, RunError> {
    cpus::verify(&plan.cpus)?;
    let clock = clock::calibrate(&plan.cpus, plan.allow_variant_tsc)?;
    let mut run = describe::run(plan, clock, machine::describe())?;
    let everywhere = cpus::allowed();
    let free = free_cpus(&plan.measured(), &plan.traced());
    let _home = Home::move_to(&free);
    let Scheduled { places, rounds, series } = schedule(plan, &mut run, stop, notify)?;
    let mut arenas = Arenas::make(&places, !series.is_empty())?;
    if !arenas.locked() {
        run.notes.push("buffers are touched but not locked (limit on locked memory)".to_owned());
    }
    let lanes = arenas.lanes();
    let injectors = Injectors::prepare(plan, &run.clock)?;
    let mut kernel = KernelSide::open(plan, &mut run);
    if matches!(plan.task, Task::Serial(_)) && run.trace.is_none() {
        return Err(RunError::NoEvents { why: no_events(&run) });
    }
    let hub = Hub::default();
    let (free, everywhere) = (&free[..], &everywhere[..]);
    let (hub, rounds, lanes) = (&hub, &rounds[..], &lanes[..]);
    let loops = Loops { plan, dir, stop, free, everywhere, hub, rounds, lanes };
    thread::scope(|scope| loops.run(scope, &mut run, series, (&mut kernel, injectors), notify))?;
    Ok(run)
}

fn schedule(
    plan: &Plan,
    run: &mut Run,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(Stage),
) -> Result<Scheduled, RunError> {
    match &plan.task {
        Task::Detours(asked) => Ok(schedule::detours(asked, &plan.cpus, run)),
        Task::Samples(asked) => {
            notify(Stage::Calibrating);
            schedule::samples(asked, &plan.cpus, run, stop)
        }
        Task::Serial(asked) => {
            notify(Stage::Calibrating);
            serial::serial(asked, plan.cpus.first().copied().unwrap_or(0), run, stop)
        }
        Task::Phases(asked) => {
            notify(Stage::Calibrating);
            bsp::phases(asked, &plan.cpus, plan.team.as_ref(), run, stop)
        }
    }
}

/// Why there are no kernel events, and what would help.
fn no_events(run: &Run) -> String {
    let reason = run.not_available.iter().find(|missing| missing.what == "kernel events");
    reason.map_or_else(String::new, |missing| format!("{}; {}", missing.why, missing.remedy))
}
