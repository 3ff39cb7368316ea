//! A detour as a half-open interval, and the longest supported window.

/// Longest supported window, ten years in ns, so that sums of times fit in 63 bits.
pub const LONGEST_NS: u64 = 10 * 366 * 86_400 * 1_000_000_000;

/// A detour without the loop's own iteration, in ns since the start of the window; half open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Start.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
}

impl Span {
    /// Returns the length.
    #[must_use]
    pub fn length_ns(self) -> u64 {
        self.end_ns - self.start_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_longest_window_is_ten_leap_years() {
        let hours = 10 * 366 * 24;
        assert_eq!(Duration::from_nanos(LONGEST_NS), Duration::from_secs(hours * 60 * 60));
    }
}
