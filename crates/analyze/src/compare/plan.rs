//! How many runs of what length would show a change.

use super::contrast::{pooled_variance, runs_needed};
use super::{Planned, Values};
use crate::stats::mean;

/// The change that is planned for, as a ratio.
pub(super) const PLANNED: f64 = 1.1;
/// Lengths of a run, relative to those that were measured.
const LENGTHS: [u64; 3] = [1, 4, 16];

/// Returns the part of the standard deviation between runs that the variation within each explains.
pub(super) fn within(runs: &[Values]) -> Option<f64> {
    let squares: Vec<f64> = runs.iter().filter_map(|run| Some(run.within?.powi(2))).collect();
    mean(&squares).map(f64::sqrt)
}

/// Returns the number of runs that find a change of 10 %, for runs of several lengths. The variation within a run
/// decreases with its length, that between runs does not.
pub(super) fn runs(sides: &[Vec<Values>; 2], logarithms: &[Vec<f64>; 2]) -> Vec<Planned> {
    let Some(variance) = pooled_variance(logarithms) else { return vec![] };
    let all = || sides.iter().flatten();
    let walls: Vec<f64> = all().map(|run| run.wall_ns as f64).collect();
    let within: Vec<f64> = all().filter_map(|run| Some(run.within?.powi(2))).collect();
    let within = mean(&within).unwrap_or(0.0).min(variance);
    let planned = |length: u64| {
        let variance = variance - within + within / length as f64;
        let wall_ns = (mean(&walls)? as u64).saturating_mul(length);
        Some(Planned { wall_ns, runs: runs_needed(variance, PLANNED.ln())? })
    };
    let mut planned: Vec<Planned> = LENGTHS.into_iter().filter_map(planned).collect();
    planned.dedup_by_key(|plan| plan.runs);
    planned
}
