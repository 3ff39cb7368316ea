//! Probes of the pace: what was short while work was slow that nothing interrupted.

use super::words::sentences;
use crate::results::Input;
use crate::results::described::{Grouping, Methods, Section};
use crate::results::row::{Print, Row, samples_verdict};
use anechoic_analyze::Probed;
use anechoic_analyze::injection::Verdict;
use anechoic_recording::{Problem, Recording, methods};

/// The method whose recordings it is computed from.
const METHOD: &[&str] = &[methods::PACE];

/// The row of the result.
pub(crate) static PROBED: Row<Probed> = Row {
    in_summary: Methods::Only(METHOD),
    in_report: Methods::Only(METHOD),
    section: Some(Section { anchor: methods::PACE, title: "What was short", short: "Pace" }),
    compute: Some(compute),
    verdict,
    headline: sentences,
    facts: |found| Some(&found.run),
    print: Some(Print::with(super::probed)),
    ..Row::new("probed", "what was short", Grouping::Each)
};

fn compute(input: &Input<'_>) -> Result<Probed, Problem> {
    anechoic_analyze::probed(input.one()?)
}

fn verdict(found: &Probed, recordings: &[&Recording]) -> Verdict {
    let measured = found.cpus.iter().any(|cpu| cpu.windows > 0);
    let verdict = samples_verdict(measured, recordings);
    if verdict == Verdict::Good && found.wrong > 0 { Verdict::Warning } else { verdict }
}
