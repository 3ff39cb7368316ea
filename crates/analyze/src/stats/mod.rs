//! Statistics shared by all results: intervals, Student's t, spread of blocks, quantiles.

mod batches;
mod blocks;
mod change_points;
mod correlation;
mod gamma;
mod poisson;
mod spread;
mod student;

pub(crate) use batches::Batches;
pub use blocks::Estimate;
pub(crate) use blocks::Paired;
pub(crate) use change_points::change_points;
pub(crate) use correlation::{inflation, successive, unbiased};
pub(crate) use gamma::{UNSEEN, deviation_bounds, highest_mean, lowest_mean};
pub(crate) use poisson::{
    dispersion, fewest_events, fewest_in_sum, most_events, most_in_sum, share_of_events,
};
pub(crate) use spread::carriers;
pub use spread::{Bounds, Spread};
pub use student::{NORMAL, student_t};
pub(crate) use student::{
    detectable, normal_above, probability_above, probability_of_more, student_quantile,
    student_t_together, welch_degrees,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Returns whether it excludes 0.
    pub(crate) fn excludes_zero(self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// Returns the mean of values; absent for none.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the sample standard deviation; absent for fewer than two values.
pub(crate) fn deviation(values: &[f64]) -> Option<f64> {
    variance(values).map(f64::sqrt)
}

/// Returns the standard deviation relative to the mean of values whose logarithms have this standard deviation, if these
/// are normally distributed: sqrt(exp(s²) - 1). Where it is small the two are equal; 0.5 is 53 %.
pub(crate) fn relative(log_deviation: f64) -> f64 {
    (log_deviation * log_deviation).exp_m1().sqrt()
}

/// Returns the standard error of the mean; absent for fewer than two values.
#[must_use]
pub fn standard_error(values: &[f64]) -> Option<f64> {
    variance(values).map(|variance| (variance / values.len() as f64).sqrt())
}

fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(squares / (values.len() - 1) as f64)
}

/// Returns the quantile of sorted values with linear interpolation (Hyndman and Fan's type 7); absent for none.
#[must_use]
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = share * last as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    Some(low + (high - low) * at.fract())
}

/// Returns the median; 0 for no values. Sorts the values.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

/// Returns the 95 % interval of a share with `found` successes of `total` (Wilson 1927), which assumes independence; the
/// whole range if nothing is known.
pub(crate) fn wilson(found: u64, total: u64) -> Interval {
    if total == 0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let (n, z) = (total as f64, NORMAL);
    let share = found as f64 / n;
    let middle = share + z * z / (2.0 * n);
    let reach = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let whole = 1.0 + z * z / n;
    Interval { low: ((middle - reach) / whole).max(0.0), high: ((middle + reach) / whole).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_between_values() {
        let values = [1.0, 2.0, 4.0, 8.0];
        let cases = [(0.0, 1.0), (0.25, 1.75), (0.5, 3.0), (1.0, 8.0)];
        for (share, expected) in cases {
            assert_eq!(quantile(&values, share), Some(expected), "{share}");
        }
        assert_eq!((quantile(&[], 0.5), mean(&[]), mean(&values)), (None, None, Some(3.75)));
        assert_eq!((median(&mut [5.0, 1.0, 2.0]), median(&mut [])), (2.0, 0.0));
        assert_eq!((deviation(&[1.0, 2.0, 3.0]), deviation(&[1.0])), (Some(1.0), None));
    }

    #[test]
    fn errors_and_middles_in_closed_form() {
        let close = |found: f64, expected: f64| (found - expected).abs() < 1e-12;
        // Squared deviations from 5 add up to 16 + 1 + 1 + 16 + 36.
        let values = [1.0, 4.0, 4.0, 5.0, 11.0];
        assert_eq!(deviation(&values), Some((54.0_f64 / 4.0).sqrt()));
        assert_eq!(standard_error(&values), Some((54.0_f64 / 4.0 / 5.0).sqrt()));
        assert_eq!((standard_error(&[3.0]), standard_error(&[])), (None, None));
        assert_eq!((median(&mut [8.0, 1.0, 3.0, 2.0]), median(&mut [6.0])), (2.5, 6.0));
        assert!(close(relative(0.5), (0.25_f64.exp() - 1.0).sqrt()) && close(relative(0.0), 0.0));
    }

    #[test]
    fn an_interval_that_touches_zero_includes_it() {
        let cases = [
            (-1.0, 1.0, false),
            (0.0, 1.0, false),
            (-1.0, 0.0, false),
            (0.1, 1.0, true),
            (-1.0, -0.1, true),
        ];
        for (low, high, expected) in cases {
            assert_eq!(Interval { low, high }.excludes_zero(), expected, "{low} to {high}");
        }
    }

    /// The ends are the shares p for which |p - found / total| is z standard errors sqrt(p (1 - p) / total).
    #[test]
    fn wilsons_ends_solve_his_equation() {
        for (found, total) in [(1, 2), (3, 10), (9, 10), (50, 1_000)] {
            let interval = wilson(found, total);
            let (seen, n) = (found as f64 / total as f64, total as f64);
            for end in [interval.low, interval.high] {
                let errors = (end - seen).abs() / (end * (1.0 - end) / n).sqrt();
                assert!((errors - NORMAL).abs() < 1e-9, "{found} of {total}: {interval:?}");
            }
            assert!(
                interval.low < seen && seen < interval.high,
                "{found} of {total}: {interval:?}"
            );
        }
        let square = NORMAL * NORMAL;
        let (none, all) = (wilson(0, 7), wilson(7, 7));
        assert!(none.low == 0.0 && (none.high - square / (7.0 + square)).abs() < 1e-12, "{none:?}");
        assert!(all.high == 1.0 && (all.low - 7.0 / (7.0 + square)).abs() < 1e-12, "{all:?}");
        assert_eq!(wilson(0, 0), Interval { low: 0.0, high: 1.0 });
    }
}
