//! Means over the blocks of a run: of a quantity alone, or of two that were measured in the same blocks.

use super::{Interval, mean, standard_error, student_t};
use schemars::JsonSchema;
use serde::Serialize;

/// A mean over blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// The mean.
    pub value: f64,
    /// Its 95 % interval, by Student's t over the blocks; absent for fewer than two.
    pub interval: Option<Interval>,
}

impl Estimate {
    /// Returns the mean of some blocks; absent for none.
    #[must_use]
    pub fn from_blocks(blocks: &[f64]) -> Option<Self> {
        let value = mean(blocks)?;
        let interval = standard_error(blocks).map(|error| {
            let reach = student_t(blocks.len() as u64 - 1) * error;
            Interval { low: value - reach, high: value + reach }
        });
        Some(Self { value, interval })
    }

    /// Returns whether its interval excludes 0.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.interval.is_some_and(Interval::excludes_zero)
    }
}

/// A quantity in each block of a run, in order; absent in blocks that do not count.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Paired(Vec<Option<f64>>);

impl Paired {
    pub(crate) fn push(&mut self, value: Option<f64>) {
        self.0.push(value);
    }

    /// Returns the number of all blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.0.len()
    }

    /// Returns the values of the blocks that count.
    pub(crate) fn counted(&self) -> Vec<f64> {
        self.0.iter().flatten().copied().collect()
    }

    /// Computes something from both in each block that both have and that counts in both.
    pub(crate) fn with(&self, other: &Paired, compute: impl Fn(f64, f64) -> f64) -> Paired {
        let pairs = self.0.iter().zip(&other.0);
        Paired(pairs.map(|(own, other)| Some(compute((*own)?, (*other)?))).collect())
    }

    /// Returns by how much it exceeds the other in each block.
    pub(crate) fn minus(&self, other: &Paired) -> Paired {
        self.with(other, |own, other| own - other)
    }

    /// Returns its mean with an interval; absent if no block counts.
    pub(crate) fn estimate(&self) -> Option<Estimate> {
        Estimate::from_blocks(&self.counted())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(values: &[Option<f64>]) -> Paired {
        Paired(values.to_vec())
    }

    /// Student's t for one degree of freedom is 12.706; the standard error of 2 and 4 is 1.
    #[test]
    fn blocks_that_count_in_both_are_compared() {
        let own = blocks(&[Some(5.0), None, Some(7.0), Some(9.0)]);
        let other = blocks(&[Some(3.0), Some(1.0), Some(3.0)]);
        let more = own.minus(&other);
        assert_eq!((more.counted(), more.blocks()), (vec![2.0, 4.0], 3));
        let found = more.estimate().expect("two blocks");
        let interval = found.interval.expect("two blocks");
        assert!((found.value - 3.0).abs() < 1e-12 && !found.differs(), "{found:?}");
        assert!((interval.high - 3.0 - 12.706).abs() < 1e-3, "{found:?}");
        let single = blocks(&[Some(5.0), None]).estimate().expect("one block");
        assert_eq!((single.value, single.interval), (5.0, None));
        for none in [blocks(&[]), blocks(&[None])] {
            assert_eq!((none.estimate(), own.minus(&none).estimate()), (None, None));
        }
    }
}
