//! What it does to the errors of a fit that successive times are not independent, as iterations of one program are not.
//!
//! Squared sums of blocks of 1, 2, 4, … successive values estimate the variance of the sum of all (batch means, Conway 1963), for
//! values that depend on those before and for values of unequal variance. Of the lengths of blocks the one counts that gives the
//! largest variance, so that errors are rather too large.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

/// Smallest number of blocks.
const FEWEST_BLOCKS: usize = 8;
/// Largest distance of two values whose correlation counts.
const MOST_LAGS: usize = 256;
/// Number of positions to which lost time is moved, at least and at most, and of products that these take at most.
const POSITIONS: [usize; 2] = [200, 1_000];
const PRODUCTS: usize = 200_000_000;

/// By how much the errors of a fit are larger than those of independent values of equal variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Errors {
    /// Factor of the standard error of the slope.
    pub(super) slope: f64,
    /// Factor of that of the mean.
    pub(super) mean: f64,
    /// Degrees of freedom of the deviations.
    pub(super) degrees: f64,
}

impl Errors {
    /// Returns those of independent values.
    pub(super) fn independent(degrees: f64) -> Self {
        Self { slope: 1.0, mean: 1.0, degrees }
    }

    /// Returns those of successive values with these deviations from the line, and these deviations of the lost times from their
    /// mean. Independent values would have `degrees` degrees of freedom.
    pub(super) fn in_order(left: &[f64], lost: &[f64], degrees: f64) -> Self {
        let count = left.len() as f64;
        let squares = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
        let (all, all_lost) = (squares(left), squares(lost));
        if all <= 0.0 || degrees < 1.0 {
            return Self::independent(degrees);
        }
        let variance = all / degrees;
        let slope = largest_of_sum(left.iter().zip(lost).map(|(left, lost)| left * lost));
        let mean = largest_of_sum(left.iter().copied());
        let spread = largest_of_sum(left.iter().map(|left| left * left - all / count));
        // A variance with d degrees of freedom has the relative variance 2 / d.
        let known = if spread > 0.0 { 2.0 * all * all / spread } else { degrees };
        let factor = |found: f64, expected: f64| (found / expected).max(1.0).sqrt();
        let by_blocks = if all_lost > 0.0 { factor(slope, variance * all_lost) } else { 1.0 };
        Self {
            slope: by_blocks.max(factor(by_correlation(left, lost), 1.0)),
            mean: factor(mean, variance * count),
            degrees: known.clamp(1.0, degrees),
        }
    }
}

/// Returns the factor by which the correlations of both, each with itself, increase the variance of the sum of their products
/// (Bartlett 1935). Where few bursts make up the lost time, blocks alone would not show it.
fn by_correlation(left: &[f64], lost: &[f64]) -> f64 {
    let products = |values: &[f64], lag: usize| -> f64 {
        values.iter().zip(&values[lag..]).map(|(a, b)| a * b).sum()
    };
    let whole = products(left, 0) * products(lost, 0);
    if whole <= 0.0 {
        return 1.0;
    }
    let lags = 1..(left.len() / 4).min(MOST_LAGS);
    let both: f64 = lags.map(|lag| products(left, lag) * products(lost, lag) / whole).sum();
    1.0 + 2.0 * both
}

/// Returns the largest variance of the sum of these values that blocks of any length estimate. Their mean is near 0.
fn largest_of_sum(values: impl Iterator<Item = f64>) -> f64 {
    let mut sums: Vec<f64> = values.collect();
    let mut largest: f64 = 0.0;
    loop {
        largest = largest.max(sums.iter().map(|sum| sum * sum).sum());
        if sums.len() < 2 * FEWEST_BLOCKS {
            return largest;
        }
        sums = sums.chunks(2).map(|pair| pair.iter().sum()).collect();
    }
}

/// Returns whether lost times agree as well with the times in more than 2.5 % of all positions to which they are moved in a
/// circle: that keeps the dependence of successive values of both, which a random order does not.
pub(super) fn may_be_chance(times: &[f64], lost: &[f64]) -> bool {
    let count = times.len();
    let hits: Vec<(usize, f64)> =
        lost.iter().copied().enumerate().filter(|&(_, lost)| lost != 0.0).collect();
    let mean = crate::stats::mean(times).unwrap_or_default();
    let times: &[f64] = &times.iter().map(|time| time - mean).collect::<Vec<f64>>();
    let found = agreement(times, &hits, 0);
    let enough = found - 1e-12 * found.abs();
    let [least, most] = POSITIONS;
    let positions = (PRODUCTS / hits.len().max(1)).clamp(least, most);
    if count <= positions {
        return (0..count).filter(|&shift| agreement(times, &hits, shift) >= enough).count() * 40
            > count;
    }
    let mut random = Pcg64Mcg::seed_from_u64(36);
    let as_well =
        (1..positions).filter(|_| agreement(times, &hits, random.random_range(1..count)) >= enough);
    (1 + as_well.count()) * 40 > positions
}

/// Returns the sum of the products of the times with these lost times, by their number, moved in a circle by `shift`.
fn agreement(times: &[f64], hits: &[(usize, f64)], shift: usize) -> f64 {
    let count = times.len();
    let moved = hits.iter().map(|&(at, lost)| (at + shift, lost));
    moved.map(|(to, lost)| lost * times[if to < count { to } else { to - count }]).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_grow_with_dependence() {
        let alternating: Vec<f64> = (0..512).map(|at| [1.0, -1.0][at % 2]).collect();
        let slow: Vec<f64> = (0..512).map(|at| [1.0, -1.0][at / 16 % 2]).collect();
        let errors = Errors::in_order(&alternating, &alternating, 510.0);
        assert!(errors.mean == 1.0, "{errors:?}");
        let errors = Errors::in_order(&slow, &slow, 510.0);
        assert!((errors.mean - 4.0).abs() < 0.1, "blocks of 16 equal values: {errors:?}");
        assert_eq!(Errors::in_order(&[0.0; 9], &[1.0; 9], 7.0), Errors::independent(7.0));
    }

    #[test]
    fn a_lone_agreement_is_no_chance() {
        let mut times = vec![1.0; 200];
        let mut lost = vec![0.0; 200];
        for at in [20, 77, 131] {
            (times[at], lost[at]) = (3.0, 2.0);
        }
        assert!(!may_be_chance(&times, &lost));
        assert!(may_be_chance(&times, &[1.0; 200]), "what is the same everywhere agrees anywhere");
        lost.rotate_left(1);
        assert!(may_be_chance(&times, &lost));
    }
}
