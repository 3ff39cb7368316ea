//! Mean and spread of the noise over repeated runs.

use crate::results::Input;
use crate::results::described::{Grouping, Methods};
use crate::results::row::{Print, Row};
use crate::results::summary::METHOD;
use anechoic_analyze::{Repeat, Summary, summarize_many};
use anechoic_recording::run::RunState;
use anechoic_recording::{Problem, ProblemKind};

/// The row of the result.
pub static REPEAT: Row<Repeat> = Row {
    in_summary: Methods::Only(METHOD),
    in_report: Methods::Only(METHOD),
    needs: &["summary"],
    compute: Some(compute),
    print: Some(Print::with(super::repeat)),
    in_json: false,
    ..Row::new("repeat", "noise over repeated runs", Grouping::Runs)
};

fn compute(input: &Input<'_>) -> Result<Repeat, Problem> {
    let all: Vec<&Summary> = input.found::<Summary>().collect();
    let whole = |summary: &&&Summary| summary.run.state == RunState::Complete;
    let whole: Vec<Summary> = all.iter().filter(whole).map(|&summary| summary.clone()).collect();
    // A run that ended early says less than the others. If all did, they are what there is.
    let left_out = if whole.is_empty() { 0 } else { (all.len() - whole.len()) as u64 };
    let summaries = if whole.is_empty() { all.into_iter().cloned().collect() } else { whole };
    summarize_many(&summaries)
        .map(|repeat| Repeat { ended_early: left_out, ..repeat })
        .ok_or_else(|| ProblemKind::Usage.problem("no run", "measure one"))
}
