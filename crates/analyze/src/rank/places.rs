//! Places in each experiment, and how often a configuration has which.

use super::noise::{Estimate, Key};
use super::times::{IterationTime, over_first};
use super::{Configuration, Counted, Place, Places, RankedExperiment, RankedNoise, Standing};
use crate::stats::{Interval, NORMAL, normal_above, quantile};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

/// Repetitions of the ranking with drawn values.
const DRAWS: usize = 2_000;

/// Returns the places of the configurations in an experiment by the order of their values, those of equal values absent
/// at the ends.
fn places(logs: &[f64]) -> Vec<Option<Place>> {
    let lowest = logs.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let alone = |end: f64| logs.iter().filter(|&&log| log == end).count() == 1;
    let place = |&log: &f64| match log {
        log if log == lowest => alone(log).then_some(Place::Lowest),
        log if log == highest => alone(log).then_some(Place::Highest),
        _ => Some(Place::Middle),
    };
    logs.iter().map(place).collect()
}

/// Ranks the configurations in an experiment by their noise; none if that of one is absent. `time` is that of each, and
/// `beside_paper` whether it is counted apart.
pub(super) fn experiment(
    key: &Key,
    row: &[Option<Estimate>],
    time: Vec<Option<IterationTime>>,
    beside_paper: bool,
) -> RankedExperiment {
    let all: Option<Vec<Estimate>> = row.iter().copied().collect();
    let logs = all.iter().flatten().map(|estimate| estimate.log).collect::<Vec<_>>();
    let places = places(&logs);
    let noise = row.iter().enumerate().map(|(at, estimate)| {
        estimate.map(|known| RankedNoise {
            variance_to_mean: known.log.exp(),
            interval: known.reach.map(|reach| Interval {
                low: (known.log - reach).exp(),
                high: (known.log + reach).exp(),
            }),
            place: places.get(at).copied().flatten(),
        })
    });
    let noise = noise.collect();
    let find = |clearly: &dyn Fn(&Estimate, &Estimate) -> bool| {
        let all = all.as_ref()?;
        (0..all.len()).find(|&at| others(all, at).all(|other| clearly(&all[at], other)))
    };
    let apart = |all: &Vec<Estimate>| all.iter().any(|a| all.iter().any(|b| a.clearly_below(b)));
    RankedExperiment {
        experiment: key.experiment.clone(),
        grain_ns: key.grain_ns,
        copies: key.copies,
        injected: key.injected.clone(),
        region: key.region,
        cache: key.cache.clone(),
        build: key.matrix.as_ref().map(|(build, _)| build.clone()),
        matrix_bytes: key.matrix.as_ref().map(|(_, bytes)| *bytes),
        beside_paper,
        time,
        noise,
        clearly_lowest: find(&|a, b| a.clearly_below(b)),
        clearly_highest: find(&|a, b| b.clearly_below(a)),
        tied: all.as_ref().map(|all| !apart(all)),
    }
}

/// Returns all estimates but the one at this place.
fn others(all: &[Estimate], at: usize) -> impl Iterator<Item = &Estimate> {
    let numbered = all.iter().enumerate();
    numbered.filter(move |(other, _)| *other != at).map(|(_, estimate)| estimate)
}

/// Returns the experiments that are counted: those of the paper alone, if some are.
pub(super) fn counted(
    experiments: &[RankedExperiment],
) -> impl Iterator<Item = &RankedExperiment> + Clone {
    experiments.iter().filter(|experiment| !experiment.beside_paper)
}

/// Counts the places of a configuration in some experiments.
fn places_in<'e>(experiments: impl Iterator<Item = &'e RankedExperiment>, at: usize) -> Places {
    let mut places = Places::default();
    for noise in experiments
        .filter(|experiment| experiment.tied.is_some())
        .filter_map(|experiment| experiment.noise[at])
    {
        *match noise.place {
            Some(Place::Lowest) => &mut places.lowest,
            Some(Place::Middle) => &mut places.middle,
            Some(Place::Highest) => &mut places.highest,
            None => &mut places.equal,
        } += 1;
    }
    places
}

