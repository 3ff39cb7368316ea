//! Detours over time, a panel a CPU.

use super::axis::{Axis, Quantity};
use crate::picture::Look;
use anechoic_analyze::timeline::Cell;

/// Detours of some CPUs over time.
#[derive(Debug, Clone)]
pub(crate) struct Panels {
    /// The time that all panels show.
    pub span_ns: u64,
    /// Sources by rank: the most time first.
    pub looks: Vec<Look>,
    /// Sources with an entry in the legend; the others share one.
    pub legend: usize,
    /// A panel a CPU.
    pub panels: Vec<Panel>,
}

/// The detours of one CPU, those that are near each other put together.
#[derive(Debug, Clone)]
pub(crate) struct Panel {
    /// The CPU.
    pub cpu: u32,
    /// Its detours by time; `source` is the rank.
    pub cells: Vec<Cell>,
}

/// The vertical axis of detours of these lengths.
pub(crate) fn lengths_axis<'a>(cells: impl Iterator<Item = &'a Cell>) -> Axis {
    let axis = Axis::log("length of the detour", Quantity::Time);
    axis.around(cells.map(|cell| cell.length_ns.max(1) as f64))
}
