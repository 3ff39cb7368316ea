//! The most frequent exact values of samples.

use crate::samples::cells::Cell;
use crate::samples::values::Scale;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// Largest number of listed values.
const MOST_VALUES: usize = 8;

/// The fine view (Tsafrir 2007): the most frequent exact values, and how long they persist.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FineView {
    /// Number of distinct values; absent if some were rounded, in which case the counts in `dominant` are lower bounds.
    pub distinct: Option<u64>,
    /// The most frequent values in decreasing order, at most eight.
    pub dominant: Vec<Dominant>,
    /// Longest run of samples with one value.
    pub longest_run: EqualRun,
}

/// A value with its frequency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dominant {
    /// The value: counter ticks if the work is fixed, units of work if the time is.
    pub raw: u64,
    /// The value in ns or in units of work.
    pub value: f64,
    /// Number of samples with this value.
    pub count: u64,
    /// Share of the samples.
    pub share: f64,
}

/// A run of equal samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EqualRun {
    /// The value: counter ticks if the work is fixed, units of work if the time is.
    pub raw: u64,
    /// Length of the run; the first one if several are equally long.
    pub length: u64,
}

/// Follows runs of equal values.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunsBuilder {
    current: Option<EqualRun>,
    longest: Option<EqualRun>,
}

impl RunsBuilder {
    /// Adds raw values.
    pub(crate) fn add(&mut self, values: &[u64]) {
        for run in values.chunk_by(|a, b| a == b) {
            let (raw, length) = (run[0], run.len() as u64);
            let before = self.current.filter(|current| current.raw == raw);
            let run = EqualRun { raw, length: length + before.map_or(0, |run| run.length) };
            self.current = Some(run);
            if self.longest.is_none_or(|longest| longest.length < run.length) {
                self.longest = Some(run);
            }
        }
    }

    /// Returns the fine view; absent without samples. `cells` are the counts of all values in rising order.
    pub(crate) fn finish(&self, cells: &[Cell], samples: u64, scale: &Scale) -> Option<FineView> {
        let mut exact: Vec<&Cell> = cells.iter().filter(|cell| cell.is_exact()).collect();
        let all = exact.len() == cells.len();
        let distinct = all.then_some(cells.len() as u64);
        // The smaller of two that come equally often is first.
        exact.sort_by_key(|cell| (Reverse(cell.count), cell.value));
        let dominant = exact.into_iter().take(MOST_VALUES).map(|cell| Dominant {
            raw: cell.value,
            value: scale.value(cell.value as f64),
            count: cell.count,
            share: crate::share(cell.count, samples),
        });
        Some(FineView { distinct, dominant: dominant.collect(), longest_run: self.longest? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_run() {
        type Case = (&'static str, &'static [&'static [u64]], Option<(u64, u64)>);
        let cases: [Case; 5] = [
            ("none", &[&[]], None),
            ("one", &[&[5]], Some((5, 1))),
            ("over an edge", &[&[1, 2, 2], &[2, 2, 1, 1]], Some((2, 4))),
            ("the first of two", &[&[3, 3], &[4, 4]], Some((3, 2))),
            ("whole parts", &[&[9, 9], &[9], &[], &[9], &[8]], Some((9, 4))),
        ];
        for (name, parts, expected) in cases {
            let mut runs = RunsBuilder::default();
            parts.iter().for_each(|values| runs.add(values));
            assert_eq!(runs.longest.map(|run| (run.raw, run.length)), expected, "case: {name}");
        }
    }
}
