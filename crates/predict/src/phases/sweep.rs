//! Computes the delay of every start of a phase of one grain in one pass over a CPU's detours.
//!
//! On the axis of free time (wall time without the detours) a detour is a point with a length. A phase that starts at
//! `f` is delayed by the points in `[f, f + grain)`: a sum that changes only where a point enters or leaves. So the
//! pass remembers the points of one grain, regardless of the length of the window.

use super::span::Span;
use super::timeline::Timeline;
use std::collections::VecDeque;

/// Receives the results of a pass in the order of starts in wall time.
pub(super) trait Starts {
    /// Starts in free time over this many ns are all delayed by `delay_ns`.
    fn level(&mut self, delay_ns: u64, length_ns: u64);

    /// Starts inside a detour: the first is delayed by `to_ns + length_ns`, and the delay falls with the distance from
    /// it.
    fn falling(&mut self, to_ns: u64, length_ns: u64);

    /// A block of free time ends here.
    fn end_block(&mut self) {}
}

/// A pass in progress. Detours are added in time order, disjoint and inside the window. The pass is circular: a phase
/// that crosses the window's end continues at its beginning.
#[derive(Debug)]
pub(super) struct Sweep<S> {
    starts: S,
    grain_ns: u64,
    free_ns: u64,
    /// Length of a block of free time, and the end of the current block.
    block_ns: u64,
    block_end_ns: u64,
    /// Number of blocks that end before the window does.
    blocks_left: u64,
    at_ns: u64,
    delay_ns: u64,
    lost_ns: u64,
    /// The detours in the current grain.
    ahead: VecDeque<Point>,
    /// The detours of the first grain, which the last starts of the window reach.
    first: Vec<Point>,
}

/// A detour on the axis of free time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub free_ns: u64,
    pub length_ns: u64,
}

impl<S: Starts> Sweep<S> {
    /// Begins a pass over a window with `free_ns` of free time, in equal blocks of which the last may be slightly
    /// longer. `grain_ns` is above 0 and at most the free time.
    pub(super) fn new(free_ns: u64, grain_ns: u64, blocks: u64, starts: S) -> Self {
        debug_assert!(0 < grain_ns && grain_ns <= free_ns);
        let block_ns = (free_ns / blocks.max(1)).max(1);
        Self {
            starts,
            grain_ns,
            free_ns,
            block_ns,
            block_end_ns: block_ns,
            blocks_left: blocks.max(1) - 1,
            at_ns: 0,
            delay_ns: 0,
            lost_ns: 0,
            ahead: VecDeque::new(),
            first: vec![],
        }
    }

    /// Adds the next detour.
    #[inline]
    pub(super) fn add(&mut self, detour: Span) {
        let free_ns = detour.start_ns - self.lost_ns;
        let length_ns = detour.length_ns();
        self.lost_ns += length_ns;
        let point = Point { free_ns, length_ns };
        if free_ns < self.grain_ns {
            self.first.push(point);
            self.delay_ns += length_ns;
            self.ahead.push_back(point);
        } else {
            self.enter(point);
        }
    }

    /// Ends the pass and returns the receiver of its results.
    pub(super) fn finish(mut self) -> S {
        let mut left = self.ahead.len();
        for point in std::mem::take(&mut self.first) {
            let free_ns = point.free_ns + self.free_ns;
            left -= self.enter(Point { free_ns, ..point });
        }
        // What lies at the window's end is still this round's.
        while left > 0 {
            left -= 1;
            self.leave();
        }
        self.advance(self.free_ns, true);
        self.starts.level(self.delay_ns, self.free_ns - self.at_ns);
        self.starts.end_block();
        self.starts
    }

    /// Handles a detour that comes within reach of the grain; returns how many were passed before it.
    #[inline]
    fn enter(&mut self, point: Point) -> usize {
        let at_ns = point.free_ns - self.grain_ns;
        let mut passed = 0;
        while self.ahead.front().is_some_and(|next| next.free_ns <= at_ns) {
            self.leave();
            passed += 1;
        }
        self.advance(at_ns, true);
        self.starts.level(self.delay_ns, at_ns - self.at_ns);
        self.at_ns = at_ns;
        self.delay_ns += point.length_ns;
        self.ahead.push_back(point);
        passed
    }

    /// Moves the starts up to the next detour and through it.
    #[inline]
    fn leave(&mut self) {
        let Some(point) = self.ahead.pop_front() else { return };
        self.advance(point.free_ns, false);
        self.starts.level(self.delay_ns, point.free_ns - self.at_ns);
        self.at_ns = point.free_ns;
        self.delay_ns -= point.length_ns;
        self.starts.falling(self.delay_ns, point.length_ns);
    }

    /// Ends the blocks that end at or before this place.
    #[inline]
    fn advance(&mut self, to_ns: u64, there: bool) {
        while self.blocks_left > 0
            && self.block_end_ns < self.free_ns
            && (self.block_end_ns < to_ns || (there && self.block_end_ns == to_ns))
        {
            self.starts.level(self.delay_ns, self.block_end_ns - self.at_ns);
            self.at_ns = self.block_end_ns;
            self.starts.end_block();
            self.block_end_ns += self.block_ns;
            self.blocks_left -= 1;
        }
    }
}

/// Runs a pass over a whole timeline.
pub(super) fn sweep<S: Starts>(timeline: &Timeline, grain_ns: u64, blocks: u64, starts: S) -> S {
    let mut sweep = Sweep::new(timeline.free_ns(), grain_ns, blocks, starts);
    timeline.detours().iter().for_each(|&detour| sweep.add(detour));
    sweep.finish()
}
