//! What another tool counted by length on a CPU, as rules of a gate see it.
//!
//! The ranges that it counted in bound every length, and so what was found. Without times it is not known how detours
//! depend on each other: those that were counted are taken to be independent events.

use super::{Finding, Outcome};
use crate::counted::{Ranges, Within};
use anechoic_recording::Clock;

/// What was counted on one CPU, as a rule sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts<'a> {
    pub(super) cpu: u32,
    pub(super) clock: &'a Clock,
    /// For how long it was measured; 0 if that is not known.
    pub(super) wall_ns: u64,
    pub(super) threshold_ns: u64,
    /// Whether latencies of wake-ups were counted, which are no lost time.
    pub(super) latencies: bool,
    /// Number that were lost before they were counted.
    pub(super) lost: u64,
    /// Longest detour that other rules of the gate allow; absent if none limits it.
    pub(super) longest_allowed_ns: Option<u64>,
    pub(super) ranges: &'a Ranges,
}

impl Counts<'_> {
    /// Returns how many were counted.
    pub(super) fn all(&self) -> u64 {
        self.ranges.iter().fold(0_u64, |sum, (_, _, count)| sum.saturating_add(count))
    }

    /// Returns how many were longer than this.
    pub(super) fn longer_than(&self, ns: u64) -> Within<u64> {
        Within {
            at_least: self.number(|shortest, _| shortest > ns),
            at_most: self.number(|_, longest| longest > ns),
        }
    }

    /// Returns how many lie in the ranges that count, by their shortest and longest length in ns.
    fn number(&self, counts: impl Fn(u64, u64) -> bool) -> u64 {
        let counted = self.ranges.iter().filter(|&(shortest, longest, _)| {
            counts(self.clock.ns(shortest), self.clock.ns(longest))
        });
        counted.fold(0_u64, |sum, (_, _, count)| sum.saturating_add(count))
    }

    /// Returns the longest; 0 if none was counted.
    pub(super) fn longest(&self) -> Within<u64> {
        let none = Within { at_least: 0, at_most: 0 };
        self.ranges.at(1.0, self.clock).map_or(none, |longest| longest.ns)
    }

    /// Returns a finding of this CPU without values, from the number that certainly count and the number that may.
    pub(super) fn finding(&self, number: Within<u64>) -> Finding {
        Finding {
            recording: None,
            cpu: Some(self.cpu),
            program: None,
            runs: None,
            outcome: Outcome::Undecided,
            value: 0.0,
            at_least: 0.0,
            at_most: None,
            events: number.at_least,
            uncertain: number.at_most.saturating_sub(number.at_least),
            wall_ns: self.wall_ns,
            wakeups: None,
            needed_ns: None,
            doubt: None,
            largest_source: None,
        }
    }
}
