//! Mean and spread of the noise over repeated runs.

use crate::results::Input;
use crate::results::described::{Grouping, Methods};
use crate::results::row::{Print, Row};
use crate::results::summary::METHOD;
use anechoic_analyze::{Repeat, Summary, summarize_many};
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
    let summaries: Vec<Summary> = input.found::<Summary>().cloned().collect();
    summarize_many(&summaries).ok_or_else(|| ProblemKind::Usage.problem("no run", "measure one"))
}
