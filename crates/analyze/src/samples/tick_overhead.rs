//! The average overhead of one tick (Radojković 2008, Table 1).

use crate::samples::moments::Moments;
use crate::samples::subtraction_left::ns_of;
use crate::samples::subtraction_parts::{Class, Parts};
use crate::samples::subtraction_values::Values;
use crate::samples::{NOT_WATCHED, WATCH, ns};
use crate::stats::{Batches, Interval, NORMAL};
use anechoic_recording::Clock;
use anechoic_recording::run::NotAvailable;
use schemars::JsonSchema;
use serde::Serialize;

/// How the intervals are computed.
const INTERVAL: &str = "95 % by the standard errors of the mean (Student's t) and of the median (order statistics), widened by the correlation of consecutive repetitions";

/// Smallest number of values whose extremes enclose their true median in at least 95 % of all cases.
pub(crate) const FEWEST_FOR_MEDIAN: u64 = 6;

/// Cost of ticks for the repetitions of one kernel on one CPU.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TickOverhead {
    /// Number of repetitions with a tick.
    pub with_tick: u64,
    /// Number of repetitions without a tick.
    pub without_tick: u64,
    /// Number of repetitions for which that is unknown, because events were lost or switched off; they are ignored
    /// elsewhere.
    pub unknown: u64,
    /// Number of ticks in repetitions with a tick.
    pub ticks: u64,
    /// Median of the repetitions without a tick.
    pub without_median_ns: Option<f64>,
    /// (Mean of repetitions with a tick − median of those without) per tick. Absent if all repetitions have a tick, or
    /// none has.
    pub overhead: Option<Overhead>,
    /// Overhead of repetitions with a single tick only, relative to undisturbed ones.
    pub clean: Option<Overhead>,
    /// Time in the ticks' handlers and nested activities, over all repetitions.
    pub direct_ns: f64,
    /// Gaps charged to ticks, over all repetitions; absent if gaps were not watched.
    pub gap_ns: Option<f64>,
    /// Both as a share of the time of the repetitions.
    pub share: f64,
    /// How the intervals are computed, and what they assume.
    pub interval: String,
    /// Results that are not available, and why.
    pub not_available: Vec<NotAvailable>,
}

/// Cost of one tick and its parts, which add up to the whole except for rounding.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Overhead {
    /// Number of repetitions with a tick.
    pub repetitions: u64,
    /// Number of repetitions that they are compared with.
    pub baseline: u64,
    /// Mean number of ticks in a repetition with a tick.
    pub ticks_per_repetition: f64,
    /// Overhead of one tick.
    pub per_tick_ns: f64,
    /// Its 95 % interval; absent for a single repetition with a tick, or for fewer than six to compare with.
    pub interval: Option<Interval>,
    /// Part in the handler and nested activities.
    pub direct_ns: f64,
    /// Part in the gaps around it: trap, return, VM exit. Absent if gaps were not watched.
    pub gap_ns: Option<f64>,
    /// Part of everything else recorded in these repetitions: softirqs raised by the tick, and coincidences.
    pub other_ns: f64,
    /// Part that nothing recorded explains: the indirect cost, plus the gaps if these were not watched.
    pub indirect_ns: f64,
}

/// Sums over one series' repetitions.
#[derive(Debug, Default)]
pub(crate) struct TickOverheadOf {
    watched: bool,
    with: Sums,
    clean: Sums,
    without: Baseline,
    undisturbed: Baseline,
    unknown: u64,
    wall_ticks: u128,
}

/// Sums over repetitions with ticks.
#[derive(Debug, Default)]
struct Sums {
    lengths: Moments,
    /// The same lengths in order, for the error of their mean.
    batches: Batches,
    ticks: u64,
    direct: u128,
    gaps: u128,
    seen: u128,
}

impl Sums {
    fn add(&mut self, length: u64, parts: &Parts) {
        self.lengths.add(&[length]);
        self.batches.add(length as f64);
        self.ticks += parts.ticks;
        self.direct += u128::from(parts.tick_direct);
        self.gaps += u128::from(parts.tick_gaps);
        self.seen += u128::from(parts.sum());
    }

