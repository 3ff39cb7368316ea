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
