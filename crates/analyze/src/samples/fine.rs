//! The most frequent exact values of samples.

use crate::samples::cells::Cell;
use crate::samples::values::Scale;
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Largest number of listed values.
const MOST_VALUES: usize = 8;
/// Largest number of values whose runs are counted: the first ones.
const MOST_FOLLOWED: usize = 4096;

/// The fine view (Tsafrir 2007): the most frequent exact values, and how long they persist.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FineView {
    /// Number of distinct values; absent if some were rounded, in which case the counts in `dominant` are lower bounds.
    pub distinct: Option<u64>,
    /// The most frequent values in decreasing order, at most eight.
    pub dominant: Vec<Dominant>,
    /// Longest run of samples with one value.
    pub longest_run: EqualRun,
    /// Number of runs by length: at place k those of 2^k to 2^(k+1) − 1 equal samples.
    #[serde(default)]
    pub runs_by_length: Vec<u64>,
}

/// A value with its frequency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Dominant {
    /// The value: counter ticks if the work is fixed, units of work if the time is.
    pub raw: u64,
    /// The value in ns or in units of work.
    pub value: f64,
    /// Number of samples with this value.
    pub count: u64,
    /// Share of the samples.
    pub share: f64,
    /// Number of runs of successive samples with this value; absent if there were too many values to count them.
    #[serde(default)]
    pub runs: Option<u64>,
    /// Length of the longest of these.
    #[serde(default)]
    pub longest_run: Option<u64>,
}

/// A run of equal samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EqualRun {
    /// The value: counter ticks if the work is fixed, units of work if the time is.
    pub raw: u64,
    /// Length of the run; the first one if several are equally long.
    pub length: u64,
}

/// Follows runs of equal values.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunsBuilder {
    current: Option<EqualRun>,
    longest: Option<EqualRun>,
    by_length: Vec<u64>,
    /// Number of runs and the longest, by value.
    by_value: HashMap<u64, (u64, u64)>,
}

impl RunsBuilder {
    /// Adds raw values.
    pub(crate) fn add(&mut self, values: &[u64]) {
        for run in values.chunk_by(|a, b| a == b) {
            let (raw, length) = (run[0], run.len() as u64);
            match &mut self.current {
                Some(current) if current.raw == raw => current.length += length,
                current => {
                    let ended = current.replace(EqualRun { raw, length });
                    ended.into_iter().for_each(|ended| self.end(ended));
                }
            }
        }
    }

    fn end(&mut self, run: EqualRun) {
        if self.longest.is_none_or(|longest| longest.length < run.length) {
            self.longest = Some(run);
        }
        let place = run.length.ilog2() as usize;
        if self.by_length.len() <= place {
            self.by_length.resize(place + 1, 0);
        }
        self.by_length[place] += 1;
        if self.by_value.len() < MOST_FOLLOWED || self.by_value.contains_key(&run.raw) {
            let (runs, longest) = self.by_value.entry(run.raw).or_default();
            (*runs, *longest) = (*runs + 1, run.length.max(*longest));
        }
    }

    /// Returns the fine view; absent without samples. `cells` are the counts of all values in rising order.
    pub(crate) fn finish(
        mut self,
        cells: &[Cell],
        samples: u64,
        scale: &Scale,
    ) -> Option<FineView> {
        self.current.take().into_iter().for_each(|last| self.end(last));
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
            runs: self.by_value.get(&cell.value).map(|(runs, _)| *runs),
            longest_run: self.by_value.get(&cell.value).map(|(_, longest)| *longest),
        });
        Some(FineView {
            distinct,
            dominant: dominant.collect(),
            longest_run: self.longest?,
            runs_by_length: self.by_length,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_equal_values() {
        // The longest, the number of runs by length, and the runs of the value 2 with the longest of them.
        type Case = (
            &'static str,
            &'static [&'static [u64]],
            Option<(u64, u64)>,
            &'static [u64],
            Option<(u64, u64)>,
        );
        let cases: [Case; 6] = [
            ("none", &[&[]], None, &[], None),
            ("one", &[&[5]], Some((5, 1)), &[1], None),
            ("over an edge", &[&[1, 2, 2], &[2, 2, 1, 1]], Some((2, 4)), &[1, 1, 1], Some((1, 4))),
            ("the first of two", &[&[3, 3], &[4, 4]], Some((3, 2)), &[0, 2], None),
            ("whole parts", &[&[9, 9], &[9], &[], &[9], &[8]], Some((9, 4)), &[1, 0, 1], None),
            ("separated", &[&[2, 2, 7, 2, 7, 2, 2, 2]], Some((2, 3)), &[3, 2], Some((3, 3))),
        ];
        for (name, parts, longest, by_length, runs_of_two) in cases {
            let mut runs = RunsBuilder::default();
            parts.iter().for_each(|values| runs.add(values));
            runs.current.take().into_iter().for_each(|last| runs.end(last));
            assert_eq!(runs.longest.map(|run| (run.raw, run.length)), longest, "case: {name}");
            assert_eq!(runs.by_length, by_length, "case: {name}");
            assert_eq!(runs.by_value.get(&2).copied(), runs_of_two, "case: {name}");
        }
    }
}
