//! The subtraction of direct costs (Tsafrir 2007): what is left of the samples when what the kernel did
//! in them is taken out.

use crate::samples::figures::Point;
use crate::stats::Interval;
use anechoic_recording::run::NotAvailable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Samples with an unexplained detour or a stolen gap longer than this are not judged: single events
/// of this kind rule every spread.
pub const LARGE_NS: u64 = 5_000;
/// Fewer judged samples than this give no verdict: p99 − p1 would be that of single samples.
pub(crate) const FEWEST_SAMPLES: u64 = 100;

/// What is left of a series' samples when what the kernel did in them is taken out, step by step.
///
/// *Direct* time is the time in handlers and other threads, between their entry and exit events. *Gaps* are
/// what a detour took around them: trap, return and, in a guest, the VM exit. What then stays is the jitter
/// of the work itself and the indirect cost: work that goes slower after an interruption.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Subtraction {
    /// Samples.
    pub samples: u64,
    /// Those that the judgement rests on.
    pub judged: u64,
    /// Left out of it: an unexplained detour or a stolen gap in them was longer than
    pub left_out_large: u64,
    /// this.
    pub large_ns: u64,
    /// Left out of it: they lie where events or detours were lost, or events were off.
    pub left_out_unknown: u64,
    /// Samples in which nothing was seen.
    pub undisturbed: u64,
    /// Raw samples first; each further step takes out one thing more.
    pub steps: Vec<Step>,
    /// What each source alone did to the samples, the largest effect on the spread first.
    pub sources: Vec<SourceEffect>,
    /// Whether the variability is accounted for.
    pub verdict: Verdict,
    /// Interrupts that were taken for the network's, by the names of their devices.
    pub network: Vec<String>,
    /// Time of activities between samples: those of lost samples, or 0.
    pub outside_ns: f64,
    /// Samples that hold more activity than they lasted: 0, or the recording contradicts itself.
    pub overdrawn: u64,
    /// What could not be said, and why.
    pub not_available: Vec<NotAvailable>,
}

/// What a step takes out, beside all before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Taken {
    /// Nothing: the raw samples.
    Nothing,
    /// Direct time of the scheduler's ticks.
    Ticks,
    /// Direct time of network interrupts and of the softirqs NET_RX and NET_TX.
    Network,
    /// Direct time of all other sources.
    AllSources,
    /// The gaps around all of these.
    Gaps,
    /// Detours without any kernel event, and gaps that the host was seen to take. Nothing explains the former.
    VmOrHardware,
    /// Detours where events were lost or off: nothing explains them.
    NotAttributable,
    /// Of a recording without attribution: all detours. They were seen, their cause was not.
    Detours,
}

/// What is left after one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// What this step takes out.
    pub taken: Taken,
    /// Of all samples.
    pub all: Option<Left>,
    /// Of the judged ones; absent where there are none.
    pub judged: Option<Left>,
}

/// How what is left is distributed.
///
/// Shares of spread are relative to the raw samples: 1 where all of it is gone, 0 where all is left, negative
/// where it grew. They are absent where the raw samples have no spread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Left {
    /// Samples.
    pub samples: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Standard deviation.
    pub standard_deviation_ns: f64,
    /// Distance of the quartiles.
    pub iqr_ns: f64,
    /// Distance of the 1st and the 99th percentile.
    pub p99_p1_ns: f64,
    /// The smallest.
    pub min_ns: f64,
    /// The largest.
    pub max_ns: f64,
    /// Share of the variance that is gone.
    pub variance_explained: Option<f64>,
    /// Share of the distance of the quartiles that is gone.
    pub iqr_explained: Option<f64>,
    /// Share of p99 − p1 that is gone.
    pub p99_p1_explained: Option<f64>,
    /// For a figure: `share` of the samples is at most `value` ns.
    pub curve: Vec<Point>,
}

