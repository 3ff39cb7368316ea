//! One pass over a CPU's detours gives both laws of a phase's delay at one grain.
//!
//! On the axis of free time (wall time without the detours) a detour is a point with a length. A phase that
//! starts at `f` is delayed by the points in `[f, f + grain)`: a sum that changes only where a point leaves or
//! enters, so two pointers find how long each sum lasts.

use super::bins::{Binned, Cell, bin_of, lowest_of};
use super::timeline::Timeline;

/// Delays of starts that are uniform in free time, and of those uniform in wall time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Delays {
    pub free: Binned,
    pub wall: Binned,
}

/// Goes through a timeline, a block of free time after another, and calls `each` with what was found in it.
/// The blocks are `blocks` equal ones, and the last may be a little longer. The pass is circular: a phase over
/// the window's end goes on at its beginning.
///
/// `grain_ns` is at most the timeline's free time, and above 0.
pub(super) fn sweep(
    timeline: &Timeline,
    grain_ns: u64,
    blocks: u64,
    mut each: impl FnMut(&mut Block),
) {
    let (free, detours) = (timeline.free_ns(), timeline.detours());
    debug_assert!(0 < grain_ns && grain_ns <= free);
    let mut block = Block::new(timeline.lost_ns());
    let mut leaving = Pointer::new(timeline, 0);
    let mut entering = Pointer::new(timeline, grain_ns);
    let (mut delay, mut at) = (0, 0);
    while entering.place < 0 {
        delay += entering.length;
        entering.step();
    }
    let length = (free / blocks.max(1)).max(1);
    let mut ends = (1..blocks).map(|number| number * length).take_while(|&end| end < free);
    let mut last = detours.is_empty();
    loop {
        let end = ends.next();
        let until = end.unwrap_or(free);
        loop {
            // A detour at the very end of the window leaves there; else what happens there is the next round's.
            let leaves = if last { i64::MAX } else { leaving.place };
            let next = leaves.min(entering.place).min(until as i64) as u64;
            block.atom(delay, next - at);
            at = next;
            if leaves <= entering.place && leaves <= until as i64 {
                delay -= leaving.length;
                block.piece(delay, leaving.length);
                leaving.step();
                last = leaving.round > 0;
            } else if entering.place < until as i64 {
                delay += entering.length;
                entering.step();
            } else {
                break;
            }
        }
        each(&mut block);
        if end.is_none() {
            return;
        }
        block.clear();
    }
}

/// Goes through the detours again and again, and tells where in free time each lies.
struct Pointer<'a> {
    timeline: &'a Timeline,
    index: usize,
    round: u64,
    /// What is taken off the start of a detour: the detours before it, and how far ahead one looks.
    shift: i64,
    /// Where the detour lies now.
    place: i64,
    length: u64,
}

impl<'a> Pointer<'a> {
    fn new(timeline: &'a Timeline, ahead: u64) -> Self {
        let shift = -(ahead as i64);
        let mut pointer = Self { timeline, index: 0, round: 0, shift, place: i64::MAX, length: 0 };
        pointer.look();
        pointer
    }

    #[inline]
    fn look(&mut self) {
        if let Some(detour) = self.timeline.detours().get(self.index) {
            self.place = detour.start_ns as i64 + self.shift;
            self.length = detour.end_ns - detour.start_ns;
        }
    }

    #[inline]
    fn step(&mut self) {
        self.shift -= self.length as i64;
        self.index += 1;
        if self.index == self.timeline.detours().len() {
            self.index = 0;
            self.round += 1;
            self.shift += self.timeline.length_ns() as i64;
        }
        self.look();
    }
}

/// What one block of starts adds.
pub(super) struct Block {
    /// Starts in free time, by the delay that they meet.
    atoms: Vec<Cell>,
    /// Starts inside a detour of length `d` that the delay `v` follows are delayed by `v` to `v + d`, uniformly:
    /// the density of starts (per ns of delay) rises by one at `v` and falls by one at `v + d`.
    slopes: Vec<Slope>,
    /// Sums of delay times start time, exact.
    free_sum: u128,
    twice_piece_sum: u128,
}

/// Rises less falls of the density in one bin: their number, and the sum of their positions.
///
/// The sum wraps around. What is computed from it, a time, fits in 64 bits, so it comes out exactly.
#[derive(Debug, Clone, Copy, Default)]
struct Slope {
    number: i64,
    positions: u64,
}

impl Block {
    fn new(most_delay: u64) -> Self {
        let bins = bin_of(most_delay) + 1;
        let (atoms, slopes) = (vec![Cell::default(); bins], vec![Slope::default(); bins]);
        Self { atoms, slopes, free_sum: 0, twice_piece_sum: 0 }
    }

    fn clear(&mut self) {
        self.atoms.fill(Cell::default());
        self.slopes.fill(Slope::default());
        (self.free_sum, self.twice_piece_sum) = (0, 0);
    }

    #[inline]
    fn atom(&mut self, delay: u64, time: u64) {
        let sum = u128::from(delay) * u128::from(time);
        self.free_sum += sum;
        let cell = &mut self.atoms[bin_of(delay)];
        cell.mass += time;
        cell.sum += delay as f64 * time as f64;
    }

    #[inline]
    fn piece(&mut self, delay: u64, length: u64) {
        let (rise, fall) = (delay, delay + length);
        self.twice_piece_sum += u128::from(length) * u128::from(rise + fall);
        let slope = &mut self.slopes[bin_of(rise)];
        slope.number += 1;
        slope.positions = slope.positions.wrapping_add(rise);
        let slope = &mut self.slopes[bin_of(fall)];
        slope.number -= 1;
        slope.positions = slope.positions.wrapping_sub(fall);
    }

    /// Calls `each` with every bin that has starts, from the longest delay to the shortest: the bin, what starts
    /// in free time add to it, and what those inside of detours add.
    pub(super) fn downwards(&self, mut each: impl FnMut(usize, Cell, Cell)) {
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
                each(bin, atom, Cell { mass, sum: mass as f64 * middle });
            }
        }
    }

    /// Twice the sum over starts in free time of their delay, in ns², and over those inside of detours.
    pub(super) fn twice_sums(&self) -> (u128, u128) {
        (self.free_sum * 2, self.twice_piece_sum)
    }
}

/// Both laws of one timeline at one grain, and each block's histogram to `block`.
pub(super) fn delays(
    timeline: &Timeline,
    grain_ns: u64,
    blocks: u64,
    mut block: impl FnMut(&Block),
) -> Delays {
    let mut delays = Delays::default();
    let bins = bin_of(timeline.lost_ns()) + 1;
    delays.free.cells = vec![Cell::default(); bins];
    delays.wall.cells = vec![Cell::default(); bins];
    let (mut free_sum, mut piece_sum) = (0, 0);
    sweep(timeline, grain_ns, blocks, |found| {
        found.downwards(|bin, atom, piece| {
            let (free, wall) = (&mut delays.free.cells[bin], &mut delays.wall.cells[bin]);
            free.mass += atom.mass;
            free.sum += atom.sum;
            wall.mass += atom.mass + piece.mass;
            wall.sum += atom.sum + piece.sum;
        });
        let sums = found.twice_sums();
        free_sum += sums.0;
        piece_sum += sums.1;
        block(found);
    });
    let mean = |sum: u128, total: u64| sum as f64 / 2.0 / total.max(1) as f64;
    (delays.free.total, delays.wall.total) = (timeline.free_ns(), timeline.length_ns());
    delays.free.mean = mean(free_sum, delays.free.total);
    delays.wall.mean = mean(free_sum + piece_sum, delays.wall.total);
    delays
}
