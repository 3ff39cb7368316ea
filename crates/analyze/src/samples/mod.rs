//! The samples of a method: [`measure`] reads them once and computes the distribution of each series.
//!
//! Everything stays in ticks, or in units of work, until a series is complete.

mod block_shares;
pub(crate) mod cells;
pub mod distribution;
mod facts;
pub mod figures;
pub mod fine;
pub mod measured;
pub mod modes;
pub(crate) mod moments;
mod neighbours;
pub mod outliers;
pub mod pace;
pub(crate) mod series_of;
mod spectra;
pub mod steadiness;
mod stream;
pub mod subtraction;
mod subtraction_effects;
pub(crate) mod subtraction_left;
mod subtraction_of;
mod subtraction_paced;
mod subtraction_parts;
mod subtraction_pass;
pub(crate) mod subtraction_values;
pub mod tick_overhead;
pub mod tick_overhead_table;
pub(crate) mod values;

pub use facts::{CpuSamples, SeriesFacts};
pub use measured::{Measured, SeriesResult};
pub use stream::visit;

use crate::coverage::losses;
use crate::facts::Facts;
use crate::readings::summarize;
pub use anechoic_recording::Fixed;
use anechoic_recording::run::{NotAvailable, Outcome};
use anechoic_recording::{Clock, Problem, ProblemKind, Recording, Sample, Series};
use series_of::SeriesBuilder;
use spectra::SpectraBuilder;
use std::collections::BTreeMap;
use subtraction_pass::DirectBuilder;

/// Returns the time from the first start to the last end of all series.
pub(crate) fn span(known: &[(Series, Outcome)]) -> u64 {
    let first = known.iter().map(|(_, outcome)| outcome.first_ticks).min().unwrap_or(0);
    let last = known.iter().map(|(_, outcome)| outcome.last_ticks).max().unwrap_or(0);
    last.saturating_sub(first)
}

/// Summarises a recording of a method. It reads the samples once, in bounded memory.
///
/// # Errors
///
/// A file is damaged.
pub fn measure(recording: &Recording) -> Result<Measured, Problem> {
    let known = recording.series()?;
    read(recording, &known, |_, _| {})
}

/// Summarises a recording with the spectrum of each series, in the same pass over the samples, and with what took
/// the time. The activities of CPUs with lines are read once more for the sources of these.
///
/// # Errors
///
/// Those of [`measure`].
pub fn measure_with_spectra(recording: &Recording) -> Result<Measured, Problem> {
    let known = recording.series()?;
    let mut spectra = SpectraBuilder::new(&known, &recording.run().clock);
    let mut measured = read(recording, &known, |at, samples| spectra.add(at, samples))?;
    for ((series, _), spectrum) in known.iter().zip(spectra.finish(recording)?) {
        let is_same = |found: &&mut SeriesResult| found.facts.number == series.series;
        if let Some(result) = measured.series.iter_mut().find(is_same) {
            result.spectrum = spectrum;
        }
    }
    measured.sources = match summarize(recording) {
        Ok(found) => found.sources.filter(|sources| !sources.rows.is_empty()),
        // Detours inside the samples were not watched.
        Err(problem) if problem.kind == ProblemKind::NoVerdict => None,
        Err(problem) => return Err(problem),
    };
    Ok(measured)
}

