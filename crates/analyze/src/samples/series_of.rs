//! Processes one series' samples one by one, for all results in one pass.

use crate::blocks::SHORTEST_BLOCK_NS;
use crate::samples::block_shares::{BlockShares, MOST_BLOCKS};
use crate::samples::distribution::{Distribution, SeriesValues};
use crate::samples::facts::{CpuSamples, SeriesFacts};
use crate::samples::figures::{Figures, Histogram, OverTime, Scatter, cdf, survival};
use crate::samples::fine::RunsBuilder;
use crate::samples::measured::SeriesResult;
use crate::samples::moments::Moments;
use crate::samples::pace::Pace;
use crate::samples::steadiness::{SteadinessBuilder, USUAL_MAIV};
use crate::samples::values::Scale;
use anechoic_recording::run::Outcome;
use anechoic_recording::{Run, Sample, Series};
use std::collections::BTreeMap;

/// Number of samples that are converted at a time, which fit in the first-level cache.
const AT_ONCE: usize = 1024;

/// Sums over one series' samples.
#[derive(Debug)]
pub(crate) struct SeriesBuilder<'a> {
    run: &'a Run,
    series: &'a Series,
    facts: SeriesFacts,
    /// Number of samples that were taken and not lost.
    expected: u64,
    scale: Scale,
    moments: Moments,
    shares: BlockShares,
    steadiness: SteadinessBuilder,
    runs: RunsBuilder,
    over_time: OverTime,
    scatter: Scatter,
    cpus: BTreeMap<u32, u64>,
    last_cpu: Option<u32>,
    /// Number of the sample that should come next.
    next_index: Option<u64>,
    values: Vec<u64>,
}

impl<'a> SeriesBuilder<'a> {
    /// Returns empty sums.
    pub(crate) fn new(series: &'a Series, outcome: &Outcome, run: &'a Run) -> Self {
        let expected = outcome.samples.saturating_sub(outcome.lost);
        Self {
            run,
            series,
            facts: SeriesFacts::new(series, outcome, run),
            expected,
            scale: Scale::new(series.fixed, &run.clock),
            moments: Moments::default(),
            shares: BlockShares::new(block_length(outcome, expected, run)),
            steadiness: SteadinessBuilder::new(expected),
            runs: RunsBuilder::default(),
            over_time: OverTime::new(outcome.first_ticks, outcome.last_ticks),
            scatter: Scatter::new(outcome.first_ticks, outcome.last_ticks),
            cpus: BTreeMap::new(),
            last_cpu: None,
            next_index: None,
            values: vec![],
        }
    }

    /// Adds the next samples.
    pub(crate) fn add(&mut self, samples: &[Sample]) {
        for samples in samples.chunks(AT_ONCE) {
            self.values.clear();
            for sample in samples {
                let raw = self.scale.raw(sample);
                self.values.push(raw);
                self.over_time.add(sample.start_ticks, raw);
                self.scatter.add(sample.start_ticks, raw);
                self.number(sample.index);
            }
            self.facts.samples += samples.len() as u64;
            self.moments.add(&self.values);
            self.shares.add(&self.values);
            self.steadiness.add(&self.values);
            self.runs.add(&self.values);
            if self.series.cpu.is_none() {
                self.place(samples);
            }
        }
    }

    /// Returns whether all samples came that were taken and not lost.
    pub(crate) fn is_complete(&self) -> bool {
        self.expected > 0 && self.facts.samples >= self.expected
    }

    /// Looks for gaps in the numbering.
    fn number(&mut self, index: u64) {
        let hole = self.next_index.map_or(0, |next| index.saturating_sub(next));
        self.facts.missing = self.facts.missing.saturating_add(hole);
        self.next_index = Some(index.saturating_add(1));
    }

    /// Counts the CPUs on which samples ended.
    fn place(&mut self, samples: &[Sample]) {
        for samples in samples.chunk_by(|a, b| a.cpu == b.cpu) {
            let cpu = samples[0].cpu;
            *self.cpus.entry(cpu).or_default() += samples.len() as u64;
            let moved = self.last_cpu.is_some_and(|last| last != cpu);
            self.facts.migrations += u64::from(moved);
            self.last_cpu = Some(cpu);
        }
    }

    /// Returns the results.
    pub(crate) fn finish(self) -> SeriesResult {
        let Self { run, series, mut facts, scale, moments, runs, .. } = self;
        let (mut cells, blocks) = self.shares.finish();
        let rounding = cells.rounding();
        let (cells, samples) = (cells.cells(), moments.count());
        let taken = SeriesValues { moments: &moments, cells, rounding, blocks: &blocks, scale };
        let distribution = Distribution::from_values(&taken);
        let maiv = series.parameters.maiv_ppm.map_or(USUAL_MAIV, |ppm| f64::from(ppm) / 1e6);
        let tick_ns = run.clock.seconds(1) * 1e9;
        let window_ns = series.grain_ticks as f64 * tick_ns;
        let pace =
            distribution.as_ref().and_then(|d| Pace::new(&facts, series, d, window_ns, tick_ns));
        let since_start = |ticks: u64| run.clock.ns(ticks.saturating_sub(run.start_ticks));
        facts.cpus_seen =
            self.cpus.into_iter().map(|(cpu, samples)| CpuSamples { cpu, samples }).collect();
        SeriesResult {
            facts,
            distribution,
            steadiness: self.steadiness.finish(maiv),
            pace,
            fine: runs.finish(cells, samples, &scale),
            subtraction: None,
            ticks: None,
            spectrum: None,
            figures: Figures {
                series: self.over_time.finish(since_start, &scale),
                drawn: self.scatter.finish(since_start, &scale),
                histogram: Histogram::new(cells, samples, &scale),
                cdf: cdf(cells, samples, &scale),
                survival: survival(cells, samples, &scale),
            },
        }
    }
}

/// Returns the number of samples of a block: a hundredth of all, or as many as take 10 ms.
fn block_length(outcome: &Outcome, expected: u64, run: &Run) -> u64 {
    let wall = u128::from(outcome.last_ticks.saturating_sub(outcome.first_ticks)).max(1);
    let shortest = u128::from(run.clock.ticks(SHORTEST_BLOCK_NS)) * u128::from(expected);
    let shortest = u64::try_from(shortest.div_ceil(wall)).unwrap_or(u64::MAX);
    shortest.max(expected.div_ceil(MOST_BLOCKS)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::{builders, sample};
    use anechoic_recording::run::RunState;

    #[test]
    fn blocks_are_a_hundredth_of_the_samples_or_take_ten_milliseconds() {
        let run = Run { clock: builders::clock(1_000_000_000), ..sample::run(RunState::Complete) };
        let length = |wall_ms: u64, expected: u64| {
            let last_ticks = 500 + wall_ms * 1_000_000;
            let outcome = Outcome { first_ticks: 500, last_ticks, ..Outcome::default() };
            block_length(&outcome, expected, &run)
        };
        let cases = [
            ("a hundredth", 10_000, 5_000, 50),
            ("a hundredth, rounded up", 10_000, 5_001, 51),
            ("as many as take 10 ms", 100, 5_000, 500),
            ("rounded up", 300, 5_000, 167),
            ("few samples", 10_000, 3, 1),
            ("no time", 0, 7, 7 * 10_000_000),
            ("no samples", 100, 0, 1),
        ];
        for (name, wall_ms, expected, blocks) in cases {
            assert_eq!(length(wall_ms, expected), blocks, "case: {name}");
        }
    }
}
