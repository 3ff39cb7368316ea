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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::clock_ns;

    /// Part `at` has the samples 100 + at and 110 + 2 at.
    fn samples(at: usize) -> [u64; 2] {
        [100 + at as u64, 110 + 2 * at as u64]
    }

    fn point(fixed: Fixed, window_ns: Option<f64>) -> Point {
        let mut parts = [Moments::default(); PARTS];
        parts.iter_mut().enumerate().for_each(|(at, part)| part.add(&samples(at)));
        Point {
            parts,
            samples: 2 * PARTS as u64,
            scale: Scale::new(fixed, &clock_ns()),
            units: 4.0,
            read: 10.0,
            work: Work { iterations: 5.0, window_ns, cycle_ns: None },
        }
    }

    fn close(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found / expected - 1.0).abs() < 1e-9)
    }

    /// Returns mean and variance of the parts that remain.
    fn without(left_out: usize, groups: usize) -> (f64, f64) {
        let in_group = PARTS / groups;
        let kept: Vec<f64> = (0..PARTS)
            .filter(|part| part / in_group != left_out)
            .flat_map(samples)
            .map(|sample| sample as f64)
            .collect();
        let mean = kept.iter().sum::<f64>() / kept.len() as f64;
        let squares: f64 = kept.iter().map(|sample| (sample - mean).powi(2)).sum();
        (mean, squares / (kept.len() - 1) as f64)
    }

    #[test]
    fn a_group_of_parts_is_left_out() {
        let (work, time) = (point(Fixed::Work, None), point(Fixed::Time, Some(1_000.0)));
        for (left_out, groups) in [(0, 4), (3, 4), (4, 4), (31, 32), (1, 2), (8, 8)] {
            let (mean, variance) = without(left_out, groups);
            let name = format!("{left_out} of {groups}");
            assert!(close(work.noise(left_out, groups), variance / (mean - 10.0) / 4.0), "{name}");
            assert!(close(work.time(left_out, groups), (mean - 10.0) / 5.0), "{name}");
            assert!(close(time.time(left_out, groups), 1_000.0 / mean / 5.0), "{name}");
        }
    }

    /// Of fixed time the most work is the shortest iteration.
    #[test]
    fn the_shortest_iteration_is_on_the_undisturbed_side() {
        let (work, time) = (point(Fixed::Work, None), point(Fixed::Time, Some(1_000.0)));
        assert!(close(work.shortest(), (100.0 - 10.0) / 5.0), "{:?}", work.shortest());
        assert!(close(time.shortest(), 1_000.0 / 172.0 / 5.0), "{:?}", time.shortest());
        let [least, mean, greatest] = work.times_ns().expect("samples").map(Some);
        assert!(close(least, 18.0) && close(greatest, (172.0 - 10.0) / 5.0), "{least:?}");
        assert!(close(mean, (without(PARTS, PARTS).0 - 10.0) / 5.0), "{mean:?}");
        assert_eq!(
            Point { read: 100.0, ..work }.times_ns(),
            None,
            "nothing is left of the shortest"
        );
    }

    /// The variance of values that are rounded to a step of the counter is a twelfth of its square.
    #[test]
    fn samples_that_vary_by_less_than_a_step_are_fine() {
        let of_parts = |samples: &[&[u64]]| {
            let mut parts = [Moments::default(); PARTS];
            parts.iter_mut().zip(samples).for_each(|(part, samples)| part.add(samples));
            Point { parts, ..point(Fixed::Work, None) }
        };
        // A step of the made-up counter is a tick: a variance of 1/12.
        let rarely: Vec<u64> = (0..100).map(|at| u64::from(at % 20 == 0)).collect();
        let often: Vec<u64> = (0..100).map(|at| u64::from(at % 5 == 0)).collect();
        assert!(of_parts(&[&rarely]).is_fine() && !of_parts(&[&often]).is_fine());
        assert!(!of_parts(&[&[7]]).is_fine(), "one sample has no variance");
        assert!(of_parts(&[&[7]]).is_single() && !of_parts(&[&[7], &[7]]).is_single());
        assert!(!of_parts(&[]).is_single());
    }
}
