//! The memory experiments (Wächtler & Sojka 2012): ticks per access for each working set, and the noise of each experiment
//! in the four regions that the caches define.

mod borders;
mod outliers;

pub use borders::Border;
pub use outliers::{Cause, Outliers};

use crate::facts::Facts;
use crate::samples::{moments::Moments, visit};
use crate::stats::{median, quantile};
use anechoic_recording::memory::{MEMORY_EXPERIMENTS, MemoryExperiment, MemoryGroup};
use anechoic_recording::run::Outcome;
use anechoic_recording::{Problem, Recording, Run, Sample, Series};
use outliers::Fence;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Number of regions of working sets: up to the first-level, second-level and last-level cache, and beyond.
pub const REGIONS: usize = 4;
/// A sample is an outlier if it is longer than the third quartile by more than this many interquartile ranges (Tukey's
/// far-out values).
const FAR_OUT: f64 = 3.0;
/// Smallest interquartile range relative to the median: passes of nearly equal length differ by the counter's steps.
const LEAST_RANGE: f64 = 0.01;

/// The results of the memory experiments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Facts of the run.
    pub run: Facts,
    /// The CPU of the experiments.
    pub cpu: Option<u32>,
    /// Nanoseconds of one tick.
    pub tick_ns: f64,
    /// Ticks that were subtracted from each sample: the mean cost of a counter read.
    pub read_ticks: u64,
    /// Sizes of the smallest pages of the working sets in bytes, as the kernel listed them.
    pub page_bytes: Vec<u64>,
    /// The borders between the regions, from the smallest cache on.
    pub borders: Vec<Border>,
    /// All experiments that were measured or are absent for a known reason, in the order of their definition.
    pub experiments: Vec<Experiment>,
    /// What lengthened the outliers.
    pub outliers: Outliers,
}

/// The results of one experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
}

/// The passes over one working set. An access is one line of 64 bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Variance divided by mean, the paper's measure of noise.
    pub ratio: Option<f64>,
    /// Number of outliers among the passes.
    pub outliers: u64,
}

/// The working sets of one region.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Region {
    /// Number of working sets.
    pub points: u64,
    /// Median of their mean ticks per access.
    pub ticks: f64,
    /// Median of their ratios of variance to mean; absent if no working set has one.
    pub ratio: Option<f64>,
}

impl Memory {
    /// Returns the experiment of that name, if it was measured.
    #[must_use]
    pub fn experiment(&self, id: &str) -> Option<&Experiment> {
        self.experiments.iter().find(|of| of.id == id && of.absent.is_none())
    }

    /// Returns the measured experiments.
    pub fn measured(&self) -> impl Iterator<Item = &Experiment> {
        self.experiments.iter().filter(|of| of.absent.is_none())
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
        let length = |of: &Sample| of.end_ticks.saturating_sub(of.start_ticks);
        lengths[at].extend(samples.iter().map(length));
    })?;
    let read_ticks = run.clock.read_mean_ticks.round() as u64;
    let mut fences = Vec::new();
    let mut points: BTreeMap<&str, Vec<(u32, Point)>> = BTreeMap::new();
    for ((series, _), lengths) in known.iter().zip(&mut lengths) {
        let (fence, point) = point(series, lengths, read_ticks);
        fences.push(fence);
        if let (Some(experiment), Some(point)) = (&series.parameters.experiment, point) {
            points.entry(experiment).or_default().push((series.series, point));
        }
    }
    drop(lengths);
    let (borders, sizes) = (borders::reported(run), cache_sizes(run));
    let found = MEMORY_EXPERIMENTS.iter().filter_map(|of| {
        let mut points: Vec<Point> =
            points.remove(of.id.as_str()).into_iter().flatten().map(|(_, point)| point).collect();
        points.sort_by_key(|point| point.bytes);
        experiment(of, points, &known, run, &sizes)
    });
    let experiments: Vec<Experiment> = found.collect();
    let mut page_bytes: Vec<u64> =
        known.iter().filter_map(|(series, _)| series.parameters.page_bytes).collect();
    page_bytes.sort_unstable();
    page_bytes.dedup();
    Ok(Memory {
        cpu: known.iter().find_map(|(series, _)| series.cpu),
        tick_ns: run.clock.seconds(1) * 1e9,
        read_ticks,
        page_bytes,
        borders: borders::with_knees(borders, &experiments),
        experiments,
        outliers: outliers::explain(recording, &known, &fences)?,
        run: Facts::of(run, span(&known)),
    })
}

