//! What a recording of a method says: one [`SeriesResult`] a series.

use crate::coverage::LossSummary;
use crate::facts::Facts;
use crate::samples::distribution::Distribution;
use crate::samples::figures::Figures;
use crate::samples::fine::FineView;
use crate::samples::pace::Pace;
use crate::samples::steadiness::Steadiness;
use crate::samples::subtraction::Subtraction;
use crate::samples::tick_overhead::TickOverhead;
use crate::spectrum::Spectrum;
use anechoic_recording::run::{Ended, NotAvailable, Outcome};
use anechoic_recording::{Policy, Run, Series};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything that one recording of a method (`fwq`, `ftq`, `tick`, `loops`) says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// What ran where. Its threshold and shortest gap mean nothing here.
    pub run: Facts,
    /// The method.
    pub method: String,
    /// Each series that was begun, by number.
    pub series: Vec<SeriesResult>,
    /// What was lost, by kind, as shares of the time that the series took.
    pub losses: Vec<LossSummary>,
    /// What could not be said, and why; beside `run.not_available`.
    pub not_available: Vec<NotAvailable>,
}

/// Everything that one series says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesResult {
    /// What was measured, where, and how it went.
    pub facts: SeriesFacts,
    /// How the samples are distributed; absent where there are none.
    pub distribution: Option<Distribution>,
    /// Whether the accumulated mean came to rest; absent where there are no samples or their mean is 0.
    pub steadiness: Option<Steadiness>,
    /// What one instruction took; absent where the kernel has none of its kind, or there are no samples.
    pub pace: Option<Pace>,
    /// Values that come again and again; absent where there are no samples.
    pub fine: Option<FineView>,
    /// What is left when direct costs are taken out of the samples; absent where the time is fixed, where the series
    /// was not pinned, and where neither activities nor detours are known.
    pub subtraction: Option<Subtraction>,
    /// What ticks cost; absent as above, and of a recording without attribution.
    pub ticks: Option<TickOverhead>,
    /// The periods in it; absent until [`crate::spectrum::add_spectra`] adds them, and where there are no samples.
    pub spectrum: Option<Spectrum>,
    /// Data of pictures; empty where there are no samples.
    pub figures: Figures,
}

/// What is the same in every sample of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fixed {
    /// The work. A sample's value is its time, in ns.
    Work,
    /// The time. A sample's value is the work done in it, in units.
    Time,
}

impl From<anechoic_recording::Fixed> for Fixed {
    fn from(fixed: anechoic_recording::Fixed) -> Self {
        match fixed {
            anechoic_recording::Fixed::Work => Self::Work,
            anechoic_recording::Fixed::Time => Self::Time,
        }
    }
}

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
        let clock = &run.clock;
        Self {
            number: series.series,
            method: series.method.clone(),
            variant: series.variant.clone(),
            cpu: series.cpu,
            policy: series.policy.clone(),
            grain_ns: clock.ns(series.grain_ticks),
            fixed: series.fixed.into(),
            iterations: series.iterations,
            instructions: series.instructions,
            calibrated_ns: crate::samples::ns(series.calibrated_ticks, clock),
            asked: series.asked,
            samples: 0,
            lost: outcome.lost,
            missing: 0,
            wrong: outcome.wrong,
            ended: outcome.ended,
            start_ns: clock.ns(outcome.first_ticks.saturating_sub(run.start_ticks)),
            wall_ns: clock.ns(outcome.last_ticks.saturating_sub(outcome.first_ticks)),
            watched: series.step_ticks.is_some(),
            step_ns: series.step_ticks.map(|ticks| crate::samples::ns(ticks, clock)),
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
