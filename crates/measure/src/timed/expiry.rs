//! Sleeping until absolute times on a grid, and the clocks at the end.

use anechoic_kernels::counter;
use anechoic_recording::Clock;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Number of readings of the kernel's clock after each wake-up, of which the narrowest counts.
const READINGS: usize = 3;

/// An instant on the counter and on `CLOCK_MONOTONIC`, by which timers expire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instant {
    pub(crate) ticks: u64,
    pub(crate) ns: u64,
}

impl Instant {
    /// Reads the kernel's clock between two counter reads, which takes some tens of nanoseconds.
    pub(crate) fn now() -> Self {
        let mut best = Self::reading();
        for _ in 1..READINGS {
            let next = Self::reading();
            best = if next.0 < best.0 { next } else { best };
        }
        best.1
    }

    /// Returns a reading after the time that it took in ticks.
    fn reading() -> (u64, Self) {
        let before = counter::ordered();
        let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
        let width = counter::ordered().saturating_sub(before);
        let ns = tv_sec as u64 * 1_000_000_000 + tv_nsec as u64;
        (width, Instant { ticks: before + width / 2, ns })
    }

    /// Returns the counter value at a time that has passed.
    pub(super) fn ticks_at(self, ns: u64, clock: &Clock) -> u64 {
        self.ticks.saturating_sub(clock.ticks(self.ns.saturating_sub(ns)))
    }
}

/// Sleeps until this time of `CLOCK_MONOTONIC`.
pub(crate) fn sleep_until(ns: u64) {
    let until =
        Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
    // A debugger that stops and continues the thread ends the call early.
    while clock_nanosleep_absolute(ClockId::Monotonic, &until).is_err_and(|e| e == INTERRUPTED) {}
}

const INTERRUPTED: rustix::io::Errno = rustix::io::Errno::INTR;

/// Returns the number of the first expiry after `now_ns`.
pub(super) fn next_expiry(first_ns: u64, interval_ns: u64, now_ns: u64) -> u64 {
    now_ns.checked_sub(first_ns).map_or(0, |passed| passed / interval_ns.max(1) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_expiry_is_after_now() {
        let cases = [
            ("before the first", 999, 0),
            ("at the first", 1_000, 1),
            ("just before the second", 1_099, 1),
            ("at the second", 1_100, 2),
            ("three were missed", 1_399, 4),
        ];
        for (name, now_ns, expected) in cases {
            assert_eq!(next_expiry(1_000, 100, now_ns), expected, "case: {name}");
        }
    }
}
