//! Measurements of different sizes or tick rates, joined.

use super::{screen, sentences};
use crate::results::described::Grouping;
use crate::results::measured::cumulative;
use crate::results::measured::names;
use crate::results::row::{Print, Row};
use crate::units::asked;
use anechoic_analyze::cluster::{ClusterBuilder, HostSummary};
use anechoic_analyze::injection::Verdict;
use anechoic_analyze::samples::figures::Point;
use anechoic_analyze::samples::{Measured, SeriesFacts, SeriesResult, measure};
use anechoic_analyze::sweep::{By, Cumulative, Job, Line, Quantity, Sweep, Swept, join};
use anechoic_predict::bsp::{self, Bsp, Cell};
use anechoic_recording::run::RunState;
use anechoic_recording::{Problem, ProblemKind, Recording, methods};
use std::collections::BTreeMap;

/// The row of the result. The number in which recordings differ is asked for, so its command computes it.
pub static SWEEP: Row<Sweep> = Row {
    verdict,
    headline: sentences,
    print: Some(Print::with(screen)),
    ..Row::new("sweep", "measurements of several sizes or rates", Grouping::Live)
};

/// Returns `Warning` if a recording is not complete.
fn verdict(_: &Sweep, recordings: &[&Recording]) -> Verdict {
    let complete = recordings.iter().all(|recording| recording.run().state == RunState::Complete);
    if complete { Verdict::Good } else { Verdict::Warning }
}

/// Joins measurements of one method by a number: the given one, or the usual one of their method.
///
/// # Errors
/// There are fewer than two measurements, their methods differ or have nothing to join, one lacks the number, or a
/// recording is damaged.
pub fn sweep(jobs: &[Job<'_>], by: Option<By>) -> Result<Sweep, Problem> {
    let method = one_method(jobs)?;
    let (usual, quantity) = match method {
        methods::BSP => (By::Ranks, Quantity::Delay),
        methods::DETOURS => (By::Cpus, Quantity::Noise),
        method if methods::SAMPLED.contains(&method) => (By::Rate, Quantity::Noise),
        other => {
            let why = format!("recordings of the method {other} have no quantity to join");
            let remedy =
                "join those of `run`, or of `measure bsp`, `fwq`, `ftq`, `tick` or `loops`";
            return Err(ProblemKind::Usage.problem(why, remedy));
        }
    };
    let by = by.unwrap_or(usual);
    let (mut measurements, mut beside) = (vec![], Beside::default());
    for (job, measurement) in jobs.iter().zip(names_of(jobs)) {
        let at = job.number(by)?;
        let swept = match method {
            methods::BSP => swept_phases(job)?,
            methods::DETOURS => vec![swept_hosts(job)?],
            _ => swept_samples(job, &measurement, at, &mut beside)?,
        };
        measurements.push((measurement, at, swept));
    }
    let lines = join(&measurements);
    if lines.is_empty() {
        let why = "nothing was measured in any of the recordings";
        return Err(ProblemKind::NoVerdict.problem(why, "measure for longer"));
    }
    let (method, measurements, events) = (method.to_owned(), jobs.len() as u64, beside.events());
    let distributions = beside.distributions;
    Ok(Sweep { method, by, quantity, measurements, lines, distributions, events })
}

/// What is joined beside the noise of samples.
#[derive(Default)]
struct Beside {
    distributions: Vec<Cumulative>,
    /// The measurements of each event.
    counted: BTreeMap<String, Vec<(String, f64, Vec<Swept>)>>,
}

impl Beside {
    /// Adds a series of this measurement at the number `at`.
    fn add(&mut self, line: &str, series: &SeriesResult, measurement: &str, at: f64) {
        let points = cumulative::series_losses(series).unwrap_or_default();
        let points = points.into_iter().map(|(value, share)| Point { value, share }).collect();
        self.distributions.push(Cumulative {
            name: line.into(),
            at,
            measurement: measurement.into(),
            points,
        });
        let SeriesFacts { counts, samples, .. } = &series.facts;
        for (event, count) in counts.iter().filter(|_| *samples > 0) {
            let value = *count as f64 / *samples as f64;
            let swept = Swept { line: line.into(), value };
            self.counted.entry(event.clone()).or_default().push((
                measurement.into(),
                at,
                vec![swept],
            ));
        }
    }

    /// Returns the events that came, joined.
    fn events(&self) -> BTreeMap<String, Vec<Line>> {
        let came = |counted: &[(String, f64, Vec<Swept>)]| {
            counted.iter().flat_map(|(.., swept)| swept).any(|swept| swept.value > 0.0)
        };
        let events = self.counted.iter().filter(|(_, counted)| came(counted));
        events.map(|(event, counted)| (event.clone(), join(counted))).collect()
    }
}

/// Returns the method of all recordings.
fn one_method<'a>(jobs: &[Job<'a>]) -> Result<&'a str, Problem> {
    let usage = |why: String, remedy: &str| ProblemKind::Usage.problem(why, remedy);
    let all = || jobs.iter().flat_map(|job| &job.recordings);
    let Some(first) = all().next().filter(|_| jobs.len() > 1) else {
        let remedy =
            "name two or more that differ in their number of ranks or CPUs, or in their tick rate";
        return Err(usage("there is only one measurement".into(), remedy));
    };
    let method = &*first.run().method;
    match all().find(|recording| recording.run().method != method) {
        None => Ok(method),
        Some(other) => {
            let (one, two) = (first.dir().display(), other.dir().display());
            let why = format!("{one} is of the method {method}, {two} of {}", other.run().method);
            Err(usage(why, "join recordings of one method"))
        }
    }
}

