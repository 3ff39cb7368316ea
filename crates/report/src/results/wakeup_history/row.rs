//! The earlier wake-ups of a host, and how much its runs differ.

use super::{sentences, wakeup_history};
use crate::results::described::Grouping;
use crate::results::row::{Print, Row};
use anechoic_analyze::history::WakeupHistory;
use anechoic_analyze::injection::Verdict;

/// The row of the result. Its command selects the runs and computes it.
pub static WAKEUP_HISTORY: Row<WakeupHistory> = Row {
    // One run shows nothing about how runs differ.
    verdict: |found, _| if found.runs.len() < 2 { Verdict::Nothing } else { Verdict::Good },
    headline: sentences,
    states_doubts: true,
    print: Some(Print::with(wakeup_history)),
    ..Row::new(
        "wakeup-history",
        "how much the wake-ups of a host differ from run to run",
        Grouping::Live,
    )
};
