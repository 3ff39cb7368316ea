//! Blocks of the closed laws: leaves blocks of time out to estimate how much the laws depend on what happened to be
//! recorded.

use super::bins::{Binned, DelayBin, bin_of};
use super::law::Law;
use super::law::LawBuilder;
use anechoic_analyze::blocks::{CARRIERS_OF_BLOCKS, FEWEST_BLOCKS, MOST_BLOCKS, SHORTEST_BLOCK_NS};
use anechoic_analyze::stats::{Bounds, Spread};
use anechoic_analyze::threads::in_order;

/// Number of bins of the laws that form one bin here; intervals need less accuracy than the slowdown itself.
const FINE_BINS: usize = 32;
/// Smallest number of grains in a block.
const GRAINS: u64 = 10;

/// Returns the number of blocks that a window is divided into; absent if there would be too few for an interval.
pub(crate) fn blocks(window_ns: u64, grain_ns: u64) -> Option<u64> {
    let shortest = SHORTEST_BLOCK_NS.max(grain_ns.saturating_mul(GRAINS));
    let blocks = (window_ns / shortest).min(MOST_BLOCKS);
    (blocks >= FEWEST_BLOCKS).then_some(blocks)
}

/// Blocks of one law over all CPUs, which are left out together, at the same times.
#[derive(Debug, Clone, Default)]
struct LawBlocks {
    /// Start times by bin, one block after the other.
    blocks: Vec<Vec<u64>>,
    /// The sum of all blocks.
    whole: Vec<DelayBin>,
}

/// The blocks of both laws.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    free: LawBlocks,
    wall: LawBlocks,
}

impl LawBlocks {
    fn add(&mut self, block: usize, bin: usize, cell: DelayBin) {
        if self.whole.len() <= bin {
            self.whole.resize(bin + 1, DelayBin::default());
        }
        self.whole[bin] += cell;
        let masses = &mut self.blocks[block];
        if masses.len() <= bin {
            masses.resize(bin + 1, 0);
        }
        masses[bin] += cell.mass;
    }

    /// Adds the same blocks of another CPU.
    fn merge(&mut self, other: Self) {
        if self.whole.len() < other.whole.len() {
            self.whole.resize(other.whole.len(), DelayBin::default());
        }
        self.whole.iter_mut().zip(other.whole).for_each(|(cell, other)| *cell += other);
        for (masses, others) in self.blocks.iter_mut().zip(other.blocks) {
            if masses.len() < others.len() {
                masses.resize(others.len(), 0);
            }
            masses.iter_mut().zip(others).for_each(|(mass, other)| *mass += other);
        }
    }

    /// Returns the law of all blocks but one, taken as one CPU.
    fn without(&self, left_out: Option<usize>) -> Law {
        let mut cells = self.whole.clone();
        let masses = left_out.map_or(&[][..], |block| &self.blocks[block]);
        for (cell, mass) in cells.iter_mut().zip(masses) {
            cell.mass -= mass;
        }
        for (cell, whole) in cells.iter_mut().zip(&self.whole) {
            cell.sum = whole.sum / whole.mass.max(1) as f64 * cell.mass as f64;
        }
        let total = cells.iter().map(|cell| cell.mass).sum::<u64>();
        let sum = cells.iter().map(|cell| cell.sum).sum::<f64>();
        let mut law = LawBuilder::default();
        law.add(&Binned { cells, total, mean: sum / total.max(1) as f64 });
        law.finish()
    }
}

impl Blocks {
    /// Returns room for this number of blocks.
    pub(super) fn new(blocks: u64) -> Self {
        let empty = || LawBlocks { blocks: vec![vec![]; blocks as usize], whole: vec![] };
        Self { free: empty(), wall: empty() }
    }

    /// Adds starts with delays of one bin to a block: those in free time, and those in wall time.
    pub(super) fn add(&mut self, block: usize, bin: usize, free: DelayBin, wall: DelayBin) {
        let block = block.min(self.free.blocks.len() - 1);
        // No delay has a bin of its own.
        let bin = if bin == bin_of(0) { 0 } else { 1 + bin / FINE_BINS };
        self.free.add(block, bin, free);
        self.wall.add(block, bin, wall);
    }

    /// Adds the same blocks of another CPU.
    pub(super) fn merge(&mut self, other: Self) {
        self.free.merge(other.free);
        self.wall.merge(other.wall);
    }

