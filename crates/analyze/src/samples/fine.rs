//! Exact values of samples that come again and again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Values listed at most.
pub const MOST_VALUES: usize = 8;

/// The fine view (Tsafrir 2007): which exact values dominate, and how long they stay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FineView {
    /// Distinct values; absent where some had to be rounded, and then `dominant` counts at least.
    pub distinct: Option<u64>,
    /// The values that come most often, most often first; eight at most.
    pub dominant: Vec<Dominant>,
    /// The most samples in a row that have one value.
    pub longest_run: EqualRun,
}

/// One value and how often it comes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dominant {
    /// The value: counter ticks where the work is fixed, units of work where the time is.
    pub raw: u64,
    /// The value in ns, or in units of work.
    pub value: f64,
    /// Samples that have it.
    pub count: u64,
    /// Their share.
    pub share: f64,
}

/// Equal samples in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EqualRun {
    /// The value: counter ticks where the work is fixed, units of work where the time is.
    pub raw: u64,
    /// How many in a row; the first such run, where several are equally long.
    pub length: u64,
}
