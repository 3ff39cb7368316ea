//! What a service monitored.

use super::{monitored, sentences};
use crate::results::Input;
use crate::results::described::{Grouping, Methods, Section};
use crate::results::row::{Print, Row};
use anechoic_analyze::injection::Verdict;
use anechoic_analyze::monitor::Monitored;
use anechoic_recording::{Problem, methods};

/// The method whose recordings it is computed from.
const METHOD: &[&str] = &[methods::RATES];

/// The row of the result. `anechoic history` adds what was saved.
pub static MONITORED: Row<Monitored> = Row {
    in_summary: Methods::Only(METHOD),
    in_report: Methods::Only(METHOD),
    section: Some(Section {
        anchor: methods::RATES,
        title: "What was monitored",
        short: "Monitored",
    }),
    compute: Some(compute),
    verdict: |found, _| if found.rates.is_empty() { Verdict::Nothing } else { Verdict::Good },
    headline: sentences,
    states_doubts: true,
    print: Some(Print::with(monitored)),
    ..Row::new("monitored", "rates of the kernel's counters over time", Grouping::Job)
};

fn compute(input: &Input<'_>) -> Result<Monitored, Problem> {
    anechoic_analyze::monitor::monitored(input.recordings, vec![])
}
