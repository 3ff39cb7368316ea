//! The row of how much of the variance between runs of a program lost time explains.

use super::{SECTION, variance, words};
use crate::results::Input;
use crate::results::described::{Grouping, Methods};
use crate::results::row::{Print, Row};
use anechoic_analyze::injection::Verdict;
use anechoic_analyze::{Summary, Variance};
use anechoic_recording::{Problem, ProblemKind, methods};

/// The method whose repeated runs it is computed from.
const METHOD: &[&str] = &[methods::PROGRAM];

/// The row of the result.
pub static VARIANCE: Row<Variance> = Row {
    in_summary: Methods::Only(METHOD),
    in_report: Methods::Only(METHOD),
    section: Some(SECTION),
    needs: &["summary"],
    compute: Some(compute),
    verdict: |found, _| match found.lacking_events {
        0 if found.left_out.is_empty() => Verdict::Good,
        _ => Verdict::Warning,
    },
    headline: words::sentences,
    facts: |found| Some(&found.run),
    states_doubts: true,
    print: Some(Print::with(variance)),
    ..Row::new("variance", "how much of the variance between runs noise explains", Grouping::Runs)
};

fn compute(input: &Input<'_>) -> Result<Variance, Problem> {
    let summaries: Vec<Summary> = input.found::<Summary>().cloned().collect();
    anechoic_analyze::variance(&summaries).ok_or_else(|| {
        let why = "no run of the program succeeded and was recorded to its end";
        ProblemKind::NoVerdict.problem(why, "record it again")
    })
}
