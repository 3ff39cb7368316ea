//! The context-switch ring: what a switch costs by number of members and working set.

use super::words::sentences;
use crate::results::Input;
use crate::results::described::{Grouping, Methods, Section};
use crate::results::row::{Print, Row, samples_verdict};
use anechoic_analyze::Switch;
use anechoic_analyze::injection::Verdict;
use anechoic_recording::{Problem, Recording, methods};

/// The method whose recordings it is computed from.
const METHOD: &[&str] = &[methods::SWITCH];

/// The row of the result.
pub static SWITCH: Row<Switch> = Row {
    in_summary: Methods::Only(METHOD),
    in_report: Methods::Only(METHOD),
    section: Some(Section {
        anchor: methods::SWITCH,
        title: "What context switches cost",
        short: "Switches",
    }),
    compute: Some(compute),
    verdict,
    headline: sentences,
    facts: |found| Some(&found.run),
    print: Some(Print::with(super::switch)),
    ..Row::new(methods::SWITCH, "what context switches cost", Grouping::Each)
};

fn compute(input: &Input<'_>) -> Result<Switch, Problem> {
    anechoic_analyze::switch(input.one()?)
}

fn verdict(found: &Switch, recordings: &[&Recording]) -> Verdict {
    samples_verdict(!found.points.is_empty(), recordings)
}
