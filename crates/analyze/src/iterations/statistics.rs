//! Statistics of iterations.

use super::reader::Passed;
use super::{Iteration, Slow, Times};
use crate::repeat::Spread;
use crate::stats::{mean, quantile};
use crate::variance::{
    BySource, Explained, SourceShare, UNATTRIBUTED, explained_in_order, most, shares,
};
use anechoic_recording::Clock;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Largest number of slow iterations that are listed.
const SLOWEST: usize = 100;
/// Number of iterations that a figure shows besides these.
const DRAWN: usize = 900;
/// Part of the iterations that are called slow; with fewer iterations there are none.
const SLOW: usize = 100;

/// Turns ticks into ns, and numbers of sources into names.
#[derive(Debug, Clone, Copy)]
pub(super) struct Statistics<'a> {
    pub(super) clock: &'a Clock,
    pub(super) start_ticks: u64,
    pub(super) names: &'a [(Arc<str>, Arc<str>)],
}

impl Statistics<'_> {
    fn ns(&self, ticks: u64) -> f64 {
        self.clock.ns(ticks) as f64
    }

    /// Returns how long an iteration took.
    fn wall_ns(&self, passed: &Passed) -> f64 {
        self.ns(passed.end_ticks - passed.start_ticks)
    }

    /// Returns the times of the iterations, what noise explains of their variance, and the sources of lost time.
    pub(super) fn variance(
        &self,
        passed: &[Passed],
    ) -> (Option<Times>, Explained, Vec<SourceShare>) {
        let each = |value: &dyn Fn(&Passed) -> f64| passed.iter().map(value).collect::<Vec<f64>>();
        let (wall, lost) = (each(&|it| self.wall_ns(it)), each(&|it| self.ns(it.lost_ticks)));
        let times = self.times(passed, &wall, &lost);
        // Threads one after the other, each around the common mean: threads may do different work.
        let mut order: Vec<usize> = (0..passed.len()).collect();
        order.sort_by_key(|&at| passed[at].thread);
        let threads: Vec<i32> = order.iter().map(|&at| passed[at].thread).collect();
        let around = |values: &[f64]| {
            around_common_mean(&threads, &order.iter().map(|&at| values[at]).collect::<Vec<_>>())
        };
        let (wall, lost) = (around(&wall), around(&lost));
        let groups = threads.chunk_by(|a, b| a == b).count();
        let explained = explained_in_order(&wall, &lost, groups);
        let by_source: Vec<BySource<'_>> =
            order.iter().map(|&at| self.by_source(&passed[at])).collect();
        let sources = shares(&explained, &wall, &lost, &by_source);
        (times, explained, sources)
    }

    fn times(&self, passed: &[Passed], wall: &[f64], lost: &[f64]) -> Option<Times> {
        let spread = |value: &dyn Fn(&Passed) -> u64| {
            Spread::from_values(&passed.iter().map(|it| self.ns(value(it))).collect::<Vec<_>>())
        };
        let mut sorted = wall.to_vec();
        sorted.sort_by(f64::total_cmp);
        Some(Times {
            wall_ns: Spread::from_values(wall)?,
            median_ns: quantile(&sorted, 0.5)?,
            p99_ns: quantile(&sorted, 0.99).filter(|_| sorted.len() >= SLOW),
            executed_ns: spread(&Passed::executed_ticks)?,
            lost_ns: Spread::from_values(lost)?,
            waited_ns: spread(&Passed::waited_ticks)?,
            slept_ns: spread(&Passed::slept_ticks)?,
        })
    }

    /// Returns what each source took of an iteration, in ns; what has no source too.
    fn by_source(&self, passed: &Passed) -> BySource<'_> {
        let mut by_source = BySource::new();
        let mut left = self.ns(passed.lost_ticks);
        for &(place, ticks) in &passed.charges {
            let Some((source, name)) = self.names.get(place as usize) else { continue };
            *by_source.entry((&**source, &**name)).or_default() += self.ns(ticks);
            left -= self.ns(ticks);
        }
        if left > 0.5 * (1 + passed.charges.len()) as f64 {
            by_source.insert((UNATTRIBUTED, ""), left);
        }
        by_source
    }

    /// Returns the numbers of the slowest iterations, the longest first.
    pub(super) fn slowest(&self, passed: &[Passed]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..passed.len()).collect();
        order.sort_by_key(|&at| {
            let length = passed[at].end_ticks - passed[at].start_ticks;
            (std::cmp::Reverse(length), passed[at].start_ticks)
        });
        order.truncate(SLOWEST);
        order
    }

    /// Returns what the slowest hundredth has in common.
    pub(super) fn slow(&self, passed: &[Passed], median_ns: f64) -> Option<Slow> {
        let count = passed.len() / SLOW;
        let mut both: Vec<[f64; 2]> =
            passed.iter().map(|it| [self.wall_ns(it), self.ns(it.lost_ticks)]).collect();
        both.sort_by(|a, b| b[0].total_cmp(&a[0]));
        let mean_of = |index: usize| {
            mean(&both.iter().take(count).map(|values| values[index]).collect::<Vec<_>>())
        };
        let [wall, lost_ns] = [mean_of(0)?, mean_of(1)?];
        Some(Slow { iterations: count as u64, longer_ns: wall - median_ns, lost_ns })
    }

    /// Returns the iterations for a figure: these, and others in equal distances, by their beginning.
    pub(super) fn drawn(&self, passed: &[Passed], slowest: &[usize]) -> Vec<Iteration> {
        let step = passed.len().div_ceil(DRAWN).max(1);
        let shown: BTreeSet<usize> =
            (0..passed.len()).step_by(step).chain(slowest.iter().copied()).collect();
        let mut drawn: Vec<Iteration> =
            shown.into_iter().map(|at| self.iteration(&passed[at])).collect();
        drawn.sort_by_key(|iteration| (iteration.start_ns, iteration.thread));
        drawn
    }

    pub(super) fn iteration(&self, passed: &Passed) -> Iteration {
        let ns = |ticks| self.clock.ns(ticks);
        Iteration {
            number: passed.number,
            thread: passed.thread,
            label: passed.label.to_string(),
            start_ns: ns(passed.start_ticks.saturating_sub(self.start_ticks)),
            wall_ns: ns(passed.end_ticks - passed.start_ticks),
            executed_ns: ns(passed.executed_ticks()),
            lost_ns: ns(passed.lost_ticks),
            waited_ns: ns(passed.waited_ticks()),
            slept_ns: ns(passed.slept_ticks()),
            most: most(&self.by_source(passed)),
        }
    }
}