/// Counts the places of each configuration. `ranked` is the noise of all in the experiments that are counted.
pub(super) fn standings(
    configurations: &[Configuration<'_>],
    experiments: &[RankedExperiment],
    ranked: &[Vec<Estimate>],
) -> Vec<Standing> {
    let known =
        ranked.iter().flatten().all(|estimate| estimate.reach.is_some()) && !ranked.is_empty();
    let draws = known.then(|| drawn(ranked, configurations.len()));
    let shares = Shares { ranked: ranked.len(), draws: draws.as_deref() };
    let numbered = configurations.iter().enumerate();
    numbered.map(|(at, configuration)| standing(at, configuration, experiments, &shares)).collect()
}

/// Returns the places of the configuration `at` among all.
fn standing(
    at: usize,
    configuration: &Configuration<'_>,
    experiments: &[RankedExperiment],
    shares: &Shares<'_>,
) -> Standing {
    let places = places_in(counted(experiments), at);
    let count = |fits: &dyn Fn(&RankedExperiment) -> bool| {
        counted(experiments).filter(|experiment| fits(experiment)).count() as u64
    };
    let mut apart = experiments.iter().filter(|experiment| experiment.beside_paper).peekable();
    Standing {
        name: configuration.name.clone(),
        runs: configuration.recordings.len() as u64,
        lowest: shares.counted(at, Place::Lowest, places.lowest),
        middle: shares.counted(at, Place::Middle, places.middle),
        highest: shares.counted(at, Place::Highest, places.highest),
        equal: places.equal,
        clearly_lowest: count(&|experiment| experiment.clearly_lowest == Some(at)),
        clearly_highest: count(&|experiment| experiment.clearly_highest == Some(at)),
        absent: count(&|experiment| {
            experiment.noise[at].is_none() && experiment.time[at].is_none()
        }),
        beside_paper: apart.peek().is_some().then(|| places_in(apart, at)),
        over_first: over_first(experiments.iter().filter_map(|experiment| experiment.time[at])),
    }
}

/// What the places of a configuration are compared with.
struct Shares<'a> {
    /// Number of experiments that are ranked.
    ranked: usize,
    /// How often each configuration had which place in each repetition with drawn values, if the variation is known.
    draws: Option<&'a [Vec<[u32; 3]>]>,
}

impl Shares<'_> {
    /// Returns how often the configuration `at` has a place, with its share of the experiments.
    fn counted(&self, at: usize, place: Place, count: u64) -> Counted {
        let interval = self.draws.and_then(|draws| {
            let counts = draws.iter().map(|draw| self.share(f64::from(draw[at][place as usize])));
            let mut counts: Vec<f64> = counts.collect();
            counts.sort_by(f64::total_cmp);
            Some(Interval { low: quantile(&counts, 0.025)?, high: quantile(&counts, 0.975)? })
        });
        Counted { count, share: self.share(count as f64), interval }
    }

    fn share(&self, count: f64) -> f64 {
        if self.ranked == 0 { 0.0 } else { count / self.ranked as f64 }
    }
}

/// Ranks values that are drawn from the variation of each, repeatedly; returns how often each configuration had which
/// place.
fn drawn(ranked: &[Vec<Estimate>], configurations: usize) -> Vec<Vec<[u32; 3]>> {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    (0..DRAWS).map(|_| draw(ranked, configurations, &mut random)).collect()
}