    /// Returns the mean delay of the slowest rank for each number of ranks, free start and wall start, with a block left out.
    fn slowest(&self, left_out: Option<usize>, ranks: &[u64]) -> Vec<(f64, f64)> {
        let (free, wall) = (self.free.without(left_out), self.wall.without(left_out));
        let both = |&ranks| (free.mean_of_slowest_ns(ranks), wall.mean_of_slowest_ns(ranks));
        ranks.iter().map(both).collect()
    }

    /// Returns the bounds of the mean delay of the slowest rank, for each number of ranks: free start, wall start.
    ///
    /// Each block of time is left out in turn (jackknife, Tukey 1958; for dependent blocks see [`Spread`]). `free` and
    /// `wall` are the laws of the recording. There is no interval for a number of ranks where few of the blocks
    /// make up the spread, because the slowest rank then depends on a few events.
    pub(super) fn bounds(&self, free: &Law, wall: &Law, ranks: &[u64]) -> Vec<(Bounds, Bounds)> {
        let blocks = self.free.blocks.len();
        let whole = self.slowest(None, ranks);
        let without = in_order(blocks, |block| self.slowest(Some(block), ranks));
        let carriers = CARRIERS_OF_BLOCKS * blocks as f64;
        let mut all = vec![];
        for (at, &ranks) in ranks.iter().enumerate() {
            let (free, wall) = (free.mean_of_slowest_ns(ranks), wall.mean_of_slowest_ns(ranks));
            let (free_without, wall_without) = without.iter().map(|values| values[at]).unzip();
            all.push((
                bounds(free, carriers, whole[at].0, free_without),
                bounds(wall, carriers, whole[at].1, wall_without),
            ));
        }
        all
    }
}

