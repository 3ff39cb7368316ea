//! Lost time in equal parts of a run, from which intervals of noise are computed.

use crate::stats::{Bounds, Interval, Spread, mean};

/// Largest number of parts of a run.
const MOST_PARTS: u64 = 1_000;
/// Shortest part.
pub(crate) const SHORTEST_PART_NS: u64 = 1_000_000;
/// Largest number of blocks that the parts are joined to, so that dependent events mostly fall into one block or the
/// next.
pub const MOST_BLOCKS: u64 = 50;
/// Smallest number of parts in a block.
const FEWEST_PARTS: u64 = SHORTEST_BLOCK_NS / SHORTEST_PART_NS;
/// Smallest number of blocks for an interval, because fewer understate the spread.
pub const FEWEST_BLOCKS: u64 = 20;
/// Shortest block: several ticks at every usual rate, and longer than a burst.
pub const SHORTEST_BLOCK_NS: u64 = 10_000_000;
/// Number of parts that must carry the spread of the noise for an interval. Ten detours of one length that outweigh
/// all others are enough; where the tail is so heavy that a longer detour than any recorded decides the mean (Pareto
/// with a shape of 1.2 or less), fewer mostly do.
const FEWEST_CARRIERS: f64 = 8.0;
/// Share of the blocks that must carry the spread of other figures for an interval; of normal blocks a third does.
pub const CARRIERS_OF_BLOCKS: f64 = 0.16;

/// Lost ticks in each of a number of equal parts between two instants.
///
/// A run is divided into 1,000 parts, or fewer of at least 1 ms, which show how unequal the detours are. A detour across
/// a boundary counts in each part in proportion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    first_ticks: u64,
    length_ticks: u64,
    lost: Vec<u64>,
    current: usize,
}

impl Parts {
    /// Returns empty parts from `first_ticks` to `last_ticks`; `shortest_ticks` is 1 ms.
    #[must_use]
    pub fn new(first_ticks: u64, last_ticks: u64, shortest_ticks: u64) -> Self {
        let wall = last_ticks.saturating_sub(first_ticks);
        let count = (wall / shortest_ticks.max(1)).clamp(1, MOST_PARTS);
        // The rounding of the length leaves less than a tick a part at the end: it goes to the last.
        let length_ticks = (wall / count).max(1);
        Self { first_ticks, length_ticks, lost: vec![0; count as usize], current: 0 }
    }

    /// Adds lost time from `start_ticks` to `end_ticks`; time outside counts at the edge.
    pub fn add(&mut self, start_ticks: u64, end_ticks: u64) {
        let (low, high) = self.bounds(self.current);
        if low <= start_ticks && end_ticks <= high {
            let lost = &mut self.lost[self.current]; // nearly always
            *lost = lost.saturating_add(end_ticks.saturating_sub(start_ticks));
            return;
        }
        let mut start = start_ticks;
        let mut part = self.part_of(start);
        while start < end_ticks {
            let (_, high) = self.bounds(part);
            let end = end_ticks.min(high);
            self.lost[part] = self.lost[part].saturating_add(end - start);
            start = end;
            self.current = part;
            part += 1;
        }
    }

    /// Returns the lost ticks of each part up to `last_ticks`: where a loop ended early, of those before.
    ///
    /// A part that is complete but for 1 % of it counts: loops end within microseconds of each other.
    #[must_use]
    pub fn up_to(&self, last_ticks: u64) -> &[u64] {
        let known = last_ticks.saturating_sub(self.first_ticks);
        let known = known.saturating_add(self.length_ticks / 100);
        let whole = usize::try_from(known / self.length_ticks).unwrap_or(usize::MAX);
        &self.lost[..whole.min(self.lost.len())]
    }

    /// Returns the length of a part in ticks.
    #[must_use]
    pub fn length_ticks(&self) -> u64 {
        self.length_ticks
    }

    fn part_of(&self, ticks: u64) -> usize {
        let part = ticks.saturating_sub(self.first_ticks) / self.length_ticks;
        usize::try_from(part).unwrap_or(usize::MAX).min(self.lost.len() - 1)
    }

    fn bounds(&self, part: usize) -> (u64, u64) {
        let low = if part == 0 { 0 } else { self.first_ticks + part as u64 * self.length_ticks };
        let last = part + 1 == self.lost.len();
        let high =
            if last { u64::MAX } else { self.first_ticks + (part as u64 + 1) * self.length_ticks };
        (low, high)
    }
}

/// Returns the number of parts that a block of this run consists of; blocks last at least 10 ms.
fn parts_in_block(parts: usize) -> usize {
    (parts as u64).div_ceil(MOST_BLOCKS).max(FEWEST_PARTS) as usize
}

/// Returns the number of blocks that this number of parts is joined to.
pub(crate) fn blocks(parts: usize) -> u64 {
    (parts / parts_in_block(parts)) as u64
}

