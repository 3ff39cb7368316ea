//! Exact values of samples that come again and again.

use crate::samples::cells::Cell;
use crate::samples::values::Scale;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// Values listed at most.
const MOST_VALUES: usize = 8;

/// The fine view (Tsafrir 2007): which exact values dominate, and how long they stay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FineView {
    /// Distinct values; absent where some had to be rounded, and then `dominant` counts at least.
    pub distinct: Option<u64>,
    /// The values that come most often, most often first; eight at most.
    pub dominant: Vec<Dominant>,
    /// The most samples in a row that have one value.
    pub longest_run: EqualRun,
}

/// One value and how often it comes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dominant {
    /// The value: counter ticks where the work is fixed, units of work where the time is.
    pub raw: u64,
    /// The value in ns, or in units of work.
    pub value: f64,
    /// Samples that have it.
    pub count: u64,
    /// Their share.
    pub share: f64,
}

/// Equal samples in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EqualRun {
    /// The value: counter ticks where the work is fixed, units of work where the time is.
    pub raw: u64,
    /// How many in a row; the first such run, where several are equally long.
    pub length: u64,
}

/// Follows runs of equal values.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunsOf {
    current: Option<EqualRun>,
    longest: Option<EqualRun>,
}

impl RunsOf {
    /// Takes the next values, raw.
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

    /// The fine view; absent of no samples. `cells` are the counts of all values, rising.
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
            let mut runs = RunsOf::default();
            parts.iter().for_each(|values| runs.add(values));
            assert_eq!(runs.longest.map(|run| (run.raw, run.length)), expected, "case: {name}");
        }
    }
}
