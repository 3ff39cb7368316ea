//! How long a phase of one grain is delayed on one CPU, as a function of when it starts.

use super::sweep::{Starts, sweep};
use super::timeline::Timeline;

/// The delay of a phase for every instant at which it may start. The timeline repeats itself.
///
/// While the CPU is free the delay is constant between the instants at which one more detour comes within the
/// grain's reach. A start inside a detour waits for its end: there the delay falls by 1 ns each ns.
#[derive(Debug, Clone)]
pub struct Delays {
    length_ns: u64,
    /// In the order of their starts; the first starts at 0.
    pieces: Vec<Piece>,
    /// Bucket by bucket of starts: the piece that its first instant lies in.
    index: Vec<u32>,
    /// A bucket is two to this power long.
    shift: u32,
}

/// Starts from here up to the next piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub start_ns: u64,
    /// Delay of the first start.
    pub delay_ns: u64,
    /// Whether later starts are delayed by less: they are inside a detour.
    pub falls: bool,
}

impl Piece {
    /// Delay of a start so many ns after the first.
    #[inline]
    pub(super) fn after(self, ns: u64) -> u64 {
        if self.falls { self.delay_ns - ns } else { self.delay_ns }
    }
}

/// The power of two that cuts `length_ns` into at most about `parts`.
pub(super) fn shift_for(length_ns: u64, parts: u64) -> u32 {
    let width = (length_ns / parts.max(1)).max(1);
    u64::BITS - width.leading_zeros()
}

impl Delays {
    /// Those of a timeline that is not lost as a whole. `grain_ns` lies above 0.
    #[must_use]
    pub fn new(timeline: &Timeline, grain_ns: u64) -> Self {
        let free_ns = timeline.free_ns();
        // Of a longer grain, all but the last round of the window takes every detour as a whole.
        let rounds = (grain_ns - 1) / free_ns;
        let room = 3 * timeline.detours().len() + 2;
        let table = Table {
            pieces: Vec::with_capacity(room),
            base_ns: rounds.saturating_mul(timeline.lost_ns()),
            at_ns: 0,
        };
        let table = sweep(timeline, grain_ns - rounds * free_ns, 1, table);
        Self::of_pieces(table.pieces, timeline.length_ns())
    }

    fn of_pieces(mut pieces: Vec<Piece>, length_ns: u64) -> Self {
        pieces.retain(|piece| piece.start_ns < length_ns);
        let shift = shift_for(length_ns, pieces.len() as u64 / 2);
        let mut index = Vec::with_capacity((length_ns >> shift) as usize + 2);
        let mut last = 0;
        for bucket in 0..=(length_ns >> shift) {
            while pieces.get(last + 1).is_some_and(|next| next.start_ns <= bucket << shift) {
                last += 1;
            }
            index.push(last as u32);
        }
        index.push(pieces.len() as u32 - 1);
        Self { length_ns, pieces, index, shift }
    }

    /// Length of the window.
    #[must_use]
    pub fn length_ns(&self) -> u64 {
        self.length_ns
    }

    /// Delay of a phase that starts here, an instant of the window.
    #[inline]
    #[must_use]
    pub fn at(&self, start_ns: u64) -> u64 {
        let bucket = (start_ns >> self.shift) as usize;
        let (first, last) = (self.index[bucket] as usize, self.index[bucket + 1] as usize);
        let later = &self.pieces[first + 1..=last];
        let passed = later.partition_point(|piece| piece.start_ns <= start_ns);
        let piece = self.pieces[first + passed];
        piece.after(start_ns - piece.start_ns)
    }

    /// The pieces, each with its length.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (Piece, u64)> {
        let ends = self.pieces[1..].iter().map(|next| next.start_ns).chain([self.length_ns]);
        self.pieces.iter().zip(ends).map(|(&piece, end_ns)| (piece, end_ns - piece.start_ns))
    }

    pub(super) fn count(&self) -> usize {
        self.pieces.len()
    }
}

/// Pieces while they are found.
struct Table {
    pieces: Vec<Piece>,
    /// What every start is delayed by.
    base_ns: u64,
    at_ns: u64,
}

impl Table {
    fn set(&mut self, start_ns: u64, delay_ns: u64, falls: bool) {
        let piece = Piece { start_ns, delay_ns: self.base_ns + delay_ns, falls };
        match self.pieces.last_mut() {
            Some(last) if last.start_ns == start_ns => *last = piece,
            Some(last) if !falls && *last == (Piece { start_ns: last.start_ns, ..piece }) => {}
            _ => self.pieces.push(piece),
        }
    }
}

impl Starts for Table {
    fn level(&mut self, delay_ns: u64, length_ns: u64) {
        // A detour at the very end of a grain does not delay: it does so for starts a ns later.
        let more = |last: &Piece| !last.falls && self.base_ns + delay_ns > last.delay_ns;
        let late = u64::from(self.pieces.last().is_some_and(more));
        self.set(self.at_ns + late, delay_ns, false);
        self.at_ns += length_ns;
    }

    fn falling(&mut self, to_ns: u64, length_ns: u64) {
        self.set(self.at_ns, to_ns + length_ns, true);
        self.at_ns += length_ns;
    }
}
