//! The samples of a recording, summarised by series and by consecutive parts of it.

use crate::samples::moments::Moments;
use crate::samples::values::Scale;
use crate::samples::{Fixed, visit};
use anechoic_recording::run::Outcome;
use anechoic_recording::{Clock, Problem, Recording, Series};

/// Most consecutive parts of a series, of which each is left out in turn to find the variation within the run.
pub(super) const PARTS: usize = 32;

/// Returns the size of the working set of a memory experiment.
pub(super) fn working_set(series: &Series) -> Option<u64> {
    series.parameters.working_set_bytes.filter(|_| series.parameters.experiment.is_some())
}

/// A series: the moments of its consecutive parts.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub(super) parts: [Moments; PARTS],
    pub(super) samples: u64,
    pub(super) scale: Scale,
    /// Units of the result in a sample: accesses of a memory experiment, otherwise 1.
    pub(super) units: f64,
    /// Raw units of a sample that are not its work: the counter reads of a memory experiment.
    pub(super) read: f64,
    /// What a sample does, and how fast its core was.
    pub(super) work: Work,
}

/// The work of a sample.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Work {
    /// Iterations of the kernel in a sample; with fixed time, in one unit of work.
    pub(super) iterations: f64,
    /// Length of the window in ns, with fixed time.
    pub(super) window_ns: Option<f64>,
    /// Length of a core cycle in ns, as calibrated just before the start; absent if unknown.
    pub(super) cycle_ns: Option<f64>,
}

impl Point {
    /// Divides the parts into `groups` and returns the moments of all groups except number `without`.
    pub(super) fn moments(&self, without: usize, groups: usize) -> Moments {
        let mut all = Moments::default();
        let kept = self.parts.iter().enumerate().filter(|(at, _)| at * groups / PARTS != without);
        kept.for_each(|(_, part)| all.merge(part));
        all
    }

    /// Returns variance to mean without one group of parts; with all if there is no such group.
    pub(super) fn noise(&self, without: usize, groups: usize) -> Option<f64> {
        let raw = self.moments(without, groups).variance_to_mean(self.read, self.scale.step())?;
        Some(raw * self.scale.per_raw / self.units)
    }

    /// Returns the mean time of an iteration in ns without one group of parts; with all if there is no such group.
    pub(super) fn time(&self, without: usize, groups: usize) -> Option<f64> {
        self.iteration(self.moments(without, groups).mean())
    }

    /// Returns the shortest time of an iteration in ns, as far as whole samples show it.
    pub(super) fn shortest(&self) -> Option<f64> {
        let all = self.moments(PARTS, PARTS);
        self.iteration(if self.work.window_ns.is_some() { all.max() } else { all.min() } as f64)
    }

    /// Returns whether it has a single sample, which has no variance.
    pub(super) fn is_single(&self) -> bool {
        self.moments(PARTS, PARTS).count() == 1
    }

    /// Returns the shortest, the mean and the longest time of an iteration of fixed work in ns; absent without samples.
    pub(super) fn times_ns(&self) -> Option<[f64; 3]> {
        let all = self.moments(PARTS, PARTS);
        let values = [all.min() as f64, all.mean(), all.max() as f64];
        let [least, mean, greatest] = values.map(|raw| self.iteration(raw));
        Some([least?, mean?, greatest?])
    }

    /// Returns the time of an iteration in ns, from the raw value of a sample.
    fn iteration(&self, raw: f64) -> Option<f64> {
        let ns = match self.work.window_ns {
            Some(window) => window / raw,
            None => (raw - self.read) * self.scale.per_raw,
        };
        let time = ns / self.work.iterations;
        (time > 0.0 && time.is_finite()).then_some(time)
    }

    /// Returns a series before its samples have been read.
    fn empty(series: &Series, outcome: &Outcome, read: f64, clock: &Clock) -> Self {
        Self {
            parts: [Moments::default(); PARTS],
            samples: outcome.samples.max(1),
            scale: Scale::new(series.fixed, clock),
            units: working_set(series).map_or(1.0, |_| series.parameters.iterations.max(1) as f64),
            read: working_set(series).map_or(0.0, |_| read),
            work: work(series, clock),
        }
    }

    /// Returns whether the samples vary by less than the resolution of the counter.
    pub(super) fn is_fine(&self) -> bool {
        let resolution = (self.scale.step() as f64).powi(2) / 12.0;
        self.moments(PARTS, PARTS).variance().is_some_and(|found| found < resolution)
    }
}

/// Returns the series of a recording with what their samples come to, `read` raw units of each pass over memory being a
/// read of the counter. Reads the samples once, in bounded memory.
///
/// # Errors
/// A file is damaged.
pub(super) fn points(recording: &Recording, read: f64) -> Result<Vec<(Series, Point)>, Problem> {
    let (known, run) = (recording.series()?, recording.run());
    let empty = |(series, outcome): &(_, _)| Point::empty(series, outcome, read, &run.clock);
    let mut points: Vec<Point> = known.iter().map(empty).collect();
    visit(recording, &known, |at, samples| {
        let point = &mut points[at];
        let all = u128::from(point.samples);
        let part = |index: u64| ((u128::from(index) * PARTS as u128 / all) as usize).min(PARTS - 1);
        let mut values = Vec::with_capacity(samples.len());
        for samples in samples.chunk_by(|a, b| part(a.index) == part(b.index)) {
            values.clear();
            values.extend(samples.iter().map(|sample| point.scale.raw(sample)));
            point.parts[part(samples[0].index)].add(&values);
        }
    })?;
    Ok(known.into_iter().map(|(series, _)| series).zip(points).collect())
}

fn work(series: &Series, clock: &Clock) -> Work {
    let (parameters, ns) = (&series.parameters, |ticks: u64| clock.seconds(ticks) * 1e9);
    Work {
        iterations: parameters.iterations.max(1) as f64,
        window_ns: (series.fixed == Fixed::Time).then(|| ns(series.grain_ticks)),
        cycle_ns: Some(ns(parameters.megacycle_ticks) / 1e6).filter(|&cycle| cycle > 0.0),
    }
}
