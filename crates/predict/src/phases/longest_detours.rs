//! The longest detours of one CPU.

use super::span::Span;
use std::cmp::Reverse;

/// Number of a CPU's longest detours that are kept: the slowest of many ranks meets one of these.
pub(super) const KEPT: usize = 100;

/// Keeps the longest detours of one CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LongestDetours {
    kept: Vec<Span>,
}

impl LongestDetours {
    /// Adds the next detour.
    pub(super) fn add(&mut self, detour: Span) {
        self.kept.push(detour);
        if self.kept.len() == 2 * KEPT {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.kept.sort_unstable_by_key(|detour| (Reverse(detour.length_ns()), detour.start_ns));
        self.kept.truncate(KEPT);
    }

    /// Returns up to [`KEPT`] detours, the longest first.
    pub(super) fn finish(mut self) -> Vec<Span> {
        self.cut();
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each detour is 1 ns longer than the one before: the last ones are the longest, however many came before.
    #[test]
    fn the_longest_of_many_are_kept_in_little_memory() {
        let mut longest = LongestDetours::default();
        for at in 1..=1_000 {
            longest.add(Span { start_ns: 10_000 * at, end_ns: 10_001 * at });
            assert!(longest.kept.len() < 2 * KEPT, "{at} detours");
        }
        let lengths: Vec<u64> = longest.finish().iter().map(|span| span.length_ns()).collect();
        assert_eq!(lengths, (901..=1_000).rev().collect::<Vec<u64>>());
    }
}
