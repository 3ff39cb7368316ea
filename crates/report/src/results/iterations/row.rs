//! The row of the iterations of a recorded program.

use super::{SECTION, iterations, words};
use crate::results::Input;
use crate::results::described::{Grouping, Methods};
use crate::results::row::{Print, Row, is_whole};
use anechoic_analyze::Iterations;
use anechoic_analyze::injection::Verdict;
use anechoic_recording::{Problem, ProblemKind};

/// The row of the result.
pub static ITERATIONS: Row<Iterations> = Row {
    in_summary: Methods::Marked,
    in_report: Methods::Marked,
    section: Some(SECTION),
    compute: Some(compute),
    verdict: |found, recordings| match found.iterations {
        0 => Verdict::Nothing,
        _ if words::warnings(found).is_empty() && recordings.iter().all(is_whole) => Verdict::Good,
        _ => Verdict::Warning,
    },
    headline: words::sentences,
    facts: |found| Some(&found.run),
    states_doubts: true,
    print: Some(Print::with(iterations)),
    ..Row::new(
        "iterations",
        "which iterations of a program are slow, and what hit them",
        Grouping::Each,
    )
};

fn compute(input: &Input<'_>) -> Result<Iterations, Problem> {
    anechoic_analyze::iterations(input.one()?)?.ok_or_else(|| {
        let why = "nothing marks the iterations of what was recorded";
        ProblemKind::NoVerdict.problem(why, "record it with --mark FUNCTION")
    })
}
