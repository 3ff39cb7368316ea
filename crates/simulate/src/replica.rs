//! What noise did in one simulation.

use crate::engine::Outcome;
use crate::parameters::PS;
use anechoic_analyze::stats::{mean, quantile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Quantiles of the finishing times of ranks.
const QUANTILES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// What noise did in one simulation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replica {
    /// The seed of its noise.
    pub seed: u64,
    /// When the last rank finished, in ns.
    pub finish_ns: f64,
    /// The rank that finished last.
    pub last_rank: u32,
    /// Time relative to no noise.
    pub slowdown: f64,
    /// Number of ranks that finished later than without noise.
    pub late_ranks: u64,
    /// By how much noise lengthened what a rank did, in ns: the mean of all ranks.
    pub lost_ns: f64,
    /// The same of the rank that lost most.
    pub most_lost_ns: f64,
    /// Finishing times of ranks in ns: the first, a quarter, half, three quarters of them, and the last.
    pub finish_of_ranks_ns: Vec<f64>,
}

impl Replica {
    pub(crate) fn new(seed: u64, outcome: &Outcome, quiet: &Outcome) -> Self {
        let mut finish: Vec<f64> = outcome.finish_ps.iter().map(|&ps| ns(ps)).collect();
        let lost: Vec<f64> = outcome.lost_ps.iter().map(|&ps| ns(ps)).collect();
        let late = outcome.finish_ps.iter().zip(&quiet.finish_ps);
        let end_ps = outcome.end_ps();
        let last = outcome.finish_ps.iter().position(|&finish_ps| finish_ps == end_ps);
        finish.sort_unstable_by(f64::total_cmp);
        Self {
            seed,
            finish_ns: ns(end_ps),
            last_rank: last.unwrap_or(0) as u32,
            slowdown: ratio(end_ps, quiet.end_ps()),
            late_ranks: late.filter(|(late, quiet)| late > quiet).count() as u64,
            lost_ns: mean(&lost).unwrap_or(0.0),
            most_lost_ns: lost.iter().copied().fold(0.0, f64::max),
            finish_of_ranks_ns: QUANTILES
                .iter()
                .filter_map(|&share| quantile(&finish, share))
                .collect(),
        }
    }
}

/// Returns a time in ns.
pub(crate) fn ns(ps: u64) -> f64 {
    ps as f64 / PS as f64
}

/// Returns a time relative to that without noise.
pub(crate) fn ratio(end_ps: u64, quiet_ps: u64) -> f64 {
    if quiet_ps == 0 { 1.0 } else { end_ps as f64 / quiet_ps as f64 }
}
