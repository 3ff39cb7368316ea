//! Sums since the start and in each bin of the last minute.

use std::collections::VecDeque;

/// Number of kept bins, one minute.
const BINS: usize = 240;
/// Number of bins averaged as *now*, one second.
pub(super) const NOW: usize = 4;

/// Time, number and maximum since the start, and in each bin of the last minute.
#[derive(Debug, Default)]
pub(super) struct Sum {
    pub(super) all: Bin,
    /// Bins with the newest last, which has number `newest`.
    bins: VecDeque<Bin>,
    newest: u64,
}

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Bin {
    pub(super) ticks: u64,
    pub(super) count: u64,
    pub(super) most: u64,
}

impl Bin {
    pub(super) fn add(&mut self, ticks: u64) {
        self.ticks = self.ticks.saturating_add(ticks);
        self.count += 1;
        self.most = self.most.max(ticks);
    }

    pub(super) fn and(self, other: Self) -> Self {
        let (ticks, count) = (self.ticks.saturating_add(other.ticks), self.count + other.count);
        Bin { ticks, count, most: self.most.max(other.most) }
    }
}

impl Sum {
    pub(super) fn add(&mut self, ticks: u64, bin: u64) {
        self.all.add(ticks);
        self.turn_to(bin);
        if let Some(place) = self.place(bin) {
            self.bins[place].add(ticks);
        }
    }

    /// The same for a time that lies in several bins, in about equal parts. It is counted where it ends.
    pub(super) fn add_over(&mut self, ticks: u64, bins: std::ops::RangeInclusive<u64>) {
        let (first, last) =
            (*bins.start().max(&bins.end().saturating_sub(BINS as u64)), *bins.end());
        let parts = last - bins.start() + 1;
        self.add(ticks, last);
        let Some(place) = self.place(last).filter(|_| parts > 1) else { return };
        let part = ticks / parts;
        self.bins[place].ticks -= part * (last - first);
        for bin in first..last {
            if let Some(place) = self.place(bin) {
                self.bins[place].ticks += part;
            }
        }
    }

    /// Returns the place of a bin, if it is kept.
    fn place(&self, bin: u64) -> Option<usize> {
        let age = (self.newest - bin.min(self.newest)) as usize;
        self.bins.len().checked_sub(age + 1)
    }

    /// Makes room up to this bin.
    pub(super) fn turn_to(&mut self, bin: u64) {
        if self.bins.is_empty() {
            self.bins.push_back(Bin::default());
        }
        let further = bin.saturating_sub(self.newest).min(BINS as u64);
        self.newest = self.newest.max(bin);
        self.bins.extend((0..further).map(|_| Bin::default()));
        self.bins.drain(..self.bins.len().saturating_sub(BINS + 1));
    }

    /// Returns the bins before number `end`, the newest last, as far as they are kept.
    pub(super) fn before(&self, end: u64) -> impl DoubleEndedIterator<Item = Bin> + '_ {
        let after = (self.newest + 1).saturating_sub(end).min(self.bins.len() as u64) as usize;
        self.bins.range(..self.bins.len() - after).copied()
    }

    /// Returns the last second before bin `end`.
    pub(super) fn now(&self, end: u64) -> Bin {
        self.before(end).rev().take(NOW).fold(Bin::default(), Bin::and)
    }
}
