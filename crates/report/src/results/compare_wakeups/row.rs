//! Two sets of runs of `measure wakeup` compared: did wake-up latency change?

use super::words::sentences;
use crate::results::described::{Grouping, Section};
use crate::results::row::{Print, Row, is_whole};
use anechoic_analyze::compare::Trials;
use anechoic_analyze::compare::wakeups::{WakeupComparison, WakeupVerdict};
use anechoic_analyze::injection::Verdict;
use anechoic_recording::Recording;

/// The row of the result. It is computed from two groups of recordings, so its command computes it.
pub static COMPARE_WAKEUPS: Row<WakeupComparison> = Row {
    verdict,
    headline: sentences,
    section: Some(Section {
        anchor: "compare-wakeups",
        title: "Did wake-up latency change?",
        short: "Comparison",
    }),
    print: Some(Print::with(super::compare_wakeups)),
    ..Row::new("compare-wakeups", "did wake-up latency change", Grouping::Live)
};

/// Returns `Nothing` if there is no verdict on a change, and `Warning` if a recording is not whole or trials are missing.
fn verdict(found: &WakeupComparison, recordings: &[&Recording]) -> Verdict {
    if !matches!(found.verdict, WakeupVerdict::Changed | WakeupVerdict::NotShown) {
        return Verdict::Nothing;
    }
    let complete = found.trials.as_ref().is_none_or(Trials::all_complete);
    if complete && recordings.iter().all(is_whole) { Verdict::Good } else { Verdict::Warning }
}
