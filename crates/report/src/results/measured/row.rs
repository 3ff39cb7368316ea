//! The distribution of the samples of a method.

use super::headline::sentences;
use crate::results::Input;
use crate::results::described::{Grouping, Methods, Section};
use crate::results::row::{Print, Row};
use anechoic_analyze::Measured;
use anechoic_analyze::injection::Verdict;
use anechoic_recording::run::RunState;
use anechoic_recording::{Problem, Recording};

/// The row of the result, which every method has that has no result of its own.
pub static MEASURED: Row<Measured> = Row {
    in_summary: Methods::Others,
    in_report: Methods::Others,
    section: Some(Section { anchor: "samples", title: "The samples", short: "Samples" }),
    compute: Some(compute),
    verdict,
    headline: sentences,
    facts: |measured| Some(&measured.run),
    print: Some(Print::with(super::measured)),
    ..Row::new("measured", "distribution of the samples", Grouping::Each)
};

fn compute(input: &Input<'_>) -> Result<Measured, Problem> {
    anechoic_analyze::measure_with_spectra(input.one()?)
}

fn verdict(measured: &Measured, _: &[&Recording]) -> Verdict {
    if measured.series.iter().all(|series| series.facts.samples == 0) {
        return Verdict::Nothing;
    }
    if measured.series.iter().all(|series| !series.facts.is_calibrated()) {
        return Verdict::Nothing;
    }
    let whole = measured
        .series
        .iter()
        .all(|series| series.facts.is_whole() && series.facts.is_calibrated());
    let complete = measured.run.state == RunState::Complete && measured.losses.is_empty();
    if whole && complete { Verdict::Good } else { Verdict::Warning }
}
