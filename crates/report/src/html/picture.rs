//! What a figure shows, apart from how it is drawn: for the figures that are files of their own.

use super::chart::Chart;
use super::heat::Heat;
use super::looks::Look;
use anechoic_analyze::timeline::Cell;

/// A figure of the report.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Its number in the report, from 1.
    pub number: usize,
    /// The recording that it is of: its place, from 1; 0 of all together.
    pub part: usize,
    /// Section and name, for a file's name.
    pub name: String,
    /// Its caption.
    pub caption: String,
    /// What it shows.
    pub picture: Picture,
}

/// What a figure shows.
#[derive(Debug)]
pub(crate) enum Picture {
    /// Curves.
    Chart(Chart),
    /// Detours over time.
    Timeline(Panels),
    /// A shaded table.
    Heat(Heat),
}

/// Detours of some CPUs over time.
#[derive(Debug)]
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
#[derive(Debug)]
pub(crate) struct Panel {
    /// The CPU.
    pub cpu: u32,
    /// Its detours by time; `source` is the rank.
    pub cells: Vec<Cell>,
}
