//! How certain a mean over consecutive blocks of time is, where neighbouring blocks resemble each other.

use super::gamma::lowest_mean;
use super::{Interval, inflation, mean, student_t, unbiased};

/// Number of blocks from which on a correlation is estimated well enough that its own error is known.
const ESTIMATED_FROM: f64 = 20.0;
/// Standard errors that are added to a correlation, because intervals that are too narrow are the worse mistake.
const CAUTION: f64 = 0.5;
/// Number of covariances in a row that must be insignificant. The rule raises it from 10^25 blocks on.
const IN_A_ROW: usize = 5;
/// Smaller differences of blocks, relative to the largest, are errors of rounding.
const ROUNDING: f64 = 1e-9;

/// The spread of the mean of consecutive blocks, or of a figure computed from them.
///
/// Blocks may depend on each other: the standard error is the largest of three, which see different dependence. One
/// assumes independence. One adds up the covariances of blocks up to the distance from which on none is significant,
/// with a flat-top window (the rule of Politis & White 2004 for the length of blocks, with the correction of Patton,
/// Politis & White 2009). One assumes that the correlation falls by the same factor from block to block, corrects the
/// factor for its bias (Kendall 1954), and adds half of its standard error. So short dependence is seen that is not
/// significant by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Standard error of the mean.
    pub standard_error: f64,
    /// Number of independent blocks that would have the same standard error.
    pub effective: f64,
    /// Number of blocks that make up the spread: (Σ d²)² / Σ d⁴ over their deviations d. It is a third of all blocks
    /// for normal deviations, and stays near 1 where one event outweighs all others.
    pub carriers: f64,
}

/// What blocks of a figure say about its true value.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bounds {
    /// Its 95 % interval; absent where blocks are too few or too unequal for one.
    pub interval: Option<Interval>,
    /// The value that it exceeds with a probability of 97.5 %, also without an interval.
    pub at_least: Option<f64>,
}

impl Spread {
    /// Returns the spread of the mean of consecutive blocks; absent for fewer than two.
    #[must_use]
    pub fn from_blocks(blocks: &[f64]) -> Option<Self> {
        let mean = mean(blocks).filter(|_| blocks.len() > 1)?;
        let deviations: Vec<f64> = blocks.iter().map(|block| block - mean).collect();
        let count = blocks.len() as f64;
        let squares = deviations.iter().map(|deviation| deviation * deviation).sum::<f64>();
        let carriers = carriers(blocks);
        if carriers.is_infinite() {
            return Some(Self { standard_error: 0.0, effective: count, carriers });
        }
        let inflation = decaying(&deviations).max(significant(&deviations)).max(1.0);
        Some(Self {
            standard_error: (squares / (count - 1.0) / count * inflation).sqrt(),
            effective: count / inflation,
            carriers,
        })
    }

    /// Returns the spread of a figure of which `without` has the values with each block left out in turn (jackknife,
    /// Tukey 1958); absent for fewer than two blocks, or if a value is no number.
    #[must_use]
    pub fn left_out(whole: f64, without: &[f64]) -> Option<Self> {
        let count = without.len() as f64;
        let pseudo_value = |value: &f64| count * whole - (count - 1.0) * value;
        let blocks: Vec<f64> = without.iter().map(pseudo_value).collect();
        Self::from_blocks(&blocks).filter(|_| blocks.iter().all(|value| value.is_finite()))
    }

    /// Returns half of the 95 % interval, by Student's t with one degree of freedom less than there are effective blocks.
    ///
    /// Few effective blocks are no reason to give no interval: their number comes from the same estimate as the width,
    /// so that a smallest number would keep the intervals that came out too narrow and drop the others.
    #[must_use]
    pub fn reach(&self) -> f64 {
        student_t((self.effective - 1.0) as u64) * self.standard_error
    }

    /// Returns the interval of a value that may have any sign.
    #[must_use]
    pub fn around(&self, value: f64) -> Interval {
        let reach = self.reach();
        Interval { low: value - reach, high: value + reach }
    }

