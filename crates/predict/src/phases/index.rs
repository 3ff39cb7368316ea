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
