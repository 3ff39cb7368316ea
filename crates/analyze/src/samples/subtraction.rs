//! The subtraction of direct costs (Tsafrir 2007): the spread of the samples after subtracting the time of the kernel
//! in them.

use crate::samples::figures::Point;
use crate::stats::Interval;
use anechoic_recording::run::NotAvailable;
use schemars::JsonSchema;
use serde::Serialize;

/// Samples with a longer unexplained detour or stolen gap are left out, because single events of this kind dominate
/// every spread.
pub const LARGE_NS: u64 = 5_000;
/// Smallest number of samples for a verdict; with fewer, p99 − p1 would depend on single samples.
pub(crate) const FEWEST_SAMPLES: u64 = 100;

/// The spread of a series' samples as the time of the kernel in them is subtracted step by step.
///
/// *Direct* time is time in handlers and other threads, between their entry and exit events. *Gaps* are what a detour
/// takes around them: trap, return and, in a guest, the VM exit. What remains is the jitter of the work itself and the
/// indirect cost: work that runs slower after an interruption.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Subtraction {
    /// Number of samples.
    pub samples: u64,
    /// Number of samples used for the verdict.
    pub judged: u64,
    /// Number of samples left out because of a long unexplained detour or stolen gap.
    pub left_out_large: u64,
    /// Length in ns above which these count as long.
    pub large_ns: u64,
    /// Number of samples left out because events or detours were lost, or events were switched off.
    pub left_out_unknown: u64,
    /// Number of samples without any recorded disturbance.
    pub undisturbed: u64,
    /// The raw samples, followed by further steps that each subtract something more.
    pub steps: Vec<Step>,
    /// Effect of each source on the samples, the largest effect on the spread first.
    pub sources: Vec<SourceEffect>,
    /// The verdict on how much of the spread is accounted for.
    pub verdict: Verdict,
    /// Interrupts counted as network interrupts, by the names of their devices.
    pub network: Vec<String>,
    /// Time of activities between samples: those of lost samples, or 0.
    pub outside_ns: f64,
    /// Number of samples with more activity than their duration; above 0 the recording is inconsistent.
    pub overdrawn: u64,
    /// Results that are not available, and why.
    pub not_available: Vec<NotAvailable>,
}

/// What a step subtracts in addition to all previous steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Subtracted {
    /// Nothing: the raw samples.
    Nothing,
    /// Direct time of timer ticks.
    Ticks,
    /// Direct time of network interrupts and of the softirqs NET_RX and NET_TX.
    Network,
    /// Direct time of all other sources.
    AllSources,
    /// The gaps around all of these.
    Gaps,
    /// Detours without any kernel event, which nothing explains, and gaps in which steal was recorded.
    VmOrHardware,
    /// Detours during which events were lost or switched off, which nothing explains.
    NotAttributable,
    /// All detours of a recording without attribution, whose causes are unknown.
    Detours,
}

/// The spread after one step.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Step {
    /// What this step subtracts.
    pub taken: Subtracted,
    /// Spread of all samples.
    pub all: Option<Left>,
    /// Spread of the samples used; absent if there are none.
    pub judged: Option<Left>,
}

/// The distribution of what remains.
///
/// Explained shares are relative to the raw samples: 1 if the spread disappears, 0 if it is unchanged, negative if it
/// grows. They are absent if the raw samples have no spread.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Left {
    /// Number of samples.
    pub samples: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Standard deviation.
    pub standard_deviation_ns: f64,
    /// Interquartile range.
    pub iqr_ns: f64,
    /// Distance between the 1st and the 99th percentile.
    pub p99_p1_ns: f64,
    /// Minimum.
    pub min_ns: f64,
    /// Maximum.
    pub max_ns: f64,
    /// Explained share of the variance.
    pub variance_explained: Option<f64>,
    /// Explained share of the interquartile range.
    pub iqr_explained: Option<f64>,
    /// Explained share of p99 − p1.
    pub p99_p1_explained: Option<f64>,
    /// Data of a figure: `share` of the samples is at most `value` ns.
    pub curve: Vec<Point>,
}