impl Passed {
    /// The thread executed. Lost time on top of it does not count.
    fn executed_ticks(&self) -> u64 {
        self.ran_ticks.saturating_sub(self.lost_running_ticks)
    }

    /// It waited for a CPU that executed other threads of the program.
    fn waited_ticks(&self) -> u64 {
        self.waiting_ticks.saturating_sub(self.lost_waiting_ticks)
    }

    fn slept_ticks(&self) -> u64 {
        let wall = self.end_ticks - self.start_ticks;
        wall.saturating_sub(self.ran_ticks).saturating_sub(self.waiting_ticks)
    }
}

/// Moves the values of each thread so that their mean is that of all.
fn around_common_mean(threads: &[i32], values: &[f64]) -> Vec<f64> {
    let mut sums: HashMap<i32, (f64, f64)> = HashMap::new();
    for (thread, value) in threads.iter().zip(values) {
        let (sum, count) = sums.entry(*thread).or_default();
        (*sum, *count) = (*sum + value, *count + 1.0);
    }
    let common = mean(values).unwrap_or_default();
    let each = threads.iter().zip(values);
    each.map(|(thread, value)| {
        let (sum, count) = sums[thread];
        value - sum / count + common
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_different_work_vary_around_one_mean() {
        let moved = around_common_mean(&[1, 1, 2, 2], &[1.0, 3.0, 11.0, 13.0]);
        assert_eq!(moved, [6.0, 8.0, 6.0, 8.0]);
    }
}
