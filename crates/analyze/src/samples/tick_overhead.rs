//! The average overhead of one tick (Radojković 2008, Table 1).

use crate::samples::modes::{Modes, ModesOf};
use crate::samples::moments::Moments;
use crate::samples::neighbours::{Excess, Neighbours};
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
const INTERVAL: &str = "95 %, widened by the correlation of consecutive repetitions. overhead: by the standard errors of the mean (Student's t) and of the median (order statistics); clean, and the indirect cost: by the standard error of the mean excess over the nearest undisturbed neighbours (Student's t), which assumes that ticks come at random times within repetitions";

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
    /// Overhead of repetitions with a single tick only: the mean of their excess over what their nearest undisturbed
    /// neighbours lead to expect.
    pub clean: Option<Overhead>,
    /// Two speeds of the undisturbed repetitions, and whether a tick changes how often the slower one occurs. Absent if
    /// they have one speed, or with fewer than twenty ticks to compare.
    pub modes: Option<Modes>,
    /// Time in the ticks' handlers and nested activities, over all repetitions.
    pub direct_ns: f64,
    /// Gaps charged to ticks, over all repetitions; absent if gaps were not watched.
    pub gap_ns: Option<f64>,
    /// Both as a share of the time of the repetitions.
    pub share: f64,
    /// Time of all repetitions for which it is known whether a tick came; the number of ticks divided by it is their rate.
    pub known_ns: f64,
    /// How the intervals are computed, and what they assume.
    pub interval: String,
    /// Results that are not available, and why.
    pub not_available: Vec<NotAvailable>,
}

/// Cost of one tick and its parts.
///
/// In [`TickOverhead::clean`] the parts add up to the whole, except for rounding. In [`TickOverhead::overhead`] they add
/// up to a difference of means, and the whole is relative to a median, as in the study.
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
    /// Part that nothing recorded explains: the indirect cost, plus the gaps if these were not watched. Means of what
    /// remains of repetitions, with and without a tick, after subtracting everything recorded.
    pub indirect_ns: f64,
    /// Its 95 % interval; only for repetitions with a single tick, at least two.
    pub indirect_interval: Option<Interval>,
}

/// Sums over one series' repetitions.
#[derive(Debug, Default)]
pub(crate) struct TickOverheadOf {
    watched: bool,
    with: Sums,
    without: Baseline,
    clean: Clean,
    unknown: u64,
    wall_ticks: u128,
}

/// Parts of repetitions with ticks, in counter ticks.
#[derive(Debug, Clone, Copy, Default)]
struct TickParts {
    ticks: u64,
    direct: u128,
    gaps: u128,
    seen: u128,
}

impl TickParts {
    fn from_parts(parts: &Parts) -> Self {
        Self {
            ticks: parts.ticks,
            direct: parts.tick_direct.into(),
            gaps: parts.tick_gaps.into(),
            seen: parts.sum().into(),
        }
    }

    fn add(&mut self, other: &Self) {
        self.ticks += other.ticks;
        self.direct += other.direct;
        self.gaps += other.gaps;
        self.seen += other.seen;
    }

    /// Returns the parts of one tick, without the whole and what only that leads to.
    fn one_tick(&self, repetitions: u64, watched: bool, clock: &Clock) -> Overhead {
        let ticks = self.ticks as f64;
        let per_tick = |sum: u128| ns_of(sum as f64 / ticks, clock);
        Overhead {
            repetitions,
            baseline: 0,
            ticks_per_repetition: ticks / repetitions as f64,
            per_tick_ns: 0.0,
            interval: None,
            direct_ns: per_tick(self.direct),
            gap_ns: watched.then(|| per_tick(self.gaps)),
            other_ns: per_tick(self.seen.saturating_sub(self.direct + self.gaps)),
            indirect_ns: 0.0,
            indirect_interval: None,
        }
    }
}

/// Sums over repetitions with ticks.
#[derive(Debug, Default)]
struct Sums {
    lengths: Moments,
    /// The same lengths in order, for the error of their mean.
    batches: Batches,
    rests: Moments,
    parts: TickParts,
}

impl Sums {
    fn add(&mut self, length: u64, parts: &Parts) {
        self.lengths.add(&[length]);
        self.batches.add(length as f64);
        self.rests.add(&[length.saturating_sub(parts.sum())]);
        self.parts.add(&TickParts::from_parts(parts));
    }

    /// Returns the overhead relative to the median of `baseline` (Radojković 2008); absent if either has no repetition.
    fn overhead(&self, baseline: &mut Baseline, watched: bool, clock: &Clock) -> Option<Overhead> {
        let median = baseline.values.quantiles(&[0.5])?[0];
        if self.lengths.count() == 0 {
            return None;
        }
        let parts = self.parts.one_tick(self.lengths.count(), watched, clock);
        let per_tick = |ticks: f64| ns_of(ticks / parts.ticks_per_repetition, clock);
        let over = self.lengths.mean() - median as f64;
        let reach = reach_of(&self.batches, baseline);
        Some(Overhead {
            baseline: baseline.values.count(),
            per_tick_ns: per_tick(over),
            interval: reach.map(|reach| Interval {
                low: per_tick(over - reach),
                high: per_tick(over + reach),
            }),
            indirect_ns: per_tick(self.rests.mean() - baseline.rests.mean()),
            ..parts
        })
    }
}

