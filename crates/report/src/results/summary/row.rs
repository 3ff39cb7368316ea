//! The noise of each CPU and its sources.

use super::headline::sentences;
use crate::certainty;
use crate::results::Input;
use crate::results::described::{Grouping, Methods};
use crate::results::found::Found;
use crate::results::row::{Print, Row};
use crate::results::timeline::{PERIODS, TIMELINE};
use anechoic_analyze::edges::add_edges;
use anechoic_analyze::injection::Verdict;
use anechoic_analyze::waits::{places, releases, threads};
use anechoic_analyze::{Readings, Summary, Wanted};
use anechoic_recording::run::RunState;
use anechoic_recording::{Detour, LossKind, Problem, ProblemKind, Recording, methods};

/// Number of CPUs of a recording whose periods a report computes: those that lost most.
const MOST_CPUS: usize = 4;
/// The method of which many hosts and repeated runs are summed up. Recordings of all methods have a summary if gaps inside
/// samples were watched; it is the main result of those in [`methods::WHOLE`].
pub(crate) const METHOD: &[&str] = &[methods::DETOURS];

/// The row of the result.
pub static SUMMARY: Row<Summary> = Row {
    in_summary: Methods::Only(methods::WHOLE),
    in_report: Methods::All,
    compute: Some(compute),
    verdict,
    headline: sentences,
    facts: |summary| Some(&summary.run),
    print: Some(Print::with(super::summary)),
    ..Row::new("summary", "lost time and its sources", Grouping::Each)
};

/// Computes everything that a report shows of the detours in one pass.
fn compute(input: &Input<'_>) -> Result<Summary, Problem> {
    if let Some(problem) = nothing_saved(input.one()?) {
        return Err(problem);
    }
    let Some(page) = input.page else {
        let mut summary = anechoic_analyze::summarize(input.one()?)?;
        add_edges(summary.interrupts.as_mut(), input.one()?);
        (summary.threads, summary.places) = (threads(input.one()?)?, places(input.one()?)?);
        summary.releases = releases(input.one()?)?;
        return Ok(summary);
    };
    let wanted = Wanted { timeline: Some(page.budget), periods: MOST_CPUS };
    let mut readings = Readings::read(input.one()?, wanted, &mut |_| {})?;
    add_edges(readings.summary.interrupts.as_mut(), input.one()?);
    readings.summary.threads = threads(input.one()?)?;
    readings.summary.places = places(input.one()?)?;
    readings.summary.releases = releases(input.one()?)?;
    page.add(
        readings.timeline.map(|timeline| Found::from_value(&TIMELINE, timeline, input.recordings)),
    );
    page.add(Some(Found::from_value(&PERIODS, readings.periods, input.recordings)));
    Ok(readings.summary)
}

/// Returns the problem of a detour run that was killed before any of it was saved: its noise is not zero but unknown.
fn nothing_saved(recording: &Recording) -> Option<Problem> {
    let run = recording.run();
    let nothing = recording.cut_off()
        && methods::WHOLE.contains(&&*run.method)
        && run.cpus.iter().all(|cpu| cpu.last_ticks <= cpu.first_ticks)
        && recording.rows::<Detour>().next().is_none();
    nothing.then(|| {
        let why = "the run was cut off before any of it was saved, so its noise is unknown";
        ProblemKind::NoVerdict.problem(why, "measure again").about(recording.dir().display())
    })
}

fn verdict(summary: &Summary, _: &[&Recording]) -> Verdict {
    if summary.cpus.iter().all(|cpu| cpu.wall_ns == 0) {
        return Verdict::Nothing;
    }
    if certainty::check_failed(summary) {
        return Verdict::Warning;
    }
    let lost = summary.losses.iter().any(|loss| loss.what != LossKind::Untraced);
    let complete = summary.run.state == RunState::Complete;
    if complete && !lost { Verdict::Good } else { Verdict::Warning }
}
