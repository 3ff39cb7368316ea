//! Lengths of detours in a form small enough to send and combine.

use crate::lengths::{Lengths, LengthsBuilder};
use anechoic_recording::Clock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest length that is added: 146 years.
const LONGEST_NS: u64 = u64::MAX / 4;

/// The filled cells of a histogram. Each represents durations within 0.1 % of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LengthCounts {
    /// Minimum; 0 if there were none.
    pub min_ns: u64,
    /// Maximum; 0 if there were none.
    pub max_ns: u64,
    /// Sum of all durations.
    pub sum_ns: u64,
    /// Duration in ns in the middle of each cell, in rising order, with its count.
    pub cells: Vec<(u64, u64)>,
}

impl LengthCounts {
    /// Converts a histogram of ticks.
    #[must_use]
    pub fn from_ticks(lengths: &LengthsBuilder, clock: &Clock) -> Self {
        let Some((min, max)) = lengths.extremes() else { return Self::default() };
        Self {
            min_ns: clock.ns(min),
            max_ns: clock.ns(max),
            sum_ns: clock.ns(lengths.sum_ticks()),
            cells: lengths.cells().map(|(ticks, count)| (clock.ns(ticks), count)).collect(),
        }
    }
}

impl LengthCounts {
    /// Converts a histogram of nanoseconds.
    pub(crate) fn in_ns(lengths: &LengthsBuilder) -> Self {
        let Some((min_ns, max_ns)) = lengths.extremes() else { return Self::default() };
        Self { min_ns, max_ns, sum_ns: lengths.sum_ticks(), cells: lengths.cells().collect() }
    }
}

/// Combines the lengths of many hosts in nanoseconds, because their counters differ.
#[derive(Debug, Clone, Default)]
pub(crate) struct LengthsInNs(LengthsBuilder);

impl LengthsInNs {
    /// Adds those of a host. Any values are accepted, because they may come from a damaged file.
    pub(crate) fn add(&mut self, counts: &LengthCounts) {
        let bounded = |&(ns, count): &(u64, u64)| (ns.min(LONGEST_NS), count);
        let cells: Vec<_> = counts.cells.iter().map(bounded).filter(|cell| cell.1 > 0).collect();
        if cells.is_empty() {
            return;
        }
        let max_ns = counts.max_ns.min(LONGEST_NS);
        self.0.merge_cells(&cells, (counts.min_ns.min(max_ns), max_ns), counts.sum_ns);
    }

    /// Returns the durations in the middle of each filled cell, in rising order, with their counts.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.cells()
    }

    /// Returns their distribution; absent if there were none.
    pub(crate) fn lengths(&self) -> Option<Lengths> {
        self.0.lengths_in(|ns| ns, self.0.sum_ticks() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::builders::clock;

    #[test]
    fn hosts_with_other_counters_add_up() {
        // The same durations on counters of 1 and of 2.5 GHz, apart and together.
        let durations: Vec<u64> = (1..=1_000).map(|n| n * n).collect();
        let mut all = LengthsInNs::default();
        let mut together = LengthsBuilder::default();
        for (hz, ticks_per_us) in [(1_000_000_000, 1_000), (2_500_000_000, 2_500)] {
            let mut lengths = LengthsBuilder::default();
            durations.iter().for_each(|us| lengths.add(us * ticks_per_us));
            durations.iter().for_each(|us| together.add(us * 1_000));
            all.add(&LengthCounts::from_ticks(&lengths, &clock(hz)));
        }
        let (found, expected) = (all.lengths(), together.lengths(&clock(1_000_000_000)));
        let (found, expected) = (found.expect("some"), expected.expect("some"));
        assert_eq!((found.min_ns, found.max_ns), (1_000, 1_000_000_000));
        assert!((found.mean_ns / expected.mean_ns - 1.0).abs() < 1e-12);
        let near = |a: u64, b: u64| (a as f64 / b as f64 - 1.0).abs() < 0.002;
        for (found, expected) in [
            (found.p50_ns, expected.p50_ns),
            (found.p99_ns, expected.p99_ns),
            (found.p50_by_time_ns, expected.p50_by_time_ns),
            (found.p99_by_time_ns, expected.p99_by_time_ns),
        ] {
            assert!(near(found, expected), "{found}, not {expected}");
        }
    }

    #[test]
    fn hostile_counts_do_no_harm() {
        let counts = |min_ns, max_ns, sum_ns, cells: &[(u64, u64)]| LengthCounts {
            min_ns,
            max_ns,
            sum_ns,
            cells: cells.to_vec(),
        };
        let cases = [
            ("nothing", counts(0, 0, 0, &[]), None),
            ("empty cells", counts(1, 2, 3, &[(5, 0)]), None),
            ("minimum over maximum", counts(9, 3, 3, &[(5, 1)]), Some((3, 3))),
            ("cells outside", counts(4, 6, 5, &[(1, 1), (99, 1)]), Some((4, 6))),
            (
                "largest",
                counts(0, u64::MAX, u64::MAX, &[(u64::MAX, u64::MAX)]),
                Some((0, LONGEST_NS)),
            ),
        ];
        for (name, counts, expected) in cases {
            let mut lengths = LengthsInNs::default();
            lengths.add(&counts);
            lengths.add(&counts);
            let found = lengths.lengths().map(|merged| (merged.min_ns, merged.max_ns));
            assert_eq!(found, expected, "case: {name}");
        }
        let mut lengths = LengthsInNs::default();
        lengths.add(&counts(4, 6, 5, &[(5, 1)]));
        let alone = lengths.lengths();
        lengths.add(&counts(1, 9, 3, &[(5, 0)]));
        assert_eq!(lengths.lengths(), alone, "a host without a detour changes nothing");
    }
}
