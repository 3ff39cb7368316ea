//! Why a run did not take place. Problems after its start are noted in the recording.

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
    /// The options of the method give no valid experiment.
    #[error(transparent)]
    Asked(#[from] Problem),
    /// A series would have no samples.
    #[error("0 repetitions measure nothing; ask for at least one")]
    NoSamples,
    /// A signal arrived before anything was measured.
    #[error("ended by a signal before anything was measured")]
    CalledOff,
    /// A sample would be so long that nothing could end it early.
    #[error(
        "a repetition of {asked_s} s in one piece cannot be ended early; remove --pure, or use at most {most_s} s"
    )]
    TooLong {
        /// Requested duration.
        asked_s: u64,
        /// Longest duration.
        most_s: u64,
    },
    /// Nothing else could run on the machine.
    #[error(
        "{option} would take every CPU of this machine and nothing else could run; leave one out with --cpus, or use --all-cpus"
    )]
    EveryCpu {
        /// The option that takes the CPUs.
        option: &'static str,
    },
    /// The experiment needs kernel events, and there are none.
    #[error("without kernel events there is no direct cost of an interrupt: {why}")]
    NoEvents {
        /// Why there are none, and what would help.
        why: String,
    },
    /// The ranks have no means to meet.
    #[error(
        "ranks that communicate through a shared directory cannot meet at the end of a phase; start `anechoic-mpi measure bsp` under mpirun, or `anechoic measure bsp` with threads as ranks"
    )]
    NoMeetings,
    /// Several SCHED_FIFO ranks on one CPU would wait for each other for ever.
    #[error(
        "several ranks are on CPU {cpu}: under SCHED_FIFO each would block the others; start fewer ranks, or remove --fifo"
    )]
    Shared {
        /// The CPU.
        cpu: u32,
    },
    /// The ranks of the job could not communicate.
    #[error(transparent)]
    Ensemble(#[from] EnsembleError),
    /// The requested noise cannot be injected.
    #[error(transparent)]
    Inject(#[from] InjectError),
    /// A kernel's work cannot be set to the asked duration.
    #[error(transparent)]
    Calibrate(#[from] CalibrateError),
    /// The recording cannot be written.
    #[error(transparent)]
    Write(#[from] anechoic_recording::WriteError),
    /// The kernel gives no memory for the buffers.
    #[error(transparent)]
    Memory(#[from] NoMemory),
    /// The threshold is so short that every slower iteration of the loop would be a detour.
    #[error(
        "a threshold of {asked_ns} ns is not above two iterations of the loop ({iteration_ns} ns each on this machine); ask for at least {least_ns} ns"
    )]
    Threshold {
        /// Requested threshold.
        asked_ns: u64,
        /// Duration of one iteration.
        iteration_ns: u64,
        /// Shortest useful threshold.
        least_ns: u64,
    },
    /// The run is too short for a detour over the threshold.
    #[error(
        "no detour over {threshold:?} fits into {duration:?}; measure longer with --duration, or use a lower --threshold"
    )]
    TooShort {
        /// The threshold.
        threshold: Duration,
        /// Requested duration.
        duration: Duration,
    },
}