/// Returns the time from the first start to the last end of all series.
fn span(known: &[(Series, Outcome)]) -> u64 {
    let first = known.iter().map(|(_, outcome)| outcome.first_ticks).min().unwrap_or(0);
    let last = known.iter().map(|(_, outcome)| outcome.last_ticks).max().unwrap_or(0);
    last.saturating_sub(first)
}

/// Returns the fence of a series beyond which samples are outliers, and its point. Sorts the lengths.
fn point(series: &Series, lengths: &mut [u64], read_ticks: u64) -> (Option<Fence>, Option<Point>) {
    let accesses = series.parameters.iterations.max(1) as f64;
    let bytes = series.parameters.working_set_bytes.unwrap_or(0);
    lengths.sort_unstable();
    let sorted: Vec<f64> =
        lengths.iter().map(|ticks| ticks.saturating_sub(read_ticks) as f64).collect();
    let at = |share| quantile(&sorted, share);
    let (Some(low), Some(middle), Some(high)) = (at(0.25), at(0.5), at(0.75)) else {
        return (None, None);
    };
    let range = (high - low).max(read_ticks as f64).max(LEAST_RANGE * middle);
    let most = high + FAR_OUT * range + read_ticks as f64;
    let median_ticks = (middle as u64).saturating_add(read_ticks);
    let fence = Fence { median_ticks, most_ticks: most as u64 };
    let mut moments = Moments::default();
    let taken: Vec<u64> = lengths.iter().map(|ticks| ticks.saturating_sub(read_ticks)).collect();
    moments.add(&taken);
    let mean = moments.mean() / accesses;
    let variance = moments.variance().map(|variance| variance / (accesses * accesses));
    let point = Point {
        bytes,
        samples: moments.count(),
        min: moments.min() as f64 / accesses,
        median: middle / accesses,
        mean,
        max: moments.max() as f64 / accesses,
        variance,
        ratio: variance.filter(|_| mean > 0.0).map(|variance| variance / mean),
        outliers: lengths.iter().filter(|&&ticks| ticks > fence.most_ticks).count() as u64,
    };
    (Some(fence), Some(point))
}

/// Returns an experiment, unless it was not asked for.
fn experiment(
    of: &MemoryExperiment,
    points: Vec<Point>,
    known: &[(Series, Outcome)],
    run: &Run,
    borders: &[u64],
) -> Option<Experiment> {
    let missing =
        run.not_available.iter().find(|missing| missing.what == format!("experiment {}", of.id));
    let planned =
        || known.iter().find(|(series, _)| series.parameters.experiment.as_ref() == Some(&of.id));
    let absent = match (points.is_empty(), missing) {
        (false, _) => None,
        (true, Some(missing)) => Some(missing.why.clone()),
        (true, None) => Some(planned().map(|_| "the run ended before it".to_owned())?),
    };
    let of_region =
        |number: usize| region(points.iter().filter(|point| place(point.bytes, borders) == number));
    Some(Experiment {
        id: of.id.clone(),
        group: of.before.group(),
        published: of.published,
        kernel: of.kernel.to_owned(),
        other_bytes: planned().and_then(|(series, _)| series.parameters.other_bytes),
        absent,
        regions: std::array::from_fn(of_region),
        points,
    })
}

/// Returns the sizes of the caches of the measured CPU that the machine reports, from the smallest on.
pub(crate) fn cache_sizes(run: &Run) -> Vec<u64> {
    borders::reported(run).iter().map(|border| border.reported_bytes).collect()
}

/// Returns the region of a working set, from 0; `borders` are the sizes of the caches.
pub(crate) fn place(bytes: u64, borders: &[u64]) -> usize {
    borders.iter().filter(|&&border| bytes > border).count().min(REGIONS - 1)
}

fn region<'a>(points: impl Iterator<Item = &'a Point> + Clone) -> Option<Region> {
    let mut ticks: Vec<f64> = points.clone().map(|point| point.mean).collect();
    let mut ratios: Vec<f64> = points.filter_map(|point| point.ratio).collect();
    let ratio = if ratios.is_empty() { None } else { Some(median(&mut ratios)) };
    let count = ticks.len() as u64;
    (count > 0).then(|| Region { points: count, ticks: median(&mut ticks), ratio })
}
