//! Durations with quantiles and moments, also with some of them replaced.

use crate::samples::cells::{Cell, Cells};
use crate::samples::moments::Moments;

/// Number of durations that are passed on at a time.
const BATCH: usize = 1024;

/// Collects durations (ticks) one by one, in bounded memory.
///
/// Cells are finest around the median, so a spread of tens of nanoseconds around a millisecond is preserved.
#[derive(Debug, Clone, Default)]
pub(crate) struct Values {
    batch: Vec<u64>,
    cells: Cells,
    moments: Moments,
}

/// Some of [`Values`] with their replacements.
#[derive(Debug, Clone, Default)]
pub(crate) struct Replaced {
    old: Values,
    new: Values,
}

impl Values {
    /// Adds one duration.
    pub(crate) fn add(&mut self, ticks: u64) {
        self.batch.push(ticks);
        if self.batch.len() == BATCH {
            self.flush();
        }
    }

    /// Adds all durations of `other`.
    pub(crate) fn merge(&mut self, other: &mut Self) {
        self.flush();
        other.flush();
        self.cells.merge(&mut other.cells);
        self.moments.merge(&other.moments);
    }

    pub(crate) fn count(&self) -> u64 {
        self.moments.count() + self.batch.len() as u64
    }

    /// Returns number, extremes, mean and deviation.
    pub(crate) fn moments(&mut self) -> Moments {
        self.flush();
        self.moments
    }

    /// Returns for each of `shares` (ascending) the smallest duration up to which that share of the durations lies;
    /// absent without durations.
    pub(crate) fn quantiles(&mut self, shares: &[f64]) -> Option<Vec<u64>> {
        self.flush();
        let (count, min, max) = (self.count(), self.moments.min(), self.moments.max());
        let cells = self.cells.cells().iter().map(|cell| (cell.value, cell.count as i64));
        let found = (count > 0).then(|| quantiles(cells, count, shares))?;
        // The middle of a cell may lie beyond the value at its edge.
        Some(found.into_iter().map(|ticks| ticks.clamp(min, max)).collect())
    }

    /// Returns [`Values::quantiles`] with some durations replaced.
    pub(crate) fn quantiles_with(&mut self, by: &mut Replaced, shares: &[f64]) -> Option<Vec<u64>> {
        by.old.flush();
        by.new.flush();
        self.flush();
        let mut counts: Vec<(u64, i64)> = vec![];
        for (cells, sign) in [(&mut self.cells, 1), (&mut by.old.cells, -1), (&mut by.new.cells, 1)]
        {
            let signed = |cell: &Cell| (cell.value, sign * cell.count as i64);
            counts.extend(cells.cells().iter().map(signed));
        }
        counts.sort_unstable();
        (self.count() > 0).then(|| quantiles(counts.into_iter(), self.count(), shares))
    }

    /// Returns the standard deviation with some durations replaced.
    pub(crate) fn deviation_with(&mut self, by: &mut Replaced) -> f64 {
        let all = self.moments();
        let (old, new) = (by.old.moments(), by.new.moments());
        if all.count() < 2 {
            return 0.0;
        }
        // Sums of distances from the mean of all, and of their squares.
        let sum = |part: &Moments| part.count() as f64 * (part.mean() - all.mean());
        let squares = |part: &Moments| {
            let within = part.variance().unwrap_or(0.0) * part.count().saturating_sub(1) as f64;
            within + sum(part) * (part.mean() - all.mean())
        };
        let n = all.count() as f64;
        let (sum, squares) = (sum(&new) - sum(&old), squares(&all) + squares(&new) - squares(&old));
        ((squares - sum * sum / n) / (n - 1.0)).max(0.0).sqrt()
    }

    /// Returns the median absolute deviation; absent without durations.
    pub(crate) fn median_residual(&mut self) -> Option<u64> {
        let median = self.quantiles(&[0.5])?[0];
        let distance = |cell: &Cell| (cell.value.abs_diff(median), cell.count as i64);
        let mut distances: Vec<(u64, i64)> = self.cells.cells().iter().map(distance).collect();
        distances.sort_unstable();
        Some(quantiles(distances.into_iter(), self.count(), &[0.5])[0])
    }

