//! The cost of interrupts on one CPU for work on another.

use super::words::sentences;
use crate::results::Input;
use crate::results::described::{Grouping, Methods, Section};
use crate::results::row::{Print, Row};
use anechoic_analyze::Interference;
use anechoic_analyze::injection::Verdict;
use anechoic_recording::run::RunState;
use anechoic_recording::{Problem, Recording, methods};

/// The method whose recordings it is computed from.
const METHOD: &[&str] = &[methods::INTERFERENCE];

/// The row of the result.
pub static INTERFERENCE: Row<Interference> = Row {
    in_summary: Methods::Only(METHOD),
    in_report: Methods::Only(METHOD),
    section: Some(Section {
        anchor: methods::INTERFERENCE,
        title: "What interrupts cost on other CPUs",
        short: "Interference",
    }),
    compute: Some(compute),
    verdict,
    headline: |found| vec![sentences(found)],
    facts: |found| Some(&found.run),
    print: Some(Print::with(super::interference)),
    ..Row::new(methods::INTERFERENCE, "interference between CPUs", Grouping::Each)
};

fn compute(input: &Input<'_>) -> Result<Interference, Problem> {
    anechoic_analyze::interference(input.one()?)
}

fn verdict(found: &Interference, _: &[&Recording]) -> Verdict {
    match found.run.state {
        _ if found.pairs.is_empty() => Verdict::Nothing,
        RunState::Complete => Verdict::Good,
        _ => Verdict::Warning,
    }
}