    /// Returns the overhead relative to the median of `baseline`; absent if either has no repetition.
    fn overhead(&self, baseline: &mut Baseline, watched: bool, clock: &Clock) -> Option<Overhead> {
        let median = baseline.values.quantiles(&[0.5])?[0];
        if self.lengths.count() == 0 {
            return None;
        }
        let (ticks, repetitions) = (self.ticks as f64, self.lengths.count());
        let per_tick = |sum: u128| ns_of(sum as f64 / ticks, clock);
        let ticks_per_repetition = ticks / repetitions as f64;
        let over = (self.lengths.mean() - median as f64) / ticks_per_repetition;
        let reach = reach_of(&self.batches, baseline);
        let (direct_ns, gap_ns) = (per_tick(self.direct), per_tick(self.gaps));
        let other_ns = per_tick(self.seen.saturating_sub(self.direct + self.gaps));
        Some(Overhead {
            repetitions,
            baseline: baseline.values.count(),
            ticks_per_repetition,
            per_tick_ns: ns_of(over, clock),
            interval: reach.map(|reach| Interval {
                low: ns_of(over - reach / ticks_per_repetition, clock),
                high: ns_of(over + reach / ticks_per_repetition, clock),
            }),
            direct_ns,
            gap_ns: watched.then_some(gap_ns),
            other_ns,
            indirect_ns: ns_of(over - self.seen as f64 / ticks, clock),
        })
    }
}

/// Repetitions without ticks in order.
#[derive(Debug, Default)]
struct Baseline {
    values: Values,
    /// The first repetitions, until their median is known.
    first: Vec<u64>,
    middle: u64,
    /// Whether each repetition is longer than the median of the first, for the error of the median.
    longer: Batches,
}

/// Number of repetitions whose median divides all.
const FIRST: usize = 101;

impl Baseline {
    fn add(&mut self, length: u64) {
        self.values.add(length);
        if self.first.len() == FIRST {
            self.longer.add(f64::from(u8::from(length > self.middle)));
            return;
        }
        self.first.push(length);
        if self.first.len() == FIRST {
            self.divide();
        }
    }

    fn divide(&mut self) {
        let mut sorted = self.first.clone();
        sorted.sort_unstable();
        self.middle = sorted[sorted.len() / 2];
        let longer = self.first.iter().map(|&length| f64::from(u8::from(length > self.middle)));
        longer.for_each(|longer| self.longer.add(longer));
    }

    /// Returns half of the 95 % interval of the median, in ticks; absent for fewer than [`FEWEST_FOR_MEDIAN`].
    fn reach(&mut self) -> Option<f64> {
        let count = self.values.count();
        if count < FEWEST_FOR_MEDIAN {
            return None;
        }
        if self.first.len() < FIRST {
            self.divide();
        }
        let share = self.longer.spread()?.reach();
        let [low, high] = median_bounds(count);
        let shares = [low.min(0.5 - share).max(0.0), high.max(0.5 + share).min(1.0)];
        let bounds = self.values.quantiles(&shares)?;
        Some(bounds[1].saturating_sub(bounds[0]) as f64 / 2.0)
    }
}

/// Returns half of the 95 % interval of (mean of `with` − median of `baseline`), in ticks; absent for a single sample
/// of the former or fewer than [`FEWEST_FOR_MEDIAN`] of the latter.
fn reach_of(with: &Batches, baseline: &mut Baseline) -> Option<f64> {
    Some(with.spread()?.reach().hypot(baseline.reach()?))
}

/// Returns the shares of the order statistics that enclose the true median in at least 95 % of all cases.
pub(crate) fn median_bounds(samples: u64) -> [f64; 2] {
    let m = samples as f64;
    let low = ((m - NORMAL * m.sqrt()) / 2.0).floor().max(1.0);
    // Half a rank below the rank that is meant: no rounding makes it the next one.
    [low, m + 1.0 - low].map(|rank| (rank - 0.5) / m)
}

