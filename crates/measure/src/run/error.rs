//! Why a run did not take place. Whatever happens after its start ends up in the recording.

use crate::calibrate::CalibrateError;
use crate::ensemble::EnsembleError;
use crate::inject::InjectError;
use crate::timed::arenas::NoMemory;
use crate::timed::worker::WorkerError;
use anechoic_recording::Problem;
use anechoic_system::{clock, cpus};
use std::time::Duration;

/// Why a run did not take place.
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
    /// What was asked of a method makes no experiment.
    #[error(transparent)]
    Asked(#[from] Problem),
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
    /// Nothing else could run on the machine.
    #[error(
        "{option} would take every CPU of this machine and nothing else could run; leave one out with --cpus, or say --all-cpus"
    )]
    EveryCpu {
        /// The option that asks for it.
        option: &'static str,
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
    #[error(transparent)]
    Memory(#[from] NoMemory),
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
