//! Export formats: recordings as files that other tools read.
//!
//! Each format has a file and a row of [`FORMATS`]. The command line, its help and its errors follow from the rows.

mod bencher;
mod csv;
mod cyclictest;
mod detours;
mod folded;
mod format;
mod github;
mod hdr_log;
mod hgrm;
mod netgauge;
mod notes;
mod openmetrics;
mod perfetto;
mod prometheus;
mod sysjitter;

pub use detours::Export;
pub use format::{Format, Holds, Recorded};
use notes::REASONS;
pub use prometheus::{MonitorCounts, monitor_metrics};

/// All formats, in the order of the help.
pub const FORMATS: &[&Format] = &[
    &netgauge::FORMAT,
    &csv::FORMAT,
    &hdr_log::FORMAT,
    &hgrm::FORMAT,
    &sysjitter::FORMAT,
    &cyclictest::FORMAT,
    &prometheus::FORMAT,
    &openmetrics::FORMAT,
    &perfetto::FORMAT,
    &folded::FORMAT,
    &bencher::FORMAT,
    &github::FORMAT,
];