impl TickOverheadOf {
    /// Returns empty sums.
    pub(crate) fn new(watched: bool) -> Self {
        Self { watched, ..Self::default() }
    }

    /// Adds a repetition of this many counter ticks. `unknown` is whether part of its events are missing.
    pub(crate) fn add(&mut self, length: u64, parts: &Parts, unknown: bool) {
        if unknown || parts.class(Class::Unknown) > 0 {
            self.unknown += 1;
            return;
        }
        self.wall_ticks += u128::from(length);
        if parts.ticks == 0 {
            self.without.add(length);
            if parts.pieces == 0 {
                self.undisturbed.add(length);
            }
            return;
        }
        self.with.add(length, parts);
        if parts.ticks == 1 && parts.foreign == 0 {
            self.clean.add(length, parts);
        }
    }

    /// Returns the result for the repetitions.
    pub(crate) fn finish(mut self, clock: &Clock) -> TickOverhead {
        let with = &self.with;
        let median = self.without.values.quantiles(&[0.5]).map(|quantiles| quantiles[0]);
        let sum_ns = |sum: u128| ns(u64::try_from(sum).unwrap_or(u64::MAX), clock);
        let share = (with.direct + with.gaps) as f64 / (self.wall_ticks.max(1)) as f64;
        TickOverhead {
            with_tick: with.lengths.count(),
            without_tick: self.without.values.count(),
            unknown: self.unknown,
            ticks: with.ticks,
            without_median_ns: median.map(|ticks| ns(ticks, clock)),
            overhead: with.overhead(&mut self.without, self.watched, clock),
            clean: self.clean.overhead(&mut self.undisturbed, self.watched, clock),
            direct_ns: sum_ns(with.direct),
            gap_ns: self.watched.then(|| sum_ns(with.gaps)),
            share,
            interval: INTERVAL.into(),
            not_available: self.not_available(),
        }
    }

