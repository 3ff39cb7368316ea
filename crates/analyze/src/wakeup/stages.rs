//! How long the stages of wake-ups take: their tails, and their part of short and of long wake-ups.

use super::Latencies;
use crate::samples::cells::Cells;
use crate::samples::figures::{Point, survival};
use crate::samples::values::Scale;
use anechoic_recording::{Activity, Sample};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;

/// Number of activities of a chain, those that took most.
const CHAIN: usize = 12;

/// A stage of a wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// From the programmed expiry to the interrupt.
    Timer,
    /// From there until the interrupt woke the thread.
    Interrupt,
    /// From another thread's waking call until it woke the thread.
    Call,
    /// From the waking to the switch to the thread.
    Scheduling,
    /// From the switch until the thread ran.
    Return,
}

/// All stages in order.
pub const STAGES: [Stage; 5] =
    [Stage::Timer, Stage::Interrupt, Stage::Call, Stage::Scheduling, Stage::Return];

/// The tail of a stage.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StageTail {
    /// The stage.
    pub stage: Stage,
    /// In `share` of the wake-ups it took `value` nanoseconds or longer.
    pub survival: Vec<Point>,
}

/// An activity during a wake-up.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Link {
    /// Its start in nanoseconds since the programmed expiry.
    pub start_ns: f64,
    /// Its end likewise.
    pub end_ns: f64,
    /// Identifier of its source.
    pub source: String,
    /// Which instance of that source; empty if there is only one.
    pub name: String,
    /// Kernel function, if known.
    pub function: Option<String>,
    /// CPU of the thread that armed, queued, sent or woke it, if known.
    pub sent_by_cpu: Option<u32>,
}

/// Adds up the stages of wake-ups.
#[derive(Debug, Default)]
pub(super) struct Stages {
    wakeups: u64,
    cells: [Cells; STAGES.len()],
    bands: [(u64, [u64; STAGES.len()]); QUANTILES.len()],
}

/// The quantiles at which bands begin.
const QUANTILES: [f64; 4] = [0.0, 0.5, 0.99, 0.999];

impl Stages {
    /// Adds a wake-up of this latency with these parts, one of the wake-ups of `row`.
    pub(super) fn add(&mut self, ns: f64, stages: [u64; STAGES.len()], row: &Latencies) {
        self.wakeups += 1;
        for (cells, ticks) in self.cells.iter_mut().zip(stages) {
            cells.add(&[ticks]);
        }
        let begin = [Some(0.0), row.p50_ns, row.p99_ns, row.p999_ns];
        let is_above = |limit: &Option<f64>| limit.is_some_and(|limit| ns > limit);
        let band = begin.iter().rposition(is_above).unwrap_or(0);
        self.bands[band].0 += 1;
        self.bands[band].1.iter_mut().zip(stages).for_each(|(sum, ticks)| *sum += ticks);
    }

    pub(super) fn tails(&mut self, scale: &Scale) -> Vec<StageTail> {
        let mut tails = Vec::new();
        for (stage, cells) in STAGES.into_iter().zip(&mut self.cells) {
            let survival = survival(cells.cells(), self.wakeups, scale);
            tails.push(StageTail { stage, survival });
        }
        tails
    }

    /// Returns for each band with wake-ups the quantile at which it begins, their number, and the sum of each stage in ticks.
    pub(super) fn bands(&self) -> impl Iterator<Item = (f64, u64, [u64; STAGES.len()])> {
        let bands = QUANTILES.into_iter().zip(self.bands);
        let with_number = bands.map(|(above, (number, sums))| (above, number, sums));
        with_number.filter(|(_, number, _)| *number > 0)
    }
}

/// Returns what went on in a wake-up, in time order: the activities that took most.
pub(super) fn chain(sample: &Sample, rows: &[Activity], tick_ns: f64) -> Vec<Link> {
    let mut longest: Vec<&Activity> = rows.iter().filter(|row| row.self_ticks > 0).collect();
    longest.sort_by_key(|row| Reverse(row.self_ticks));
    longest.truncate(CHAIN);
    longest.sort_by_key(|row| (row.start_ticks, Reverse(row.end_ticks)));
    longest.into_iter().map(|row| Link::new(sample, row, tick_ns)).collect()
}

impl Link {
    fn new(sample: &Sample, row: &Activity, tick_ns: f64) -> Self {
        let ns = |ticks: u64| ticks.saturating_sub(sample.start_ticks) as f64 * tick_ns;
        Link {
            start_ns: ns(row.start_ticks),
            end_ns: ns(row.end_ticks.min(sample.end_ticks)),
            source: row.source.to_string(),
            name: row.name.to_string(),
            function: row.function.as_deref().map(str::to_owned),
            sent_by_cpu: row.sent_by_cpu,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_are_those_of_the_quantiles_of_the_row_and_add_up() {
        let median = || Latencies { p50_ns: Some(10.0), ..Latencies::default() };
        let row = |p99_ns, p999_ns| Latencies { p99_ns, p999_ns, ..median() };
        let mut stages = Stages::default();
        for ticks in [5, 10, 11, 50, 51, 90, 91] {
            let parts = [ticks - 3, 1, 0, 1, 1];
            stages.add(ticks as f64, parts, &row(Some(50.0), Some(90.0)));
        }
        let found: Vec<(f64, u64)> =
            stages.bands().map(|(above, wakeups, _)| (above, wakeups)).collect();
        assert_eq!(found, [(0.0, 2), (0.5, 2), (0.99, 2), (0.999, 1)]);
        let sum: u64 = stages.bands().flat_map(|(.., sums)| sums).sum();
        assert_eq!(sum, 308);
        let mut few = Stages::default();
        few.add(500.0, [497, 1, 0, 1, 1], &row(None, None));
        assert_eq!(few.bands().map(|(above, ..)| above).collect::<Vec<_>>(), [0.5]);
        assert!(Stages::default().bands().next().is_none());
    }
}
