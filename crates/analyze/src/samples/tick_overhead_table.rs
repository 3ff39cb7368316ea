//! Average overhead of one tick, kernel × CPU, as Table 1 of the CMT study (Radojković 2008).

use crate::samples::measured::{Measured, SeriesResult};
use crate::samples::tick_overhead::Overhead;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Average overhead of one tick for each kernel on each CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table1 {
    /// The rows: kernels, in the order in which they were measured; with the scheduling where there is more than one.
    pub kernels: Vec<String>,
    /// The columns: CPUs, ascending.
    pub cpus: Vec<u32>,
    /// `cells[kernel][cpu]`; absent where that pair was not measured or had no figure.
    pub cells: Vec<Vec<Option<Cell>>>,
}

/// One cell of [`Table1`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The series that it is of.
    pub series: u32,
    /// Over all repetitions that contain a tick: the study's figure.
    pub overhead: Overhead,
    /// Over those that contain one tick and nothing else.
    pub clean: Option<Overhead>,
}

impl Table1 {
    /// Of all pinned series of a recording. Where a pair was measured more than once, the series with
    /// the most repetitions that contain a tick counts.
    #[must_use]
    pub fn of(measured: &Measured) -> Self {
        Self::of_series(&measured.series)
    }

    fn of_series(series: &[SeriesResult]) -> Self {
        let pinned = || series.iter().filter_map(|s| Some((s, s.ticks.as_ref()?, s.facts.cpu?)));
        let one_policy = pinned().all(|(s, ..)| s.facts.policy == series[0].facts.policy);
        let label = |s: &SeriesResult| {
            let facts = &s.facts;
            if one_policy {
                facts.variant.clone()
            } else {
                format!("{} ({})", facts.variant, facts.policy)
            }
        };
        let mut kernels: Vec<String> = vec![];
        let mut cpus: Vec<u32> = vec![];
        for (series, _, cpu) in pinned() {
            let label = label(series);
            if !kernels.contains(&label) {
                kernels.push(label);
            }
            if let Err(at) = cpus.binary_search(&cpu) {
                cpus.insert(at, cpu);
            }
        }
        let mut cells = vec![vec![None::<Cell>; cpus.len()]; kernels.len()];
        for (series, ticks, cpu) in pinned() {
            let row = kernels.iter().position(|kernel| *kernel == label(series));
            let (Some(row), Ok(column)) = (row, cpus.binary_search(&cpu)) else { continue };
            let Some(overhead) = ticks.overhead else { continue };
            let cell = &mut cells[row][column];
            if cell.is_none_or(|cell| cell.overhead.repetitions < overhead.repetitions) {
                *cell = Some(Cell { series: series.facts.number, overhead, clean: ticks.clean });
            }
        }
        Self { kernels, cpus, cells }
    }
}
