//! Two sets of runs compared: did the noise change?

use super::sentences;
use crate::results::described::{Grouping, Section};
use crate::results::row::{Print, Row, is_whole};
use anechoic_analyze::compare::{Change, Comparison, JobCosts, Trials};
use anechoic_analyze::injection::Verdict;
use anechoic_predict::phases::{Ask, Noise, predict};
use anechoic_recording::{Problem, ProblemKind, Recording};

/// The row of the result. It is computed from two groups of recordings, so its command computes it.
pub static COMPARE: Row<Comparison> = Row {
    verdict,
    headline: sentences,
    section: Some(Section {
        anchor: "compare",
        title: "Did the noise change?",
        short: "Comparison",
    }),
    print: Some(Print::with(super::compare)),
    ..Row::new("compare", "did the noise change", Grouping::Live)
};

/// Returns `Nothing` if there is no verdict on a change, and `Warning` if a recording is not whole or trials are missing.
fn verdict(found: &Comparison, recordings: &[&Recording]) -> Verdict {
    if matches!(found.verdict, Change::Unproven | Change::OneRun | Change::OneRunDiffers) {
        return Verdict::Nothing;
    }
    let complete = found.trials.as_ref().is_none_or(Trials::all_complete);
    if complete && recordings.iter().all(is_whole) { Verdict::Good } else { Verdict::Warning }
}

/// Predicts what the noise of each recording costs a job: its slowdown less 1.
///
/// # Errors
///
/// Those of the prediction, or a recording is too short for this number of ranks.
pub fn job_costs(
    sides: [&[&Recording]; 2],
    ranks: u64,
    grain_ns: u64,
) -> Result<JobCosts, Problem> {
    let ask = Ask { grains_ns: vec![grain_ns], ranks: vec![ranks], ..Ask::default() };
    let costs = |side: &[&Recording]| {
        side.iter().map(|recording| job_cost(recording, &ask)).collect::<Result<Vec<f64>, _>>()
    };
    Ok(JobCosts { ranks, grain_ns, costs: [costs(sides[0])?, costs(sides[1])?] })
}

/// Predicts what the noise of a recording costs the one job that is asked for.
fn job_cost(recording: &Recording, ask: &Ask) -> Result<f64, Problem> {
    let model = predict(&Noise::read(&[recording.dir().to_owned()], None)?, ask)?;
    let cell = model.grains.first().and_then(|grain| grain.cells.first());
    let cell = cell.filter(|cell| cell.supported).ok_or_else(|| {
        let most = model.grains.first().map_or(0, |grain| grain.supported_ranks);
        let why = format!("the recording supports a prediction for at most {most} ranks");
        let problem = ProblemKind::NoVerdict.problem(why, "ask for fewer ranks, or measure longer");
        problem.about(recording.dir().display())
    })?;
    let slowdown = match &cell.recursion {
        Some(recursion) => recursion.slowdown,
        None => cell.free_start.slowdown,
    };
    Ok(slowdown - 1.0)
}
