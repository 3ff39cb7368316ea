//! One run on a side: at most two recordings that differ.

use super::{Change, Values};
use crate::stats::{Interval, NORMAL, mean};

/// Returns the standard error of the logarithm of a value from its interval, which is symmetric in the logarithm.
pub(super) fn error_of_logarithm(interval: &Interval) -> Option<f64> {
    let error = (interval.high / interval.low).ln() / (2.0 * NORMAL);
    error.is_finite().then_some(error)
}

/// Returns whether two recordings differ by more than the variation within them.
pub(super) fn verdict(sides: &[Vec<Values>; 2]) -> Change {
    let both = sides.each_ref().map(|side| logarithm_and_square(side));
    let [Some(before), Some(after)] = both else { return Change::OneRun };
    let differs = (after.0 - before.0).abs() > NORMAL * (before.1 + after.1).sqrt();
    if differs { Change::OneRunDiffers } else { Change::OneRun }
}

/// Returns the mean logarithm of the noise of a side, and the mean square of the error within its runs.
fn logarithm_and_square(side: &[Values]) -> Option<(f64, f64)> {
    let logarithms: Vec<f64> = side.iter().map(|run| run.noise.ln()).collect();
    let squares: Option<Vec<f64>> = side.iter().map(|run| Some(run.within?.powi(2))).collect();
    Some((mean(&logarithms)?, mean(&squares?)? / side.len() as f64))
}
