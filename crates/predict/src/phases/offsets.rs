//! Sorted random offsets in a window.

use super::index::Index;
use rand::{Rng, RngExt};

/// Sorted offsets of ranks in a window that repeats.
#[derive(Debug, Clone, Default)]
pub(super) struct Offsets {
    ns: Vec<u64>,
    length_ns: u64,
    index: Index,
}

impl Offsets {
    /// Draws this many uniform numbers below `length_ns`.
    ///
    /// The gaps between sorted uniform numbers are distributed like exponential ones divided by their sum, so no
    /// sorting is needed.
    pub(super) fn draw(count: u64, length_ns: u64, random: &mut impl Rng) -> Self {
        let mut sum = 0.0;
        let mut next = || {
            sum -= f64::ln(random.random_range(f64::EPSILON..1.0));
            sum
        };
        let sums: Vec<f64> = (0..count).map(|_| next()).collect();
        let scale = length_ns as f64 / next();
        let last_ns = length_ns.saturating_sub(1);
        // The numbers take the place of the sums.
        Self::from_sorted(
            sums.into_iter().map(|sum| ((sum * scale) as u64).min(last_ns)).collect(),
            length_ns,
        )
    }

    /// Returns these offsets, which are sorted and lie in the window.
    pub(super) fn from_sorted(ns: Vec<u64>, length_ns: u64) -> Self {
        let index = Index::new(&ns, |&ns| ns, length_ns);
        Self { ns, length_ns, index }
    }

    pub(super) fn ns(&self) -> &[u64] {
        &self.ns
    }

    /// Returns the distance from a place in the window to the first offset at or after it; there is at least one
    /// offset.
    #[inline]
    pub(super) fn distance_ns(&self, from_ns: u64) -> u64 {
        let first = self.index.beside(from_ns).start;
        let next = self.ns[first..].iter().find(|&&offset| offset >= from_ns);
        next.map_or_else(|| self.length_ns - from_ns + self.ns[0], |offset| offset - from_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    #[test]
    fn they_are_uniform() {
        let drawn = Offsets::draw(100_000, 1_000, &mut Pcg64Mcg::seed_from_u64(1));
        assert!(drawn.ns().is_sorted() && drawn.ns().len() == 100_000);
        for decile in 0..10 {
            let inside = drawn.ns().iter().filter(|&&ns| ns / 100 == decile).count();
            // Five standard deviations of a tenth of them are 474.
            assert!(inside.abs_diff(10_000) < 474, "decile {decile}: {inside}");
        }
        assert!(Offsets::draw(0, 5, &mut Pcg64Mcg::seed_from_u64(1)).ns().is_empty());
    }

    proptest! {
        #[test]
        fn the_next_is_found(
            length in 1u64..5_000,
            parts in prop::collection::vec(0.0f64..1.0, 1..200),
            from in 0.0f64..1.0,
        ) {
            let place = |part: &f64| (part * length as f64) as u64;
            let mut ns: Vec<u64> = parts.iter().map(place).collect();
            ns.sort_unstable();
            let from = place(&from);
            let ahead = |&offset: &u64| (offset + length - from) % length;
            let expected = ns.iter().map(ahead).min();
            let offsets = Offsets::from_sorted(ns, length);
            prop_assert_eq!(Some(offsets.distance_ns(from)), expected);
        }
    }
}
