//! Lost time in equal blocks of time, from which intervals of noise are computed.

use crate::stats::{Interval, mean_of_blocks};

/// Largest number of blocks of a run.
pub const MOST_BLOCKS: u64 = 100;
/// Smallest number of blocks for an interval, because resampling fewer understates the spread.
pub const FEWEST_BLOCKS: u64 = 20;
/// Shortest block: several ticks at every usual rate, and longer than a burst.
pub const SHORTEST_BLOCK_NS: u64 = 10_000_000;

/// Lost ticks in each of a number of equal blocks between two instants.
///
/// A run is divided into 100 blocks, or fewer of at least 10 ms. So blocks grow with the run (100 ms in a run of 10 s)
/// and do not split dependent events: a burst, a beat of two timers. A detour across a boundary counts in each block in
/// proportion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocks {
    first_ticks: u64,
    length_ticks: u64,
    lost: Vec<u64>,
    current: usize,
}

impl Blocks {
    /// Returns empty blocks from `first_ticks` to `last_ticks`; `shortest_block_ticks` is [`SHORTEST_BLOCK_NS`].
    #[must_use]
    pub fn new(first_ticks: u64, last_ticks: u64, shortest_block_ticks: u64) -> Self {
        let wall = last_ticks.saturating_sub(first_ticks);
        let count = (wall / shortest_block_ticks.max(1)).clamp(1, MOST_BLOCKS);
        // The rounding of the length leaves less than a tick a block at the end: it goes to the last.
        let length_ticks = (wall / count).max(1);
        Self { first_ticks, length_ticks, lost: vec![0; count as usize], current: 0 }
    }

    /// Adds lost time from `start_ticks` to `end_ticks`; time outside counts at the edge.
    pub fn add(&mut self, start_ticks: u64, end_ticks: u64) {
        let (low, high) = self.bounds(self.current);
        if low <= start_ticks && end_ticks <= high {
            self.lost[self.current] += end_ticks.saturating_sub(start_ticks); // nearly always
            return;
        }
        let mut start = start_ticks;
        let mut block = self.block_of(start);
        while start < end_ticks {
            let (_, high) = self.bounds(block);
            let end = end_ticks.min(high);
            self.lost[block] += end - start;
            start = end;
            self.current = block;
            block += 1;
        }
    }

    /// Lost ticks of each block up to `last_ticks`: where a loop ended early, of those before.
    ///
    /// A block that is complete but for 1 % of it counts: loops end within microseconds of each other.
    #[must_use]
    pub fn up_to(&self, last_ticks: u64) -> &[u64] {
        let known = last_ticks.saturating_sub(self.first_ticks) + self.length_ticks / 100;
        let whole = usize::try_from(known / self.length_ticks).unwrap_or(usize::MAX);
        &self.lost[..whole.min(self.lost.len())]
    }

    /// Returns the length of a block in ticks.
    #[must_use]
    pub fn length_ticks(&self) -> u64 {
        self.length_ticks
    }

    fn block_of(&self, ticks: u64) -> usize {
        let block = ticks.saturating_sub(self.first_ticks) / self.length_ticks;
        usize::try_from(block).unwrap_or(usize::MAX).min(self.lost.len() - 1)
    }

    fn bounds(&self, block: usize) -> (u64, u64) {
        let low = if block == 0 { 0 } else { self.first_ticks + block as u64 * self.length_ticks };
        let last = block + 1 == self.lost.len();
        let high =
            if last { u64::MAX } else { self.first_ticks + (block as u64 + 1) * self.length_ticks };
        (low, high)
    }
}

/// Returns the interval of the noise of one or more CPUs from the lost ticks of each CPU's blocks.
///
/// CPUs are resampled together, in blocks of the same time, because their ticks and migrating threads are not
/// independent.
///
/// Absent for fewer than [`FEWEST_BLOCKS`] blocks.
#[must_use]
pub fn interval(lost_by_cpu: &[&[u64]], block_ticks: u64) -> Option<Interval> {
    let blocks = lost_by_cpu.iter().map(|lost| lost.len()).max()?;
    if (blocks as u64) < FEWEST_BLOCKS {
        return None;
    }
    let share = |block: usize| {
        let lost = || lost_by_cpu.iter().filter_map(|lost| lost.get(block));
        lost().sum::<u64>() as f64 / (block_ticks * lost().count() as u64) as f64
    };
    let shares: Vec<f64> = (0..blocks).map(share).collect();
    mean_of_blocks(&shares).map(|resampled| resampled.interval)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn detours_fall_into_their_blocks() {
        // Three blocks of 10 from 100 to 130.
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
            let mut blocks = Blocks::new(100, 130, 10);
            detours.iter().for_each(|&(start, end)| blocks.add(start, end));
            assert_eq!(blocks.up_to(u64::MAX / 2), expected, "case: {name}");
        }
    }

    #[test]
    fn number_of_blocks() {
        let cases = [("long", 1_000_000, 100), ("short", 250, 25), ("none", 0, 1)];
        for (name, wall, expected) in cases {
            assert_eq!(Blocks::new(5, 5 + wall, 10).lost.len(), expected, "case: {name}");
        }
        assert_eq!(interval(&[], 8), None, "no CPU");
        assert_eq!(interval(&[&[2; 19]], 8), None, "too few blocks");
        let quarter = Some(Interval { low: 0.25, high: 0.25 });
        assert_eq!(interval(&[&[2; 20]], 8), quarter);
        assert_eq!(interval(&[&[0; 20], &[4; 20]], 8), quarter, "the mean of two CPUs");
        assert_eq!(interval(&[&[2; 3], &[2; 20]], 8), quarter, "one CPU went away");
    }

    #[test]
    fn a_loop_that_ended_early_has_fewer_blocks() {
        let blocks = Blocks::new(0, 10_000, 100);
        let cases = [
            ("whole", 10_000, 100),
            ("all but 1 %", 9_999, 100),
            ("half", 5_050, 50),
            ("none", 3, 0),
        ];
        for (name, last, expected) in cases {
            assert_eq!(blocks.up_to(last).len(), expected, "case: {name}");
        }
    }

    proptest! {
        #[test]
        fn no_tick_is_lost(
            detours in prop::collection::vec((0u64..5000, 0u64..900), 0..50),
            wall in 0u64..5000,
        ) {
            let mut blocks = Blocks::new(200, 200 + wall, 10);
            detours.iter().for_each(|&(start, length)| blocks.add(start, start + length));
            let expected: u64 = detours.iter().map(|&(_, length)| length).sum();
            prop_assert_eq!(blocks.lost.iter().sum::<u64>(), expected);
        }
    }
}
