//! Quantiles of durations by count and by time, in bounded memory.

use anechoic_recording::Clock;
use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lengths of a set of intervals. All values are nanoseconds.
///
/// Quantiles carry three significant digits; minimum, mean and maximum are exact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lengths {
    /// Minimum.
    pub min_ns: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Maximum.
    pub max_ns: u64,
    /// Median by time: intervals of at least this length make up half of the time.
    pub p50_by_time_ns: u64,
    /// 99th percentile by time: intervals of at least this length make up 1 % of the time.
    pub p99_by_time_ns: u64,
}

/// Collects durations one by one; one histogram serves both kinds of quantile.
#[derive(Debug, Clone)]
pub struct LengthsBuilder {
    histogram: Histogram<u64>,
    min_ticks: u64,
    max_ticks: u64,
    sum_ticks: u64,
}

impl Default for LengthsBuilder {
    fn default() -> Self {
        Self {
            histogram: Histogram::new(3).expect("three digits are within 0..=5"),
            min_ticks: u64::MAX,
            max_ticks: 0,
            sum_ticks: 0,
        }
    }
}

impl LengthsBuilder {
    /// Adds one duration in ticks.
    pub fn add(&mut self, ticks: u64) {
        self.min_ticks = self.min_ticks.min(ticks);
        self.max_ticks = self.max_ticks.max(ticks);
        self.sum_ticks = self.sum_ticks.saturating_add(ticks);
        self.histogram.record(ticks).expect("a histogram that resizes itself takes any value");
    }

    /// Adds all durations of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.min_ticks = self.min_ticks.min(other.min_ticks);
        self.max_ticks = self.max_ticks.max(other.max_ticks);
        self.sum_ticks = self.sum_ticks.saturating_add(other.sum_ticks);
        self.histogram
            .add(&other.histogram)
            .expect("a histogram that resizes itself takes any other");
    }

    /// Returns the number of durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Returns their sum in ticks.
    #[must_use]
    pub(crate) fn sum_ticks(&self) -> u64 {
        self.sum_ticks
    }

    /// Returns their distribution; absent if there are none.
    #[must_use]
    pub fn lengths(&self, clock: &Clock) -> Option<Lengths> {
        self.lengths_in(|ticks| clock.ns(ticks), clock.seconds(self.sum_ticks) * 1e9)
    }

    /// Returns their distribution; `ns` converts ticks to nanoseconds and `sum_ns` is their sum.
    pub(crate) fn lengths_in(&self, ns: impl Fn(u64) -> u64, sum_ns: f64) -> Option<Lengths> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let cells: Vec<(u64, u64)> = self.cells().collect(); // a histogram takes long to go through
        let [p50, p99] = self.quantiles(&cells, [0.5, 0.99], |_| 1.0);
        let [p50_by_time, p99_by_time] = self.quantiles(&cells, [0.5, 0.99], |ticks| ticks as f64);
        Some(Lengths {
            min_ns: ns(self.min_ticks),
            mean_ns: sum_ns / count as f64,
            p50_ns: ns(p50),
            p99_ns: ns(p99),
            max_ns: ns(self.max_ticks),
            p50_by_time_ns: ns(p50_by_time),
            p99_by_time_ns: ns(p99_by_time),
        })
    }

    /// Returns minimum and maximum in ticks; absent if there are none.
    pub(crate) fn extremes(&self) -> Option<(u64, u64)> {
        (self.count() > 0).then_some((self.min_ticks, self.max_ticks))
    }

    /// Returns the filled cells of the histogram in rising order: a duration in the middle of the cell, and its count.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (u64, u64)> {
        self.histogram
            .iter_recorded()
            .map(|cell| (self.middle(cell.value_iterated_to()), cell.count_at_value()))
    }

    /// Adds the cells of another histogram, whose extremes and sum are known exactly.
    pub(crate) fn merge_cells(
        &mut self,
        cells: &[(u64, u64)],
        (min_ticks, max_ticks): (u64, u64),
        sum_ticks: u64,
    ) {
        self.min_ticks = self.min_ticks.min(min_ticks);
        self.max_ticks = self.max_ticks.max(max_ticks);
        self.sum_ticks = self.sum_ticks.saturating_add(sum_ticks);
        for &(ticks, count) in cells {
            self.histogram
                .record_n(ticks, count)
                .expect("a histogram that resizes itself takes any value");
        }
    }

    /// Returns for each of `shares` (ascending) the smallest duration in ticks up to which that share of the total
    /// weight of the `cells` lies; each duration weighs `weight` of its length.
    fn quantiles<const N: usize>(
        &self,
        cells: &[(u64, u64)],
        shares: [f64; N],
        weight: impl Fn(u64) -> f64,
    ) -> [u64; N] {
        let cells = || cells.iter().map(|&(ticks, count)| (ticks, weight(ticks) * count as f64));
        let whole: f64 = cells().map(|(_, weight)| weight).sum();
        let mut found = [self.max_ticks; N];
        let (mut below, mut next) = (0.0, 0);
        for (ticks, weight) in cells() {
            below += weight;
            while next < N && below >= shares[next] * whole {
                found[next] = ticks;
                next += 1;
            }
        }
        found
    }

    /// Returns the middle of a value's cell, limited to the extremes.
    fn middle(&self, ticks: u64) -> u64 {
        self.histogram.median_equivalent(ticks).clamp(self.min_ticks, self.max_ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::clock_ns;

    #[test]
    fn quantiles_by_count_and_by_time() {
        // (name, durations, [min, p50, p99, max, p50 by time, p99 by time])
        let cases: [(&str, Vec<u64>, [u64; 6]); 5] = [
            ("one", vec![7], [7, 7, 7, 7, 7, 7]),
            // 99 of 1 and one of 101: 200 in all; half of it (100) is passed only in the long one.
            ("one long", [vec![1; 99], vec![101]].concat(), [1, 1, 1, 101, 101, 101]),
            // 1 + 2 + 3 + 4 = 10: half of the time is reached in 3 (1 + 2 + 3 = 6).
            ("four", vec![4, 2, 3, 1], [1, 2, 4, 4, 3, 4]),
            ("zeros", vec![0, 0], [0, 0, 0, 0, 0, 0]),
            ("1 to 1000", (1..=1000).collect(), [1, 500, 990, 1000, 707, 995]),
        ];
        for (name, durations, expected) in cases {
            let mut lengths = LengthsBuilder::default();
            durations.iter().for_each(|&ticks| lengths.add(ticks));
            let l = lengths.lengths(&clock_ns()).expect("not empty");
            let got = [l.min_ns, l.p50_ns, l.p99_ns, l.max_ns, l.p50_by_time_ns, l.p99_by_time_ns];
            assert_eq!(got, expected, "case: {name}");
        }
    }

    #[test]
    fn extremes_are_exact_and_merging_is_adding() {
        let (mut a, mut b, mut both) =
            (LengthsBuilder::default(), LengthsBuilder::default(), LengthsBuilder::default());
        for (part, ticks) in [(0, 1_234_567_891), (1, 3), (0, u64::MAX / 4), (1, 99_999_999)] {
            if part == 0 { &mut a } else { &mut b }.add(ticks);
            both.add(ticks);
        }
        a.merge(&b);
        let merged = a.lengths(&clock_ns()).expect("not empty");
        assert_eq!(Some(&merged), both.lengths(&clock_ns()).as_ref());
        assert_eq!((merged.min_ns, merged.max_ns), (3, u64::MAX / 4));
        assert_eq!(LengthsBuilder::default().lengths(&clock_ns()), None);
    }
}
