//! The distribution of delays over starts of phases, from which both closed laws are computed.

use super::bins::{Binned, DelayBin, bin_of, lowest_of};
use super::resample::Blocks;
use super::sweep::Starts;

/// Delays of starts that are uniform in free time.
#[derive(Debug, Default)]
pub(super) struct FreeStarts {
    cells: Vec<DelayBin>,
    sum: u128,
}

impl FreeStarts {
    /// Returns the distribution of all of them; `free_ns` is the time that they fill.
    pub(super) fn binned(self, free_ns: u64) -> Binned {
        let mean = self.sum as f64 / free_ns.max(1) as f64;
        Binned { cells: self.cells, total: free_ns, mean }
    }
}

impl Starts for FreeStarts {
    #[inline]
    fn level(&mut self, delay_ns: u64, length_ns: u64) {
        self.sum += u128::from(delay_ns) * u128::from(length_ns);
        let bin = bin_of(delay_ns);
        if self.cells.len() <= bin {
            self.cells.resize(bin + 1, DelayBin::default());
        }
        self.cells[bin].mass += length_ns;
        self.cells[bin].sum += delay_ns as f64 * length_ns as f64;
    }

    fn falling(&mut self, _: u64, _: u64) {}
}

/// Delays of starts uniform in free time and of starts uniform in wall time, in all and for blocks of time if there are
/// blocks.
#[derive(Debug)]
pub(super) struct BothStarts {
    pub free: Binned,
    pub wall: Binned,
    pub blocks: Option<Blocks>,
    block: Block,
    next: usize,
    free_sum: u128,
    twice_piece_sum: u128,
}

impl BothStarts {
    /// Returns an empty distribution for a CPU that lost `lost_ns` of `length_ns`.
    pub(super) fn new(length_ns: u64, lost_ns: u64, blocks: Option<u64>) -> Self {
        let bins = bin_of(lost_ns) + 1;
        let binned = |total| Binned { cells: vec![DelayBin::default(); bins], total, mean: 0.0 };
        Self {
            free: binned(length_ns - lost_ns),
            wall: binned(length_ns),
            blocks: blocks.map(Blocks::new),
            block: Block::new(bins),
            next: 0,
            free_sum: 0,
            twice_piece_sum: 0,
        }
    }
}

impl Starts for BothStarts {
    #[inline]
    fn level(&mut self, delay_ns: u64, length_ns: u64) {
        self.free_sum += u128::from(delay_ns) * u128::from(length_ns);
        self.block.atom(delay_ns, length_ns);
    }

    #[inline]
    fn falling(&mut self, to_ns: u64, length_ns: u64) {
        self.twice_piece_sum += u128::from(length_ns) * u128::from(2 * to_ns + length_ns);
        self.block.piece(to_ns, length_ns);
    }

    fn end_block(&mut self) {
        let (free, wall) = (&mut self.free, &mut self.wall);
        let at = self.next;
        let mut blocks = self.blocks.as_mut();
        self.block.downwards(|bin, atom, piece| {
            let both = DelayBin { mass: atom.mass + piece.mass, sum: atom.sum + piece.sum };
            free.cells[bin] += atom;
            wall.cells[bin] += both;
            if let Some(blocks) = &mut blocks {
                blocks.add(at, bin, atom, both);
            }
        });
        // Of all blocks so far: the last call leaves the means of all.
        free.mean = self.free_sum as f64 / free.total.max(1) as f64;
        let twice = self.free_sum * 2 + self.twice_piece_sum;
        wall.mean = twice as f64 / 2.0 / wall.total.max(1) as f64;
        self.block.clear();
        self.next += 1;
    }
}

/// Contribution of one block of starts.
#[derive(Debug)]
struct Block {
    /// Starts in free time by their delay.
    atoms: Vec<DelayBin>,
    /// Starts inside a detour of length `d` that is followed by the delay `v` are delayed by `v` to `v + d`, uniformly:
    /// the density of starts (per ns of delay) rises by one at `v` and falls by one at `v + d`.
    slopes: Vec<Slope>,
}

/// Rises minus falls of the density in one bin: their number, and the sum of their positions.
///
/// The sum wraps around; the time computed from it fits in 64 bits and is therefore exact.
#[derive(Debug, Clone, Copy, Default)]
struct Slope {
    number: i64,
    positions: u64,
}

impl Block {
    fn new(bins: usize) -> Self {
        Self { atoms: vec![DelayBin::default(); bins], slopes: vec![Slope::default(); bins] }
    }

    fn clear(&mut self) {
        self.atoms.fill(DelayBin::default());
        self.slopes.fill(Slope::default());
    }

    #[inline]
    fn atom(&mut self, delay: u64, time: u64) {
        let cell = &mut self.atoms[bin_of(delay)];
        cell.mass += time;
        cell.sum += delay as f64 * time as f64;
    }