/// Effect of one source on the samples.
///
/// The falls of the spread are those of the samples used when only this source, with its gaps if they are known, is
/// subtracted; negative if the spread grows. Absent without such samples.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SourceEffect {
    /// Identifier of the source, from the table of sources; empty for sources after the first 128.
    pub source: String,
    /// Name within the source: device, softirq vector, thread; empty if there is only one.
    pub name: String,
    /// Number of samples that contain it.
    pub samples: u64,
    /// Mean of its direct time per sample that contains it.
    pub direct_ns: f64,
    /// Mean of the gaps charged to it per sample that contains it; for detours without an event, the detours. Absent if
    /// gaps were not watched.
    pub gap_ns: Option<f64>,
    /// Fall of p99 − p1.
    pub p99_p1_fall_ns: Option<f64>,
    /// Fall of the interquartile range.
    pub iqr_fall_ns: Option<f64>,
    /// Fall of the standard deviation.
    pub deviation_fall_ns: Option<f64>,
    /// Number of samples used that contain only this source, with at least two undisturbed samples near on both sides.
    pub alone: u64,
    /// Mean excess of these samples, after subtracting everything, over what their undisturbed neighbours lead to expect:
    /// the indirect cost, plus the gaps if these were not watched. Absent for fewer than two.
    pub indirect_ns: Option<f64>,
    /// Its 95 % interval by the standard error of the mean, widened by the correlation of consecutive samples (Student's
    /// t). It assumes that the source comes at random times within samples.
    pub indirect_interval: Option<Interval>,
}

/// The verdict on how much of the spread is accounted for.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    /// The step on which it is based: direct costs and gaps as far as they are known, nothing unexplained.
    pub after: Subtracted,
    /// The smaller of the accounted shares of the interquartile range and of p99 − p1, among those that the kernel
    /// caused at all. Absent if it caused neither, or if samples are too few.
    pub accounted: Option<f64>,
    /// Interquartile range.
    pub iqr: Option<Accounted>,
    /// The spread: p99 − p1.
    pub p99_p1: Option<Accounted>,
    /// Verdict with slow changes of the core's speed removed; absent if fewer than 100 samples have neighbours.
    pub paced: Option<Paced>,
    /// Median absolute deviation of what remains.
    pub residual_ns: Option<f64>,
    /// Step of the counter, which limits the resolution.
    pub counter_step_ns: f64,
    /// Longest delay that goes unnoticed within a step of the work; absent if gaps were not watched.
    pub unseen_ns: Option<f64>,
}

/// How much of the spread is accounted for once slow changes of the core's speed are removed.
///
/// Cores change their speed for reasons without kernel events: power, heat, neighbours or, in a guest, the host.
/// Adjacent samples are equally slow, so each sample is taken relative to the median of what remains of the two samples
/// before and the two after it, after subtracting everything recorded. Undisturbed samples are treated likewise, so
/// that they stay comparable.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Paced {
    /// Number of samples used that have two neighbours on either side.
    pub samples: u64,
    /// Accounted share, as in [`Verdict::accounted`].
    pub accounted: Option<f64>,
    /// Interquartile range.
    pub iqr: Accounted,
    /// The spread: p99 − p1.
    pub p99_p1: Accounted,
}

/// A measure of spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// The interquartile range.
    Iqr,
    /// The distance between the 1st and the 99th percentile.
    P99P1,
}

/// The measure behind a verdict: the one of which less is accounted for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ground {
    /// The measure.
    pub measure: Measure,
    /// Its values, which include a share.
    pub values: Accounted,
    /// The accounted share.
    pub share: f64,
}

impl Ground {
    /// Returns the measure with the smaller share; absent if neither has one.
    pub(crate) fn least_accounted(
        iqr: Option<Accounted>,
        p99_p1: Option<Accounted>,
    ) -> Option<Self> {
        let ground = |(measure, values): (Measure, Option<Accounted>)| {
            Some(Self { measure, values: values?, share: values?.share? })
        };
        let both = [(Measure::Iqr, iqr), (Measure::P99P1, p99_p1)];
        both.into_iter().filter_map(ground).min_by(|a, b| a.share.total_cmp(&b.share))
    }
}

impl Verdict {
    /// Returns the measure behind `accounted`; absent if that is.
    #[must_use]
    pub fn ground(&self) -> Option<Ground> {
        Ground::least_accounted(self.iqr, self.p99_p1)
    }
}

impl Paced {
    /// Returns the measure behind `accounted`; absent if that is.
    #[must_use]
    pub fn ground(&self) -> Option<Ground> {
        Ground::least_accounted(Some(self.iqr), Some(self.p99_p1))
    }
}

/// How much of one measure of spread is accounted for, in the samples used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Accounted {
    /// Value for the raw samples.
    pub raw_ns: f64,
    /// Value for what remains.
    pub left_ns: f64,
    /// Value for undisturbed samples: the spread of the work itself. Absent if there are too few.
    pub undisturbed_ns: Option<f64>,
    /// Accounted share (raw − left) / (raw − undisturbed), at most 1: how much of the spread that the kernel caused
    /// disappears. If the undisturbed spread is unknown, (raw − left) / raw. Absent if raw hardly exceeds undisturbed.
    pub share: Option<f64>,
}
