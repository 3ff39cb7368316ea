//! Delays in bins of equal relative width, which hold any number of values in bounded memory.

/// Each octave has two to this power bins.
const BITS: u32 = 10;
/// Relative width of a bin; a delay is represented by the mean of its bin. Up to 2,047 ns a bin holds a single value.
pub(super) const RELATIVE_WIDTH: f64 = 1.0 / (1 << BITS) as f64;

/// Returns the bin of a delay, which never decreases with the delay.
#[inline]
pub(super) fn bin_of(delay_ns: u64) -> usize {
    let shift = (63 - (delay_ns | 1).leading_zeros()).saturating_sub(BITS);
    ((shift as usize) << BITS) + (delay_ns >> shift) as usize
}

/// Returns the smallest delay of a bin.
#[inline]
pub(super) fn lowest_of(bin: usize) -> u64 {
    let shift = (bin >> BITS).saturating_sub(1);
    ((bin - (shift << BITS)) as u64) << shift
}

/// Starts with delays in one bin.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct DelayBin {
    /// Duration of these starts, in ns.
    pub mass: u64,
    /// Sum of their delays, each weighted by its duration.
    pub sum: f64,
}

impl std::ops::AddAssign for DelayBin {
    fn add_assign(&mut self, other: Self) {
        self.mass += other.mass;
        self.sum += other.sum;
    }
}

/// The delays of one CPU at one grain, as the duration of starts with each delay.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Binned {
    pub cells: Vec<DelayBin>,
    /// Duration of all starts.
    pub total: u64,
    /// Exact mean delay, not computed from the bins.
    pub mean: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bins_follow_each_other() {
        assert_eq!((bin_of(0), bin_of(1), bin_of(2_047)), (0, 1, 2_047));
        for bin in 0..bin_of(1 << 40) {
            assert_eq!(bin_of(lowest_of(bin)), bin);
            let next = lowest_of(bin + 1);
            assert_eq!(bin_of(next - 1), bin);
            let width = (next - 1 - lowest_of(bin)) as f64;
            assert!(width <= lowest_of(bin) as f64 * RELATIVE_WIDTH, "bin {bin}");
        }
    }

    proptest! {
        #[test]
        fn any_delay_has_its_bin(delay: u64) {
            let bin = bin_of(delay);
            prop_assert!(lowest_of(bin) <= delay);
            prop_assert!(bin_of(delay / 2) <= bin);
        }
    }

    #[test]
    fn bins_are_as_wide_as_stated() {
        let (bin, lowest) = (bin_of(1 << 20), 1 << 20);
        assert_eq!(lowest_of(bin), lowest);
        let width = lowest_of(bin + 1) - lowest;
        assert_eq!(width as f64 / lowest as f64, RELATIVE_WIDTH);
    }
}
