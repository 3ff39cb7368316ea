//! The samples of one host, summarised: a fixed size for each series, and one histogram for each experiment.

use crate::blocks::CARRIERS_OF_BLOCKS;
use crate::cluster::LengthCounts;
use crate::cluster::facts::{HostFacts, has_facts};
use crate::lengths::LengthsBuilder;
use crate::samples::cells::{Cell, Cells, value_at};
use crate::samples::moments::Moments;
use crate::samples::values::Scale;
use crate::samples::{Fixed, visit};
use crate::stats::{Bounds, Interval, Spread};
use anechoic_recording::run::Outcome;
use anechoic_recording::{Policy, Problem, Recording, Run, Series};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kernel that does nothing, whose samples last as long as its call.
const NO_WORK: &str = "empty";
/// Number of consecutive parts of a series, whose means show how certain its noise is.
const PARTS: usize = 32;

/// An interval that ends beyond this many times the noise says nothing.
const WIDEST: f64 = 10.0;

/// The samples of one host's recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostSamples {
    /// Facts of its run.
    #[serde(flatten)]
    pub facts: HostFacts,
    /// Its series with samples, by number.
    pub series: Vec<CpuSeries>,
    /// Its series without any sample that can be used.
    #[serde(default)]
    pub without: Vec<SeriesWithout>,
    /// What the samples of each experiment lost, over all CPUs.
    pub lost: Vec<ExperimentCounts>,
}

/// An experiment that several CPUs and hosts measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SampledExperiment {
    /// Work kernel: `counter`, `intadd-chain`.
    pub variant: String,
    /// Fixed work: requested duration of a sample. Fixed time: the window. Absent for work that does nothing, which has
    /// a duration of its own.
    pub grain_ns: Option<u64>,
    /// Scheduling: `other`, or `fifo PRIORITY`.
    pub policy: Policy,
    /// Whether work or time is fixed, which determines the meaning of values.
    pub fixed: Fixed,
    /// Whether the loops were pinned to their CPUs.
    pub pinned: bool,
}

/// The samples of one experiment on one CPU. Values are ns if the work is fixed, units of work if the time is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuSeries {
    /// The experiment.
    pub experiment: SampledExperiment,
    /// CPU that its thread was pinned to; absent if it was not pinned.
    pub cpu: Option<u32>,
    /// Class of equal CPUs; empty without a CPU.
    pub class: String,
    /// Number of recorded samples.
    pub samples: u64,
    /// Number of samples that found no free buffer, or no space on the disk.
    pub lost_samples: u64,
    /// Number of samples whose work returned a wrong value.
    pub wrong: u64,
    /// Minimum.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
    /// What its samples lost together against its best one, in ns.
    pub lost_ns: f64,
    /// The time that `lost_ns` is compared with: fixed work, all samples if each were the best; fixed time, all windows.
    pub whole_ns: f64,
    /// 95 % interval of its noise; absent if few parts of the series make it up.
    pub interval: Option<Interval>,
    /// The noise that it exceeds with a probability of 97.5 %, also without an interval.
    pub at_least: Option<f64>,
    /// Noise of one step of the counter, or of one unit of work, in all samples: the resolution.
    pub least: f64,
    /// Time in ns that was lost in each of 32 consecutive parts of the series; empty in summaries of older versions.
    #[serde(default)]
    pub blocks: Vec<f64>,
}

/// A series without any sample that can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesWithout {
    /// The experiment.
    pub experiment: SampledExperiment,
    /// CPU that its thread was pinned to; absent if it was not pinned.
    pub cpu: Option<u32>,
    /// Number of samples taken, lost ones included.
    pub samples: u64,
    /// Number of samples that found no free buffer, or no space on the disk.
    pub lost_samples: u64,
    /// Number of samples whose work returned a wrong value.
    pub wrong: u64,
}

/// What the samples of one experiment lost, in ns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentCounts {
    /// The experiment.
    pub experiment: SampledExperiment,
    /// The times, each against the best sample of its CPU.
    pub lost: LengthCounts,
}

impl CpuSeries {
    /// Returns a number that is larger for a slower series of the same experiment.
    pub(super) fn slowness(&self) -> f64 {
        match self.experiment.fixed {
            Fixed::Work => self.mean,
            Fixed::Time => -self.mean,
        }
    }