/// Repetitions with a single tick and nothing else, beside their undisturbed neighbours.
#[derive(Debug, Default)]
struct Clean {
    near: Neighbours<TickParts>,
    undisturbed: u64,
    parts: TickParts,
    /// What a tick adds to its repetition, and what of that nothing recorded explains.
    whole: Excess,
    indirect: Excess,
    modes: ModesOf,
}

impl Clean {
    fn collect(&mut self) {
        while let Some(compared) = self.near.next() {
            self.parts.add(&compared.key);
            self.whole.add(&compared, u64::try_from(compared.key.seen).unwrap_or(u64::MAX));
            self.indirect.add(&compared, 0);
            self.modes.add(&compared);
        }
    }

    fn overhead(&self, watched: bool, clock: &Clock) -> Option<Overhead> {
        let (whole, indirect) = self.whole.mean().zip(self.indirect.mean())?;
        let around = |mean: f64, excess: &Excess| Some(interval_ns(mean, excess.reach()?, clock));
        Some(Overhead {
            baseline: self.undisturbed,
            per_tick_ns: ns_of(whole, clock),
            interval: around(whole, &self.whole),
            indirect_ns: ns_of(indirect, clock),
            indirect_interval: around(indirect, &self.indirect),
            ..self.parts.one_tick(self.whole.count(), watched, clock)
        })
    }
}

/// Returns the interval that reaches so far on both sides of a mean in ticks.
fn interval_ns(mean: f64, reach: f64, clock: &Clock) -> Interval {
    Interval { low: ns_of(mean - reach, clock), high: ns_of(mean + reach, clock) }
}

/// Repetitions without ticks in order.
#[derive(Debug, Default)]
struct Baseline {
    values: Values,
    /// What remains of each after subtracting everything recorded.
    rests: Moments,
    /// The first repetitions, until their median is known.
    first: Vec<u64>,
    middle: u64,
    /// Whether each repetition is longer than the median of the first, for the error of the median.
    longer: Batches,
}

/// Number of repetitions whose median divides all.
const FIRST: usize = 101;

impl Baseline {
    fn add(&mut self, length: u64, rest: u64) {
        self.values.add(length);
        self.rests.add(&[rest]);
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

    /// Adds a repetition of this many counter ticks. `unknown` is whether part of its events are missing, `follows`
    /// whether it began when the previous one ended.
    pub(crate) fn add(&mut self, length: u64, parts: &Parts, unknown: bool, follows: bool) {
        let unknown = unknown || parts.class(Class::Unknown) > 0;
        if parts.pieces == 0 && !unknown {
            self.clean.undisturbed += 1;
            self.clean.near.add_undisturbed(length, follows);
        } else {
            let alone = !unknown && parts.ticks == 1 && parts.foreign == 0;
            let rest = length.saturating_sub(parts.sum());
            self.clean.near.add_disturbed(
                rest,
                alone.then(|| TickParts::from_parts(parts)),
                follows,
            );
        }
        self.clean.collect();
        if unknown {
            self.unknown += 1;
            return;
        }
        self.wall_ticks += u128::from(length);
        match parts.ticks {
            0 => self.without.add(length, length.saturating_sub(parts.sum())),
            _ => self.with.add(length, parts),
        }
    }

    /// Returns the result for the repetitions.
    pub(crate) fn finish(mut self, clock: &Clock) -> TickOverhead {
        self.clean.near.break_off();
        self.clean.collect();
        let with = &self.with;
        let median = self.without.values.quantiles(&[0.5]).map(|quantiles| quantiles[0]);
        let sum_ns = |sum: u128| ns(u64::try_from(sum).unwrap_or(u64::MAX), clock);
        let TickParts { ticks, direct, gaps, .. } = with.parts;
        TickOverhead {
            with_tick: with.lengths.count(),
            without_tick: self.without.values.count(),
            unknown: self.unknown,
            ticks,
            without_median_ns: median.map(|ticks| ns(ticks, clock)),
            overhead: with.overhead(&mut self.without, self.watched, clock),
            clean: self.clean.overhead(self.watched, clock),
            modes: self.clean.modes.finish(clock),
            direct_ns: sum_ns(direct),
            gap_ns: self.watched.then(|| sum_ns(gaps)),
            share: (direct + gaps) as f64 / (self.wall_ticks.max(1)) as f64,
            known_ns: sum_ns(self.wall_ticks),
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
        } else if self.clean.whole.count() == 0 {
            miss(
                "overhead of a tick alone",
                "no repetition contains a single tick only with undisturbed ones on both sides",
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
#[path = "tick_overhead_tests.rs"]
mod tests;
