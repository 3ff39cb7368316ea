//! The noise of a recording in each of its experiments, and how certain it is.

use super::points::{PARTS, Point, working_set};
use crate::memory;
use crate::samples::Fixed;
use crate::stats::{Spread, mean, median, standard_error, student_t};
use anechoic_recording::machine::Cache;
use anechoic_recording::memory::MEMORY_EXPERIMENTS;
use anechoic_recording::{Run, Series, methods};
use std::collections::BTreeMap;

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
    /// The build of the loop and the size of the matrix, of the method that compares page sizes.
    pub(super) matrix: Option<(String, u64)>,
    fixed_time: bool,
}

impl Key {
    /// Returns the experiment of a series; `caches` are those of the measured CPU.
    pub(super) fn from_series(series: &Series, run: &Run, caches: &[&Cache]) -> Self {
        let parameters = &series.parameters;
        let injected = parameters.injection.and_then(|at| run.injections.get(at as usize));
        let injected = injected.map(|injection| {
            let hz = 1e9 / injection.period_ns.max(1) as f64;
            format!("{} at {hz:.0} Hz", injection.kind.name())
        });
        let sizes: Vec<u64> = caches.iter().map(|cache| cache.size_bytes).collect();
        let matrix = working_set(series).filter(|_| series.method == methods::PAGING);
        let known = working_set(series).filter(|_| matrix.is_none() && !caches.is_empty());
        let place = known.map(|bytes| memory::place(bytes, &sizes));
        Self {
            experiment: match (&parameters.experiment, &parameters.library) {
                (Some(experiment), None) => experiment.clone(),
                // Two builds of a user's function are two works.
                (Some(experiment), Some(_)) => format!("{experiment} of {}", series.work()),
                (None, _) => series.work(),
            },
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
            matrix: matrix.map(|bytes| (series.variant.clone(), bytes)),
            fixed_time: series.fixed == Fixed::Time,
        }
    }

    /// Returns whether it is a memory experiment that is none of the paper's.
    pub(super) fn beside_paper(&self) -> bool {
        let known = MEMORY_EXPERIMENTS.iter().find(|listed| listed.id == self.experiment);
        self.matrix.is_none() && known.is_some_and(|listed| !listed.published)
    }

    /// Returns what is the same in every sample.
    pub(super) fn fixed(&self) -> Fixed {
        if self.fixed_time { Fixed::Time } else { Fixed::Work }
    }
}

/// The logarithm of a quantity of the samples, and how far it is certain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    /// Natural logarithm of the quantity.
    pub(super) log: f64,
    /// Half of the 95 % interval of the logarithm; absent if it is not known.
    pub(super) reach: Option<f64>,
    /// Whether the samples vary by less than the resolution of the counter.
    pub(super) fine: bool,
}

impl Estimate {
    /// Returns the median of a positive quantity over points, with its variation over the parts of the run. The function
    /// gets a point, the group of parts to leave out, and the number of groups. Points with a single sample have no such
    /// variation, and those alone no interval.
    pub(super) fn from_points(
        points: &[&Point],
        quantity: impl Fn(&Point, usize, usize) -> Option<f64>,
    ) -> Option<Self> {
        let counts = points.iter().map(|point| point.moments(PARTS, PARTS).count());
        let fewest = counts.filter(|&count| count > 1).min().unwrap_or(0);
        let groups = (fewest / FEWEST_SAMPLES).min(PARTS as u64) as usize;
        let log = |without: usize| {
            log_median(points.iter().filter_map(|point| quantity(point, without, groups)))
        };
        let without: Option<Vec<f64>> = (0..groups).map(log).collect();
        let log = log(PARTS)?;
        let spread = without.and_then(|without| Spread::left_out(log, &without));
        let known = |spread: &Spread| groups >= FEWEST_PARTS && spread.carriers >= FEWEST_CARRIERS;
        let fine = points.iter().any(|point| point.is_fine());
        Some(Self { log, reach: spread.filter(known).map(|spread| spread.reach()), fine })
    }

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

/// Returns the logarithm of the median of positive values; absent without values. The median is taken of the values
/// themselves, as in the paper and on the screen of the memory experiments: of an even number the mean of the middle two.
pub(super) fn log_median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| median(&mut values).ln())
}

/// Returns the series of a recording by experiment, of the working sets that compare, given with the experiment.
pub(super) fn by_experiment<'p>(
    run: &Run,
    points: &'p [(Series, Point)],
    compares: &dyn Fn(&str, Option<u64>) -> bool,
) -> BTreeMap<Key, Vec<&'p Point>> {
    let caches = memory::caches(run);
    let mut experiments: BTreeMap<Key, Vec<&Point>> = BTreeMap::new();
    for (series, point) in points {
        let key = Key::from_series(series, run, &caches);
        if compares(&key.experiment, working_set(series)) {
            experiments.entry(key).or_default().push(point);
        }
    }
    experiments
}

