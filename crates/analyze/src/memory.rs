//! The memory experiments (Wächtler & Sojka 2012): ticks per access for each working set, and the noise of each experiment
//! in the four regions that the caches define.

mod borders;
mod delays;
mod knees;
mod own;
mod predicted;

pub use borders::Border;
pub(crate) use borders::caches;
pub use delays::Delays;
pub use own::{Calls, Own};
pub use predicted::Prediction;

use crate::facts::Facts;
use crate::samples::outliers::{Fence, Outliers, explain};
use crate::samples::{moments::Moments, span, visit};
use crate::stats::{median, quantile};
use anechoic_recording::memory::{MEMORY_EXPERIMENTS, MemoryExperiment, MemoryGroup};
use anechoic_recording::run::{NotAvailable, Outcome, OwnThread, RunState};
use anechoic_recording::{Policy, Problem, Recording, Run, Sample, Series};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Number of regions of working sets: up to the first-level, second-level and last-level cache, and beyond.
pub const REGIONS: usize = 4;
/// The results of the memory experiments.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Memory {
    /// Facts of the run.
    pub run: Facts,
    /// The CPU of the experiments.
    pub cpu: Option<u32>,
    /// Nanoseconds of one tick.
    pub tick_ns: f64,
    /// How long the measuring thread keeps its CPU while others wait for it, the scheduler's quantum, in ns; absent if it
    /// is not known, and for SCHED_FIFO, which has none.
    pub quantum_ns: Option<u64>,
    /// The scheduling policy of the thread that preempts the measuring one; absent if there is none, or none of a higher
    /// priority.
    pub preemptor: Option<Policy>,
    /// Number of passes whose work returned a wrong value.
    #[serde(default)]
    pub wrong: u64,
    /// Ticks that were subtracted from each sample: the mean cost of a counter read as samples end with it.
    pub read_ticks: u64,
    /// Sizes of the smallest pages of the working sets in bytes, as the kernel listed them.
    pub page_bytes: Vec<u64>,
    /// The borders between the regions, from the smallest cache on.
    pub borders: Vec<Border>,
    /// All experiments that were measured or are absent for a known reason, in the order of their definition.
    pub experiments: Vec<Experiment>,
    /// Migrations beside preemptions.
    pub delays: Vec<Delays>,
    /// A user's own function, if it took the place of reads and writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<Own>,
    /// What lengthened the outliers.
    pub outliers: Outliers,
}

/// The results of one experiment.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Experiment {
    /// Its name.
    pub id: String,
    /// Its group.
    pub group: MemoryGroup,
    /// Whether it is one of the 46 of the paper.
    pub published: bool,
    /// The work kernel.
    pub kernel: String,
    /// The memory that another kernel worked on before each pass, in bytes.
    pub other_bytes: Option<u64>,
    /// Why it was not measured; absent if it was.
    pub absent: Option<String>,
    /// Its working sets, from the smallest on.
    pub points: Vec<Point>,
    /// The four regions; a region without working sets is absent.
    pub regions: [Option<Region>; REGIONS],
    /// How well the warm curve and the preemptor's footprint predict its times; absent for all but preemptions, and if
    /// there is no warm curve or no known cache.
    pub prediction: Option<Prediction>,
}

/// The passes over one working set. An access is one line of 64 bytes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Size of the working set in bytes.
    pub bytes: u64,
    /// Number of passes.
    pub samples: u64,
    /// Shortest pass, in ticks per access.
    pub min: f64,
    /// Median pass, in ticks per access.
    pub median: f64,
    /// Mean of all passes, in ticks per access.
    pub mean: f64,
    /// Longest pass, in ticks per access.
    pub max: f64,
    /// Variance of the ticks per access; absent for fewer than two passes.
    pub variance: Option<f64>,
    /// Variance divided by mean, the paper's measure of noise; the variance at least that of rounding to a step of the
    /// counter.
    pub ratio: Option<f64>,
    /// Variance without the time of kernel activities inside the passes; absent if not all of these are known.
    pub variance_without_os: Option<f64>,
    /// Predicted median after the preemption, in ticks per access.
    pub predicted: Option<f64>,
    /// Number of outliers among the passes.
    pub outliers: u64,
}

/// The working sets of one region.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Region {
    /// Number of working sets.
    pub points: u64,
    /// Median of their mean ticks per access.
    pub ticks: f64,
    /// Median of their ratios of variance to mean; absent if no working set has one.
    pub ratio: Option<f64>,
    /// Median part of their variance that disappears without the time of kernel activities inside the passes: that of the
    /// operating system. Absent if these are not known.
    pub os_share: Option<f64>,
}

impl Point {
    /// Returns the part of the variance that disappears without the time of kernel activities inside the passes.
    #[must_use]
    pub fn os_share(&self) -> Option<f64> {
        let variance = self.variance.filter(|&variance| variance > 0.0);
        Some((1.0 - self.variance_without_os? / variance?).max(0.0))
    }
}