    /// Returns its noise. Fixed work: mean / minimum − 1. Fixed time: 1 − mean / maximum.
    #[must_use]
    pub fn noise(&self) -> f64 {
        if self.whole_ns > 0.0 { self.lost_ns / self.whole_ns } else { 0.0 }
    }
}

has_facts!(HostSamples);

impl HostSamples {
    /// Summarises a recording. It reads the samples once, in bounded memory.
    ///
    /// # Errors
    ///
    /// A file is damaged.
    pub fn from_recording(recording: &Recording) -> Result<Self, Problem> {
        let (known, run) = (recording.series()?, recording.run());
        let mut open: Vec<Option<Builder<'_>>> = known
            .iter()
            .map(|(series, outcome)| Some(Builder::new(series, outcome, run)))
            .collect();
        let mut found: Vec<Option<CpuSeries>> = vec![None; known.len()];
        let mut lost: Vec<(SampledExperiment, LengthsBuilder)> = vec![];
        visit(recording, &known, |at, samples| {
            let Some(builder) = &mut open[at] else { return };
            samples.iter().for_each(|sample| builder.add(sample.index, builder.scale.raw(sample)));
            // At once: the memory is that of the series that ran at one time, not of all.
            if builder.is_complete() {
                found[at] = open[at].take().and_then(|builder| builder.finish(&mut lost));
            }
        })?;
        for (at, builder) in open.into_iter().enumerate() {
            found[at] = found[at].take().or_else(|| builder?.finish(&mut lost));
        }
        let without = known.iter().zip(&found).filter(|(_, found)| found.is_none());
        let without = without.map(|((series, outcome), _)| SeriesWithout {
            experiment: SampledExperiment::new(series, run),
            cpu: series.cpu,
            samples: outcome.samples,
            lost_samples: outcome.lost,
            wrong: outcome.wrong,
        });
        let counts = |(experiment, lost): (SampledExperiment, LengthsBuilder)| ExperimentCounts {
            experiment,
            lost: LengthCounts::in_ns(&lost),
        };
        Ok(Self {
            facts: HostFacts::from_recording(recording),
            without: without.collect(),
            series: found.into_iter().flatten().collect(),
            lost: lost.into_iter().map(counts).collect(),
        })
    }

    /// Returns whether anything was measured.
    pub(crate) fn is_measured(&self) -> bool {
        !self.series.is_empty()
    }
}

impl SampledExperiment {
    fn new(series: &Series, run: &Run) -> Self {
        let own_time = series.fixed == Fixed::Work && series.variant == NO_WORK;
        Self {
            variant: series.work(),
            grain_ns: (!own_time).then(|| run.clock.ns(series.grain_ticks)),
            policy: series.policy.clone(),
            fixed: series.fixed,
            pinned: series.cpu.is_some(),
        }
    }
}

/// The samples of one series so far.
struct Builder<'a> {
    series: &'a Series,
    outcome: &'a Outcome,
    run: &'a Run,
    scale: Scale,
    parts: [Moments; PARTS],
    cells: Cells,
    samples: u64,
}

impl<'a> Builder<'a> {
    fn new(series: &'a Series, outcome: &'a Outcome, run: &'a Run) -> Self {
        let scale = Scale::new(series.fixed, &run.clock);
        let (parts, cells) = ([Moments::default(); PARTS], Cells::default());
        Self { series, outcome, run, scale, parts, cells, samples: 0 }
    }

    fn add(&mut self, index: u64, raw: u64) {
        let all = u128::from(self.outcome.samples.max(1));
        let part = (u128::from(index) * PARTS as u128 / all) as usize;
        self.parts[part.min(PARTS - 1)].add(&[raw]);
        self.cells.add(&[raw]);
        self.samples += 1;
    }

    fn is_complete(&self) -> bool {
        let expected = self.outcome.samples.saturating_sub(self.outcome.lost);
        expected > 0 && self.samples >= expected
    }