#[cfg(test)]
mod tests {
    use super::super::points::Work;
    use super::*;
    use crate::samples::moments::Moments;
    use crate::samples::values::Scale;
    use anechoic_lab::trains::{exponential, random, unit};
    use anechoic_recording::run::RunState;
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
        Point {
            parts,
            samples: 256 * PARTS as u64,
            scale,
            units: 1.0,
            read: 0.0,
            work: Work::default(),
        }
    }

    /// Returns how often of 200 times two configurations of one and of the other strength are clearly different.
    fn apart(strengths: [f64; 2], estimate: impl Fn(f64, &mut Pcg64Mcg) -> Estimate) -> usize {
        let mut random = random(7);
        let clearly = |_: &usize| {
            let [a, b] = strengths.map(|strength| estimate(strength, &mut random));
            a.clearly_below(&b) || b.clearly_below(&a)
        };
        (0..200).filter(clearly).count()
    }

    #[test]
    fn equal_configurations_are_rarely_apart_and_different_ones_nearly_always() {
        let one = |strength: f64, random: &mut Pcg64Mcg| {
            Estimate::from_points(&[&point(strength, random)], Point::noise).expect("an estimate")
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
        let estimate = |point: &Point| Estimate::from_points(&[point], Point::noise);
        let (quiet, noisy) = (estimate(&point(1.0, &mut random)), estimate(&noisy));
        let (quiet, noisy) = (quiet.expect("an estimate"), noisy.expect("an estimate"));
        assert!(quiet.log + 3.0 < noisy.log && !quiet.clearly_below(&noisy), "{quiet:?} {noisy:?}");
    }

    #[test]
    fn samples_finer_than_the_counter_are_recognised() {
        // A length that the counter rounds to steps has a variance of step² / 12 by that alone (uniform error).
        let clock = anechoic_lab::builders::clock(1_000_000_000);
        let step = Scale::new(Fixed::Work, &clock).step();
        for (twelfths, fine) in [(0.0, true), (0.9, true), (1.1, false), (2.9, false)] {
            // A share p of values is a step longer than the others: a variance of p (1 − p) steps.
            let share = (1.0 - f64::sqrt(1.0 - 4.0 * twelfths / 12.0)) / 2.0;
            let mut point = point(1.0, &mut random(1));
            point.parts = std::array::from_fn(|_| Moments::default());
            let values = (0..100_000_u64).map(|at| {
                let longer = f64::from(at as u32) < 100_000.0 * share;
                1_000 + u64::from(longer) * step
            });
            point.parts[0].add(&values.collect::<Vec<_>>());
            assert_eq!(point.is_fine(), fine, "{twelfths} twelfths of a step²");
        }
    }

    #[test]
    fn the_variation_is_known_of_enough_parts_that_carry_it() {
        let mut random = random(2);
        let all = point(1.0, &mut random);
        let mut one = all.clone();
        one.parts[7].add(&[1_000_000]);
        let mut short = all.clone();
        // Ten samples make up five parts of two.
        short.parts = std::array::from_fn(|at| {
            let mut part = Moments::default();
            if at < 10 {
                part.add(&[1_000 + 37 * at as u64 % 11]);
            }
            part
        });
        for (name, point, known) in [
            ("all parts", &all, true),
            ("one carries it", &one, false),
            ("five parts", &short, false),
        ] {
            let found = Estimate::from_points(&[point], Point::noise).expect("an estimate");
            assert_eq!(found.reach.is_some(), known, "case: {name}: {found:?}");
        }
    }
    /// The region of a memory experiment is that of its working set between the caches; where no cache is known, and of
    /// matrices, which differ by their size, there is none.
    #[test]
    fn a_memory_experiment_belongs_to_a_region_if_caches_are_known() {
        let run = anechoic_lab::sample::run(RunState::Complete);
        let cache = |level: u32, size_bytes: u64| Cache {
            level,
            kind: "Unified".into(),
            size_bytes,
            line_bytes: 64,
            ways: 8,
            shared_cpus: "0".into(),
        };
        let caches = [cache(1, 32 << 10), cache(2, 1 << 20)];
        let both = [&caches[0], &caches[1]];
        let cases = [
            ("no cache is known", "fwq", &both[..0], (None, None, false)),
            ("in the first", "fwq", &both[..], (Some(1), Some("L1"), false)),
            ("beside the only one", "fwq", &both[..1], (Some(2), None, false)),
            ("a matrix", methods::PAGING, &both[..], (None, None, true)),
            ("a matrix without caches", methods::PAGING, &both[..0], (None, None, true)),
        ];
        for (name, method, caches, (region, cache, matrix)) in cases {
            let mut series = anechoic_lab::sample::series().swap_remove(0);
            series.method = method.into();
            let bytes = if name == "beside the only one" { 64 << 10 } else { 16 << 10 };
            series.parameters.working_set_bytes = Some(bytes);
            let key = Key::from_series(&series, &run, caches);
            assert_eq!((key.region, key.cache.as_deref()), (region, cache), "case: {name}");
            assert_eq!(key.matrix.is_some(), matrix, "case: {name}");
        }
        for fixed in [Fixed::Work, Fixed::Time] {
            let mut series = anechoic_lab::sample::series().swap_remove(0);
            series.fixed = fixed;
            assert_eq!(Key::from_series(&series, &run, &[]).fixed(), fixed);
        }
    }
}
