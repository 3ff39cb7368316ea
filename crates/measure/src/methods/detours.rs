//! Detours: every CPU watches its counter, and each gap is one (Beckman 2008). The command `run` and
//! the tests of injected noise measure them, with options of their own.

use crate::experiment::{Cell, Experiment, Policy, Watch};
use crate::inject::Injection;
use anechoic_recording::methods;
use std::time::Duration;

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

impl Detours {
    /// Watches for this long, with nothing else about it.
    #[must_use]
    pub fn lasting(duration: Duration) -> Self {
        Detours { duration, threshold_ns: None, fifo: false, alternate: None, injection: None }
    }

    /// The experiment of one cell: all of `cpus` watch together.
    #[must_use]
    pub fn on(self, cpus: Vec<u32>) -> Experiment {
        let watch = Watch { duration: self.duration, threshold_ns: self.threshold_ns };
        let policy = if self.fifo { Policy::Fifo } else { Policy::Other };
        let cell = Cell { policy, noise: self.injection, ..Cell::watching(watch, cpus) };
        Experiment { alternate: self.alternate, ..Experiment::listed(methods::DETOURS, vec![cell]) }
    }
}
