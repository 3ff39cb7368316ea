//! The job of wake-up latency: sleeps until absolute times, and notes when it is woken.

use super::buffers::StoredSample;
use super::gate::Gate;
use super::sinks::{Done, SeriesResult, Sinks, moved};
use anechoic_kernels::counter;
use anechoic_recording::Clock;
use anechoic_recording::run::Ended;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::sync::atomic::Ordering;

/// Number of readings of the kernel's clock after each wake-up, of which the narrowest counts.
const READINGS: usize = 3;
/// How long the sleep before the start is, in ns.
const WARM_UP_NS: u64 = 50_000;

/// How to sleep and be woken.
#[derive(Debug, Clone)]
pub(crate) struct Waking {
    pub(crate) series: u32,
    /// The CPU.
    pub(crate) cpu: Option<u32>,
    /// The real-time priority, if it has one.
    pub(crate) priority: Option<i32>,
    /// Time between two expiries, in ns.
    pub(crate) interval_ns: u64,
    /// How much later than the others the thread begins, in ns.
    pub(crate) offset_ns: u64,
    /// Number of expiries.
    pub(crate) expiries: u64,
    pub(crate) clock: Clock,
}

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
    fn ticks_at(self, ns: u64, clock: &Clock) -> u64 {
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

/// Sleeps once, so that the code of the loop has been touched.
pub(crate) fn warm_up() {
    sleep_until(Instant::now().ns + WARM_UP_NS);
}

impl Waking {
    /// Sleeps until each expiry on a fixed grid, which cannot drift, and stores when the thread ran.
    ///
    /// If further expiries have passed by then, the thread does not try to catch up: it sleeps until the next one, and the
    /// sample counts those that passed. So a real-time thread leaves its CPU between any two samples.
    pub(crate) fn run(&self, gate: &Gate, sinks: &mut Sinks<'_, '_>) -> Done {
        let first_ticks = gate.start.load(Ordering::Acquire);
        let now = Instant::now();
        let since_start_ns = self.clock.ns(now.ticks.saturating_sub(first_ticks));
        let first_ns = now.ns - since_start_ns + self.interval_ns + self.offset_ns;
        let (mut taken, mut expiry, mut last_ticks) = (0, 0, first_ticks);
        let ended = loop {
            if expiry >= self.expiries {
                break Ended::Complete;
            }
            if last_ticks >= gate.end.load(Ordering::Relaxed) {
                break Ended::Interrupted;
            }
            let due_ns = first_ns + expiry * self.interval_ns;
            sleep_until(due_ns);
            let (end, on) = counter::boundary();
            let now = Instant::now();
            if end < last_ticks {
                break Ended::Clock;
            }
            if moved(self.cpu, on) {
                break Ended::Offline;
            }
            // A reading of the clock that was interrupted must not let samples overlap.
            let start = now.ticks_at(due_ns, &self.clock).clamp(last_ticks, end);
            // Where the last wake-up is late, expiries behind the end are no part of the series.
            let next = next_expiry(first_ns, self.interval_ns, now.ns).min(self.expiries);
            let next = next.max(expiry + 1);
            let count = u32::try_from(next - expiry).unwrap_or(u32::MAX);
            let cpu = self.cpu.or(on).unwrap_or(0);
            if let Some(samples) = &mut sinks.samples {
                samples.store(StoredSample { index: taken, start, end, count, cpu });
            }
            (taken, expiry, last_ticks) = (taken + 1, next, end);
        };
        let series = SeriesResult {
            series: self.series,
            samples: taken,
            lost: sinks.lost_samples(),
            ended,
            ..SeriesResult::default()
        };
        let jumped_back = ended == Ended::Clock;
        Done { first_ticks, last_ticks, watch: None, series: Some(series), jumped_back }
    }
}

/// Returns the number of the first expiry after `now_ns`.
fn next_expiry(first_ns: u64, interval_ns: u64, now_ns: u64) -> u64 {
    now_ns.checked_sub(first_ns).map_or(0, |passed| passed / interval_ns.max(1) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timed::buffers::{Arena, BlockExchange, Sink};
    use anechoic_lab::builders;

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

    /// The grid is the truth here: samples begin on it, and each expiry belongs to exactly one of them.
    #[test]
    fn expiries_lie_on_a_grid_and_none_is_dropped() {
        let clock = anechoic_system::clock::calibrate(&[], true).expect("a clock");
        let (mut gaps, mut samples) =
            (Arena::small().expect("memory"), Arena::small().expect("memory"));
        let (gaps, samples) = (BlockExchange::new(&mut gaps), BlockExchange::new(&mut samples));
        let mut sinks = Sinks { gaps: Sink::new(&gaps, 0), samples: Some(Sink::new(&samples, 0)) };
        let (interval_ns, expiries) = (200_000, 100);
        let waking = Waking {
            series: 0,
            cpu: None,
            priority: None,
            interval_ns,
            offset_ns: 0,
            expiries,
            clock: clock.clone(),
        };
        let gate = Gate::new(1);
        let start = counter::ordered();
        gate.start.store(start, Ordering::Release);
        let done = waking.run(&gate, &mut sinks).series.expect("a series");
        sinks.flush();
        assert_eq!(done.ended, Ended::Complete);
        let mut rows: Vec<StoredSample> = Vec::new();
        while samples.read(&mut rows, |_, sample| *sample) {}
        assert_eq!((rows.len() as u64, done.lost), (done.samples, 0));
        let mut expiry = 0;
        for row in &rows {
            let due_ns = (expiry + 1) * interval_ns;
            let off_ns = clock.ns(row.start - start).abs_diff(due_ns);
            // A reading of the clock that is interrupted is off by its length.
            assert!(off_ns < 20_000, "expiry {expiry} is {off_ns} ns off its grid");
            assert!(row.end >= row.start, "{row:?}");
            expiry += u64::from(row.count);
        }
        assert!(expiry >= expiries, "{expiry} of {expiries} expiries belong to a sample");
    }

    #[test]
    fn a_called_off_round_ends_at_once() {
        let gate = Gate::new(1);
        gate.call_off();
        let waking = Waking {
            series: 0,
            cpu: None,
            priority: None,
            interval_ns: 1_000_000_000,
            offset_ns: 0,
            expiries: 10,
            clock: builders::clock(1_000_000_000),
        };
        let mut gaps = Arena::small().expect("memory");
        let gaps = BlockExchange::new(&mut gaps);
        let mut sinks = Sinks { gaps: Sink::new(&gaps, 0), samples: None };
        let done = waking.run(&gate, &mut sinks).series.expect("a series");
        assert_eq!((done.samples, done.ended), (0, Ended::Interrupted));
    }
}