/// What one source did to the samples.
///
/// Falls of spread are those of the judged samples when this source alone, with its gaps where they are
/// known, is taken out; negative where the spread grows. Absent where there are no judged samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceEffect {
    /// Identifier of the source, from the table of sources; empty for those that came after the first 128.
    pub source: String,
    /// Which of that source's: device, softirq vector, thread; empty where there is one only.
    pub name: String,
    /// Samples that it touched, of all.
    pub samples: u64,
    /// Its direct time per touched sample, the mean.
    pub direct_ns: f64,
    /// The gaps charged to it per touched sample, the mean; of detours without an event, the detours.
    /// Absent where gaps were not watched.
    pub gap_ns: Option<f64>,
    /// By how much p99 − p1 falls.
    pub p99_p1_fall_ns: Option<f64>,
    /// By how much the distance of the quartiles falls.
    pub iqr_fall_ns: Option<f64>,
    /// By how much the standard deviation falls.
    pub deviation_fall_ns: Option<f64>,
    /// Judged samples that it alone touched.
    pub alone: u64,
    /// What is left of those, everything taken out, over what undisturbed samples take, the mean: the
    /// indirect cost, and in series whose gaps were not watched the gaps too. Absent with fewer than two of either.
    pub indirect_ns: Option<f64>,
    /// Its 95 % interval by the standard errors of both means (Welch's t); samples are taken to be independent of
    /// each other.
    pub indirect_interval: Option<Interval>,
}

/// Whether the variability is accounted for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The step it judges: direct costs and gaps where they are known; nothing that is unexplained.
    pub after: Taken,
    /// The smaller of the shares of the distance of the quartiles and of p99 − p1 that are accounted for,
    /// of those that the kernel caused at all. Absent where it caused neither, or samples are too few.
    pub accounted: Option<f64>,
    /// The distance of the quartiles.
    pub iqr: Option<Accounted>,
    /// p99 − p1.
    pub p99_p1: Option<Accounted>,
    /// The same with slow changes of the core's speed taken out; absent where fewer than 100 samples have neighbours.
    pub paced: Option<Paced>,
    /// Median distance of what is left from its own median.
    pub residual_ns: Option<f64>,
    /// Step of the counter: nothing smaller can be told.
    pub counter_step_ns: f64,
    /// Longest delay that passes unseen within a step of the work; absent where gaps were not watched.
    pub unseen_ns: Option<f64>,
}

/// How much is accounted for of samples at one pace.
///
/// Cores change their speed for reasons that no kernel event tells of: power, heat, what runs beside them or, in a
/// guest, under them. A neighbouring sample is as slow, so each judged sample is taken relative to the median of what
/// is left of the two samples before and the two after it, everything that was seen taken out. Undisturbed samples
/// are treated alike, so that they remain what the others are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Paced {
    /// Judged samples with two neighbours on either side.
    pub samples: u64,
    /// As [`Verdict::accounted`].
    pub accounted: Option<f64>,
    /// The distance of the quartiles.
    pub iqr: Accounted,
    /// p99 − p1.
    pub p99_p1: Accounted,
}

/// A measure of spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// The distance of the quartiles.
    Iqr,
    /// The distance of the 1st and the 99th percentile.
    P99P1,
}

/// What a verdict rests on: the measure of which less is accounted for, with its own numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ground {
    /// The measure.
    pub measure: Measure,
    /// Its numbers; their share is there.
    pub of: Accounted,
    /// The share of it that is accounted for.
    pub share: f64,
}

impl Ground {
    /// Of two measures that which gives the smaller share; absent where neither has one.
    pub(crate) fn of(iqr: Option<Accounted>, p99_p1: Option<Accounted>) -> Option<Self> {
        let ground = |(measure, of): (Measure, Option<Accounted>)| {
            Some(Self { measure, of: of?, share: of?.share? })
        };
        let both = [(Measure::Iqr, iqr), (Measure::P99P1, p99_p1)];
        both.into_iter().filter_map(ground).min_by(|a, b| a.share.total_cmp(&b.share))
    }
}

impl Verdict {
    /// What `accounted` rests on; absent where that is.
    #[must_use]
    pub fn ground(&self) -> Option<Ground> {
        Ground::of(self.iqr, self.p99_p1)
    }
}

impl Paced {
    /// What `accounted` rests on; absent where that is.
    #[must_use]
    pub fn ground(&self) -> Option<Ground> {
        Ground::of(Some(self.iqr), Some(self.p99_p1))
    }
}

/// How much of one measure of spread is accounted for, in the judged samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Accounted {
    /// Of the raw samples.
    pub raw_ns: f64,
    /// Of what is left.
    pub left_ns: f64,
    /// Of samples in which nothing was seen: the work's own. Absent where they are too few.
    pub undisturbed_ns: Option<f64>,
    /// (raw − left) / (raw − undisturbed), 1 at most: the share of what the kernel caused that is gone. Where the undisturbed
    /// spread is not known, (raw − left) / raw. Absent where raw is hardly more than undisturbed.
    pub share: Option<f64>,
}
