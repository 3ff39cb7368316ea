//! An index of sorted places in a window.

/// Number of places before each bucket of a window. The places are sorted.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    before: Vec<u32>,
    /// The length of a bucket is two to this power.
    shift: u32,
}

/// Returns the power of two that divides `length_ns` into at most about `parts`.
pub(super) fn shift_for(length_ns: u64, parts: u64) -> u32 {
    let width = (length_ns / parts.max(1)).max(1);
    u64::BITS - width.leading_zeros()
}

impl Index {
    /// Indexes sorted places in a window, about two in each bucket.
    pub(super) fn new<T>(places: &[T], place_ns: impl Fn(&T) -> u64, length_ns: u64) -> Self {
        let shift = shift_for(length_ns, places.len() as u64 / 2);
        let buckets = (length_ns >> shift) + 1;
        let mut count = 0;
        let mut before = |bucket: u64| {
            while places.get(count).is_some_and(|place| place_ns(place) < bucket << shift) {
                count += 1;
            }
            count as u32
        };
        Self { before: (0..=buckets).map(&mut before).collect(), shift }
    }

    /// Returns the numbers of the places that share a bucket with an instant of the window.
    #[inline]
    pub(super) fn beside(&self, at_ns: u64) -> std::ops::Range<usize> {
        let bucket = (at_ns >> self.shift) as usize;
        self.before[bucket] as usize..self.before[bucket + 1] as usize
    }

    /// Returns the number of places at or before an instant of the window.
    #[inline]
    pub(super) fn up_to<T>(&self, places: &[T], place_ns: impl Fn(&T) -> u64, at_ns: u64) -> usize {
        let beside = self.beside(at_ns);
        beside.start + places[beside].partition_point(|place| place_ns(place) <= at_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    #[test]
    fn places_are_found_as_by_counting() {
        let mut random = Pcg64Mcg::seed_from_u64(25);
        for trial in 0..300 {
            let length = random.random_range(1..500);
            let mut places: Vec<u64> =
                (0..trial % 60).map(|_| random.random_range(0..length)).collect();
            places.sort_unstable();
            let index = Index::new(&places, |&place| place, length);
            for at in 0..length {
                let expected = places.iter().filter(|&&place| place <= at).count();
                assert_eq!(index.up_to(&places, |&place| place, at), expected, "{trial}: {at}");
                let beside = index.beside(at);
                let bucket = |place: u64| place >> index.shift;
                let shares = |&&place: &&u64| bucket(place) == bucket(at);
                assert_eq!(beside.len(), places.iter().filter(shares).count(), "{trial}: {at}");
                assert!(places[beside].iter().all(|&place| bucket(place) == bucket(at)));
            }
        }
    }

    /// A bucket is longer than a part, and at most twice as long.
    #[test]
    fn a_window_has_at_most_as_many_buckets_as_parts() {
        let cases =
            [(1_024, 4, 9), (1_023, 4, 8), (1_000, 4, 8), (7, 100, 1), (8, 0, 4), (0, 5, 1)];
        for (length, parts, expected) in cases {
            assert_eq!(shift_for(length, parts), expected, "{length} in {parts}");
        }
    }
}
