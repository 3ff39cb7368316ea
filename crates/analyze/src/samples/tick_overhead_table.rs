//! Average overhead of one tick by kernel and CPU, as Table 1 of the CMT study (Radojković 2008).

use crate::samples::measured::{Measured, SeriesResult};
use crate::samples::tick_overhead::Overhead;
use schemars::JsonSchema;
use serde::Serialize;

/// Average overhead of one tick for each kernel on each CPU.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Table1 {
    /// The rows: kernels in the order of measurement, with the scheduling if there is more than one.
    pub kernels: Vec<String>,
    /// The columns: CPUs in rising order.
    pub cpus: Vec<u32>,
    /// `cells[kernel][cpu]`; absent if that pair was not measured or has no overhead.
    pub cells: Vec<Vec<Option<Cell>>>,
}

/// One cell of [`Table1`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Cell {
    /// Number of the series.
    pub series: u32,
    /// Overhead over all repetitions with a tick: the study's figure.
    pub overhead: Overhead,
    /// Overhead over those with one tick and nothing else.
    pub clean: Option<Overhead>,
}

impl Table1 {
    /// Returns the table of all pinned series of a recording. If a pair was measured several times, the series with the
    /// most repetitions with ticks counts.
    #[must_use]
    pub fn from_measured(measured: &Measured) -> Self {
        Self::from_series(&measured.series)
    }

    fn from_series(series: &[SeriesResult]) -> Self {
        let pinned = || series.iter().filter_map(|s| Some((s, s.ticks.as_ref()?, s.facts.cpu?)));
        let one_policy = pinned().all(|(s, ..)| s.facts.policy == series[0].facts.policy);
        let mut kernels: Vec<String> = vec![];
        let mut cpus: Vec<u32> = vec![];
        for (series, _, cpu) in pinned() {
            let label = label(series, one_policy);
            if !kernels.contains(&label) {
                kernels.push(label);
            }
            if let Err(at) = cpus.binary_search(&cpu) {
                cpus.insert(at, cpu);
            }
        }
        let mut cells = vec![vec![None::<Cell>; cpus.len()]; kernels.len()];
        for (series, ticks, cpu) in pinned() {
            let row = kernels.iter().position(|kernel| *kernel == label(series, one_policy));
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

/// Returns the name of a row: the kernel, with the scheduling if there is more than one.
fn label(series: &SeriesResult, one_policy: bool) -> String {
    let facts = &series.facts;
    if one_policy { facts.variant.clone() } else { format!("{} ({})", facts.variant, facts.policy) }
}
