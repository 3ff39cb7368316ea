//! The wake-ups of a CPU while they are measured.

use crate::samples::cells::Cells;
use crate::wakeup::{Parts, parts, quantile};
use anechoic_recording::{Activity, Clock, Detour, Sample};

/// The wake-ups of a CPU since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LiveWoken {
    /// The median of their latencies in ns; absent without wake-ups.
    pub p50_ns: Option<u64>,
    /// The 99th percentile; absent for fewer than 1,000 wake-ups.
    pub p99_ns: Option<u64>,
    /// Number of late ones.
    pub late: u64,
    /// Number of expiries that passed while the thread was late.
    pub overruns: u64,
}

/// Counts wake-ups, in ticks.
#[derive(Debug, Default)]
pub(super) struct Woken {
    cells: Cells,
    wakeups: u64,
    quantiles: [Option<u64>; 2],
    late: u64,
    overruns: u64,
}

impl Woken {
    pub(super) fn add(&mut self, ticks: u64, is_late: bool) {
        self.cells.add(&[ticks]);
        self.wakeups += 1;
        self.late += u64::from(is_late);
    }

    pub(super) fn overrun(&mut self, expiries: u64) {
        self.overruns = self.overruns.saturating_add(expiries);
    }

    /// Finds the quantiles of all that were added.
    pub(super) fn settle(&mut self) {
        self.quantiles = [0.5, 0.99].map(|share| quantile(&mut self.cells, self.wakeups, share));
    }

    pub(super) fn seen(&self, clock: &Clock) -> LiveWoken {
        let [p50_ns, p99_ns] = self.quantiles.map(|ticks| ticks.map(|ticks| clock.ns(ticks)));
        LiveWoken { p50_ns, p99_ns, late: self.late, overruns: self.overruns }
    }
}

/// Returns how long a wake-up with these rows was in which stage, if that is known.
pub(super) fn stages(woken: &Detour, rows: &[Activity], clock: &Clock) -> Option<Parts> {
    let Detour { cpu, start_ticks, end_ticks } = *woken;
    let sample = Sample { series: 0, index: 0, cpu, start_ticks, end_ticks, count: 1 };
    parts(&sample, rows, false, clock)
}
