//! What another tool counted by length, without the times: how often, how long, and what share of the time, as far as the
//! counts show it.

use crate::facts::Facts;
use anechoic_recording::import::{MOST_RANGES, TOTAL_LENGTH};
use anechoic_recording::run::CpuRun;
use anechoic_recording::{Clock, Counter, LengthCount, Problem, ProblemKind, Recording, methods};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Shares of the detours for which a length is given that the others do not exceed; 0 is the shortest, 1 the longest.
const SHARES: [f64; 6] = [0.0, 0.5, 0.9, 0.99, 0.999, 1.0];

/// What another tool counted by length.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Counted {
    /// The run.
    pub run: Facts,
    /// Whether latencies of wake-ups were counted instead of detours. They are not lost time.
    pub latencies: bool,
    /// Each measured CPU.
    pub cpus: Vec<CountedCpu>,
    /// All together; rates are per CPU.
    pub total: CountedCpu,
}

/// What was counted on one CPU, or on all.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CountedCpu {
    /// The CPU; absent for all together.
    pub cpu: Option<u32>,
    /// For how long it was measured, of all together the sum; 0 if that is not known.
    pub wall_ns: u64,
    /// Number of detours, or latencies.
    pub number: u64,
    /// Number per second; absent if the time is not known.
    pub rate_per_s: Option<f64>,
    /// Share of the time that detours took; absent for latencies, or if the time is not known.
    pub noise: Option<Within<f64>>,
    /// Their lengths; empty without any.
    pub lengths: Vec<LengthAt>,
}

/// What is known of a number: it lies between two others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Within<T> {
    /// It is not less.
    pub at_least: T,
    /// It is not more.
    pub at_most: T,
}

/// A quantile of lengths.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LengthAt {
    /// The share of all that are not longer.
    pub share: f64,
    /// The length in ns.
    pub ns: Within<u64>,
}

/// Lengths with their numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ranges {
    /// The number in each range, by the shortest length in it and the shortest that is too long for it, in ticks.
    counts: BTreeMap<(u64, u64), u64>,
    /// Sum of all lengths in ns, if it is known.
    total_ns: Option<u64>,
}

/// Computes what the counts of a recording show.
///
/// # Errors
/// The recording is not one of counts, or a file is damaged.
pub fn counted(recording: &Recording) -> Result<Counted, Problem> {
    let run = recording.run();
    let latencies = run.method == methods::LATENCIES;
    let by_cpu = ranges(recording)?;
    let ranges_of = |cpu: &CpuRun| by_cpu.get(&cpu.cpu).cloned().unwrap_or_default();
    let wall_ns = |cpu: &CpuRun| run.clock.ns(cpu.last_ticks.saturating_sub(cpu.first_ticks));
    let cpus: Vec<CountedCpu> = run
        .cpus
        .iter()
        .map(|cpu| ranges_of(cpu).summary(Some(cpu.cpu), wall_ns(cpu), latencies, &run.clock))
        .collect();
    let mut all = Ranges { total_ns: Some(0), ..Ranges::default() };
    run.cpus.iter().for_each(|cpu| all.merge(&ranges_of(cpu)));
    let wall = run.cpus.iter().map(wall_ns);
    let all_wall =
        if wall.clone().any(|ns| ns == 0) { 0 } else { wall.fold(0, u64::saturating_add) };
    let longest = run.cpus.iter().map(|cpu| cpu.last_ticks.saturating_sub(cpu.first_ticks)).max();
    Ok(Counted {
        run: Facts::new(run, longest.unwrap_or(0)),
        latencies,
        total: all.summary(None, all_wall, latencies, &run.clock),
        cpus,
    })
}

/// Reads the counts of each CPU.
///
/// # Errors
/// The recording is not one of counts, or a file is damaged.
pub(crate) fn ranges(recording: &Recording) -> Result<BTreeMap<u32, Ranges>, Problem> {
    let method = &*recording.run().method;
    if !methods::COUNTED.contains(&method) {
        let why = format!("it is a recording of {method}, which has times and no counts");
        let problem = ProblemKind::Usage.problem(why, "`anechoic summary --hist` counts by length");
        return Err(problem.about(recording.dir().display()));
    }
    let (mut by_cpu, mut number) = (BTreeMap::<u32, Ranges>::new(), 0);
    for rows in recording.rows::<LengthCount>() {
        for row in rows? {
            if row.to_ticks <= row.from_ticks {
                return Err(Problem::damaged(recording.dir(), "a range of lengths is empty"));
            }
            let counts = &mut by_cpu.entry(row.cpu).or_default().counts;
            let count = counts.entry((row.from_ticks, row.to_ticks)).or_insert_with(|| {
                number += 1;
                0
            });
            *count = count.saturating_add(row.count);
        }
        if number > MOST_RANGES {
            return Err(Problem::damaged(recording.dir(), "it has too many ranges of lengths"));
        }
    }
    for rows in recording.rows::<Counter>() {
        for row in rows?.into_iter().filter(|row| row.name == TOTAL_LENGTH) {
            by_cpu.entry(row.cpu).or_default().total_ns = Some(row.value);
        }
    }
    Ok(by_cpu)
}

