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

    /// Of many pieces the longest are kept, and none that was dropped has a longer delay than stated.
    #[test]
    fn the_longest_of_many_pieces_are_kept() {
        let delay = |at: u64| at * 7_919 % 5_003;
        let mut peaks = Peaks::new(0);
        for at in 0..20_000 {
            peaks.add(Peak {
                delay_ns: delay(at),
                start_ns: 10 * at,
                length_ns: 1 + at % 3,
                falls: false,
            });
            assert!(peaks.peaks.len() < 2 * FEWEST, "{at}");
        }
        let peaks = peaks.sorted(None);
        assert!(peaks.as_slice().len() >= FEWEST / 2, "{} are kept", peaks.as_slice().len());
        let mut expected: Vec<(u64, u64, u64)> = (0..20_000)
            .filter(|at| delay(*at) > peaks.others_ns())
            .map(|at| (delay(at), 1 + at % 3, 10 * at))
            .collect();
        expected.sort_by_key(|&(delay, length, start)| (std::cmp::Reverse((delay, length)), start));
        let found =
            peaks.as_slice().iter().map(|peak| (peak.delay_ns, peak.length_ns, peak.start_ns));
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert_eq!(peaks.longest_ns(), 5_002);
    }

    /// What one CPU dropped may be longer than what another one kept.
    #[test]
    fn cpus_together_know_the_delays_that_each_knows() {
        let cpu = |count: u64| {
            let mut peaks = Peaks::new(0);
            (1..=count).for_each(|at| {
                peaks.add(Peak { delay_ns: at, start_ns: at, length_ns: 1, falls: false });
            });
            peaks.sorted(None)
        };
        let (few, many) = (cpu(1_500), cpu(4_000));
        let others_ns = many.others_ns();
        assert!(few.others_ns() == 0 && others_ns > 1_500, "{others_ns}");
        let both = [few, many];
        let together = Peaks::from_cpus(both.iter());
        assert_eq!(together.others_ns(), others_ns);
        let found: Vec<u64> = together.as_slice().iter().map(|peak| peak.delay_ns).collect();
        assert_eq!(found, (others_ns + 1..=4_000).rev().collect::<Vec<u64>>());
        let empty = Peaks::from_cpus([].iter());
        assert_eq!((empty.longest_ns(), empty.others_ns()), (0, 0));
    }
}
