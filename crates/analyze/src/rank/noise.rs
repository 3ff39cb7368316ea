//! The noise of a recording in each of its experiments, and how certain it is.

use crate::memory;
use crate::samples::moments::Moments;
use crate::samples::values::Scale;
use crate::samples::{Fixed, visit};
use crate::stats::{Spread, mean, standard_error, student_t};
use anechoic_recording::machine::Cache;
use anechoic_recording::run::Outcome;
use anechoic_recording::{Problem, Recording, Run, Series};
use std::collections::BTreeMap;

/// Most consecutive parts of a series, of which each is left out in turn to find the variation within the run.
const PARTS: usize = 32;
/// Fewest samples in a part.
const FEWEST_SAMPLES: u64 = 2;
/// Fewest parts from which the variation is known.
const FEWEST_PARTS: usize = 6;
/// Fewest parts that must make up the variation: if one outlier does, nothing is known of how often it comes.
const FEWEST_CARRIERS: f64 = 1.8;

/// What makes an experiment the same in two recordings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) experiment: String,
    pub(super) grain_ns: u64,
    pub(super) copies: u32,
    pub(super) injected: Option<String>,
    pub(super) region: Option<u32>,
    pub(super) cache: Option<String>,
    fixed_time: bool,
}

impl Key {
    /// Returns the experiment of a series; `caches` are those of the measured CPU.
    pub(super) fn of(series: &Series, run: &Run, caches: &[&Cache]) -> Self {
        let parameters = &series.parameters;
        let injected = parameters.injection.and_then(|at| run.injections.get(at as usize));
        let injected = injected.map(|of| {
            let hz = 1e9 / of.period_ns.max(1) as f64;
            format!("{} at {hz:.0} Hz", of.kind.name())
        });
        let sizes: Vec<u64> = caches.iter().map(|cache| cache.size_bytes).collect();
        let known = working_set(series).filter(|_| !caches.is_empty());
        let place = known.map(|bytes| memory::place(bytes, &sizes));
        Self {
            experiment: parameters.experiment.as_ref().unwrap_or(&series.variant).clone(),
            // Requested in ns, so rounding of the counter's ticks is undone. The time of a pass is no request.
            grain_ns: match parameters.working_set_bytes {
                Some(_) => 0,
                None => run.clock.ns(series.grain_ticks).saturating_add(50) / 100 * 100,
            },
            copies: parameters.copies,
            injected,
            region: place.map(|place| place as u32 + 1),
            cache: place
                .and_then(|place| caches.get(place))
                .map(|cache| format!("L{}", cache.level)),
            fixed_time: series.fixed == Fixed::Time,
        }
    }

    /// Returns what is the same in every sample.
    pub(super) fn fixed(&self) -> Fixed {
        if self.fixed_time { Fixed::Time } else { Fixed::Work }
    }
}

/// Returns the size of the working set of a memory experiment.
pub(super) fn working_set(series: &Series) -> Option<u64> {
    series.parameters.working_set_bytes.filter(|_| series.parameters.experiment.is_some())
}

/// The logarithm of a ratio of variance to mean, and its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    /// Natural logarithm of the ratio.
    pub(super) log: f64,
    /// Half of the 95 % interval of the logarithm; absent if it is not known.
    pub(super) reach: Option<f64>,
    /// Whether the samples vary by less than the resolution of the counter.
    pub(super) fine: bool,
}

impl Estimate {
    /// Returns the estimate over repeated runs; that of a single run stays as it is.
    pub(super) fn over_runs(runs: &[Self]) -> Self {
        let logs: Vec<f64> = runs.iter().map(|run| run.log).collect();
        match (runs, mean(&logs), standard_error(&logs)) {
            (_, Some(log), Some(error)) => {
                let reach = Some(error * student_t(runs.len() as u64 - 1));
                Self { log, reach, fine: runs.iter().all(|run| run.fine) }
            }
            ([first, ..], ..) => *first,
            ([], ..) => Self { log: 0.0, reach: None, fine: true },
        }
    }

    /// Returns whether it is lower than another one by more than the variation of both.
    pub(super) fn clearly_below(&self, other: &Self) -> bool {
        let reach = self.reach.zip(other.reach).map(|(a, b)| a.hypot(b));
        !(self.fine && other.fine) && reach.is_some_and(|reach| other.log - self.log > reach)
    }
}

/// A series: the moments of its consecutive parts.
#[derive(Debug, Clone)]
struct Point {
    parts: [Moments; PARTS],
    samples: u64,
    scale: Scale,
    /// Units of the result in a sample: accesses of a memory experiment, otherwise 1.
    units: f64,
    /// Raw units of a sample that are not its work: the counter reads of a memory experiment.
    read: f64,
}

impl Point {
    /// Divides the parts into `groups` and returns the moments of all groups except number `without`.
    fn moments(&self, without: usize, groups: usize) -> Moments {
        let mut all = Moments::default();
        let kept = self.parts.iter().enumerate().filter(|(at, _)| at * groups / PARTS != without);
        kept.for_each(|(_, part)| all.merge(part));
        all
    }

    /// Returns the variance of rounding to the resolution of the counter. Less cannot be measured.
    fn resolution(&self) -> f64 {
        (self.scale.step() as f64).powi(2) / 12.0
    }

    /// Returns the logarithm of variance to mean without one group of parts; with all if there is no such group.
    fn log(&self, without: usize, groups: usize) -> Option<f64> {
        let all = self.moments(without, groups);
        let variance = all.variance()?.max(self.resolution());
        let (mean, per_raw) = (all.mean() - self.read, self.scale.per_raw / self.units);
        (mean > 0.0).then(|| (variance / mean * per_raw).ln())
    }
}