    /// Returns the series, and adds what its samples lost to the counts of its experiment; nothing without samples.
    fn finish(mut self, lost: &mut Vec<(SampledExperiment, LengthsBuilder)>) -> Option<CpuSeries> {
        let mut all = Moments::default();
        self.parts.iter().for_each(|part| all.merge(part));
        let (least, greatest) = (all.min() as f64, all.max() as f64);
        let whole = self.whole(least)?;
        let experiment = SampledExperiment::new(self.series, self.run);
        let cells = self.cells.cells();
        let (scale, fixed) = (self.scale, self.series.fixed);
        let unit_ns = match fixed {
            Fixed::Work => scale.per_raw,
            Fixed::Time if greatest > 0.0 => whole / greatest,
            Fixed::Time => 0.0,
        };
        let lost_of = |raw: f64| match fixed {
            Fixed::Work => (raw - least) * unit_ns,
            Fixed::Time => (greatest - raw) * unit_ns,
        };
        add_lost(cells, &lost_of, lost_of(all.mean()) * self.samples as f64, &experiment, lost);
        let noise = |raw: f64| lost_of(raw) / whole;
        let lost_in = |part: &Moments| match part.count() {
            0 => 0.0,
            samples => lost_of(part.mean()) * samples as f64,
        };
        let parts = self.parts.iter().filter(|part| part.count() > 0);
        let parts: Vec<f64> = parts.map(|part| noise(part.mean())).collect();
        let bounds = Spread::from_blocks(&parts)
            .map(|spread| spread.bounds(noise(all.mean()), CARRIERS_OF_BLOCKS * PARTS as f64));
        let Bounds { interval, at_least } = bounds.unwrap_or_default();
        let most = WIDEST * noise(all.mean());
        let interval = interval.filter(|ends| ends.high <= most).map(|ends| match fixed {
            Fixed::Work => ends,
            Fixed::Time => Interval { high: ends.high.min(1.0), ..ends },
        });
        let quantile = |thousandths: u64| {
            let rank = (u128::from(self.samples) * u128::from(thousandths)).div_ceil(1000);
            scale.value(value_at(cells, u64::try_from(rank).unwrap_or(u64::MAX)) as f64)
        };
        let cpu = self.run.cpus.iter().find(|known| Some(known.cpu) == self.series.cpu);
        Some(CpuSeries {
            cpu: self.series.cpu,
            class: cpu.map_or(String::new(), |cpu| cpu.class.clone()),
            samples: self.samples,
            lost_samples: self.outcome.lost,
            wrong: self.outcome.wrong,
            min: scale.value(least),
            mean: all.mean() * scale.per_raw,
            median: quantile(500),
            p99: quantile(990),
            max: scale.value(greatest),
            lost_ns: lost_of(all.mean()) * self.samples as f64,
            whole_ns: whole * self.samples as f64,
            interval,
            at_least,
            least: scale.step() as f64 * unit_ns / whole / self.samples as f64,
            blocks: self.parts.iter().map(lost_in).collect(),
            experiment,
        })
    }

    /// Returns the time in ns that the loss of one sample is compared with; absent without samples, or if it is 0.
    fn whole(&self, least: f64) -> Option<f64> {
        let whole = match self.series.fixed {
            Fixed::Work => least * self.scale.per_raw,
            Fixed::Time => self.run.clock.seconds(self.series.grain_ticks) * 1e9,
        };
        (self.samples > 0 && whole > 0.0).then_some(whole)
    }
}

/// Adds what samples lost to the counts of their experiment; `sum_ns` is exact.
fn add_lost(
    cells: &[Cell],
    lost_of: &dyn Fn(f64) -> f64,
    sum_ns: f64,
    experiment: &SampledExperiment,
    lost: &mut Vec<(SampledExperiment, LengthsBuilder)>,
) {
    let in_ns = |cell: &Cell| (lost_of(cell.value as f64).round().max(0.0) as u64, cell.count);
    let counts: Vec<(u64, u64)> = cells.iter().map(in_ns).collect();
    let least = counts.iter().map(|&(ns, _)| ns).min().unwrap_or(0);
    let most = counts.iter().map(|&(ns, _)| ns).max().unwrap_or(0);
    let known = lost.iter().position(|(known, _)| known == experiment);
    let at = known.unwrap_or_else(|| {
        lost.push((experiment.clone(), LengthsBuilder::default()));
        lost.len() - 1
    });
    lost[at].1.merge_cells(&counts, (least, most), sum_ns.round() as u64);
}