    fn not_available(&self) -> Vec<NotAvailable> {
        let mut missing = vec![];
        let mut miss = |what: &str, why: &str, remedy: &str| {
            missing.push(NotAvailable::new(what, why, remedy));
        };
        let (with, without) = (self.with.lengths.count(), self.without.values.count());
        if with == 0 {
            miss(
                "average overhead of a tick",
                "no repetition contains a tick",
                "take more repetitions; a tickless CPU (nohz_full) has none",
            );
        } else if without == 0 {
            miss(
                "average overhead of a tick",
                "every repetition contains a tick, so there is nothing to compare with",
                "use repetitions shorter than the tick's period, such as --repetition 100us",
            );
        } else if self.clean.lengths.count() == 0 || self.undisturbed.values.count() == 0 {
            miss(
                "overhead of a tick alone",
                "no repetition contains a single tick only, or none is undisturbed",
                "use shorter repetitions, or more of them",
            );
        }
        if !self.watched {
            miss("gaps around ticks", NOT_WATCHED, WATCH);
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::trains::{exponential, random, unit};
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;

    /// Returns the probability that the median of `samples` values lies between the order statistics, by the binomial
    /// distribution.
    fn coverage(samples: u64) -> f64 {
        let ranks = median_bounds(samples).map(|share| (share * samples as f64).ceil() as u64);
        let (mut probability, mut within) = (0.5_f64.powi(samples as i32), 0.0);
        for below in 0..=samples {
            if (ranks[0]..ranks[1]).contains(&below) {
                within += probability;
            }
            probability *= (samples - below) as f64 / (below + 1) as f64;
        }
        within
    }

    #[test]
    fn order_statistics_enclose_the_median() {
        for samples in (FEWEST_FOR_MEDIAN..60).chain([100, 500, 1_000]) {
            let covered = coverage(samples);
            assert!(covered >= 0.949, "{samples}: {covered}");
        }
        assert!((coverage(100) - 0.965).abs() < 0.001, "between the 40th and the 61st");
        assert!(coverage(FEWEST_FOR_MEDIAN - 1) < 0.95);
    }

    #[test]
    fn few_repetitions_have_wide_intervals_or_none() {
        let baseline = |count: u64| {
            let mut baseline = Baseline::default();
            (0..count).for_each(|_| baseline.add(1_000));
            baseline
        };
        // Two values 100 apart have a standard error of at least 50.
        let cases: [(&[u64], u64, Option<f64>); 4] = [
            (&[2_000, 2_100], 6, Some(12.7062 * 50.0)),
            (&[2_000, 2_100], 5, None),
            (&[2_000], 100, None),
            (&[2_000, 2_000, 2_000], 6, Some(0.0)),
        ];
        for (with, count, expected) in cases {
            let mut batches = Batches::default();
            with.iter().for_each(|&length| batches.add(length as f64));
            let reach = reach_of(&batches, &mut baseline(count));
            let enough = reach.zip(expected).is_none_or(|(a, b)| a > b - 0.01);
            assert!(
                enough && reach.is_some() == expected.is_some(),
                "{with:?}, {count}: {reach:?}"
            );
        }
    }

    /// What disturbs repetitions, in ticks: each depends on a state that the next continues.
    type Disturb = fn(&mut f64, &mut Pcg64Mcg) -> f64;

    /// Normally distributed, as on a host whose neighbours come and go.
    fn wander(correlation: f64, state: &mut f64, random: &mut Pcg64Mcg) -> f64 {
        let normal = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        *state = correlation * *state + (1.0 - correlation * correlation).sqrt() * normal;
        1_000.0 * *state
    }

    /// Bursts of five repetitions in the mean, one repetition in six.
    fn burst(state: &mut f64, random: &mut Pcg64Mcg) -> f64 {
        let stays = if *state > 0.0 { 0.8 } else { 0.04 };
        *state = f64::from(u8::from(random.random::<f64>() < stays));
        *state * exponential(2_000.0, random) + 20.0 * random.random::<f64>()
    }

    /// Pareto lengths: P(longer than x) falls as x^-3.
    fn heavy(_: &mut f64, random: &mut Pcg64Mcg) -> f64 {
        500.0 * unit(random).powf(-1.0 / 3.0)
    }

    #[test]
    fn the_interval_covers_the_truth_where_repetitions_depend_on_each_other() {
        let cases: [(&str, f64, Disturb); 5] = [
            ("independent", 0.93, |state, random| wander(0.0, state, random)),
            ("correlated 0.6", 0.92, |state, random| wander(0.6, state, random)),
            ("correlated 0.9", 0.88, |state, random| wander(0.9, state, random)),
            ("bursts", 0.92, burst),
            ("a heavy tail", 0.92, heavy),
        ];
        for (name, least, disturb) in cases {
            let mut random = random(3);
            let mean = {
                let (mut state, count) = (0.0, 2_000_000);
                (0..count).map(|_| disturb(&mut state, &mut random)).sum::<f64>() / f64::from(count)
            };
            let (runs, mut covered) = (400, 0);
            for _ in 0..runs {
                let (mut with, mut without) = (Batches::default(), Baseline::default());
                let (mut a, mut b) = (0.0, 0.0);
                let mut sum = 0.0;
                for _ in 0..300 {
                    let ticked = 30_000.0 + disturb(&mut a, &mut random);
                    with.add(ticked);
                    sum += ticked;
                    // The median of what is symmetric is its mean; repetitions without a tick are not disturbed otherwise.
                    let wanders = wander(0.6, &mut b, &mut random);
                    without.add((10_000.0 + wanders) as u64);
                }
                let median = without.values.quantiles(&[0.5]).expect("values")[0] as f64;
                let reach = reach_of(&with, &mut without).expect("enough");
                covered += u32::from((sum / 300.0 - median - 20_000.0 - mean).abs() <= reach);
            }
            let share = f64::from(covered) / f64::from(runs);
            println!("{name}: covers {share}");
            assert!((least..=0.98).contains(&share), "{name}: covers {share}");
        }
    }
}