/// Reads the samples once, and passes them to `each` as well.
fn read(
    recording: &Recording,
    known: &[(Series, Outcome)],
    mut each: impl FnMut(usize, &[Sample]),
) -> Result<Measured, Problem> {
    let run = recording.run();
    let mut open: Vec<Option<SeriesBuilder>> = known
        .iter()
        .map(|(series, outcome)| Some(SeriesBuilder::new(series, outcome, run)))
        .collect();
    let mut done: Vec<Option<SeriesResult>> = known.iter().map(|_| None).collect();
    let mut direct = DirectBuilder::new(recording, known)?;
    let mut strays = Strays::default();
    strays.without_series = visit(recording, known, |at, samples| {
        each(at, samples);
        direct.add(at, samples);
        let Some(series) = &mut open[at] else {
            strays.after_the_last += samples.len() as u64;
            return;
        };
        series.add(samples);
        // At once: the memory is that of the series that ran at one time, not of all.
        if series.is_complete() {
            done[at] = open[at].take().map(SeriesBuilder::finish);
        }
    })?;
    let finished = open.into_iter().map(|series| series.map(SeriesBuilder::finish));
    let mut series: Vec<SeriesResult> =
        finished.zip(done).filter_map(|(finished, done)| finished.or(done)).collect();
    for (series, direct) in series.iter_mut().zip(direct.finish()?) {
        (series.subtraction, series.ticks) = (direct.subtraction, direct.ticks);
    }
    let tick_modes = series.iter_mut().filter_map(|series| series.ticks.as_mut()?.modes.as_mut());
    modes::judge(tick_modes.collect());
    let windows = windows(known);
    let longest = known.iter().map(|(_, o)| o.last_ticks.saturating_sub(o.first_ticks)).max();
    Ok(Measured {
        run: Facts::new(run, longest.unwrap_or(0)),
        method: run.method.clone(),
        series,
        sources: None,
        losses: losses(&recording.losses()?, &windows),
        not_available: strays.not_available(not_begun(recording, known)?),
    })
}

/// Returns the range from the first to the last sample of each CPU that series were pinned to.
pub(crate) fn windows(known: &[(Series, Outcome)]) -> Vec<(u32, u64, u64)> {
    let mut windows = BTreeMap::<u32, (u64, u64)>::new();
    for (series, outcome) in known {
        let Some(cpu) = series.cpu else { continue };
        let (first, last) = windows.entry(cpu).or_insert((u64::MAX, 0));
        *first = outcome.first_ticks.min(*first);
        *last = outcome.last_ticks.max(*last);
    }
    windows.into_iter().map(|(cpu, (first, last))| (cpu, first, last)).collect()
}

/// Returns planned series without samples and outcome.
fn not_begun(recording: &Recording, known: &[(Series, Outcome)]) -> Result<usize, Problem> {
    let mut planned = 0;
    for rows in recording.rows::<Series>() {
        planned += rows?.len();
    }
    Ok(planned.saturating_sub(known.len()))
}

/// Reports samples without a series, from a damaged or foreign table.
#[derive(Default)]
struct Strays {
    without_series: u64,
    after_the_last: u64,
}

impl Strays {
    fn not_available(&self, not_begun: usize) -> Vec<NotAvailable> {
        let foreign = "verify the recording, or measure again";
        let rows = [
            (
                format!("{} samples", self.without_series),
                self.without_series,
                "they belong to no series of the recording",
                foreign,
            ),
            (
                format!("{} samples", self.after_the_last),
                self.after_the_last,
                "they were left out, because their series was complete without them",
                foreign,
            ),
            (
                format!("{not_begun} series"),
                not_begun as u64,
                "the run ended before they began",
                "let the run finish",
            ),
        ];
        let row = |(what, count, why, remedy): (String, u64, &str, &str)| {
            (count > 0).then(|| NotAvailable::new(what, why, remedy))
        };
        rows.into_iter().filter_map(row).collect()
    }
}

/// Why gaps inside samples are unknown.
const NOT_WATCHED: &str = "the counter was not read inside the samples: --pure was given, the samples are shorter than 8 steps, or the kernel is `empty`";
/// What helps against that.
const WATCH: &str = "measure without --pure, with longer samples of a kernel that works";

/// Converts ticks to nanoseconds, rounded to a thousandth.
pub(crate) fn ns(ticks: u64, clock: &Clock) -> f64 {
    (clock.seconds(ticks) * 1e12).round() / 1e3
}
