//! A detour, and how long a window of time may be.

/// Longest window that is taken, in ns: ten years. So no sum of times leaves 63 bits.
pub const LONGEST_NS: u64 = 10 * 366 * 86_400 * 1_000_000_000;

/// A detour without the loop's own iteration, in ns from the start of the window; half open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// From here,
    pub start_ns: u64,
    /// to here.
    pub end_ns: u64,
}

impl Span {
    /// How long.
    #[must_use]
    pub fn length_ns(self) -> u64 {
        self.end_ns - self.start_ns
    }
}
