//! How the samples of a series are distributed: moments, quantiles, outliers.

use crate::bootstrap::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The distribution of a series' samples.
///
/// The value of a sample is its time in ns where the work is fixed, and the units of work done in it
/// where the time is fixed. Minimum and maximum are exact, and so is what rests on all samples (mean,
/// deviation, skewness, kurtosis). Quantiles and outliers are exact too where `exact` says so; else
/// values far from the main body were rounded, by less than a thousandth of their distance to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Samples.
    pub samples: u64,
    /// Their mean.
    pub mean: f64,
    /// Standard deviation (divided by n − 1); absent of a single sample.
    pub standard_deviation: Option<f64>,
    /// Skewness, third central moment over the second to the power 1.5; absent where all are equal.
    pub skewness: Option<f64>,
    /// Excess kurtosis, fourth central moment over the second squared, less 3; absent where all are equal.
    pub excess_kurtosis: Option<f64>,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// Variance over mean, in the unit of the samples; absent of a single sample and where the mean is 0.
    pub variance_to_mean: Option<f64>,
    /// Fixed work: mean / minimum − 1. Fixed time: 1 − mean / maximum. Absent where that divides by 0.
    pub noise: Option<f64>,
    /// Mean of the samples between the 20th and the 30th percentile of time (Tsafrir 2007): what a sample
    /// takes undisturbed. Of fixed time between the 70th and the 80th of work, which is the same side.
    pub third_decile_mean: f64,
    /// Quantiles, by share: 1, 5, 25, 50, 75, 95, 99 and 99.9 %.
    pub quantiles: Vec<Quantile>,
    /// How the intervals of the quantiles were made.
    pub intervals: QuantileIntervals,
    /// Samples clearly faster than the main body: shorter, or of more work.
    pub fasties: Outliers,
    /// Samples clearly slower than the main body: longer, or of less work.
    pub slowies: Outliers,
    /// Whether every value was kept as it is.
    pub exact: bool,
}

/// One quantile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quantile {
    /// This share of the samples is at most
    pub share: f64,
    /// that large: the smallest value for which this holds.
    pub value: f64,
    /// Its 95 % interval; absent where the samples do not bound it.
    pub interval: Option<Interval>,
}

/// How intervals of quantiles were made, and what they assume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuantileIntervals {
    /// Equal blocks of consecutive samples; with too few of them there are no intervals.
    pub blocks: u64,
    /// Samples of a block.
    pub block_samples: u64,
    /// Fewer blocks than this give no interval.
    pub fewest_blocks: u64,
    /// What is assumed, in words.
    pub assumes: String,
}

/// Samples beyond a fence: a quartile and three times the larger of interquartile range and three
/// steps of the counter (of fixed time, three units of work) away from it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outliers {
    /// The fence; may be negative.
    pub fence: f64,
    /// Samples beyond it.
    pub count: u64,
    /// Their share.
    pub share: f64,
    /// Their mean; absent where there are none.
    pub mean: Option<f64>,
    /// The one farthest out; absent where there are none.
    pub extreme: Option<f64>,
}
