//! Everything that is computed from the detours of one recording, in one pass.

use crate::facts::Facts;
use crate::fold::{Fold, Progress, read_once};
use crate::loops::watched;
use crate::spectrum::{CpuPeriods, Periods};
use crate::summary::{Sources, Summary, SummaryBuilder};
use crate::timeline::{Budget, Timeline, TimelineBuilder};
use anechoic_recording::{Problem, ProblemKind, Recording, methods};

/// What to compute besides the summary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Size limit of the timeline; absent if none is wanted.
    pub timeline: Option<Budget>,
    /// Number of CPUs whose periods are computed: those that lost the largest shares of their time.
    pub periods: usize,
}

/// The results from the detours of one recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Readings {
    /// The summary.
    pub summary: Summary,
    /// All detours as data for a picture; absent if not wanted.
    pub timeline: Option<Timeline>,
    /// Periods on the CPUs that lost the largest shares, the largest first. Only loops that ran all the time have
    /// periods, so there are none for a recording of samples.
    pub periods: Vec<CpuPeriods>,
}

impl Readings {
    /// Reads a recording. Each table is read once, part by part, in bounded memory; if the cost of recording events was
    /// measured, detours are read twice.
    ///
    /// # Errors
    ///
    /// A file is damaged, the activities do not belong to these detours, or the recording is one of whole samples,
    /// whose gaps were not watched.
    pub fn read(
        recording: &Recording,
        wanted: Wanted,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, Problem> {
        let run = recording.run();
        let loops = watched(recording)?;
        let mut summary = SummaryBuilder::new(run, &loops);
        let mut timeline = wanted.timeline.map(|budget| TimelineBuilder::new(run, budget));
        let periods = if run.method == methods::DETOURS { wanted.periods } else { 0 };
        let mut periods = Periods::for_noisiest(run, periods);
        let mut folds = summary.folds();
        folds.push(&mut periods);
        folds.extend(timeline.as_mut().map(|timeline| timeline as &mut dyn Fold));
        let strays = read_once(recording, &loops, &mut folds, progress)?;
        Ok(Self {
            summary: summary.finish(recording, &loops, strays)?,
            timeline: timeline.map(TimelineBuilder::finish),
            periods: periods.finish(),
        })
    }
}

/// Summarises a recording: [`Readings::read`] with nothing else wanted.
///
/// # Errors
///
/// A file is damaged, the activities do not belong to these detours, or the recording is one of whole samples, whose
/// gaps were not watched.
pub fn summarize(recording: &Recording) -> Result<Summary, Problem> {
    Ok(Readings::read(recording, Wanted::default(), &mut |_| {})?.summary)
}

/// Returns the sources of the lost time of a recording.
///
/// # Errors
///
/// Those of [`summarize`], or the recording has no attribution.
pub fn sources(recording: &Recording) -> Result<Sources, Problem> {
    let summary = summarize(recording)?;
    let Summary { run, total, losses, sources, .. } = summary;
    let sources = sources.ok_or_else(|| not_attributed(recording, &run))?;
    Ok(Sources { run, noise: total.noise, sources, losses })
}

/// Returns the error of a result that needs sources, for a recording without attribution.
pub(crate) fn not_attributed(recording: &Recording, run: &Facts) -> Problem {
    let has_events = recording.run().trace.is_some();
    let why = match run.not_available.first() {
        Some(missing) if !has_events => format!("{}: {}", missing.what, missing.why),
        _ if has_events => "its events have not been attributed".into(),
        _ => "no kernel events were recorded".into(),
    };
    let remedy = match has_events {
        true => "run `anechoic attribute` on it first",
        false => {
            "measure again where kernel events can be recorded; `anechoic check` shows what is missing"
        }
    };
    let why = format!("{} has no attribution ({why})", recording.dir().display());
    ProblemKind::NoVerdict.problem(why, remedy)
}
