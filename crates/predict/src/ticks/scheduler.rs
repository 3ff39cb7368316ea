//! The time that the scheduler takes, by the number of runnable copies.

use anechoic_analyze::stats::{self, Interval, mean};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Time of a tick and a context switch in the kernel, by the number of runnable copies (figure 3 of Tsafrir 2007).
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Scheduler {
    /// Costs by number of copies; empty if single ticks are unknown.
    pub by_copies: Vec<SchedulerCost>,
    /// Time that each further copy adds to a tick, in µs; absent for a single number of copies.
    pub tick_per_copy: Option<Estimate>,
    /// Part of it in the tick's function; absent likewise.
    pub function_per_copy: Option<Estimate>,
    /// Time that each further copy adds between a tick and the context switch after it, in µs; absent likewise.
    pub choice_per_copy: Option<Estimate>,
    /// Why a part is absent.
    pub not_available: Option<String>,
}

/// Time that the scheduler takes with one number of copies and no added interrupts, in µs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SchedulerCost {
    /// Number of runnable copies.
    pub copies: u32,
    /// Number of rounds of sorts that were evaluated.
    pub rounds: u32,
    /// Number of ticks that came alone: the interrupt contained nothing else.
    pub ticks: u64,
    /// Time of such an interrupt in the kernel, from its entry event to its exit event.
    pub tick: Estimate,
    /// Part of it in the tick's function: accounting and the decision whether to reschedule.
    pub function: Estimate,
    /// Number of context switches between copies right after such a tick.
    pub switches: u64,
    /// Time from the end of the tick to the switch event: leaving the interrupt and choosing the next thread. It
    /// excludes the switch itself, which follows the event. Absent without such switches.
    pub choice: Option<Estimate>,
}

/// A value with its interval, which assumes independent rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// Mean over the rounds of their medians, in µs.
    pub us: f64,
    /// Its 95 % interval (Student's t); absent for a single round.
    pub interval: Option<Interval>,
}

impl Estimate {
    /// Returns the estimate; absent without values.
    fn from_values(values: &[f64]) -> Option<Self> {
        let stats::Estimate { value, interval } = stats::Estimate::from_blocks(values)?;
        Some(Self { us: value, interval })
    }
}

/// Medians of one round, in µs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RoundCost {
    pub(super) copies: u32,
    pub(super) block: u32,
    pub(super) ticks: u64,
    pub(super) tick_us: f64,
    pub(super) function_us: f64,
    pub(super) switches: u64,
    pub(super) choice_us: Option<f64>,
}

impl Scheduler {
    /// Returns an empty result with its reason.
    #[must_use]
    pub fn none(why: &str) -> Self {
        Self { not_available: Some(why.to_owned()), ..Self::default() }
    }

    /// Computes the result from the rounds of all numbers of copies.
    pub(super) fn from_rounds(rounds: &[RoundCost]) -> Self {
        let mut by_copies: BTreeMap<u32, Vec<&RoundCost>> = BTreeMap::new();
        rounds.iter().for_each(|round| by_copies.entry(round.copies).or_default().push(round));
        let by_copies: Vec<SchedulerCost> =
            by_copies.values().filter_map(|rounds| cost(rounds)).collect();
        let one = by_copies.len() == 1;
        Self {
            by_copies,
            tick_per_copy: per_copy(rounds, |round| Some(round.tick_us)),
            function_per_copy: per_copy(rounds, |round| Some(round.function_us)),
            choice_per_copy: per_copy(rounds, |round| round.choice_us),
            not_available: one
                .then(|| "there is only one number of copies, so nothing to compare".to_owned()),
        }
    }
}

/// Returns the costs at one number of copies from its rounds.
fn cost(rounds: &[&RoundCost]) -> Option<SchedulerCost> {
    let all = |value: fn(&RoundCost) -> f64| -> Vec<f64> {
        rounds.iter().map(|round| value(round)).collect()
    };
    let sum = |count: fn(&RoundCost) -> u64| rounds.iter().map(|round| count(round)).sum();
    let choices: Vec<f64> = rounds.iter().filter_map(|round| round.choice_us).collect();
    Some(SchedulerCost {
        copies: rounds.first()?.copies,
        rounds: u32::try_from(rounds.len()).unwrap_or(u32::MAX),
        ticks: sum(|round| round.ticks),
        tick: Estimate::from_values(&all(|round| round.tick_us))?,
        function: Estimate::from_values(&all(|round| round.function_us))?,
        switches: sum(|round| round.switches),
        choice: Estimate::from_values(&choices),
    })
}

