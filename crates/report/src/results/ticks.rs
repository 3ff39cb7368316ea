//! The serial tick model: what periodic interrupts cost one program.

use super::Input;
use super::row::{Grouping, Methods, Print, Row};
use crate::ticks::words;
use anechoic_analyze::injection::Verdict;
use anechoic_predict::ticks::{Linearity, Model, ProcessorModel, model, table_of};
use anechoic_recording::run::{Ended, RunState};
use anechoic_recording::{Problem, ProblemKind, Recording};

/// The method whose recordings it is of.
const METHOD: &[&str] = &["serial"];
/// The series of the work whose time is modelled.
const SORT: &str = "sort";

/// Its row.
pub static TICKS: Row<Model> = Row {
    in_summary: Methods::Only(METHOD),
    in_report: Methods::Only(METHOD),
    compute: Some(compute),
    verdict,
    headline,
    print: Some(Print::with(crate::ticks)),
    ..Row::new("ticks", "serial tick model", Grouping::Each)
};

fn compute(input: &Input<'_>) -> Result<Model, Problem> {
    let recording = input.one()?;
    if recording.run().method == METHOD[0] && measured(recording)? == Verdict::Nothing {
        let remedy = "measure again, and let it run to its end";
        let problem = ProblemKind::NoVerdict.problem("no sort was completed", remedy);
        return Err(problem.about(recording.dir().display()));
    }
    Ok(model(&table_of(recording)?))
}

/// What of the recording was measured; where that is all, what the model of the worst processor is worth.
fn verdict(found: &Model, recordings: &[&Recording]) -> Verdict {
    let of = |recording: &&Recording| measured(recording).unwrap_or(Verdict::Warning);
    match recordings.iter().map(of).max() {
        None | Some(Verdict::Good) => worth(found),
        Some(less) => less,
    }
}

fn worth(found: &Model) -> Verdict {
    let of = |processor: &ProcessorModel| match processor.verdict {
        verdict if !verdict.sample.tells_cost() => Verdict::Nothing,
        verdict if verdict.linearity == Linearity::Fails => Verdict::Warning,
        _ => Verdict::Good,
    };
    found.processors.iter().map(of).max().unwrap_or(Verdict::Nothing)
}

fn measured(recording: &Recording) -> Result<Verdict, Problem> {
    let mut whole = recording.run().state == RunState::Complete;
    let mut sorts = 0;
    for (series, outcome) in &recording.series()? {
        whole &= outcome.ended == Ended::Complete && outcome.wrong == 0 && outcome.lost == 0;
        sorts += if series.variant == SORT { outcome.samples } else { 0 };
    }
    Ok(match (sorts, whole) {
        (0, _) => Verdict::Nothing,
        (_, true) => Verdict::Good,
        (_, false) => Verdict::Warning,
    })
}

fn headline(found: &Model) -> Vec<String> {
    let of = |processor| [words::cost(processor), words::verdict(processor)];
    found.processors.iter().flat_map(of).collect()
}