impl Memory {
    /// Returns the experiment of that name, if it was measured.
    #[must_use]
    pub fn experiment(&self, id: &str) -> Option<&Experiment> {
        self.experiments
            .iter()
            .find(|experiment| experiment.id == id && experiment.absent.is_none())
    }

    /// Returns the results of several recordings of one machine as those of one; of an experiment in several, the first
    /// that was measured.
    #[must_use]
    pub fn joined(parts: &[Self]) -> Option<Self> {
        let mut joined = parts.first()?.clone();
        for part in &parts[1..] {
            for experiment in &part.experiments {
                match joined.experiments.iter_mut().find(|known| known.id == experiment.id) {
                    None => joined.experiments.push(experiment.clone()),
                    Some(known) if known.absent.is_some() => *known = experiment.clone(),
                    Some(_) => {}
                }
            }
            joined.preemptor = joined.preemptor.or_else(|| part.preemptor.clone());
            joined.wrong = joined.wrong.saturating_add(part.wrong);
            joined.outliers.add(&part.outliers);
            joined.delays.extend(part.delays.iter().cloned());
            joined.page_bytes.extend(&part.page_bytes);
            if joined.run.state == RunState::Complete {
                joined.run.state = part.run.state.clone();
            }
            for note in &part.run.notes {
                if !joined.run.notes.contains(note) {
                    joined.run.notes.push(note.clone());
                }
            }
            for missing in &part.run.not_available {
                if !joined.run.not_available.contains(missing) {
                    joined.run.not_available.push(missing.clone());
                }
            }
            joined.run.wall_ns = joined.run.wall_ns.saturating_add(part.run.wall_ns);
        }
        joined.page_bytes.sort_unstable();
        joined.page_bytes.dedup();
        let place = |experiment: &Experiment| {
            MEMORY_EXPERIMENTS.iter().position(|known| known.id == experiment.id)
        };
        joined.experiments.sort_by_key(place);
        borders::find_knees(&mut joined.borders, &joined.experiments);
        Some(joined)
    }

    /// Returns the measured experiments.
    pub fn measured(&self) -> impl Iterator<Item = &Experiment> {
        self.experiments.iter().filter(|experiment| experiment.absent.is_none())
    }
}

/// Computes the results of a recording of memory experiments. Keeps the length of each sample in memory.
///
/// # Errors
/// A file is damaged.
pub fn memory(recording: &Recording) -> Result<Memory, Problem> {
    let run = recording.run();
    let known = recording.series()?;
    let mut lengths: Vec<Vec<u64>> = vec![Vec::new(); known.len()];
    visit(recording, &known, |at, samples| {
        let length = |sample: &Sample| sample.end_ticks.saturating_sub(sample.start_ticks);
        lengths[at].extend(samples.iter().map(length));
    })?;
    let read_ticks = run.clock.sample_read_ticks();
    let fence_and_point = |((series, _), lengths): (&(Series, Outcome), &mut Vec<u64>)| {
        point(series, lengths, read_ticks, run.clock.step_ticks())
    };
    let (fences, found): (Vec<_>, Vec<_>) =
        known.iter().zip(&mut lengths).map(fence_and_point).unzip();
    drop(lengths);
    let (outliers, without_os) = explain(recording, &known, &fences)?;
    let mut points: BTreeMap<&str, Vec<Point>> = BTreeMap::new();
    for (((series, _), point), without_os) in known.iter().zip(found).zip(without_os) {
        let (Some(experiment), Some(point)) = (&series.parameters.experiment, point) else {
            continue;
        };
        let known = Some(without_os).filter(|moments| moments.count() == point.samples);
        let variance_without_os = known.and_then(|moments| variance(&moments, series));
        points.entry(experiment).or_default().push(Point { variance_without_os, ..point });
    }
    let caches = caches(run);
    let sizes: Vec<u64> = caches.iter().map(|cache| cache.size_bytes).collect();
    let found = MEMORY_EXPERIMENTS.iter().filter_map(|listed| {
        let mut points = points.remove(listed.id.as_str()).unwrap_or_default();
        points.sort_by_key(|point| point.bytes);
        experiment(listed, points, &known, run, &sizes)
    });
    let mut experiments: Vec<Experiment> = found.collect();
    let mut page_bytes: Vec<u64> =
        known.iter().filter_map(|(series, _)| series.parameters.page_bytes).collect();
    page_bytes.sort_unstable();
    page_bytes.dedup();
    let borders = borders::borders(&caches, &experiments);
    predicted::add(&mut experiments, &caches, page_bytes.first().copied());
    let tick_ns = run.clock.seconds(1) * 1e9;
    Ok(Memory {
        own: own::own(&experiments, &known, tick_ns),
        cpu: known.iter().find_map(|(series, _)| series.cpu),
        tick_ns,
        quantum_ns: run.quantum_ns,
        preemptor: preemptor(run),
        wrong: known.iter().map(|(_, outcome)| outcome.wrong).fold(0, u64::saturating_add),
        read_ticks,
        page_bytes,
        borders,
        delays: delays::compare(&experiments, sizes.last().copied()),
        experiments,
        outliers,
        run: Facts::new(run, span(&known)),
    })
}

