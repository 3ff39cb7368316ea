//! A logarithmic histogram of interval lengths.

/// Number of bins per factor of ten.
const PER_DECADE: usize = 20;

/// Counts by length.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Durations {
    /// Number of intervals in each bin; bin `i` begins at [`Durations::from_ns`]. Intervals of 0 ns are in the first.
    pub counts: Vec<u64>,
    /// Number of intervals.
    pub count: u64,
    /// Their sum.
    pub sum_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl Durations {
    /// Adds an interval.
    pub(super) fn add(&mut self, ns: u64) {
        let bin = bin(ns, PER_DECADE);
        if bin >= self.counts.len() {
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] += 1;
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Returns the lower end of a bin, in ns.
    #[must_use]
    pub fn from_ns(bin: usize) -> f64 {
        10f64.powf(bin as f64 / PER_DECADE as f64)
    }
}

/// Returns the bin of a length, with this many bins per factor of ten.
pub(super) fn bin(ns: u64, per_decade: usize) -> usize {
    ((ns.max(1) as f64).log10() * per_decade as f64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_fall_into_their_bins() {
        let mut durations = Durations::default();
        for (ns, expected) in
            [(0, 0), (1, 0), (2, 6), (10, 20), (11, 20), (1_000, 60), (u64::MAX, 385)]
        {
            assert_eq!(bin(ns, PER_DECADE), expected, "{ns} ns");
            durations.add(ns);
        }
        assert_eq!((durations.count, durations.max_ns), (7, u64::MAX));
        assert_eq!(
            (durations.counts[0], durations.counts[20], durations.counts.len()),
            (2, 2, 386)
        );
        assert!((Durations::from_ns(60) - 1_000.0).abs() < 1e-9);
    }
}
