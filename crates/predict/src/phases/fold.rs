//! A part of the starts of a window in the place of all: what keeps the recursion's memory bounded.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

/// Parts that a window is cut into. Of each the same share is kept, at a place that is drawn.
const PARTS: u64 = 1_024;
/// The generator's seed: the same window of the same length is folded in the same way, on every CPU of a host.
const SEED: u64 = 0x666f_6c64;

/// Which starts are kept, and which of them stands for which other.
#[derive(Debug, Clone)]
pub(super) struct Fold {
    part_ns: u64,
    kept_ns: u64,
    /// Where the kept starts of each part begin.
    from_ns: Vec<u64>,
    share: f64,
    /// The part that pieces have come to.
    next: usize,
}

impl Fold {
    /// Keeps this share of a window; absent where that is all of it.
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

    /// How many of so many are about kept.
    pub(super) fn of(&self, count: usize) -> usize {
        (count as f64 * self.share * 1.1) as usize
    }

    /// The kept start that stands for this one, so many parts further: as far in its part, counted round by round of
    /// what is kept.
    #[inline]
    pub(super) fn place_ns(&self, start_ns: u64, further: u64) -> u64 {
        let part = (start_ns / self.part_ns).min(PARTS - 1);
        let from_ns = self.from_ns[((part + further) % PARTS) as usize];
        from_ns + (start_ns - part * self.part_ns) % self.kept_ns
    }

    /// Whether some of these starts are kept. Asked in their order.
    pub(super) fn keeps(&mut self, start_ns: u64, end_ns: u64) -> bool {
        let end = |from: &u64| from + self.kept_ns;
        while self.from_ns.get(self.next).is_some_and(|from| end(from) <= start_ns) {
            self.next += 1;
        }
        self.from_ns.get(self.next).is_some_and(|&from| from < end_ns)
    }
}
