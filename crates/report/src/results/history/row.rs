//! The earlier runs of a host, and how much they differ.

use super::{history, sentences};
use crate::results::described::Grouping;
use crate::results::row::{Print, Row};
use anechoic_analyze::history::History;
use anechoic_analyze::injection::Verdict;

/// The row of the result. Its command selects the runs and computes it.
pub static HISTORY: Row<History> = Row {
    // One run shows nothing about how runs differ.
    verdict: |found, _| if found.runs.len() < 2 { Verdict::Nothing } else { Verdict::Good },
    headline: sentences,
    states_doubts: true,
    print: Some(Print::with(history)),
    ..Row::new("history", "how much the runs of a host differ", Grouping::Live)
};
