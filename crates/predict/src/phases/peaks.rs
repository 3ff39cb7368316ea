//! The starts of phases that are delayed most.

use super::index::Index;
use std::cmp::Ordering;

/// Largest number of pieces kept for all CPUs of a host, and for each CPU.
const MOST: usize = 1 << 18;
/// With fewer pieces all are kept.
const FEWEST: usize = 1_000;

/// Consecutive starts on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Peak {
    /// Delay of the first start.
    pub delay_ns: u64,
    pub start_ns: u64,
    pub length_ns: u64,
    /// Whether the delay of later starts falls by their distance.
    pub falls: bool,
}

impl Peak {
    /// Returns the delay of a start this many ns after the first.
    #[inline]
    pub(super) fn after(self, ns: u64) -> u64 {
        self.delay_ns - if self.falls { ns } else { 0 }
    }

    fn longest_first(&self, other: &Self) -> Ordering {
        let by_length = other.length_ns.cmp(&self.length_ns);
        other.delay_ns.cmp(&self.delay_ns).then(by_length).then(self.start_ns.cmp(&other.start_ns))
    }
}

/// The pieces with the longest delays, sorted by decreasing delay.
#[derive(Debug, Clone)]
pub(super) struct Peaks {
    most: usize,
    peaks: Vec<Peak>,
    /// No omitted piece has a longer delay.
    others_ns: u64,
    /// The pieces sorted by start.
    by_start: Vec<Peak>,
    index: Index,
}

impl Peaks {
    /// Returns an empty collection with room for about this many pieces.
    pub(super) fn new(most: usize) -> Self {
        let most = most.clamp(FEWEST, MOST);
        Self { most, peaks: vec![], others_ns: 0, by_start: vec![], index: Index::default() }
    }

    /// Combines the pieces of all CPUs of a host.
    pub(super) fn from_cpus<'a>(cpus: impl Iterator<Item = &'a Self> + Clone) -> Self {
        let most = cpus.clone().map(|peaks| peaks.most).sum();
        let mut all = Self::new(most);
        // Of the CPU with the most long delays shorter ones are not known.
        all.others_ns = cpus.clone().map(|peaks| peaks.others_ns).max().unwrap_or(0);
        cpus.flat_map(|peaks| &peaks.peaks).for_each(|&peak| all.add(peak));
        all.peaks.sort_unstable_by(Peak::longest_first);
        all
    }

    #[inline]
    pub(super) fn add(&mut self, peak: Peak) {
        if peak.delay_ns <= self.others_ns {
            return;
        }
        self.peaks.push(peak);
        if self.peaks.len() >= 2 * self.most {
            let (_, last, _) = self.peaks.select_nth_unstable_by(self.most, Peak::longest_first);
            self.others_ns = last.delay_ns;
            self.peaks.retain(|peak| peak.delay_ns > self.others_ns);
        }
    }

    /// Ends adding. With the length of the window, pieces are also found by start ([`Peaks::at`]).
    pub(super) fn sorted(mut self, window_ns: Option<u64>) -> Self {
        self.peaks.sort_unstable_by(Peak::longest_first);
        if let Some(length_ns) = window_ns {
            self.by_start = self.peaks.clone();
            self.by_start.sort_unstable_by_key(|peak| peak.start_ns);
            self.index = Index::new(&self.by_start, |peak| peak.start_ns, length_ns);
        }
        self
    }

    pub(super) fn as_slice(&self) -> &[Peak] {
        &self.peaks
    }

    /// Returns a delay that no omitted piece exceeds; 0 if all delayed starts are included.
    pub(super) fn others_ns(&self) -> u64 {
        self.others_ns
    }

    /// Returns the longest delay.
    pub(super) fn longest_ns(&self) -> u64 {
        self.peaks.first().map_or(self.others_ns, |peak| peak.delay_ns)
    }

    /// Returns the delay of a start that lies in one of the pieces.
    pub(super) fn at(&self, start_ns: u64) -> Option<u64> {
        let after = self.index.up_to(&self.by_start, |peak| peak.start_ns, start_ns);
        let peak = self.by_start[..after].last()?;
        let ns = start_ns - peak.start_ns;
        (ns < peak.length_ns).then(|| peak.after(ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_has_the_delay_of_the_piece_in_which_it_lies() {
        let mut peaks = Peaks::new(1);
        peaks.add(Peak { delay_ns: 500, start_ns: 300, length_ns: 20, falls: false });
        peaks.add(Peak { delay_ns: 1_000, start_ns: 100, length_ns: 50, falls: true });
        let peaks = peaks.sorted(Some(1_000));
        let cases = [
            (0, None),
            (99, None),
            (100, Some(1_000)),
            (149, Some(951)),
            (150, None),
            (299, None),
            (300, Some(500)),
            (319, Some(500)),
            (320, None),
            (999, None),
        ];
        for (start_ns, delay_ns) in cases {
            assert_eq!(peaks.at(start_ns), delay_ns, "at {start_ns}");
        }
        let delays: Vec<u64> = peaks.as_slice().iter().map(|peak| peak.delay_ns).collect();
        assert_eq!((delays, peaks.longest_ns(), peaks.others_ns()), (vec![1_000, 500], 1_000, 0));
    }
}
