//! Bounds of the mean of a sum of random events, as quantiles of a gamma distribution.

use super::normal_above;
use statrs::distribution::{ContinuousCDF, Gamma};

/// Probability with which each bound of a sum holds, as each end of an interval does.
const CONFIDENCE_OF_SUM: f64 = 0.975;
/// Size of an event that did not occur, relative to the largest that did.
pub(crate) const UNSEEN: f64 = 3.0;
/// Shape of the gamma distribution from which on the approximation of Wilson and Hilferty is exact to six digits.
const LARGE_SHAPE: f64 = 10_000.0;

/// Returns the largest true mean of a sum of random events that agrees with its value, its variance and the largest event
/// in it: a gamma distribution with one more event (Fay & Feuer 1997). An event that did not occur is taken to be at most
/// [`UNSEEN`] times as large as the largest; they take it to be as large, which misses more often than stated where
/// events differ in size. Without any event nothing is bounded, and it is 0.
pub(crate) fn highest_mean(value: f64, variance: f64, largest: f64) -> f64 {
    let unseen = UNSEEN * largest;
    let (value, variance) = (value + unseen, variance + unseen * unseen);
    gamma_of(value, variance, CONFIDENCE_OF_SUM)
}

/// Returns the smallest true mean of a sum of random events that agrees with its value and its variance: the quantile of a
/// gamma distribution (Fay & Feuer 1997), which holds for any number of events, one included.
pub(crate) fn lowest_mean(value: f64, variance: f64) -> f64 {
    gamma_of(value, variance, 1.0 - CONFIDENCE_OF_SUM)
}

/// Returns the quantile of the gamma distribution with this mean and this variance; the mean where it does not vary.
fn gamma_of(mean: f64, variance: f64, probability: f64) -> f64 {
    if mean <= 0.0 || variance <= 0.0 {
        return mean;
    }
    let scale = variance / mean;
    gamma_quantile(probability, mean / scale) * scale
}

/// Returns the quantile of a gamma distribution of scale 1.
pub(super) fn gamma_quantile(probability: f64, shape: f64) -> f64 {
    let exact = (shape < LARGE_SHAPE).then(|| Gamma::new(shape, 1.0).ok()).flatten();
    exact.map_or_else(
        || {
            let z = normal_above(1.0 - probability);
            let ninth = 1.0 / (9.0 * shape);
            shape * (1.0 - ninth + z * ninth.sqrt()).powi(3)
        },
        |gamma| gamma.inverse_cdf(probability),
    )
}

/// Returns bounds of a true standard deviation from that of `number` independent normal values, at least two: the truth exceeds
/// each with the probability `above` (χ² with one degree of freedom less).
pub(crate) fn deviation_bounds(deviation: f64, number: usize, above: [f64; 2]) -> [f64; 2] {
    let degrees = (number.max(2) - 1) as f64;
    above.map(|above| deviation * (degrees / (2.0 * gamma_quantile(above, degrees / 2.0))).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a mean of its standard deviation the distribution is exponential.
    #[test]
    fn bounds_of_an_exponential_sum_in_closed_form() {
        let quantile = |mean: f64, below: f64| -mean * (1.0 - below).ln();
        let low = lowest_mean(2.0, 4.0);
        assert!((low - quantile(2.0, 0.025)).abs() < 1e-8, "{low}");
        // The unseen event is 6: 2 + 6 in the mean, and 28 + 36 in the variance.
        let high = highest_mean(2.0, 28.0, 2.0);
        assert!((high - quantile(8.0, 0.975)).abs() < 1e-6, "{high}");
        let constant = [lowest_mean(3.0, 0.0), lowest_mean(0.0, 1.0), highest_mean(3.0, 0.0, 0.0)];
        assert_eq!((constant, highest_mean(0.0, 0.0, 0.0)), ([3.0, 0.0, 3.0], 0.0));
    }

    /// The other library computes the probability, not the quantile.
    #[test]
    fn the_approximation_for_many_events_is_exact_to_six_digits() {
        for shape in [9_999.0, 10_000.0, 20_000.0, 1e6] {
            for probability in [0.025, 0.05, 0.5, 0.95, 0.975] {
                let found = gamma_quantile(probability, shape);
                let gamma = Gamma::new(shape, 1.0).expect("a shape");
                let step = 1e-6 * shape;
                let around = gamma.cdf(found - step)..gamma.cdf(found + step);
                assert!(around.contains(&probability), "{probability} of {shape}: {found}");
            }
        }
    }
}