/// Returns the noise of a recording in each experiment, of the working sets that compare, given with the experiment. Reads the samples once, in
/// bounded memory.
///
/// # Errors
/// A file is damaged.
pub(super) fn noise_of(
    recording: &Recording,
    compares: &dyn Fn(&str, Option<u64>) -> bool,
) -> Result<BTreeMap<Key, Estimate>, Problem> {
    let (known, run) = (recording.series()?, recording.run());
    let caches = memory::caches(run);
    let point = |(series, outcome): &(Series, Outcome)| Point {
        parts: [Moments::default(); PARTS],
        samples: outcome.samples.max(1),
        scale: Scale::new(series.fixed, &run.clock),
        units: working_set(series).map_or(1.0, |_| series.parameters.iterations.max(1) as f64),
        read: working_set(series).map_or(0.0, |_| run.clock.read_mean_ticks.round()),
    };
    let mut points: Vec<Point> = known.iter().map(point).collect();
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
    let mut experiments: BTreeMap<Key, Vec<&Point>> = BTreeMap::new();
    for ((series, _), point) in known.iter().zip(&points) {
        let key = Key::of(series, run, &caches);
        if compares(&key.experiment, working_set(series)) {
            experiments.entry(key).or_default().push(point);
        }
    }
    let estimates = experiments.into_iter();
    Ok(estimates.filter_map(|(key, points)| Some((key, estimate(&points)?))).collect())
}

/// Returns the median over points, with its variation over the parts of the run.
fn estimate(points: &[&Point]) -> Option<Estimate> {
    let counts = points.iter().map(|point| point.moments(PARTS, PARTS).count());
    let fewest = counts.filter(|&count| count > 1).min()?;
    let groups = (fewest / FEWEST_SAMPLES).min(PARTS as u64) as usize;
    let median = |without: usize| {
        let logs = points.iter().filter_map(|point| point.log(without, groups));
        let mut logs: Vec<f64> = logs.collect();
        (!logs.is_empty()).then(|| crate::stats::median(&mut logs))
    };
    let log = median(PARTS)?;
    let without: Option<Vec<f64>> = (0..groups).map(median).collect();
    let spread = without.and_then(|without| Spread::left_out(log, &without));
    let known = |spread: &Spread| groups >= FEWEST_PARTS && spread.carriers >= FEWEST_CARRIERS;
    let below = |point: &&Point| {
        point.moments(PARTS, PARTS).variance().is_some_and(|found| found < point.resolution())
    };
    let fine = points.iter().any(below);
    Some(Estimate { log, reach: spread.filter(known).map(|spread| spread.reach()), fine })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::trains::{exponential, random, unit};
    use rand_pcg::Pcg64Mcg;

    /// Samples of 1,000 ticks with noise of this strength: a little everywhere, and a long delay in every hundredth.
    fn point(strength: f64, random: &mut Pcg64Mcg) -> Point {
        let mut sample = || {
            let rare =
                if unit(random) < 0.01 { exponential(100.0 * strength, random) } else { 0.0 };
            (1_000.0 + exponential(5.0 * strength, random) + rare) as u64
        };
        let mut part = || {
            let mut part = Moments::default();
            part.add(&(0..256).map(|_| sample()).collect::<Vec<_>>());
            part
        };
        let parts = std::array::from_fn(|_| part());
        let clock = anechoic_lab::builders::clock(1_000_000_000);
        let scale = Scale::new(Fixed::Work, &clock);
        Point { parts, samples: 256 * PARTS as u64, scale, units: 1.0, read: 0.0 }
    }

    /// Returns how often of 200 times two configurations of one and of the other strength are clearly different.
    fn apart(strengths: [f64; 2], of: impl Fn(f64, &mut Pcg64Mcg) -> Estimate) -> usize {
        let mut random = random(7);
        let clearly = |_: &usize| {
            let [a, b] = strengths.map(|strength| of(strength, &mut random));
            a.clearly_below(&b) || b.clearly_below(&a)
        };
        (0..200).filter(clearly).count()
    }

    #[test]
    fn equal_configurations_are_rarely_apart_and_different_ones_nearly_always() {
        let one = |strength: f64, random: &mut Pcg64Mcg| {
            estimate(&[&point(strength, random)]).expect("an estimate")
        };
        let three = |strength: f64, random: &mut Pcg64Mcg| {
            Estimate::over_runs(&[(); 3].map(|()| one(strength, random)))
        };
        // Two independent 95 % intervals of a difference: at most 5 % of 200, and three standard
        // deviations.
        let (alike, different) = (apart([1.0, 1.0], one), apart([1.0, 3.0], one));
        assert!(alike <= 20 && different >= 160, "within a run: {alike}, {different}");
        let (alike, different) = (apart([1.0, 1.0], three), apart([1.0, 3.0], three));
        assert!(alike <= 20 && different >= 160, "over runs: {alike}, {different}");
    }

    #[test]
    fn a_single_outlier_is_no_difference() {
        let mut random = random(1);
        let mut noisy = point(1.0, &mut random);
        noisy.parts[3].add(&[1_000_000]);
        let (quiet, noisy) = (estimate(&[&point(1.0, &mut random)]), estimate(&[&noisy]));
        let (quiet, noisy) = (quiet.expect("an estimate"), noisy.expect("an estimate"));
        assert!(quiet.log + 3.0 < noisy.log && !quiet.clearly_below(&noisy), "{quiet:?} {noisy:?}");
    }
}