impl Ranges {
    /// Returns these ranges: the shortest length in each, the shortest that is too long for it, in ticks, and the number.
    #[cfg(test)]
    pub(crate) fn from_counts(counts: impl Iterator<Item = (u64, u64, u64)>) -> Self {
        let counts = counts.map(|(from, to, count)| ((from, to), count)).collect();
        Self { counts, total_ns: None }
    }

    /// Returns each range, its shortest and its longest length, and the number in it.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.counts.iter().map(|(&(from, to), &count)| (from, to - 1, count))
    }

    pub(crate) fn number(&self) -> u64 {
        self.counts.values().copied().fold(0, u64::saturating_add)
    }

    /// Returns the sum of all lengths in ns, if it is known.
    pub(crate) fn total_ns(&self) -> Option<u64> {
        self.total_ns
    }

    fn merge(&mut self, other: &Self) {
        for (&range, &count) in &other.counts {
            let sum = self.counts.entry(range).or_default();
            *sum = sum.saturating_add(count);
        }
        let both = self.total_ns.zip(other.total_ns);
        self.total_ns = both.map(|(a, b)| a.saturating_add(b));
    }

    /// Returns the sum of all lengths in ns.
    pub(crate) fn sum_ns(&self, clock: &Clock) -> Within<u64> {
        if let Some(ns) = self.total_ns {
            return Within { at_least: ns, at_most: ns };
        }
        let mut sum = Within { at_least: 0_u64, at_most: 0_u64 };
        for (shortest, longest, count) in self.iter() {
            let all = |ticks| clock.ns(ticks).saturating_mul(count);
            sum.at_least = sum.at_least.saturating_add(all(shortest));
            sum.at_most = sum.at_most.saturating_add(all(longest));
        }
        sum
    }

    /// Returns the length that this share of all do not exceed; absent without any. Its bounds are those of the number of
    /// that rank: in order of the shortest lengths of the ranges, and of their longest.
    pub(crate) fn at(&self, share: f64, clock: &Clock) -> Option<LengthAt> {
        let number = self.number();
        let rank = ((share * number as f64).ceil() as u64).clamp(1, number.max(1));
        let shortest = ticks_at(rank, self.iter().map(|(from, _, count)| (from, count)).collect());
        let longest = ticks_at(rank, self.iter().map(|(_, to, count)| (to, count)).collect());
        let (at_least, at_most) = (clock.ns(shortest?), clock.ns(longest?));
        Some(LengthAt { share, ns: Within { at_least, at_most } })
    }

    fn summary(
        &self,
        cpu: Option<u32>,
        wall_ns: u64,
        latencies: bool,
        clock: &Clock,
    ) -> CountedCpu {
        let (number, sum) = (self.number(), self.sum_ns(clock));
        let share = |ns: u64| (ns as f64 / wall_ns as f64).min(1.0);
        let noise = Within { at_least: share(sum.at_least), at_most: share(sum.at_most) };
        CountedCpu {
            cpu,
            wall_ns,
            number,
            rate_per_s: (wall_ns > 0).then(|| number as f64 / (wall_ns as f64 / 1e9)),
            noise: (wall_ns > 0 && !latencies).then_some(noise),
            lengths: SHARES.into_iter().filter_map(|share| self.at(share, clock)).collect(),
        }
    }
}

/// Returns the length of this rank among `lengths`, each of which was counted so often; absent for fewer.
fn ticks_at(rank: u64, mut lengths: Vec<(u64, u64)>) -> Option<u64> {
    lengths.sort_unstable();
    let mut passed = 0_u64;
    let found = lengths.into_iter().find(|(_, count)| {
        passed = passed.saturating_add(*count);
        passed >= rank
    });
    found.map(|(ticks, _)| ticks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::clock_ns;

    #[test]
    fn a_quantile_lies_between_the_bounds_of_its_rank() {
        let counts = BTreeMap::from([((10, 20), 5), ((15, 16), 1), ((100, 1_001), 4)]);
        let ranges = Ranges { counts, total_ns: None };
        let at = |share| ranges.at(share, &clock_ns()).map(|at| (at.ns.at_least, at.ns.at_most));
        assert_eq!(ranges.number(), 10);
        assert_eq!(at(0.0), Some((10, 15)), "the shortest is no longer than the one of 15 ns");
        assert_eq!(at(0.5), Some((10, 19)));
        assert_eq!(at(0.6), Some((15, 19)));
        assert_eq!(at(0.7), Some((100, 1_000)));
        assert_eq!(at(1.0), Some((100, 1_000)));
        let sum = ranges.sum_ns(&clock_ns());
        assert_eq!((sum.at_least, sum.at_most), (5 * 10 + 15 + 400, 5 * 19 + 15 + 4_000));
        assert_eq!(Ranges::default().at(0.5, &clock_ns()), None);
    }
}
