//! What the rules of a gate need of the detours of one CPU.

use super::{Finding, Outcome};
use crate::blocks::{Parts, SHORTEST_PART_NS};
use anechoic_recording::Clock;

/// Number of equal blocks of time in which detours are counted.
const BLOCKS: usize = 50;

/// Detours of one CPU that count for a rule, and the time that they took.
#[derive(Debug, Clone)]
pub(super) struct Tally {
    over_ticks: u64,
    first_ticks: u64,
    block_ticks: u64,
    /// Number of detours that are long enough.
    pub(super) events: u64,
    /// The same in each block of time.
    pub(super) counts: Vec<u64>,
    /// Longest time taken of a detour.
    pub(super) longest_ticks: u64,
    /// Time taken of all detours, however short.
    pub(super) sum_ticks: u64,
    /// The sum of the squares of these times, in ticks.
    pub(super) squares: f64,
    /// The same in each part of the run.
    pub(super) lost: Parts,
}

impl Tally {
    /// Returns an empty tally of a CPU that was watched between these instants. Longer detours than `over_ticks` count.
    pub(super) fn new(first_ticks: u64, last_ticks: u64, over_ticks: u64, clock: &Clock) -> Self {
        let wall = last_ticks.saturating_sub(first_ticks);
        Self {
            over_ticks,
            first_ticks,
            block_ticks: wall.div_ceil(BLOCKS as u64).max(1),
            events: 0,
            counts: vec![0; BLOCKS],
            longest_ticks: 0,
            sum_ticks: 0,
            squares: 0.0,
            lost: Parts::new(first_ticks, last_ticks, clock.ticks(SHORTEST_PART_NS)),
        }
    }

    /// Adds the time that was taken of a detour which ended at this instant. Returns whether it is long enough to count.
    pub(super) fn add(&mut self, end_ticks: u64, taken_ticks: u64) -> bool {
        self.sum_ticks = self.sum_ticks.saturating_add(taken_ticks);
        self.squares += (taken_ticks as f64).powi(2);
        self.longest_ticks = self.longest_ticks.max(taken_ticks);
        self.lost.add(end_ticks.saturating_sub(taken_ticks), end_ticks);
        let is_long = taken_ticks > self.over_ticks;
        if is_long {
            let block = end_ticks.saturating_sub(self.first_ticks) / self.block_ticks;
            let block = usize::try_from(block).unwrap_or(usize::MAX).min(BLOCKS - 1);
            self.events += 1;
            self.counts[block] += 1;
        }
        is_long
    }
}

/// One CPU as a rule sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watched<'a> {
    pub(super) cpu: u32,
    pub(super) clock: &'a Clock,
    /// Time for which it was watched, above 0; for a rule on long detours with the time before what is kept, in which there
    /// was none.
    pub(super) wall_ticks: u64,
    /// When it was watched last.
    pub(super) last_ticks: u64,
    pub(super) threshold_ns: u64,
    pub(super) lost_detours: u64,
    /// Its longest detour, of any source.
    pub(super) longest_ticks: u64,
    /// Longest detour that other rules of the gate allow; absent if none limits it.
    pub(super) longest_allowed_ns: Option<u64>,
    /// What certainly counts.
    pub(super) seen: &'a Tally,
    /// The same, and detours whose source is unknown.
    pub(super) possible: &'a Tally,
}

impl Watched<'_> {
    /// Returns the lost ticks of each part of the time for which it was watched.
    pub(super) fn parts<'a>(&self, tally: &'a Tally) -> &'a [u64] {
        tally.lost.up_to(self.last_ticks)
    }

    /// Returns a finding of this CPU without values.
    pub(super) fn finding(&self) -> Finding {
        Finding {
            recording: None,
            cpu: Some(self.cpu),
            program: None,
            runs: None,
            outcome: Outcome::Undecided,
            value: 0.0,
            at_least: 0.0,
            at_most: None,
            events: self.seen.events,
            uncertain: (self.possible.events - self.seen.events).saturating_add(self.lost_detours),
            wall_ns: self.clock.ns(self.wall_ticks),
            wakeups: None,
            needed_ns: None,
            doubt: None,
            largest_source: None,
        }
    }
}