/// Returns short names of the measurements: the last part of each path, or all of it where these are alike.
fn names_of(jobs: &[Job<'_>]) -> Vec<String> {
    let last = |job: &Job<'_>| {
        job.dir.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
    };
    let short: Vec<String> = jobs.iter().map(last).collect();
    let alike = |name: &String| short.iter().filter(|other| *other == name).count() > 1;
    if short.iter().any(alike) {
        return jobs.iter().map(|job| job.dir.display().to_string()).collect();
    }
    short
}

/// Returns how long phases were delayed, for each grain and kind of meeting.
fn swept_phases(job: &Job<'_>) -> Result<Vec<Swept>, Problem> {
    Ok(bsp::bsp(&job.recordings)?.cells.iter().map(delayed).collect())
}

fn delayed(cell: &Cell) -> Swept {
    let injected = if cell.injection.is_some() { ", with injected noise" } else { "" };
    let line = format!("{}, {}{injected}", asked(cell.grain_ns), cell.meeting.name());
    Swept { line, value: cell.measured.value * cell.undisturbed.ns.value }
}

/// Joins jobs by their number of ranks; absent without any whose number is known.
pub(crate) fn by_ranks(jobs: &[Bsp]) -> Option<Sweep> {
    let ranked = jobs.iter().filter_map(|job| {
        let ranks = job.ranks?;
        let swept = job.cells.iter().map(delayed).collect();
        Some((format!("{ranks}"), ranks as f64, swept))
    });
    let jobs: Vec<(String, f64, Vec<Swept>)> = ranked.collect();
    let lines = join(&jobs);
    (!lines.is_empty()).then(|| Sweep {
        method: methods::BSP.to_owned(),
        by: By::Ranks,
        quantity: Quantity::Delay,
        measurements: jobs.len() as u64,
        lines,
        distributions: vec![],
        events: BTreeMap::new(),
    })
}

/// Returns the noise of all CPUs of a job.
fn swept_hosts(job: &Job<'_>) -> Result<Swept, Problem> {
    let mut cluster = ClusterBuilder::new();
    for recording in &job.recordings {
        cluster.add(HostSummary::from_recording(recording)?)?;
    }
    Ok(Swept { line: "all CPUs".into(), value: cluster.finish()?.total.noise })
}

/// Returns the noise of each series, and adds its cumulative distribution and its events.
fn swept_samples(
    job: &Job<'_>,
    measurement: &str,
    at: f64,
    beside: &mut Beside,
) -> Result<Vec<Swept>, Problem> {
    let mut swept = vec![];
    for recording in &job.recordings {
        swept.extend(swept_series(&measure(recording)?, measurement, at, beside));
    }
    Ok(swept)
}

/// Returns the noise of each series of one recording, and adds its cumulative distribution and its events.
fn swept_series(
    measured: &Measured,
    measurement: &str,
    at: f64,
    beside: &mut Beside,
) -> Vec<Swept> {
    let mut swept = vec![];
    for series in &measured.series {
        let line = words(series);
        let Some(value) = series.distribution.as_ref().and_then(|distribution| distribution.noise)
        else {
            continue;
        };
        beside.add(&line, series, measurement, at);
        swept.push(Swept { line, value });
    }
    swept
}

/// Joins the sets of a suite, each with its name and its tick rate; absent for fewer than two.
pub(crate) fn by_rate(sets: &[(String, f64, &Measured)]) -> Option<Sweep> {
    let (_, _, first) = sets.first().filter(|_| sets.len() > 1)?;
    let mut beside = Beside::default();
    let swept = |(name, at, measured): &(String, f64, &Measured)| {
        (name.clone(), *at, swept_series(measured, name, *at, &mut beside))
    };
    let lines = join(&sets.iter().map(swept).collect::<Vec<_>>());
    Some(Sweep {
        method: first.method.clone(),
        by: By::Rate,
        quantity: Quantity::Noise,
        measurements: sets.len() as u64,
        lines,
        events: beside.events(),
        distributions: beside.distributions,
    })
}

/// Describes a series: `empty, CPU 1, 1 ms`.
fn words(series: &SeriesResult) -> String {
    format!("{}, {}", names::words(&series.facts), asked(series.facts.grain_ns))
}
