//! Whether two runs differ by more than any two of the earlier ones.

use crate::stats::quantile;

/// The level of a verdict.
const LEVEL: f64 = 0.05;
/// The probability with which a detectable change is found.
const POWER: f64 = 0.8;
/// A logarithm of a ratio beyond that of any noise.
const LARGEST: f64 = 100.0;

/// One value of each earlier run, sorted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Past(Vec<f64>);

impl Past {
    /// Returns the values in order.
    pub(crate) fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// Returns the probability that two runs differ at least as much as these, if they are any two of all runs: the
    /// share of all pairs, these two among the runs, that do.
    ///
    /// It is at most the stated level as often as that level states, for any distribution of runs that can be exchanged,
    /// and more seldom if runs that follow each other are alike.
    pub(crate) fn probability(&self, before: f64, after: f64) -> f64 {
        let mut all = self.0.clone();
        all.extend([before, after]);
        all.sort_by(f64::total_cmp);
        // Differences that are equal but for rounding count as equal.
        let least = (after - before).abs() * (1.0 - 1e-12);
        // For each run, the runs below it by that much: both ends only move up.
        let (mut below, mut pairs) = (0, 0_u64);
        for (at, high) in all.iter().enumerate() {
            while below < at && high - all[below] >= least {
                below += 1;
            }
            pairs += below as u64;
        }
        let count = all.len() as u64;
        pairs as f64 / (count * (count - 1) / 2) as f64
    }

    /// Returns the smallest difference from a run before, up (1) or down (-1), that shows a change; absent if none does.
    pub(crate) fn shown(&self, before: f64, direction: f64) -> Option<f64> {
        let shows = |by: f64| self.probability(before, before + direction * by) < LEVEL;
        let (mut low, mut high) = (0.0, LARGEST);
        if !shows(high) {
            return None;
        }
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if shows(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }

    /// Returns the smallest change, up as well as down, that two single runs show with a probability of 80 %; absent if
    /// none does.
    ///
    /// Run i before and run j after a change by d show it if x_j + d lies beyond x_i by what [`Self::shown`] demands. Over
    /// all pairs of earlier runs, the d from which they do so has a distribution, whatever that of the runs is.
    pub(crate) fn detectable(&self) -> Option<f64> {
        Some(self.detectable_in(-1.0)?.max(self.detectable_in(1.0)?))
    }

    /// Returns the change in this direction that two single runs show with a probability of 80 %; absent if none does.
    fn detectable_in(&self, direction: f64) -> Option<f64> {
        let mut needed = vec![];
        for (i, before) in self.0.iter().enumerate() {
            let shown = self.shown(*before, direction).unwrap_or(LARGEST);
            let others = self.0.iter().enumerate().filter(|(j, _)| *j != i);
            needed.extend(others.map(|(_, after)| shown + direction * (before - after)));
        }
        needed.sort_by(f64::total_cmp);
        quantile(&needed, POWER).filter(|needed| *needed < LARGEST / 2.0)
    }

    /// Returns the value in the middle; 0 without any.
    pub(super) fn middle(&self) -> f64 {
        quantile(&self.0, 0.5).unwrap_or_default()
    }

    /// Returns the ratio to a run in the middle of all that shows a change, up as well as down; absent if none does.
    pub(crate) fn needed(&self) -> Option<f64> {
        let middle = self.middle();
        let [fall, rise] = [-1.0, 1.0].map(|direction| self.shown(middle, direction));
        Some(fall?.max(rise?).exp())
    }
}
