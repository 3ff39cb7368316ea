//! Converts ticks of the counter to nanoseconds since the run's start.

use crate::clock::Clock;

/// Converts counter values to the `start_ns` and `end_ns` columns.
///
/// The result always equals `clock.ns(ticks.saturating_sub(start_ticks))`, without the 128-bit division.
#[derive(Debug, Clone)]
pub struct Boundaries {
    clock: Clock,
    start_ticks: u64,
    /// Nanoseconds per tick in units of 2^-64 ns, rounded down; absent if that has over 80 bits.
    ns_per_tick: Option<u128>,
}

/// Up to this value (a day at 3 GHz) the product with `ns_per_tick` fits into 128 bits and is off by less
/// than 1 ns.
const FAST_TICKS: u64 = 1 << 48;

impl Boundaries {
    /// Creates the conversion for a run with this clock and start.
    #[must_use]
    pub fn new(clock: &Clock, start_ticks: u64) -> Self {
        let millihertz = u128::from(clock.frequency_millihertz.max(1));
        // 10^12 has 40 bits, so the shift by 64 fits.
        let factor = (1_000_000_000_000_u128 << 64) / millihertz;
        let ns_per_tick = (factor < 1 << 80).then_some(factor);
        Self { clock: clock.clone(), start_ticks, ns_per_tick }
    }

    /// Returns a length in nanoseconds, rounded to the nearest.
    pub(crate) fn length(&self, ticks: u64) -> u64 {
        self.clock.ns(ticks)
    }

    /// Returns the nanoseconds from the run's start to `ticks`, rounded to the nearest; 0 for earlier ticks.
    #[must_use]
    pub fn since_start(&self, ticks: u64) -> u64 {
        let ticks = ticks.saturating_sub(self.start_ticks);
        let Some(factor) = self.ns_per_tick.filter(|_| ticks < FAST_TICKS) else {
            return self.clock.ns(ticks);
        };
        let millihertz = u128::from(self.clock.frequency_millihertz.max(1));
        let exact = u128::from(ticks) * 1_000_000_000_000 + millihertz / 2;
        // The estimate is never too high; the remainder decides the last unit exactly.
        let mut ns = (u128::from(ticks) * factor) >> 64;
        while exact - ns * millihertz >= millihertz {
            ns += 1;
        }
        ns as u64
    }
}