/// Returns the bounds of a value from those of all blocks and `without` each of them.
fn bounds(value: f64, carriers: f64, whole: f64, without: Vec<f64>) -> Bounds {
    let spread = Spread::left_out(whole, &without);
    spread.map_or(Bounds::default(), |spread| spread.bounds(value, carriers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::Timeline;
    use crate::phases::starts::BothStarts;
    use crate::phases::sweep::sweep;
    use crate::phases::walked_tests::{Walked, random_timeline};
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    #[test]
    fn blocks_have_ten_grains_and_there_are_enough() {
        let least = SHORTEST_BLOCK_NS * FEWEST_BLOCKS;
        let ten = 10 * SHORTEST_BLOCK_NS * (FEWEST_BLOCKS + 5);
        let cases = [
            ("short grains", least, 1, Some(FEWEST_BLOCKS)),
            ("too short a window", least - 1, 1, None),
            ("ten grains in each", ten, SHORTEST_BLOCK_NS, Some(FEWEST_BLOCKS + 5)),
            ("a little longer grains", ten, SHORTEST_BLOCK_NS + 1, Some(FEWEST_BLOCKS + 4)),
            ("a long window", 10_000 * SHORTEST_BLOCK_NS, 1, Some(MOST_BLOCKS)),
            ("an endless grain", u64::MAX, u64::MAX, None),
        ];
        for (name, window_ns, grain_ns, expected) in cases {
            assert_eq!(blocks(window_ns, grain_ns), expected, "case: {name}");
        }
    }

    /// Starts by block and bin: no delay, up to 31 ns, up to 63 ns and so on.
    type Masses = Vec<Vec<u64>>;

    /// Returns the starts in free time and those in wall time.
    fn walked_masses(timeline: &Timeline, grain_ns: u64, count: u64) -> [Masses; 2] {
        let walked = Walked::new(timeline);
        let block_ns = (timeline.free_ns() / count).max(1);
        let block_of = |at: u64| (at / block_ns).min(count - 1) as usize;
        let bin_of = |delay: u64| if delay == 0 { 0 } else { 1 + delay as usize / 32 };
        let mut free = vec![vec![0; 20]; count as usize];
        for (at, delay) in (0..).zip(walked.delays_of_free_starts(grain_ns)) {
            free[block_of(at)][bin_of(delay)] += 1;
        }
        let mut wall = free.clone();
        for (at, delay) in walked.delays_of_taken_starts(grain_ns) {
            // A detour at the end of a block is part of it.
            wall[block_of(at.saturating_sub(1))][bin_of(delay - 1)] += 1;
        }
        [free, wall]
    }

    fn swept(timeline: &Timeline, grain_ns: u64, count: u64) -> Blocks {
        let starts = BothStarts::new(timeline.length_ns(), timeline.lost_ns(), Some(count));
        sweep(timeline, grain_ns, count, starts).blocks.expect("they were asked for")
    }

    fn masses(blocks: &Blocks) -> [Masses; 2] {
        let fill = |of_block: &Vec<u64>| {
            (0..20).map(|bin| of_block.get(bin).copied().unwrap_or(0)).collect()
        };
        [&blocks.free, &blocks.wall].map(|law| law.blocks.iter().map(fill).collect())
    }

    /// Those of two CPUs are added up, and whichever is left out, the others remain.
    #[test]
    fn blocks_have_the_starts_of_their_time() {
        let mut random = Pcg64Mcg::seed_from_u64(23);
        for trial in 0..500 {
            let [first, second] = [(); 2].map(|()| random_timeline(&mut random));
            let grain_ns = random.random_range(1..=first.free_ns().min(second.free_ns()));
            let count = random.random_range(1..10);
            let mut both = swept(&first, grain_ns, count);
            let mut expected = walked_masses(&first, grain_ns, count);
            assert_eq!(masses(&both), expected, "{trial}: {first:?}, {grain_ns}, {count}");
            both.merge(swept(&second, grain_ns, count));
            let more = walked_masses(&second, grain_ns, count);
            let cells = expected.iter_mut().flatten().flatten();
            cells.zip(more.iter().flatten().flatten()).for_each(|(mass, more)| *mass += more);
            assert_eq!(masses(&both), expected, "{trial}: {first:?}, {second:?}");
            check_without(&both.free, &expected[0]);
            check_without(&both.wall, &expected[1]);
        }
    }

    /// The shares of the bins are those of the blocks that remain, the delays those of all blocks.
    fn check_without(blocks: &LawBlocks, masses: &Masses) {
        let bins = 0..blocks.whole.len();
        for (bin, cell) in blocks.whole.iter().enumerate() {
            assert_eq!(cell.mass, masses.iter().map(|of_block| of_block[bin]).sum::<u64>());
        }
        for left_out in 0..=masses.len() {
            let kept = |bin: usize| -> u64 {
                (0..masses.len()).filter(|at| *at != left_out).map(|at| masses[at][bin]).sum()
            };
            let total: u64 = bins.clone().map(kept).sum();
            if total == 0 {
                continue;
            }
            let usual = |bin: usize| blocks.whole[bin].sum / blocks.whole[bin].mass.max(1) as f64;
            let sum: f64 = bins.clone().map(|bin| usual(bin) * kept(bin) as f64).sum();
            let law = blocks.without(Some(left_out).filter(|at| *at < masses.len()));
            let mean = sum / total as f64;
            assert!((law.mean_ns() - mean).abs() < 1e-9, "{left_out}: {law:?}, not {mean}");
            let delayed = 1.0 - kept(0) as f64 / total as f64;
            // The mean of those that wait for less than a nanosecond is below one.
            assert!((law.survival(0.75) - delayed).abs() < 1e-9, "{left_out}: {law:?}");
        }
    }

    /// The bounds of each number of ranks are around its own slowest delay, in each of the laws.
    #[test]
    fn both_laws_have_their_bounds_for_each_number_of_ranks() {
        let detour = |at: u64| {
            let start_ns = 1_000 * at + at * at % 300;
            crate::phases::Span { start_ns, end_ns: start_ns + 20 + at * 13 % 50 }
        };
        let timeline = Timeline::new(400_000, (0..400).map(detour).collect());
        let laws = crate::phases::laws([&timeline], 100);
        let blocks = swept(&timeline, 100, 40);
        let found = blocks.bounds(&laws.free, &laws.wall, &[1, 3]);
        assert_eq!(found.len(), 2);
        for (ranks, found) in [1, 3].into_iter().zip(found) {
            let slowest = |left_out| blocks.slowest(left_out, &[ranks])[0];
            let without: Vec<(f64, f64)> = (0..40).map(|block| slowest(Some(block))).collect();
            let (free, wall): (Vec<f64>, Vec<f64>) = without.into_iter().unzip();
            let expected = |law: &Law, whole: f64, without: &[f64]| {
                let spread = Spread::left_out(whole, without).expect("40 blocks");
                spread.bounds(law.mean_of_slowest_ns(ranks), 40.0 * CARRIERS_OF_BLOCKS)
            };
            assert_eq!(found.0, expected(&laws.free, slowest(None).0, &free), "{ranks} ranks");
            assert_eq!(found.1, expected(&laws.wall, slowest(None).1, &wall), "{ranks} ranks");
            let value = laws.free.mean_of_slowest_ns(ranks);
            let interval = found.0.interval.expect("many events");
            assert!(interval.low < value && value < interval.high, "{interval:?} of {value}");
        }
    }
}
