//! Sampling of starts in a window, which bounds the memory of the recursion.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

/// Number of parts of a window; the same share of each is kept, at a random place.
const PARTS: u64 = 1_024;
/// Seed of the generator, so that windows of equal length are sampled in the same way on every CPU of a host.
const SEED: u64 = 0x666f_6c64;

/// Which starts are kept, and which of them represents each other start.
#[derive(Debug, Clone)]
pub(super) struct Fold {
    part_ns: u64,
    kept_ns: u64,
    /// Start of the kept range in each part.
    from_ns: Vec<u64>,
    share: f64,
    /// The current part.
    next: usize,
}

impl Fold {
    /// Returns a sample with this share of a window; absent if that is all of it.
    pub(super) fn new(length_ns: u64, share: f64) -> Option<Self> {
        let part_ns = length_ns / PARTS;
        let kept_ns = (part_ns as f64 * share) as u64;
        if share >= 1.0 || kept_ns == 0 {
            return None;
        }
        let mut random = Pcg64Mcg::seed_from_u64(SEED);
        let mut from = |part: u64| part * part_ns + random.random_range(0..=part_ns - kept_ns);
        let from_ns = (0..PARTS).map(&mut from).collect();
        Some(Self { part_ns, kept_ns, from_ns, share, next: 0 })
    }

    /// Returns about how many of this many starts are kept.
    pub(super) fn kept(&self, count: usize) -> usize {
        (count as f64 * self.share * 1.1) as usize
    }

    /// Returns the kept start that represents this one, this many parts further: at the same position of its part,
    /// modulo the kept length.
    #[inline]
    pub(super) fn place_ns(&self, start_ns: u64, further: u64) -> u64 {
        let part = (start_ns / self.part_ns).min(PARTS - 1);
        let from_ns = self.from_ns[((part + further) % PARTS) as usize];
        from_ns + (start_ns - part * self.part_ns) % self.kept_ns
    }

    /// Returns whether some of these starts are kept; to be called in the order of the starts.
    pub(super) fn keeps(&mut self, start_ns: u64, end_ns: u64) -> bool {
        let end = |from: &u64| from + self.kept_ns;
        while self.from_ns.get(self.next).is_some_and(|from| end(from) <= start_ns) {
            self.next += 1;
        }
        self.from_ns.get(self.next).is_some_and(|&from| from < end_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts of 1,000 ns, of which 300 are kept; 500 ns at the end belong to the last part.
    const LENGTH_NS: u64 = 1_024_500;

    fn fold() -> Fold {
        Fold::new(LENGTH_NS, 0.3).expect("a part of the window")
    }

    #[test]
    fn a_start_is_represented_at_its_position_modulo_the_kept_length() {
        let fold = fold();
        for (part, further) in [(0, 0), (1, 0), (5, 3), (700, 1_000), (1_023, 1), (1_023, 0)] {
            let first = fold.place_ns(1_000 * part, further);
            assert_eq!(first, fold.from_ns[((part + further) % 1_024) as usize]);
            for position in [0, 1, 299, 300, 599, 601, 999] {
                let place = fold.place_ns(1_000 * part + position, further);
                assert_eq!(place - first, position % 300, "{position} of part {part}, {further}");
            }
        }
        let last = fold.from_ns[1_023];
        assert_eq!(fold.place_ns(LENGTH_NS - 1, 0) - last, 1_499 % 300);
    }

    /// The same 300 of each 1,000 starts are kept that starts are represented by.
    #[test]
    fn what_represents_a_start_is_kept() {
        let mut fold = fold();
        let places: std::collections::BTreeSet<u64> =
            (0..LENGTH_NS).map(|start| fold.place_ns(start, 0)).collect();
        let kept = (0..LENGTH_NS).filter(|&start| fold.keeps(start, start + 1));
        assert!(kept.eq(places.iter().copied()));
        assert_eq!(places.len(), 300 * 1_024);
    }

    #[test]
    fn all_of_a_window_needs_no_sample() {
        assert!(Fold::new(LENGTH_NS, 1.0).is_none());
        assert!(Fold::new(1_023, 0.5).is_none(), "parts of no length");
    }
}
