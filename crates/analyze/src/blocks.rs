//! Lost time in equal parts of a run, from which intervals of noise are computed.

use crate::stats::{Bounds, Interval, Spread, carriers, highest_mean, mean, most_in_sum};

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
/// A run is divided into 1,000 parts, or fewer of at least 1 ms, which show how unequal the detours are. A detour counts
/// in the part in which it begins, however long it is, because it is one event: divided over parts it would be taken for
/// several that agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    first_ticks: u64,
    length_ticks: u64,
    lost: Vec<u64>,
}

impl Parts {
    /// Returns empty parts from `first_ticks` to `last_ticks`; `shortest_ticks` is 1 ms.
    #[must_use]
    pub fn new(first_ticks: u64, last_ticks: u64, shortest_ticks: u64) -> Self {
        let wall = last_ticks.saturating_sub(first_ticks);
        let count = (wall / shortest_ticks.max(1)).clamp(1, MOST_PARTS);
        // The rounding of the length leaves less than a tick a part at the end: it goes to the last.
        let length_ticks = (wall / count).max(1);
        Self { first_ticks, length_ticks, lost: vec![0; count as usize] }
    }

    /// Adds a detour from `start_ticks` to `end_ticks`; one that begins outside counts at the edge.
    pub fn add(&mut self, start_ticks: u64, end_ticks: u64) {
        let part = self.part_of(start_ticks);
        let lost = &mut self.lost[part];
        *lost = lost.saturating_add(end_ticks.saturating_sub(start_ticks));
    }

    /// Adds time lost evenly between `start_ticks` and `end_ticks`, a part of it to each part.
    pub(crate) fn spread(&mut self, start_ticks: u64, end_ticks: u64, ticks: u64) {
        let (first, last) = (self.part_of(start_ticks), self.part_of(end_ticks));
        let whole = end_ticks.saturating_sub(start_ticks).max(1);
        let mut given = 0;
        for part in first..=last {
            let passed_parts = self.length_ticks.saturating_mul(part as u64 + 1);
            let upto = self.first_ticks.saturating_add(passed_parts);
            let passed = if part == last { whole } else { upto.saturating_sub(start_ticks) };
            let share = u128::from(ticks) * u128::from(passed.min(whole)) / u128::from(whole);
            let due = u64::try_from(share).unwrap_or(ticks);
            self.lost[part] = self.lost[part].saturating_add(due.saturating_sub(given));
            given = due.max(given);
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

    /// Returns the lost ticks of all parts.
    pub(crate) fn all(&self) -> &[u64] {
        &self.lost
    }

    /// Returns the lost ticks of each block of these parts; the last may be shorter.
    #[must_use]
    pub(crate) fn joined_up_to(&self, last_ticks: u64) -> Vec<u64> {
        let blocks = self.up_to(last_ticks).chunks(parts_in_block(self.lost.len()));
        blocks.map(|parts| parts.iter().copied().fold(0, u64::saturating_add)).collect()
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
}

/// Returns the number of parts that a block of this run consists of; blocks last at least 10 ms.
pub(crate) fn parts_in_block(parts: usize) -> usize {
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
/// make up the spread. Its upper end is at least that of few events, because a longer one may not have occurred yet.
///
/// Absent for fewer than [`FEWEST_BLOCKS`] blocks, and without noise.
#[must_use]
pub fn bounds(lost_by_cpu: &[&[u64]], part_ticks: u64) -> Bounds {
    bounds_of_shares(&shares(lost_by_cpu, part_ticks), 1).0
}

/// Returns the same for one CPU, and the noise that it is below with a probability of 97.5 %, if no detour that did not
/// occur is much longer than those that did; see [`highest_mean`]. Without a detour that is 0, and bounds nothing.
pub(crate) fn bounds_and_most(lost: &[u64], part_ticks: u64) -> (Bounds, f64) {
    bounds_of_shares(&shares(&[lost], part_ticks), 1)
}

/// Returns the same for time that is lost over many parts in a row, as by a slower pace: what lasts for as long as a block is
/// one event.
pub(crate) fn bounds_of_lasting(lost_by_cpu: &[&[u64]], part_ticks: u64) -> (Bounds, f64) {
    let parts = shares(lost_by_cpu, part_ticks);
    bounds_of_shares(&parts, parts_in_block(parts.len()))
}

/// Returns the bounds of parts in which an event lasts for up to this number of parts.
fn bounds_of_shares(parts: &[f64], lasts: usize) -> (Bounds, f64) {
    let count = parts.len().max(1) as f64;
    let events: Vec<f64> = parts.chunks(lasts).map(|parts| parts.iter().sum()).collect();
    let Some((noise, spread)) = mean(parts).zip(spread(parts)) else {
        return (Bounds::default(), most_in_sum(events.iter().map(|event| (event / count, 1.0))));
    };
    // What all parts have is no chance: ticks, for example.
    let usual = noise * lasts as f64;
    let (least, largest) = events
        .iter()
        .fold((usual, usual), |(low, high), event| (low.min(*event), high.max(*event)));
    let most = highest_mean(noise, spread.standard_error.powi(2), (largest - least) / count);
    let bounds = Spread { carriers: carriers(parts), ..spread }.bounds(noise, FEWEST_CARRIERS);
    // A run of few hundred milliseconds may have an upper limit over all of the time.
    let wider = |found: Interval| Interval { high: found.high.max(most).min(1.0), ..found };
    (Bounds { interval: bounds.interval.map(wider), ..bounds }, most)
}

/// Returns the spread of the mean of the blocks that these parts make up; absent for fewer than [`FEWEST_BLOCKS`].
fn spread(parts: &[f64]) -> Option<Spread> {
    let in_block = parts_in_block(parts.len());
    let blocks: Vec<f64> = parts.chunks_exact(in_block).filter_map(mean).collect();
    Spread::from_blocks(&blocks).filter(|_| blocks.len() as u64 >= FEWEST_BLOCKS)
}

/// Returns the share of the time of each part that was lost on all CPUs that were watched in it.
fn shares(lost_by_cpu: &[&[u64]], part_ticks: u64) -> Vec<f64> {
    let parts = lost_by_cpu.iter().map(|lost| lost.len()).max().unwrap_or(0);
    (0..parts).map(|part| lost_share(lost_by_cpu, part, part_ticks)).collect()
}

/// Returns the share of the time of one part that was lost on the CPUs that were watched in it.
fn lost_share(lost_by_cpu: &[&[u64]], part: usize, part_ticks: u64) -> f64 {
    let lost = || lost_by_cpu.iter().filter_map(|lost| lost.get(part));
    let sum: f64 = lost().map(|&ticks| ticks as f64).sum();
    sum / (part_ticks as f64 * lost().count() as f64)
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
            ("over a boundary", &[(108, 113)], [5, 0, 0]),
            ("over all", &[(100, 130)], [30, 0, 0]),
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
            assert_eq!(parts.joined_up_to(last).len(), expected / 20, "case: {name}");
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
