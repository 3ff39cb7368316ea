//! Repeated runs of the recursion: mean slowdown and its uncertainty.

use super::recursion::{Job, Tables};
use anechoic_analyze::stats::Interval;
use anechoic_analyze::stats::student_t;
use anechoic_analyze::threads::in_order;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::{Mutex, PoisonError};

/// Number of runs of one job, each with other offsets of its hosts and its own seed.
const RUNS: u64 = 8;
/// Smallest number of phases over all runs for a result.
pub(super) const FEWEST_PHASES: u64 = 50;
/// Default number of steps that one job may take. A step examines a rank or, with many ranks, one of the recorded
/// instants with the longest delays.
pub const BUDGET: u64 = 100_000_000;
/// Number of steps for drawing the offset of one copy of a host.
const DRAW: u64 = 6;
/// Phases at the start of each run that do not count, because the ranks have not waited for each other before.
const WARM_UP: u64 = 3;
/// Number of phases of each run after which the accuracy of the mean is first checked.
const FIRST_LOOK: u64 = 32;
/// Target accuracy: half of the interval relative to the slowdown minus 1.
const ENOUGH: f64 = 1.0 / 400.0;
/// Number of times that ranks must have passed every recorded instant, so that no rare event is missed.
const PASSES: f64 = 64.0;

/// Result of the recursion for one number of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Recursion {
    /// Time divided by time without noise.
    pub slowdown: f64,
    /// Its 95 % interval over runs with other offsets of the hosts (Student's t). It describes the accuracy of the
    /// computation, not how representative the recording is.
    pub interval: Interval,
    /// Number of runs.
    pub runs: u64,
    /// Number of phases over all runs.
    pub phases: u64,
}

/// One run in progress.
struct Run<'a> {
    job: Job<'a>,
    phases: u64,
    took_ns: u64,
}

impl<'a> Run<'a> {
    /// Begins run `number` of a job, after its first phases.
    fn begin(tables: &'a Tables, ranks: u64, number: u64, seed: u64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed.wrapping_add(number));
        let mut job = Job::new(tables, ranks, number, &mut random);
        for _ in 0..WARM_UP {
            job.phase();
        }
        Self { job, phases: 0, took_ns: 0 }
    }

    fn play(&mut self, phases: u64, longest_ns: u64) {
        while self.phases < phases && self.took_ns < longest_ns {
            self.took_ns += self.job.phase();
            self.phases += 1;
        }
    }

    fn slowdown(&self, grain_ns: u64) -> f64 {
        self.took_ns as f64 / (self.phases * grain_ns) as f64
    }
}

/// Returns whether the budget can suffice for a job of `ranks` on `cpus` recorded CPUs, including drawing its ranks.
pub(super) fn may_be_affordable(ranks: u64, cpus: u64, budget: u64) -> bool {
    drawing(ranks, cpus).saturating_add(FEWEST_PHASES) <= budget
}

fn drawing(ranks: u64, cpus: u64) -> u64 {
    RUNS * DRAW * (ranks / cpus.max(1))
}

/// Plays a job of `ranks` eight times, each run until it has passed the longest window once, until the mean of all is
/// accurate to 1/400 of the slowdown minus 1, or until the budget is used up.
///
/// Absent if the budget does not allow 50 phases over all runs.
#[must_use]
pub fn recursion(tables: &Tables, ranks: u64, seed: u64, budget: u64) -> Option<Recursion> {
    let left = budget.checked_sub(drawing(ranks, tables.cpus()))?;
    let most = left / tables.steps(ranks).max(1);
    if most < FEWEST_PHASES {
        return None;
    }
    let (most, longest_ns) = (most.div_ceil(RUNS), tables.longest_ns());
    let runs = in_order(RUNS as usize, |number| {
        Mutex::new(Run::begin(tables, ranks, number as u64, seed))
    });
    let mut phases = FIRST_LOOK.min(most);
    loop {
        let played = in_order(RUNS as usize, |number| {
            let mut run = runs[number].lock().unwrap_or_else(PoisonError::into_inner);
            run.play(phases, longest_ns);
            (run.slowdown(tables.grain_ns()), run.phases, run.took_ns)
        });
        let found = mean_of_runs(&played);
        let half = found.interval.high - found.slowdown;
        let passed_ns = played.iter().map(|run| run.2 as f64).sum::<f64>() * tables.copies(ranks);
        let exact = half <= ENOUGH * (found.slowdown - 1.0);
        let over = phases >= most || played.iter().all(|run| run.2 >= longest_ns);
        if over || (exact && passed_ns >= PASSES * longest_ns as f64) {
            return Some(found);
        }
        phases = (2 * phases).min(most);
    }
}

