//! Import formats: recordings of what other tools measured.
//!
//! Each format has a file and a row of [`IMPORTERS`]. The command line, its help and its errors follow from the rows.

mod bare;
mod csv;
mod cyclictest;
mod importer;
mod lines;
mod netgauge;
mod oslat;
mod recorded;
mod sysjitter;
mod trace_cmd;
mod writer;

pub use importer::{COMMON, Importer, Read};
pub use lines::Lines;
pub use netgauge::{NetgaugeRun, netgauge_runs};
pub use recorded::Recorded;
pub use writer::{Imported, MOST_RANGES, TOTAL_LENGTH};

/// What stands in an imported recording for where its threshold and its clock come from.
pub const IMPORTED: &str = "imported";

/// All formats, in the order of the help.
pub const IMPORTERS: &[&Importer] = &[
    &csv::IMPORTER,
    &netgauge::IMPORTER,
    &sysjitter::IMPORTER,
    &oslat::IMPORTER,
    &cyclictest::IMPORTER,
    &trace_cmd::IMPORTER,
    &bare::IMPORTER,
];
