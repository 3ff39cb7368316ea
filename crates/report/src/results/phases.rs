//! What noise costs a parallel job, on more ranks than were measured.

use super::Input;
use super::row::{Grouping, Methods, Print, Row};
use super::summary::METHOD;
use anechoic_predict::phases::{Ask, BUDGET, Noise, PhaseModel, predict};
use anechoic_recording::Problem;

/// Its row.
pub static PHASES: Row<PhaseModel> = Row {
    in_report: Methods::Only(METHOD),
    compute: Some(compute),
    print: Some(Print::with(crate::phases)),
    ..Row::new("phases", "slowdown at scale", Grouping::Each)
};

fn compute(input: &Input<'_>) -> Result<PhaseModel, Problem> {
    let dirs: Vec<_> = input.recordings.iter().map(|of| of.dir().to_owned()).collect();
    let noise = Noise::read(&dirs, None)?;
    let ranks = (0..=7).map(|decade| 10u64.pow(decade)).collect();
    let ask =
        Ask { grains_ns: vec![100_000, 1_000_000, 10_000_000], ranks, seed: 1, budget: BUDGET };
    predict(&noise, &ask)
}
