//! Detours: every CPU watches its counter, and each gap is a detour (Beckman 2008). Used by `run` and by the
//! tests of injected noise, which have their own options.

use crate::experiment::{Cell, Experiment, Policy, Watch};
use crate::inject::Injection;
use anechoic_recording::methods;
use std::time::Duration;

/// How to record detours.
#[derive(Debug, Clone)]
pub struct Detours {
    /// Duration of the measurement.
    pub duration: Duration,
    /// Gaps longer than this are detours, in nanoseconds; calibrated if absent.
    pub threshold_ns: Option<u64>,
    /// Whether to use SCHED_FIFO instead of SCHED_OTHER.
    pub fifo: bool,
    /// Period of switching the events on and off, to measure the tracer's cost.
    pub alternate: Option<Duration>,
    /// Noise to inject during the measurement.
    pub injection: Option<Injection>,
}

impl Detours {
    /// Records for this duration, with everything else at its default.
    #[must_use]
    pub fn lasting(duration: Duration) -> Self {
        Detours { duration, threshold_ns: None, fifo: false, alternate: None, injection: None }
    }

    /// Returns the experiment of one cell, in which all of `cpus` watch at the same time.
    #[must_use]
    pub fn on(self, cpus: Vec<u32>) -> Experiment {
        let watch = Watch { duration: self.duration, threshold_ns: self.threshold_ns };
        let policy = if self.fifo { Policy::FIFO } else { Policy::Other };
        let cell = Cell { policy, noise: self.injection, ..Cell::watching(watch, cpus) };
        Experiment { alternate: self.alternate, ..Experiment::listed(methods::DETOURS, vec![cell]) }
    }
}
