//! Data of pictures: a series over time, its histogram, its distribution and its tail.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Points of one picture at most.
pub const MOST_POINTS: usize = 240;

/// Data of pictures, at most [`MOST_POINTS`] points each. Values are ns where the work is fixed, units of
/// work where the time is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// Samples over time, in equal stretches of it; stretches without samples are left out.
    pub series: Vec<TimeBin>,
    /// The main body in bins of equal width; absent where there are no samples.
    pub histogram: Option<Histogram>,
    /// Cumulative distribution, rising: `share` of the samples is at most `value`.
    pub cdf: Vec<Point>,
    /// The slow tail, `share` falling to that of the slowest sample alone, in logarithmic steps. Fixed work:
    /// `share` of the samples takes `value` or longer. Fixed time: `share` of the windows holds `value` or less.
    pub survival: Vec<Point>,
}

/// The samples that began in one stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeBin {
    /// The stretch's start, since the run's start.
    pub start_ns: u64,
    /// Samples.
    pub count: u64,
    /// The smallest.
    pub min: f64,
    /// Their mean.
    pub mean: f64,
    /// The largest.
    pub max: f64,
}

/// Counts in bins of equal width over the main body; what lies outside is told apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Histogram {
    /// Lower edge of the first bin.
    pub low: f64,
    /// Width of a bin. Bin i holds `low + i * width <= value < low + (i + 1) * width`.
    pub width: f64,
    /// Samples of each bin.
    pub counts: Vec<u64>,
    /// Samples below the first bin.
    pub below: u64,
    /// Samples above the last bin.
    pub above: u64,
}

/// One point of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// The value.
    pub value: f64,
    /// The share.
    pub share: f64,
}