    /// Returns the bounds of a value that cannot be negative, with an interval if at least `carriers` blocks make up
    /// its spread: if few do, longer events than any recorded may be what matters, and no interval would cover them.
    ///
    /// The interval is symmetric in the logarithm, because sums of rare events are skewed. That is too narrow below where
    /// one to three events make up the value: the lower end is at most [`lowest_mean`]. Nothing is known of a value of 0.
    #[must_use]
    pub fn bounds(&self, value: f64, carriers: f64) -> Bounds {
        if value <= 0.0 {
            return Bounds::default();
        }
        let factor = (self.reach() / value).exp();
        let known = self.carriers >= carriers;
        let low = lowest_mean(value, self.standard_error.powi(2)).min(value / factor);
        let interval = Interval { low, high: value * factor };
        Bounds {
            interval: Some(interval).filter(|ends| known && ends.high.is_finite()),
            at_least: Some(low),
        }
    }
}

/// Returns the number of values that make up their spread, as [`Spread::carriers`] does.
pub(crate) fn carriers(values: &[f64]) -> f64 {
    let mean = mean(values).unwrap_or_default();
    let largest = values.iter().map(|value| value.abs()).fold(0.0, f64::max);
    let sum = |power: i32| values.iter().map(|value| (value - mean).powi(power)).sum::<f64>();
    let (squares, fourth) = (sum(2), sum(4));
    let equal = squares <= values.len() as f64 * (ROUNDING * largest).powi(2) || fourth <= 0.0;
    if equal { f64::INFINITY } else { squares * squares / fourth }
}

/// Returns the mean product of deviations that are `lag` blocks apart, where the missing ones count as 0.
fn covariance(deviations: &[f64], lag: usize) -> f64 {
    let products = deviations.iter().zip(&deviations[lag..]).map(|(a, b)| a * b);
    products.sum::<f64>() / deviations.len() as f64
}

/// Returns the factor by which dependence inflates the squared error, if correlations fall by the same factor from each
/// block to the next.
fn decaying(deviations: &[f64]) -> f64 {
    let count = deviations.len() as f64;
    let found = covariance(deviations, 1) / covariance(deviations, 0);
    let error = if count < ESTIMATED_FROM { 0.0 } else { ((1.0 - found * found) / count).sqrt() };
    inflation(unbiased(found, count) + CAUTION * error)
}

/// Returns the factor by which dependence inflates the squared error, from the significant covariances.
///
/// The window is flat up to the last significant distance and falls to 0 at twice that (Politis & Romano 1995).
fn significant(deviations: &[f64]) -> f64 {
    let blocks = deviations.len();
    let furthest = (blocks / 3).min(2 * furthest_searched(blocks));
    let covariances: Vec<f64> = (0..=furthest).map(|lag| covariance(deviations, lag)).collect();
    let edge = (2 * last_significant(&covariances, blocks)).min(furthest);
    let weight = |lag: usize| (2.0 * (1.0 - lag as f64 / edge as f64)).min(1.0);
    let lags = || 1..=edge;
    let sum = covariances[0] + lags().map(|k| 2.0 * weight(k) * covariances[k]).sum::<f64>();
    // The mean of the same blocks was subtracted, which lowers every covariance.
    let far = |lag: usize| 2.0 * weight(lag) * (1.0 - lag as f64 / blocks as f64);
    let lowered = (1.0 + lags().map(far).sum::<f64>()) / blocks as f64;
    let own = 1.0 - 1.0 / blocks as f64;
    sum / covariances[0] / (1.0 - lowered).max(0.2) * own
}

/// Returns the largest distance of blocks that is tested.
fn furthest_searched(blocks: usize) -> usize {
    (blocks as f64).sqrt().ceil() as usize + IN_A_ROW
}

