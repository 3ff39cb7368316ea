//! Memory that a thread reads after each wake-up, which shows what cold caches cost.

use anechoic_kernels::counter;
use anechoic_recording::wakeup::Passes;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of words in a cache line of 64 bytes.
const LINE: usize = 8;
/// Number of passes whose times are kept.
const KEPT: usize = 4_096;

/// The memory.
#[derive(Debug)]
pub(crate) struct WorkingSet(Box<[AtomicU64]>);

impl WorkingSet {
    /// Makes and touches memory of this size.
    pub(crate) fn new(bytes: u64) -> Self {
        let words = usize::try_from(bytes / 8).unwrap_or(0).max(1);
        WorkingSet((0..words as u64).map(|word| AtomicU64::new(word | 1)).collect())
    }

    /// Reads each line once; returns how long that took, in ticks.
    fn pass(&self) -> u64 {
        let start = counter::ordered();
        let words = self.0.iter().step_by(LINE).map(|word| word.load(Ordering::Relaxed));
        black_box(words.fold(0, u64::wrapping_add));
        counter::ordered().saturating_sub(start)
    }
}

/// The times of the last passes of a series, in memory that was touched before.
pub(super) struct PassTimes<'s> {
    set: &'s WorkingSet,
    woken: Vec<u64>,
    again: Vec<u64>,
    passes: usize,
}

impl<'s> PassTimes<'s> {
    pub(super) fn new(set: &'s WorkingSet) -> Self {
        set.pass();
        PassTimes { set, woken: vec![u64::MAX; KEPT], again: vec![u64::MAX; KEPT], passes: 0 }
    }

    /// Passes over the memory twice.
    pub(super) fn take(&mut self) {
        let place = self.passes % KEPT;
        self.woken[place] = self.set.pass();
        self.again[place] = self.set.pass();
        self.passes += 1;
    }

    /// Returns the medians; none without a pass.
    pub(super) fn medians(mut self) -> Option<Passes> {
        let kept = self.passes.min(KEPT);
        let woken_ticks = middle(&mut self.woken[..kept])?;
        Some(Passes { woken_ticks, again_ticks: middle(&mut self.again[..kept])? })
    }
}

/// Sorts times, and returns the middle one.
fn middle(times: &mut [u64]) -> Option<u64> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_of_the_last_passes_and_absent_without_one() {
        let set = WorkingSet::new(1 << 16);
        assert_eq!(PassTimes::new(&set).medians(), None);
        let mut times = PassTimes::new(&set);
        (0..3).for_each(|_| times.take());
        let found = times.medians().expect("three");
        // 1,024 lines cannot be read in less than a tick each four.
        assert!(found.woken_ticks > 100 && found.again_ticks > 100, "{found:?}");
        let mut times = PassTimes::new(&set);
        times.passes = KEPT + 5;
        times.woken = (0..KEPT as u64).rev().collect();
        times.again = vec![7; KEPT];
        let expected = Passes { woken_ticks: KEPT as u64 / 2, again_ticks: 7 };
        assert_eq!(times.medians(), Some(expected));
    }
}
