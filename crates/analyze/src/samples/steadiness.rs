//! Whether the accumulated mean of a series became steady.

use schemars::JsonSchema;
use serde::Serialize;

/// Default accuracy of FAME, 1 %.
pub(crate) const USUAL_MAIV: f64 = 0.01;
/// Smallest number of samples for a statement on their mean (FAME's minimum number of repetitions).
pub(crate) const FEWEST_SAMPLES: u64 = 5;

/// How far the mean over the first m samples still moved (FAME, Vera et al. 2007).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Steadiness {
    /// Maximum of |A(m) − A(n)| / A(n) over the last half of the n samples, where A(m) is the mean of the first m.
    pub variation: f64,
    /// Allowed maximum: the requested accuracy (MAIV), by default 0.01.
    pub maiv: f64,
    /// Whether it is within the allowed maximum; absent for fewer than five samples.
    pub steady: Option<bool>,
    /// Number of samples from which on A stays within `maiv` of A(n). Exact up to 256, then too high by less than 1 %.
    pub steady_after: u64,
}

/// Largest length of a stretch relative to the samples before it.
const STRETCH_PART: u64 = 128;

/// Range of the accumulated mean in a stretch of samples.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    /// Number of the sample at its first mean, from 1.
    first: u64,
    lowest: f64,
    highest: f64,
}

/// Follows the accumulated mean, with memory that grows with the logarithm of the number of samples.
#[derive(Debug)]
pub(crate) struct SteadinessBuilder {
    /// Where a stretch must begin: in the middle of the expected samples.
    middle: u64,
    samples: u64,
    sum: f64,
    /// Number of samples at which the open stretch ends.
    end: u64,
    stretches: Vec<Stretch>,
}

impl SteadinessBuilder {
    /// Returns an empty state. If the number of samples differs from `expected`, the last half begins up to 1 % early.
    pub(crate) fn new(expected: u64) -> Self {
        Self { middle: expected.div_ceil(2), samples: 0, sum: 0.0, end: 1, stretches: vec![] }
    }

    /// Adds raw values.
    pub(crate) fn add(&mut self, values: &[u64]) {
        for &value in values {
            self.samples += 1;
            self.sum += value as f64;
            let mean = self.sum / self.samples as f64;
            if self.samples >= self.end {
                self.open(mean);
            }
            if let Some(stretch) = self.stretches.last_mut() {
                stretch.lowest = stretch.lowest.min(mean);
                stretch.highest = stretch.highest.max(mean);
            }
        }
    }

    fn open(&mut self, mean: f64) {
        let first = self.samples;
        self.end = first + (first / STRETCH_PART).max(1);
        if first < self.middle {
            self.end = self.end.min(self.middle);
        }
        self.stretches.push(Stretch { first, lowest: mean, highest: mean });
    }

    /// Returns the result for the accuracy `maiv`; absent without samples, or if their mean is 0.
    pub(crate) fn finish(&self, maiv: f64) -> Option<Steadiness> {
        let mean = self.sum / self.samples as f64;
        if self.samples == 0 || mean <= 0.0 {
            return None;
        }
        let moved = |stretch: &Stretch| (stretch.highest - mean).max(mean - stretch.lowest) / mean;
        let half = self.samples.div_ceil(2);
        let last_half = self.stretches.partition_point(|stretch| stretch.first <= half);
        let last_half = &self.stretches[last_half.saturating_sub(1)..];
        let variation = last_half.iter().map(moved).fold(0.0, f64::max);
        let steady = self.stretches.iter().rev().take_while(|stretch| moved(stretch) <= maiv);
        Some(Steadiness {
            variation,
            maiv,
            steady: (self.samples >= FEWEST_SAMPLES).then_some(variation <= maiv),
            // The last mean of all differs by nothing: only rounding or a maiv below 0 leave no stretch.
            steady_after: steady.last().map_or(self.samples, |stretch| stretch.first),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steadiness(values: &[u64], expected: u64) -> Option<Steadiness> {
        let mut steadiness = SteadinessBuilder::new(expected);
        values.chunks(100).for_each(|values| steadiness.add(values));
        steadiness.finish(0.01)
    }

    /// As it is defined: all accumulated means kept.
    fn plainly(values: &[u64]) -> (f64, usize) {
        let mut sum = 0.0;
        let means: Vec<f64> = (1..)
            .zip(values)
            .map(|(m, &value)| {
                sum += value as f64;
                sum / f64::from(m)
            })
            .collect();
        let last = means[means.len() - 1];
        let moved = |mean: &f64| (mean - last).abs() / last;
        let half = means.len().div_ceil(2);
        let variation = means[half - 1..].iter().map(moved).fold(0.0, f64::max);
        let within = means.iter().rev().take_while(|mean| moved(mean) <= 0.01).count();
        (variation, means.len() - within + 1)
    }

    #[test]
    fn as_defined() {
        let falling: Vec<u64> = (0..100_000).map(|i| 1_000 + 1_000_000 / (i + 1)).collect();
        let stepped: Vec<u64> = (0..50_001).map(|i| 100 + u64::from(i > 30_000) * 3).collect();
        let cases: [(&str, Vec<u64>); 8] = [
            ("one", vec![5]),
            ("all equal", vec![7; 5_000]),
            ("two", vec![10, 20]),
            ("a slow first one", [vec![10_000], vec![100; 60]].concat()),
            ("a slow last one", [vec![100; 60], vec![10_000]].concat()),
            ("falling towards a limit", falling),
            ("a step in the second half", stepped),
            ("as large as can be", vec![u64::MAX, 0, u64::MAX]),
        ];
        for (name, values) in cases {
            let n = values.len() as u64;
            let got = steadiness(&values, n).expect("its mean is not 0");
            let (variation, after) = plainly(&values);
            assert!((got.variation - variation).abs() < 1e-12, "case: {name}: {got:?} {variation}");
            let expected = (n >= FEWEST_SAMPLES).then_some(variation <= 0.01);
            assert_eq!(got.steady, expected, "case: {name}");
            let after = after as f64;
            let late = got.steady_after as f64 - after;
            assert!((0.0..=after / 100.0).contains(&late), "case: {name}: {got:?} {after}");
        }
    }

    #[test]
    fn another_number_than_expected_makes_the_last_half_a_little_longer() {
        let values: Vec<u64> = (0..10_000).map(|i| 1_000 + 1_000_000 / (i + 1)).collect();
        let exact = steadiness(&values, 10_000).expect("not empty").variation;
        for expected in [0, 17, 9_000, u64::MAX] {
            let got = steadiness(&values, expected).expect("not empty").variation;
            assert!((exact..exact * 1.05).contains(&got), "{expected}: {got}, not {exact}");
        }
    }

    #[test]
    fn nothing_of_nothing() {
        assert_eq!(steadiness(&[], 0), None);
        assert_eq!(steadiness(&[0, 0], 2), None);
    }
}
