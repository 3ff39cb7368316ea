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
