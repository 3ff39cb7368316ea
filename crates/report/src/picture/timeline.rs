//! Detours over time, with one panel for each CPU.

use super::axis::{Axis, Quantity};
use crate::picture::Look;
use anechoic_analyze::timeline::Cell;

/// Detours of some CPUs over time.
#[derive(Debug, Clone)]
pub(crate) struct Panels {
    /// Time range of all panels.
    pub span_ns: u64,
    /// Sources by rank, the one with the most time first.
    pub looks: Vec<Look>,
    /// Number of sources with an entry in the legend; the others share one.
    pub legend: usize,
    /// One panel for each CPU.
    pub panels: Vec<Panel>,
}

/// The detours of one CPU, with adjacent ones merged.
#[derive(Debug, Clone)]
pub(crate) struct Panel {
    /// The CPU.
    pub cpu: u32,
    /// Its detours by time; `source` is the rank.
    pub cells: Vec<Cell>,
}

/// Returns the vertical axis for detours of these lengths.
pub(crate) fn lengths_axis<'a>(cells: impl Iterator<Item = &'a Cell>) -> Axis {
    let axis = Axis::log("length of the detour", Quantity::Time);
    axis.around(cells.map(|cell| cell.length_ns.max(1) as f64))
}