    fn flush(&mut self) {
        self.cells.add(&self.batch);
        self.moments.add(&self.batch);
        self.batch.clear();
    }
}

impl Replaced {
    /// Replaces `old`, one of the durations, by `new`.
    pub(crate) fn replace(&mut self, old: u64, new: u64) {
        self.old.add(old);
        self.new.add(new);
    }
}

/// Returns the standard deviation; 0 for fewer than two.
pub(crate) fn deviation(moments: &Moments) -> f64 {
    moments.variance().unwrap_or(0.0).sqrt()
}

/// Returns the nearest rank over ascending values with counts, to which others are added or subtracted.
fn quantiles(counts: impl Iterator<Item = (u64, i64)>, count: u64, shares: &[f64]) -> Vec<u64> {
    let rank = |share: f64| ((share * count as f64).ceil() as i64).max(1);
    let mut found = Vec::with_capacity(shares.len());
    let (mut below, mut last) = (0, 0);
    for (ticks, here) in counts {
        below += here;
        last = ticks;
        while found.len() < shares.len() && below >= rank(shares[found.len()]) {
            found.push(ticks);
        }
    }
    found.resize(shares.len(), last);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values_of(values: &[u64]) -> Values {
        let mut all = Values::default();
        values.iter().for_each(|&ticks| all.add(ticks));
        all
    }

    #[test]
    fn two_values_have_a_deviation_and_one_has_none() {
        for (values, expected) in [(&[1, 3][..], 2.0_f64.sqrt()), (&[5], 0.0), (&[], 0.0)] {
            let found = values_of(values).deviation_with(&mut Replaced::default());
            assert!((found - expected).abs() < 1e-12, "{values:?}: {found}");
        }
    }

    #[test]
    fn quantiles_by_nearest_rank() {
        let mut values = values_of(&[999_000, 1_000_000, 1_000_007, 1_002_047, 998_500]);
        let quantiles = values.quantiles(&[0.0, 0.2, 0.4, 0.5, 0.8, 1.0]).expect("not empty");
        assert_eq!(quantiles, [998_500, 998_500, 999_000, 1_000_000, 1_000_007, 1_002_047]);
        // Distances from the median: 0, 7, 1,000, 1,500, 2,047.
        assert_eq!(values.median_residual(), Some(1_000));
        let mut none = values_of(&[]);
        assert_eq!((none.quantiles(&[0.5]), none.median_residual()), (None, None));
        assert_eq!(values_of(&[9]).quantiles(&[0.0, 0.5, 1.0]), Some(vec![9, 9, 9]));
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let mut values = values_of(&[0, u64::MAX, u64::MAX, 1, 7]);
        values.merge(&mut values_of(&[u64::MAX, 0]));
        let mut by = Replaced::default();
        by.replace(u64::MAX, 0);
        by.replace(0, u64::MAX);
        assert!(values.deviation_with(&mut by).is_finite());
        assert_eq!(values.quantiles_with(&mut by, &[0.5, 1.0]), Some(vec![7, u64::MAX]));
    }

    proptest! {
        #[test]
        fn replacing_is_having_had_the_others(
            pairs in prop::collection::vec((0u64..1 << 30, 0u64..1 << 30), 1..100),
            kept in prop::collection::vec(0u64..1 << 30, 0..100),
        ) {
            let (mut old, mut new, mut by) = (values_of(&kept), values_of(&kept), Replaced::default());
            for &(was, is) in &pairs {
                old.add(was);
                new.add(is);
                by.replace(was, is);
            }
            let shares = [0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0];
            prop_assert_eq!(old.quantiles_with(&mut by, &shares), new.quantiles(&shares));
            let deviation = deviation(&new.moments());
            prop_assert!((old.deviation_with(&mut by) - deviation).abs() <= 1e-6 * deviation + 1e-3);
        }
    }

    #[test]
    fn values_are_passed_on_in_batches() {
        let mut values = Values::default();
        (0..1_023).for_each(|ticks| values.add(ticks));
        assert_eq!((values.batch.len(), values.moments.count()), (1_023, 0));
        values.add(1_023);
        assert_eq!((values.batch.len(), values.moments.count()), (0, 1_024));
    }
}