/// Returns the policy of the thread that preempts the loop.
fn preemptor(run: &Run) -> Option<Policy> {
    let mut preempting =
        run.own_threads.iter().filter(|thread| thread.role == OwnThread::PREEMPTING);
    preempting.find_map(|thread| thread.policy.clone())
}

/// Returns the fence of a series beyond which samples are outliers, and its point. Sorts the lengths.
fn point(
    series: &Series,
    lengths: &mut [u64],
    read_ticks: u64,
    step_ticks: u64,
) -> (Option<Fence>, Option<Point>) {
    let accesses = accesses(series);
    let bytes = series.parameters.working_set_bytes.unwrap_or(0);
    lengths.sort_unstable();
    let sorted: Vec<f64> =
        lengths.iter().map(|ticks| ticks.saturating_sub(read_ticks) as f64).collect();
    let (Some(fence), Some(middle)) = (Fence::new(lengths, read_ticks), quantile(&sorted, 0.5))
    else {
        return (None, None);
    };
    let mut moments = Moments::default();
    let taken: Vec<u64> = lengths.iter().map(|ticks| ticks.saturating_sub(read_ticks)).collect();
    moments.add(&taken);
    let mean = moments.mean() / accesses;
    let variance = variance(&moments, series);
    let point = Point {
        bytes,
        samples: moments.count(),
        min: moments.min() as f64 / accesses,
        median: middle / accesses,
        mean,
        max: moments.max() as f64 / accesses,
        variance,
        ratio: moments.variance_to_mean(0.0, step_ticks).map(|ratio| ratio / accesses),
        variance_without_os: None,
        predicted: None,
        outliers: lengths.iter().filter(|&&ticks| ticks > fence.most_ticks).count() as u64,
    };
    (Some(fence), Some(point))
}

/// Returns the number of accesses in a pass.
fn accesses(series: &Series) -> f64 {
    series.parameters.iterations.max(1) as f64
}

/// Returns the variance of the ticks per access.
fn variance(passes: &Moments, series: &Series) -> Option<f64> {
    passes.variance().map(|variance| variance / accesses(series).powi(2))
}

/// Returns an experiment, unless it was not asked for.
fn experiment(
    listed: &MemoryExperiment,
    points: Vec<Point>,
    known: &[(Series, Outcome)],
    run: &Run,
    borders: &[u64],
) -> Option<Experiment> {
    let what = NotAvailable::experiment(&listed.id);
    let missing = run.not_available.iter().find(|missing| missing.what == what);
    let planned = || {
        known.iter().find(|(series, _)| series.parameters.experiment.as_ref() == Some(&listed.id))
    };
    let absent = match (points.is_empty(), missing) {
        (false, _) => None,
        (true, Some(missing)) => Some(missing.why.clone()),
        (true, None) => Some(planned().map(|_| "the run ended before it".to_owned())?),
    };
    let in_region =
        |number: usize| region(points.iter().filter(|point| place(point.bytes, borders) == number));
    Some(Experiment {
        id: listed.id.clone(),
        group: listed.before.group(),
        published: listed.published,
        kernel: listed.kernel.to_owned(),
        other_bytes: planned().and_then(|(series, _)| series.parameters.other_bytes),
        absent,
        regions: std::array::from_fn(in_region),
        points,
        prediction: None,
    })
}

/// Returns the region of a working set, from 0; `borders` are the sizes of the caches.
pub(crate) fn place(bytes: u64, borders: &[u64]) -> usize {
    borders.iter().filter(|&&border| bytes > border).count().min(REGIONS - 1)
}

fn region<'a>(points: impl Iterator<Item = &'a Point> + Clone) -> Option<Region> {
    let count = points.clone().count() as u64;
    let ticks = middle(points.clone(), |point| Some(point.mean))?;
    let ratio = middle(points.clone(), |point| point.ratio);
    Some(Region { points: count, ticks, ratio, os_share: middle(points, Point::os_share) })
}

/// Returns the median of a value over points; absent if none has it.
fn middle<'a>(
    points: impl Iterator<Item = &'a Point>,
    value: fn(&Point) -> Option<f64>,
) -> Option<f64> {
    let mut values: Vec<f64> = points.filter_map(value).collect();
    (!values.is_empty()).then(|| median(&mut values))
}