/// Returns the distance of blocks beyond which several covariances in a row are not significant.
fn last_significant(covariances: &[f64], blocks: usize) -> usize {
    let count = blocks as f64;
    let limit = 2.0 * (count.log10() / count).sqrt() * covariances[0];
    let within = |lag: usize| covariances.get(lag).is_none_or(|value| value.abs() < limit);
    let most = furthest_searched(blocks).min(covariances.len() - 1);
    let quiet = |lag: &usize| (1..=IN_A_ROW).all(|more| within(lag + more));
    let last = || (1..=most).rev().find(|&lag| !within(lag));
    (0..most).find(quiet).or_else(last).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    /// Where all of seven are significant, it is the last; where none is, none.
    #[test]
    fn covariances_count_up_to_the_last_significant_one() {
        assert_eq!(last_significant(&[1.0; 8], 100), 7);
        assert_eq!(last_significant(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 100), 0);
    }

    /// The jackknife of a mean is the spread of its values (Tukey 1958).
    #[test]
    fn blocks_left_out_in_turn_have_the_spread_of_a_mean() {
        let values = [3.0, 9.0, 4.0, 12.0, 7.0, 1.0];
        let without = values.map(|value| (36.0 - value) / 5.0);
        let [found, expected] = [Spread::left_out(6.0, &without), Spread::from_blocks(&values)]
            .map(|spread| spread.expect("blocks"));
        assert!((found.standard_error - expected.standard_error).abs() < 1e-9, "{found:?}");
        assert!((found.effective - expected.effective).abs() < 1e-9);
        assert_eq!(Spread::left_out(6.0, &[1.0, f64::NAN]), None);
    }

    #[test]
    fn too_few_blocks_have_no_spread_and_equal_ones_none_at_all() {
        assert_eq!(Spread::from_blocks(&[]), None);
        assert_eq!(Spread::from_blocks(&[1.0]), None);
        let equal = Spread::from_blocks(&[0.25; 40]).expect("enough blocks");
        assert_eq!((equal.standard_error, equal.effective), (0.0, 40.0));
        let expected = Interval { low: 0.25, high: 0.25 };
        assert_eq!(equal.bounds(0.25, 40.0).interval, Some(expected));
        assert_eq!(equal.around(0.25), expected);
        assert_eq!(equal.bounds(0.0, 40.0), Bounds::default(), "nothing is known of nothing");
    }

    #[test]
    fn the_error_of_independent_blocks_is_that_of_their_mean() {
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let blocks: Vec<f64> = (0..400).map(|_| random.random()).collect();
        let spread = Spread::from_blocks(&blocks).expect("enough blocks");
        let expected = (1.0 / 12.0 / 400.0_f64).sqrt();
        assert!((0.95..1.2).contains(&(spread.standard_error / expected)), "{spread:?}");
        assert!((280.0..=400.0).contains(&spread.effective), "{spread:?}");
        // Uniform: a fourth moment of 9/5 of the squared variance.
        assert!((spread.carriers / 400.0 - 5.0 / 9.0).abs() < 0.05, "{spread:?}");
    }

    #[test]
    fn a_block_that_outweighs_all_carries_the_spread_alone() {
        let mut blocks = vec![1.0; 100];
        blocks[40] = 50.0;
        let spread = Spread::from_blocks(&blocks).expect("enough blocks");
        assert!(spread.carriers < 1.1, "{spread:?}");
        let bounds = spread.bounds(1.49, 10.0);
        assert_eq!(bounds.interval, None);
        assert!(bounds.at_least.is_some_and(|least| least > 0.0 && least < 1.0), "{bounds:?}");
    }

    #[test]
    fn leaving_out_blocks_of_a_mean_gives_the_spread_of_the_mean() {
        let blocks: Vec<f64> = (0..50).map(|i| f64::from(i * 37 % 50)).collect();
        let sum: f64 = blocks.iter().sum();
        let without: Vec<f64> = blocks.iter().map(|block| (sum - block) / 49.0).collect();
        let found = Spread::left_out(sum / 50.0, &without).expect("enough blocks");
        let plain = Spread::from_blocks(&blocks).expect("enough blocks");
        assert!((found.standard_error / plain.standard_error - 1.0).abs() < 1e-9);
        assert_eq!(Spread::left_out(1.0, &[1.0, f64::NAN]), None);
    }
    /// Four blocks above the mean and four below it, in turn: of the 39 products of neighbours 30 are 1 and 9 are -1.
    #[test]
    fn a_correlation_is_corrected_and_raised_by_half_of_its_error() {
        let blocks: Vec<f64> = (0..40).map(|at| if at / 4 % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let correlation = 21.0 / 40.0;
        let corrected = correlation + (1.0 + 3.0 * correlation) / 40.0;
        let raised = corrected + 0.5 * f64::sqrt((1.0 - correlation * correlation) / 40.0);
        let expected = (1.0 + raised) / (1.0 - raised);
        let found = decaying(&blocks);
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
        // As many independent blocks of this variance would have the same error.
        let spread = Spread::from_blocks(&blocks).expect("enough blocks");
        let variance = 40.0 / 39.0;
        assert!(spread.effective < 40.0 / expected + 1e-9, "{spread:?}");
        assert!((spread.standard_error.powi(2) * spread.effective - variance).abs() < 1e-9);
    }

    /// Each block shares half of its variance with the next one, and nothing with those further on: the window adds the
    /// covariance of neighbours on both sides in full and no other. What subtracting the mean takes away is put back.
    #[test]
    fn significant_covariances_are_added_up() {
        let mut random = Pcg64Mcg::seed_from_u64(11);
        let single: Vec<f64> = (0..=400).map(|_| random.random::<f64>() - 0.5).collect();
        let sums: Vec<f64> = single.windows(2).map(|pair| pair[0] + pair[1]).collect();
        let mean = sums.iter().sum::<f64>() / 400.0;
        let deviations: Vec<f64> = sums.iter().map(|sum| sum - mean).collect();
        let own: f64 = deviations.iter().map(|deviation| deviation * deviation).sum();
        let next: f64 = deviations.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let kept = 1.0 - (1.0 + 2.0 * (1.0 - 1.0 / 400.0)) / 400.0;
        let expected = (1.0 + 2.0 * next / own) / kept * (1.0 - 1.0 / 400.0);
        let found = significant(&deviations);
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
        assert!((found - 2.0).abs() < 0.2, "{found}");
    }

    #[test]
    fn carriers_are_those_of_their_formula_and_rounding_is_no_spread() {
        let cases: [(&str, &[f64], f64); 6] = [
            ("squares of 2, fourth powers of 2", &[1.0, 2.0, 3.0], 2.0),
            ("squares of 6, fourth powers of 18", &[0.0, 0.0, 3.0], 2.0),
            ("two of four", &[-1.0, 1.0, 0.0, 0.0], 2.0),
            ("equal", &[5.0, 5.0, 5.0], f64::INFINITY),
            ("equal but for rounding", &[-1e6, -1e6, -1e6 + 1e-3], f64::INFINITY),
            ("more than rounding", &[-1e6, -1e6, -1e6 + 1e-2], 2.0),
        ];
        for (name, blocks, expected) in cases {
            let found = carriers(blocks);
            let agrees = found == expected || (found / expected - 1.0).abs() < 1e-3;
            assert!(agrees, "case: {name}: {found}");
        }
    }

    /// The factor of the window of Politis and Romano, written with loops.
    fn flat_top(deviations: &[f64]) -> f64 {
        let n = deviations.len();
        let count = n as f64;
        let product =
            |lag: usize| (lag..n).map(|at| deviations[at] * deviations[at - lag]).sum::<f64>();
        let correlations: Vec<f64> = (0..n).map(|lag| product(lag) / product(0)).collect();
        let limit = 2.0 * (count.log10() / count).sqrt();
        let searched = count.sqrt().ceil() as usize + 5;
        let known = (n / 3).min(2 * searched);
        let is_significant = |lag: usize| lag <= known && correlations[lag].abs() >= limit;
        let most = searched.min(known);
        let mut last = (1..=most).rev().find(|&lag| is_significant(lag)).unwrap_or(1);
        for lag in (0..most).rev() {
            if !(lag + 1..=lag + 5).any(is_significant) {
                last = lag;
            }
        }
        let edge = (2 * last).min(known);
        let (mut sum, mut lowered) = (1.0, 1.0);
        for (lag, correlation) in correlations.iter().enumerate().take(edge + 1).skip(1) {
            let weight = if 2 * lag <= edge { 1.0 } else { 2.0 - 2.0 * lag as f64 / edge as f64 };
            sum += 2.0 * weight * correlation;
            lowered += 2.0 * weight * (1.0 - lag as f64 / count);
        }
        sum / (1.0 - lowered / count).max(0.2) * (1.0 - 1.0 / count)
    }

    /// Blocks of every number and dependence: the error is the largest of three, the number of effective blocks follows.
    #[test]
    fn the_error_is_the_largest_of_three() {
        let mut random = Pcg64Mcg::seed_from_u64(13);
        let mut largest = [0, 0, 0];
        for trial in 0..600 {
            let kept = [0.0, 0.5, 0.9, -0.6][trial % 4];
            let mut state = 0.0;
            let mut next = || {
                state = kept * state + random.random::<f64>() - 0.5;
                state
            };
            // Every third: alike in pairs that come back after three blocks.
            let blocks: Vec<f64> = (0..2 + trial % 70).map(|_| next()).collect();
            let blocks =
                if trial % 3 == 0 { (0..3).flat_map(|_| blocks.clone()).collect() } else { blocks };
            let count = blocks.len() as f64;
            let mean = blocks.iter().sum::<f64>() / count;
            let deviations: Vec<f64> = blocks.iter().map(|block| block - mean).collect();
            let squares: f64 = deviations.iter().map(|deviation| deviation * deviation).sum();
            let next: f64 = deviations.windows(2).map(|pair| pair[0] * pair[1]).sum();
            let correlation = next / squares;
            let caution =
                if count < 20.0 { 0.0 } else { 0.5 * ((1.0 - correlation.powi(2)) / count).sqrt() };
            let raised = correlation + (1.0 + 3.0 * correlation) / count + caution;
            let raised = raised.clamp(0.0, 0.97);
            let factors = [1.0, (1.0 + raised) / (1.0 - raised), flat_top(&deviations)];
            let factor = factors.into_iter().fold(0.0, f64::max);
            let which = factors.iter().position(|one| *one == factor).expect("one of them");
            largest[which] += 1;
            let found = Spread::from_blocks(&blocks).expect("two blocks or more");
            let error = (factor * squares / (count - 1.0) / count).sqrt();
            assert!(
                (found.standard_error / error - 1.0).abs() < 1e-9,
                "{trial}: {found:?}, not {error}"
            );
            assert!((found.effective / (count / factor) - 1.0).abs() < 1e-9, "{trial}: {found:?}");
        }
        assert!(largest.iter().all(|times| *times > 5), "{largest:?}");
    }

    #[test]
    fn bounds_in_closed_form() {
        let spread = Spread { standard_error: 0.1, effective: 11.9, carriers: 5.0 };
        // Ten degrees of freedom: 2.2281.
        let reach = 0.1 * 2.228_138_85;
        assert!((spread.reach() - reach).abs() < 1e-8, "{spread:?}");
        let around = spread.around(1.0);
        assert!(
            (around.low - (1.0 - reach)).abs() < 1e-8 && (around.high - (1.0 + reach)).abs() < 1e-8
        );
        let bounds = spread.bounds(2.0, 5.0);
        let interval = bounds.interval.expect("as many carriers as are needed");
        assert!((interval.high - 2.0 * (reach / 2.0).exp()).abs() < 1e-7, "{bounds:?}");
        assert!((interval.low - 2.0 / (reach / 2.0).exp()).abs() < 1e-7, "{bounds:?}");
        assert_eq!(bounds.at_least, Some(interval.low));
        assert_eq!(spread.bounds(2.0, 5.1), Bounds { interval: None, at_least: bounds.at_least });
        // One event makes up the value: an exponential sum, whose bound is lower.
        let one = Spread { standard_error: 2.0, ..spread };
        let low = one.bounds(2.0, 5.0).at_least.expect("a value");
        assert!((low - -2.0 * 0.975_f64.ln()).abs() < 1e-8, "{low}");
        let wide = Spread { standard_error: 1e6, ..spread };
        assert_eq!(wide.bounds(1.0, 5.0).interval, None, "no upper end");
        assert_eq!(spread.bounds(-1.0, 0.0), Bounds::default());
    }
}