/// Ranks values that are drawn once; returns how often each configuration had which place.
fn draw(ranked: &[Vec<Estimate>], configurations: usize, random: &mut Pcg64Mcg) -> Vec<[u32; 3]> {
    let mut counts = vec![[0; 3]; configurations];
    for row in ranked {
        let errors = row.iter().map(|estimate| estimate.reach.unwrap_or(0.0) / NORMAL);
        let logs = row.iter().zip(errors);
        let logs =
            logs.map(|(estimate, error)| estimate.log + error * normal_above(random.random()));
        for (count, place) in counts.iter_mut().zip(places(&logs.collect::<Vec<f64>>())) {
            if let Some(place) = place {
                count[place as usize] += 1;
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of a place has an interval if there is an experiment and the variation is known in all of them.
    #[test]
    fn shares_have_an_interval_where_the_variation_is_known() {
        let estimate = |log: f64, reach: Option<f64>| Estimate { log, reach, fine: false };
        let row = |second: Option<f64>| vec![estimate(0.0, Some(0.1)), estimate(3.0, second)];
        let configurations =
            ["quiet", "noisy"].map(|name| Configuration { name: name.into(), recordings: vec![] });
        let cases = [
            ("no experiment", vec![], None),
            ("known", vec![row(Some(0.1))], Some(Interval { low: 1.0, high: 1.0 })),
            ("unknown in one", vec![row(Some(0.1)), row(None)], None),
        ];
        for (name, ranked, expected) in cases {
            let standings = standings(&configurations, &[], &ranked);
            assert_eq!(standings[0].lowest.interval, expected, "case: {name}");
            assert_eq!(standings[1].highest.interval, expected, "case: {name}");
        }
    }
    /// Logarithms that are normal around 0 and √2, each with the deviation 1, are in this order with the probability
    /// Φ(1) = 0.8413; of 2,000 draws that share has a deviation of 0.008.
    #[test]
    fn values_are_drawn_from_a_normal_distribution_of_the_logarithm() {
        let estimate = |log: f64, reach: f64| Estimate { log, reach: Some(reach), fine: false };
        let row = vec![estimate(0.0, NORMAL), estimate(f64::sqrt(2.0), NORMAL)];
        let draws = drawn(&[row], 2);
        let lowest = draws.iter().map(|counts| counts[0][Place::Lowest as usize]).sum::<u32>();
        let share = f64::from(lowest) / draws.len() as f64;
        assert!((share - 0.841_345).abs() < 0.03, "{share}");
        // Without variation the order never changes.
        let draws = drawn(&[vec![estimate(0.0, 0.0), estimate(0.1, 0.0)]], 2);
        assert!(draws.iter().all(|counts| counts[1][Place::Highest as usize] == 1));
    }

    #[test]
    fn values_that_are_equal_at_an_end_have_no_place_there() {
        use Place::{Highest, Lowest, Middle};
        type Case<'a> = (&'a str, &'a [f64], &'a [Option<Place>]);
        let cases: [Case<'_>; 6] = [
            ("in order", &[1.0, 3.0, 2.0], &[Some(Lowest), Some(Highest), Some(Middle)]),
            ("two lowest", &[1.0, 1.0, 2.0], &[None, None, Some(Highest)]),
            ("two highest", &[5.0, 1.0, 5.0], &[None, Some(Lowest), None]),
            (
                "two in the middle",
                &[2.0, 1.0, 2.0, 3.0],
                &[Some(Middle), Some(Lowest), Some(Middle), Some(Highest)],
            ),
            ("all equal", &[1.0, 1.0], &[None, None]),
            ("none", &[], &[]),
        ];
        for (name, logs, expected) in cases {
            assert_eq!(places(logs), expected, "case: {name}");
        }
    }

    /// Three configurations in four experiments, one of them beside the paper's.
    #[test]
    fn standings_count_the_places_of_each() {
        let key = Key::from_series(
            &anechoic_lab::sample::series()[0],
            &anechoic_lab::sample::run(anechoic_recording::run::RunState::Complete),
            &[],
        );
        let ranked = |values: [Option<f64>; 3], beside_paper: bool| {
            let row =
                values.map(|log| log.map(|log| Estimate { log, reach: Some(0.5), fine: false }));
            let time = IterationTime {
                mean_ns: 1.0,
                shortest_ns: 1.0,
                over_first: Some(2.0),
                interval: None,
            };
            let times = values.map(|log| log.map(|_| time)).to_vec();
            experiment(&key, &row, times, beside_paper)
        };
        // Each value is known to within 0.5: two are apart from 0.71 on.
        let experiments = [
            ranked([Some(1.0), Some(3.0), Some(2.0)], false),
            ranked([Some(1.0), Some(1.5), Some(1.6)], false),
            ranked([Some(1.0), None, Some(0.0)], false),
            ranked([Some(1.0), Some(2.0), Some(5.0)], true),
        ];
        let clear = |experiment: &RankedExperiment| {
            (experiment.clearly_lowest, experiment.clearly_highest, experiment.tied)
        };
        let expected = [
            (Some(0), Some(1), Some(false)),
            (None, None, Some(true)),
            (None, None, None),
            (Some(0), Some(2), Some(false)),
        ];
        assert_eq!(experiments.each_ref().map(clear), expected);
        let noise = experiments[0].noise[1].expect("it is known");
        let interval = noise.interval.expect("its variation is known");
        let close = |found: f64, log: f64| (found.ln() - log).abs() < 1e-12;
        assert!(
            close(noise.variance_to_mean, 3.0)
                && close(interval.low, 2.5)
                && close(interval.high, 3.5)
        );
        let configurations =
            ["a", "b", "c"].map(|name| Configuration { name: name.into(), recordings: vec![] });
        let found = standings(&configurations, &experiments, &[vec![], vec![]]);
        let counts = |standing: &Standing| {
            [standing.lowest.count, standing.middle.count, standing.highest.count, standing.equal]
        };
        assert_eq!(
            found.iter().map(counts).collect::<Vec<_>>(),
            [[2, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0]]
        );
        let shares = |standing: &Standing| [standing.lowest.share, standing.highest.share];
        assert_eq!(
            found.iter().map(shares).collect::<Vec<_>>(),
            [[1.0, 0.0], [0.0, 0.5], [0.0, 0.5]]
        );
        let clear = |standing: &Standing| {
            [standing.clearly_lowest, standing.clearly_highest, standing.absent]
        };
        assert_eq!(found.iter().map(clear).collect::<Vec<_>>(), [[1, 0, 0], [0, 1, 1], [0, 0, 0]]);
        let beside = found[2].beside_paper.expect("one is beside the paper's");
        assert_eq!((beside.lowest, beside.middle, beside.highest, beside.equal), (0, 0, 1, 0));
        assert!(
            found.iter().all(|standing| standing.over_first.is_some_and(|over| over.median == 2.0))
        );
    }
}
