//! Wake-up latency: how late threads were woken.

use super::words::sentences;
use crate::results::Input;
use crate::results::described::{Grouping, Methods, Section};
use crate::results::row::{Print, Row, samples_verdict};
use anechoic_analyze::Wakeup;
use anechoic_analyze::injection::Verdict;
use anechoic_recording::{Problem, Recording, methods};

/// The method whose recordings it is computed from.
const METHOD: &[&str] = &[methods::WAKEUP];

/// The row of the result.
pub static WAKEUP: Row<Wakeup> = Row {
    in_summary: Methods::Only(METHOD),
    in_report: Methods::Only(METHOD),
    section: Some(Section {
        anchor: methods::WAKEUP,
        title: "How late threads are woken",
        short: "Wake-ups",
    }),
    compute: Some(compute),
    verdict,
    headline: sentences,
    facts: |found| Some(&found.run),
    print: Some(Print::with(super::wakeup)),
    ..Row::new(methods::WAKEUP, "wake-up latency", Grouping::Each)
};

fn compute(input: &Input<'_>) -> Result<Wakeup, Problem> {
    anechoic_analyze::wakeup(input.one()?)
}

fn verdict(found: &Wakeup, recordings: &[&Recording]) -> Verdict {
    samples_verdict(found.samples() > 0, recordings)
}
