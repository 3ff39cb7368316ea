//! The memory experiments: time per access to working sets of all sizes, and its noise.

use super::sentences;
use crate::results::Input;
use crate::results::described::{Grouping, Methods, Section};
use crate::results::row::{Print, Row, samples_verdict};
use anechoic_analyze::Memory;
use anechoic_analyze::injection::Verdict;
use anechoic_recording::{Problem, Recording, methods};

/// The method whose recordings it is computed from.
const METHOD: &[&str] = &[methods::MEMORY];

/// The row of the result.
pub static MEMORY: Row<Memory> = Row {
    in_summary: Methods::Only(METHOD),
    in_report: Methods::Only(METHOD),
    section: Some(Section {
        anchor: methods::MEMORY,
        title: "Memory: time per access and its noise",
        short: "Memory",
    }),
    compute: Some(compute),
    verdict,
    headline: sentences,
    facts: |found| Some(&found.run),
    print: Some(Print::with(super::memory)),
    ..Row::new(methods::MEMORY, "memory experiments", Grouping::Each)
};

fn compute(input: &Input<'_>) -> Result<Memory, Problem> {
    anechoic_analyze::memory(input.one()?)
}

fn verdict(found: &Memory, recordings: &[&Recording]) -> Verdict {
    samples_verdict(found.measured().next().is_some(), recordings)
}