/// Returns the slope of a value against the number of copies: least squares in each block, because a host drifts
/// between blocks, averaged over the blocks.
fn per_copy(rounds: &[RoundCost], value: fn(&RoundCost) -> Option<f64>) -> Option<Estimate> {
    let mut blocks: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for round in rounds {
        if let Some(value) = value(round) {
            blocks.entry(round.block).or_default().push((f64::from(round.copies), value));
        }
    }
    let slopes: Vec<f64> = blocks.values().filter_map(|points| slope(points)).collect();
    Estimate::from_values(&slopes)
}

/// Returns the least-squares slope; absent without points at two places.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let (xs, ys): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    let (x, y) = (mean(&xs)?, mean(&ys)?);
    let along: f64 = xs.iter().map(|at| (at - x).powi(2)).sum();
    let both: f64 = points.iter().map(|(at, value)| (at - x) * (value - y)).sum();
    (along > 0.0).then(|| both / along)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(copies: u32, block: u32, tick_us: f64, choice_us: Option<f64>) -> RoundCost {
        let (ticks, switches) = (100, choice_us.map_or(0, |_| 90));
        RoundCost { copies, block, ticks, tick_us, function_us: tick_us / 2.0, switches, choice_us }
    }

    fn near(found: Option<Estimate>, us: f64, reach: f64) -> bool {
        let Some(Estimate { us: found, interval: Some(interval) }) = found else { return false };
        let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
        close(found, us) && close(interval.low, us - reach) && close(interval.high, us + reach)
    }

    #[test]
    fn a_cost_that_grows_with_the_copies_is_found_though_blocks_differ() {
        // 0.1 µs a copy, in the second block 0.3; that block is slower by 40 µs.
        let mut rounds = vec![];
        for copies in [1u32, 2, 4, 8] {
            for (block, per_copy, base) in [(0, 0.1, 5.0), (1, 0.3, 45.0)] {
                let choice = (copies > 1).then_some(2.0);
                rounds.push(round(copies, block, base + per_copy * f64::from(copies), choice));
            }
        }
        let found = Scheduler::from_rounds(&rounds);
        assert!(near(found.tick_per_copy, 0.2, 12.706_204_736 * 0.1), "{found:?}");
        assert!(near(found.function_per_copy, 0.1, 12.706_204_736 * 0.05), "{found:?}");
        assert!(near(found.choice_per_copy, 0.0, 0.0), "{found:?}");
        assert_eq!(found.not_available, None);
        let [one, .., eight] = &found.by_copies[..] else { panic!("four numbers of copies") };
        assert_eq!((one.copies, one.rounds, one.ticks, one.switches), (1, 2, 200, 0));
        assert_eq!((one.choice, eight.switches), (None, 180));
        assert!(near(Some(one.tick), 25.2, 12.706_204_736 * 20.1), "{one:?}");
        assert!(near(Some(eight.function), 13.3, 12.706_204_736 * 10.4), "{eight:?}");
    }

    #[test]
    fn with_less() {
        let alone = Scheduler::from_rounds(&[round(4, 0, 6.0, Some(2.0))]);
        let only = Estimate { us: 6.0, interval: None };
        assert_eq!((alone.by_copies[0].tick, alone.tick_per_copy), (only, None));
        assert!(alone.not_available.is_some_and(|why| why.contains("one number of copies")));
        // No block has both.
        let apart = Scheduler::from_rounds(&[round(1, 0, 6.0, None), round(2, 1, 7.0, None)]);
        assert_eq!((apart.by_copies.len(), apart.tick_per_copy), (2, None));
        assert_eq!(Scheduler::from_rounds(&[]).by_copies, []);
    }
}