/// Returns the bounds of the noise of one or more CPUs from the lost ticks of each part of each CPU.
///
/// CPUs are taken together, in parts of the same time, because their ticks and migrating threads are not independent.
/// Parts are joined to blocks, whose dependence [`Spread`] accounts for. There is no interval where fewer than 8 parts
/// make up the spread.
///
/// Absent for fewer than [`FEWEST_BLOCKS`] blocks, and without noise.
#[must_use]
pub fn bounds(lost_by_cpu: &[&[u64]], part_ticks: u64) -> Bounds {
    let parts = lost_by_cpu.iter().map(|lost| lost.len()).max().unwrap_or(0);
    if blocks(parts) < FEWEST_BLOCKS {
        return Bounds::default();
    }
    let share = |part: usize| {
        let lost = || lost_by_cpu.iter().filter_map(|lost| lost.get(part));
        let sum: f64 = lost().map(|&ticks| ticks as f64).sum();
        sum / (part_ticks as f64 * lost().count() as f64)
    };
    of_shares(&(0..parts).map(share).collect::<Vec<f64>>())
}

fn of_shares(parts: &[f64]) -> Bounds {
    let blocks = parts.chunks_exact(parts_in_block(parts.len()));
    let blocks: Vec<f64> = blocks.filter_map(mean).collect();
    let of_parts = Spread::of(parts);
    let found = mean(parts).zip(Spread::of(&blocks)).zip(of_parts);
    found.map_or(Bounds::default(), |((mean, blocks), parts)| {
        let bounds = Spread { carriers: parts.carriers, ..blocks }.bounds(mean, FEWEST_CARRIERS);
        // A run of few hundred milliseconds may have an upper limit over all of the time.
        let within = |of: Interval| Interval { high: of.high.min(1.0), ..of };
        Bounds { interval: bounds.interval.map(within), ..bounds }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn detours_fall_into_their_parts() {
        // Three parts of 10 from 100 to 130.
        type Case = (&'static str, &'static [(u64, u64)], [u64; 3]);
        let cases: [Case; 6] = [
            ("inside", &[(101, 105), (125, 126)], [4, 0, 1]),
            ("over a boundary", &[(108, 113)], [2, 3, 0]),
            ("over all", &[(100, 130)], [10, 10, 10]),
            ("outside", &[(90, 101), (129, 140)], [11, 0, 11]),
            ("backwards in time", &[(125, 127), (101, 102)], [1, 0, 2]),
            ("empty", &[(110, 110)], [0, 0, 0]),
        ];
        for (name, detours, expected) in cases {
            let mut parts = Parts::new(100, 130, 10);
            detours.iter().for_each(|&(start, end)| parts.add(start, end));
            assert_eq!(parts.up_to(u64::MAX / 2), expected, "case: {name}");
        }
    }

    #[test]
    fn number_of_parts_and_blocks() {
        let cases = [("long", 1_000_000, 1_000, 50), ("short", 2_500, 250, 25), ("none", 0, 1, 0)];
        for (name, wall, parts, expected) in cases {
            let found = Parts::new(5, 5 + wall, 10).lost.len();
            assert_eq!((found, blocks(found)), (parts, expected), "case: {name}");
        }
        let quarter = Interval { low: 0.25, high: 0.25 };
        let quarter = Bounds { interval: Some(quarter), at_least: Some(0.25) };
        assert_eq!(bounds(&[], 8), Bounds::default(), "no CPU");
        assert_eq!(bounds(&[&[2; 199]], 8), Bounds::default(), "too few blocks");
        assert_eq!(bounds(&[&[0; 200]], 8), Bounds::default(), "no noise");
        assert_eq!(bounds(&[&[2; 200]], 8), quarter);
        assert_eq!(bounds(&[&[0; 200], &[4; 200]], 8), quarter, "the mean of two CPUs");
        assert_eq!(bounds(&[&[2; 30], &[2; 200]], 8), quarter, "one CPU went away");
    }

    #[test]
    fn a_share_of_the_time_is_not_over_all_of_it() {
        let lost: Vec<u64> = (0..200).map(|part| if part < 40 { 8 } else { 0 }).collect();
        let interval = bounds(&[&lost], 8).interval.expect("enough parts");
        assert!(interval.low < 0.2 && interval.high == 1.0, "{interval:?}");
    }

    #[test]
    fn a_loop_that_ended_early_has_fewer_parts() {
        let parts = Parts::new(0, 100_000, 100);
        let cases = [
            ("whole", 100_000, 1_000),
            ("all but 1 %", 99_999, 1_000),
            ("half", 50_050, 500),
            ("none", 3, 0),
        ];
        for (name, last, expected) in cases {
            assert_eq!(parts.up_to(last).len(), expected, "case: {name}");
        }
    }

    #[test]
    fn all_of_time_has_parts() {
        let mut parts = Parts::new(0, u64::MAX, 24);
        parts.add(u64::MAX - 5, u64::MAX);
        assert_eq!(parts.up_to(u64::MAX).iter().sum::<u64>(), 5);
    }

    proptest! {
        #[test]
        fn no_tick_is_lost(
            detours in prop::collection::vec((0u64..5000, 0u64..900), 0..50),
            wall in 0u64..5000,
        ) {
            let mut parts = Parts::new(200, 200 + wall, 10);
            detours.iter().for_each(|&(start, length)| parts.add(start, start + length));
            let expected: u64 = detours.iter().map(|&(_, length)| length).sum();
            prop_assert_eq!(parts.lost.iter().sum::<u64>(), expected);
        }
    }
}
