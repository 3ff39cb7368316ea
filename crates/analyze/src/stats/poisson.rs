//! Bounds of the rate of events, and of what they take together, where they may be few.
//!
//! Bounds of numbers hold with a probability of 95 % on their side, those of sums with 97.5 %. Without any event the upper bound of a number is 3 / time, the "rule of three".

use super::Interval;
use super::gamma::{gamma_quantile, highest_mean, lowest_mean};
use super::spread::Spread;

/// Probability with which each bound of a number holds.
const CONFIDENCE: f64 = 0.95;

/// Returns the largest mean number of events that agrees with `count` of them (Garwood 1936).
///
/// `dispersion` is the variance of the number of events divided by that of independent events, at least 1.
pub(crate) fn most_events(count: f64, dispersion: f64) -> f64 {
    gamma_quantile(CONFIDENCE, count / dispersion + 1.0) * dispersion
}

/// Returns the smallest mean number of events that agrees with `count` of them; see [`most_events`].
pub(crate) fn fewest_events(count: f64, dispersion: f64) -> f64 {
    if count <= 0.0 {
        return 0.0;
    }
    gamma_quantile(1.0 - CONFIDENCE, count / dispersion) * dispersion
}

/// Returns the bounds of the share of `all` that are events, from how many were in each of equal parts of the time.
pub(crate) fn share_of_events(events: &[f64], all: u64) -> Interval {
    let (number, dispersion) = (events.iter().sum(), dispersion(events));
    let share = |events: f64| (events / all as f64).min(1.0);
    Interval {
        low: share(fewest_events(number, dispersion)),
        high: share(most_events(number, dispersion)),
    }
}

/// Returns the variance of a number of events divided by that of independent ones, at least 1, from the counts in equal
/// consecutive blocks of time.
pub(crate) fn dispersion(counts: &[f64]) -> f64 {
    let all: f64 = counts.iter().sum();
    let Some(spread) = Spread::from_blocks(counts) else { return 1.0 };
    let error_of_all = spread.standard_error * counts.len() as f64;
    (error_of_all * error_of_all / all).max(1.0) // of no event, 0 / 0, it is 1 too
}

/// Returns the largest mean of a sum that agrees with these summands, each of which is one of a random number of
/// independent events. Each is a value and how often it came; see [`highest_mean`].
pub(crate) fn most_in_sum(summands: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut sum, mut squares, mut largest) = (0.0, 0.0, 0.0_f64);
    for (value, number) in summands.filter(|(_, number)| *number > 0.0) {
        sum += value * number;
        squares += value * value * number;
        largest = largest.max(value);
    }
    highest_mean(sum, squares, largest)
}

/// Returns the smallest mean of a sum that agrees with these summands; see [`most_in_sum`] and [`lowest_mean`].
pub(crate) fn fewest_in_sum(summands: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut sum, mut squares) = (0.0, 0.0);
    for (value, number) in summands {
        sum += value * number;
        squares += value * value * number;
    }
    lowest_mean(sum, squares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    #[test]
    fn as_in_the_tables() {
        // Garwood 1936, and the exact chi-squared quantiles.
        let cases = [
            (0.0, 0.0, 2.995_732),
            (1.0, 0.051_293, 4.743_865),
            (3.0, 0.817_691, 7.753_657),
            (10.0, 5.425_406, 16.962_219),
            (100.0, 84.139_37, 118.078_5),
        ];
        for (count, low, high) in cases {
            let found = (fewest_events(count, 1.0), most_events(count, 1.0));
            assert!((found.0 - low).abs() < 1e-4 && (found.1 - high).abs() < 1e-3, "{found:?}");
        }
        let (below, above) = (most_events(9_998.0, 1.0), most_events(10_000.0, 1.0));
        assert!(
            ((above - below) / 2.0 - 1.008).abs() < 0.01,
            "no step between {below} and {above}"
        );
        assert_eq!(most_events(10.0, 5.0), 5.0 * most_events(2.0, 1.0), "five make up one");
    }

    #[test]
    fn the_bound_of_a_sum_is_above_that_of_as_many_equal_events() {
        for (count, most) in [(1, 2.6), (4, 2.1), (30, 1.35), (1_000, 1.03)] {
            let found = most_in_sum([(20.0, f64::from(count))].into_iter());
            let over = found / (20.0 * most_events(f64::from(count), 1.0));
            assert!((1.0..most).contains(&over), "{count}: {over}");
        }
        assert_eq!(most_in_sum([(0.0, 4.0)].into_iter()), 0.0);
        let (some, never) = ((5.0, 3.0), (100.0, 0.0));
        let with_never = most_in_sum([some, never].into_iter());
        assert_eq!(with_never, most_in_sum([some].into_iter()), "what never came adds nothing");
    }

    #[test]
    fn bursts_are_fewer_events_than_they_count() {
        let mut random = Pcg64Mcg::seed_from_u64(5);
        let mut alone = [0.0; 50];
        (0..400).for_each(|_| alone[random.random_range(0..50)] += 1.0);
        let bursts = alone.map(|count| 10.0 * count);
        let (alone, bursts) = (dispersion(&alone), dispersion(&bursts));
        assert!((1.0..1.6).contains(&alone), "{alone}");
        assert!((8.0..16.0).contains(&bursts), "{bursts}");
        assert_eq!((dispersion(&[5.0; 50]), dispersion(&[0.0; 50])), (1.0, 1.0));
    }

    /// Number of made-up runs.
    const RUNS: u32 = 2_000;

    /// Returns the part of made-up runs of 10 s, in 1,000 parts, in which the bound is below the true mean.
    fn missed(rate_hz: f64, mean: f64, draw: impl Fn(&mut Pcg64Mcg) -> f64) -> f64 {
        let mut random = Pcg64Mcg::seed_from_u64(7);
        let missed = |_: &u32| {
            let mut parts = vec![0.0; 1_000];
            let mut at = 0.0;
            loop {
                at -= (1.0 - random.random::<f64>()).ln() / rate_hz;
                if at >= 10.0 {
                    break;
                }
                parts[(at * 100.0) as usize] += draw(&mut random);
            }
            let parts = parts.into_iter().map(|part| (part, 1.0));
            most_in_sum(parts) < 10.0 * rate_hz * mean
        };
        (0..RUNS).filter(missed).count() as f64 / f64::from(RUNS)
    }

    #[test]
    fn the_bound_of_a_sum_holds_as_often_as_it_claims() {
        let exponential = |random: &mut Pcg64Mcg| -(1.0 - random.random::<f64>()).ln();
        let pareto = |index: f64| {
            move |random: &mut Pcg64Mcg| (1.0 - random.random::<f64>()).powf(-1.0 / index)
        };
        let claimed = 0.025_f64;
        let limit = claimed + 3.0 * (claimed / f64::from(RUNS)).sqrt();
        for rate_hz in [0.5, 1.0, 5.0, 50.0] {
            let heavy = |index: f64| missed(rate_hz, index / (index - 1.0), pareto(index));
            assert!(missed(rate_hz, 1.0, |_| 1.0) < limit, "{rate_hz}");
            assert!(missed(rate_hz, 1.0, exponential) < limit, "{rate_hz}");
            assert!(heavy(2.5) < limit && heavy(1.5) < limit, "{rate_hz}");
            // The longest event mostly did not occur yet; see docs/methodology.md.
            assert!((0.1..0.16).contains(&heavy(1.2)), "{rate_hz}");
        }
    }
}