/// Returns the mean of runs with known slowdown, phases and time.
fn mean_of_runs(runs: &[(f64, u64, u64)]) -> Recursion {
    let count = runs.len() as f64;
    let mean = runs.iter().map(|run| run.0).sum::<f64>() / count;
    let squares: f64 = runs.iter().map(|run| (run.0 - mean).powi(2)).sum();
    let error = (squares / (count * (count - 1.0))).sqrt() * student_t(RUNS - 1);
    Recursion {
        slowdown: mean,
        interval: Interval { low: mean - error, high: mean + error },
        runs: RUNS,
        phases: runs.iter().map(|run| run.1).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_runs_has_the_interval_of_student() {
        // The squares of 1 to 8 around 4.5 sum up to 42; Student's t of 7 degrees of freedom is 2.364624.
        let runs: Vec<(f64, u64, u64)> = (1..=8).map(|run| (run as f64, 10 * run, 1)).collect();
        let found = mean_of_runs(&runs);
        let error = 2.364_624 * f64::sqrt(42.0 / (8.0 * 7.0));
        assert_eq!((found.slowdown, found.runs, found.phases), (4.5, 8, 360));
        assert!((found.interval.high - 4.5 - error).abs() < 1e-5, "{found:?}");
        assert!((4.5 - found.interval.low - error).abs() < 1e-5, "{found:?}");
    }

    /// One CPU without noise: a phase of ten ranks takes 10 steps and 8 to ask it, drawing them 8 · 6 for each.
    #[test]
    fn a_budget_that_allows_fifty_phases_is_enough() {
        use crate::phases::{Host, Timeline};
        let cpu = Timeline::new(1_000_000, vec![]);
        let host = Host::new("host".into(), vec![(0, cpu)]).expect("one window");
        let tables = Tables::new(&[host], 1_000).expect("nothing to read");
        assert_eq!(recursion(&tables, 10, 1, 8 * 6 * 10 + 50 * 18 - 1), None);
        let found = recursion(&tables, 10, 1, 8 * 6 * 10 + 50 * 18).expect("fifty phases");
        // Seven phases of each of eight runs: as many as fifty take, rounded up.
        assert_eq!((found.slowdown, found.runs, found.phases), (1.0, 8, 56));
        assert_eq!(found.interval, Interval { low: 1.0, high: 1.0 });
        assert_eq!(recursion(&tables, 10, 1, 0), None, "not even drawing");
        // 64 windows of 1,000 phases over ten copies and eight runs: 800 phases are enough, after 32, 64, … 1,024.
        let found = recursion(&tables, 10, 1, BUDGET).expect("enough");
        assert_eq!(found.phases, 8 * 1_000, "until each has passed the window once");
        let found = recursion(&tables, 1_000, 1, BUDGET).expect("enough");
        assert_eq!(found.phases, 8 * 32, "exact at the first look");
        for (ranks, cpus, budget, expected) in [
            (100, 10, 8 * 6 * 10 + 50, true),
            (100, 10, 8 * 6 * 10 + 49, false),
            (5, 10, 50, true),
            (5, 0, 8 * 6 * 5 + 50, true),
        ] {
            assert_eq!(may_be_affordable(ranks, cpus, budget), expected, "{ranks} on {cpus}");
        }
    }
}