    #[inline]
    fn piece(&mut self, delay: u64, length: u64) {
        let (rise, fall) = (delay, delay + length);
        let slope = &mut self.slopes[bin_of(rise)];
        slope.number += 1;
        slope.positions = slope.positions.wrapping_add(rise);
        let slope = &mut self.slopes[bin_of(fall)];
        slope.number -= 1;
        slope.positions = slope.positions.wrapping_sub(fall);
    }

    /// Calls `each` with every bin that has starts, from the longest delay to the shortest: the bin, the contribution
    /// of starts in free time, and that of starts inside detours.
    fn downwards(&self, mut each: impl FnMut(usize, DelayBin, DelayBin)) {
        let mut above = Slope::default();
        let mut beyond = 0;
        for (bin, (&atom, slope)) in self.atoms.iter().zip(&self.slopes).enumerate().rev() {
            above.number += slope.number;
            above.positions = above.positions.wrapping_add(slope.positions);
            // Starts inside of detours that are delayed by more than the bin's lower edge.
            let lowest = lowest_of(bin);
            let falls = above.number.wrapping_neg() as u64;
            let up_to_here =
                above.positions.wrapping_neg().wrapping_sub(falls.wrapping_mul(lowest));
            let mass = up_to_here.wrapping_sub(beyond);
            beyond = up_to_here;
            if atom.mass > 0 || mass > 0 {
                let middle = (lowest as f64 + lowest_of(bin + 1) as f64) / 2.0;
                each(bin, atom, DelayBin { mass, sum: mass as f64 * middle });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::sweep::sweep;
    use crate::phases::walked_tests::{Walked, random_timeline};
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    /// Returns the cells of these starts, each of 1 ns with the mean of its delay.
    fn cells(starts: impl Iterator<Item = (u64, f64)>) -> Vec<DelayBin> {
        let mut cells = vec![];
        for (bin, sum) in starts {
            let bin = bin as usize;
            cells.resize(cells.len().max(bin + 1), DelayBin::default());
            cells[bin] += DelayBin { mass: 1, sum };
        }
        cells
    }

    fn without_empty_ends(cells: &[DelayBin]) -> &[DelayBin] {
        let used = cells.iter().rposition(|cell| cell.mass > 0).map_or(0, |last| last + 1);
        &cells[..used]
    }

    #[test]
    fn delays_of_all_starts_are_those_of_walking() {
        let mut random = Pcg64Mcg::seed_from_u64(21);
        for trial in 0..1_000 {
            let timeline = random_timeline(&mut random);
            let (length_ns, free_ns) = (timeline.length_ns(), timeline.free_ns());
            let grain_ns = if trial % 10 == 0 { free_ns } else { random.random_range(1..=free_ns) };
            let walked = Walked::new(&timeline);
            let free = walked.delays_of_free_starts(grain_ns);
            let taken = walked.delays_of_taken_starts(grain_ns);
            // Starts during a taken nanosecond are delayed by half a nanosecond less on average.
            let during = || taken.iter().map(|(_, delay)| (delay - 1, *delay as f64 - 0.5));
            let of_free = || free.iter().map(|delay| (*delay, *delay as f64));
            for blocks in [1, 2, 7] {
                let both = BothStarts::new(length_ns, timeline.lost_ns(), None);
                let found = sweep(&timeline, grain_ns, blocks, both);
                let expected = cells(of_free());
                assert_eq!(
                    without_empty_ends(&found.free.cells),
                    expected,
                    "{trial}: {timeline:?}, {grain_ns}"
                );
                let expected = cells(of_free().chain(during()));
                assert_eq!(
                    without_empty_ends(&found.wall.cells),
                    expected,
                    "{trial}: {timeline:?}, {grain_ns}"
                );
                assert_eq!((found.free.total, found.wall.total), (free_ns, length_ns));
                let mean = |sum: f64, count: u64| sum / count as f64;
                let free_sum: f64 = of_free().map(|(_, delay)| delay).sum();
                let wall_sum = free_sum + during().map(|(_, delay)| delay).sum::<f64>();
                assert!(
                    (found.free.mean - mean(free_sum, free_ns)).abs() < 1e-9,
                    "{trial}: {timeline:?}"
                );
                assert!(
                    (found.wall.mean - mean(wall_sum, length_ns)).abs() < 1e-9,
                    "{trial}: {timeline:?}"
                );
            }
            let alone = sweep(&timeline, grain_ns, 1, FreeStarts::default()).binned(free_ns);
            let both =
                sweep(&timeline, grain_ns, 1, BothStarts::new(length_ns, timeline.lost_ns(), None));
            assert_eq!(alone.cells, without_empty_ends(&both.free.cells), "{trial}: {timeline:?}");
            assert_eq!(
                (alone.total, alone.mean),
                (both.free.total, both.free.mean),
                "{trial}: {timeline:?}"
            );
        }
    }
}
