//! What a series measured, where, and how it went.

use crate::samples::values::Fixed;
use anechoic_recording::run::{Ended, Outcome};
use anechoic_recording::{Policy, Run, Series};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a series measured, where, and how it went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesFacts {
    /// Its number in the recording.
    pub number: u32,
    /// The method: `fwq`, `ftq`, `tick`, `loops`.
    pub method: String,
    /// The work kernel: `intadd`, `sum`.
    pub variant: String,
    /// The CPU that its thread was pinned to; absent where the scheduler chose.
    pub cpu: Option<u32>,
    /// Scheduling: `other`, or `fifo PRIORITY`.
    pub policy: Policy,
    /// Fixed work: how long a sample was to last. Fixed time: the window.
    pub grain_ns: u64,
    /// What is the same in every sample: says what the values of samples are.
    pub fixed: Fixed,
    /// Iterations of the kernel in one sample; of fixed time, in one unit of work.
    pub iterations: u64,
    /// Instructions of the kernel's kind in one iteration; 0 where it has none.
    pub instructions: u32,
    /// What that many iterations took undisturbed when they were calibrated.
    pub calibrated_ns: f64,
    /// Samples that were asked for, at most.
    pub asked: u64,
    /// Samples that are there: all numbers below are of these.
    pub samples: u64,
    /// Samples that found no free buffer, or no space on the disk.
    pub lost: u64,
    /// Numbers of samples, between the first and the last, that are not there: the lost ones, and those
    /// that a full disk or a damaged table took.
    pub missing: u64,
    /// Samples whose work returned a wrong value: 0, or the machine cannot be trusted.
    pub wrong: u64,
    /// Why it ended.
    pub ended: Ended,
    /// Its start, since the run's start.
    pub start_ns: u64,
    /// From the start of its first sample to the end of its last.
    pub wall_ns: u64,
    /// Whether gaps inside samples were watched.
    pub watched: bool,
    /// What a step between two looks at the counter takes undisturbed, where they were watched.
    pub step_ns: Option<f64>,
    /// CPUs that samples ended on, and how many; for a series that was not pinned, else empty.
    pub cpus_seen: Vec<CpuSamples>,
    /// Times that a sample ended on another CPU than the one before; 0 of a pinned series.
    pub migrations: u64,
}

/// How many samples of a series ended on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuSamples {
    /// The CPU.
    pub cpu: u32,
    /// The samples.
    pub samples: u64,
}

impl SeriesFacts {
    /// Those of a series before any of its samples was read.
    #[must_use]
    pub fn of(series: &Series, outcome: &Outcome, run: &Run) -> Self {
        let (clock, parameters) = (&run.clock, &series.parameters);
        Self {
            number: series.series,
            method: series.method.clone(),
            variant: series.variant.clone(),
            cpu: series.cpu,
            policy: series.policy.clone(),
            grain_ns: clock.ns(series.grain_ticks),
            fixed: series.fixed.into(),
            iterations: parameters.iterations,
            instructions: parameters.instructions,
            calibrated_ns: crate::samples::ns(parameters.calibrated_ticks, clock),
            asked: series.asked,
            samples: 0,
            lost: outcome.lost,
            missing: 0,
            wrong: outcome.wrong,
            ended: outcome.ended,
            start_ns: clock.ns(outcome.first_ticks.saturating_sub(run.start_ticks)),
            wall_ns: clock.ns(outcome.last_ticks.saturating_sub(outcome.first_ticks)),
            watched: parameters.step_ticks.is_some(),
            step_ns: parameters.step_ticks.map(|ticks| crate::samples::ns(ticks, clock)),
            cpus_seen: vec![],
            migrations: 0,
        }
    }
    /// Whether the series is what was asked for: it ended with all samples or with a mean at rest (one that
    /// had to come to rest and did not is not whole), none is lost or missing, and all returned the right value.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let ended = matches!(self.ended, Ended::Complete | Ended::Steady);
        ended && self.lost == 0 && self.missing == 0 && self.wrong == 0
    }
}
