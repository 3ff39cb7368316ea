//! When something was, by the system's clock and by the one that nobody sets.
//!
//! Counters are read at times of `CLOCK_BOOTTIME`; a time of day is known of the start of each of their recordings only. If the
//! system's clock is set, for example some seconds after the machine has started, times of day of two recordings do not compare,
//! but those of `CLOCK_BOOTTIME` do, while one service goes on.

use super::saved::Saved;
use anechoic_recording::{Clock, Run};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A difference between the two clocks that is no rounding, in s.
const LEAST_STEP_S: f64 = 0.5;

/// An instant.
#[derive(Debug, Clone)]
pub(super) struct Moment {
    /// Seconds since the first reading, by the times of day at which recordings began.
    pub(super) since_s: f64,
    /// The service that ran then, and the seconds of `CLOCK_BOOTTIME`; absent if only the time of day is known.
    pub(super) boottime: Option<(Arc<str>, f64)>,
}

impl Moment {
    /// Returns how long after `other` it was, in s; by the clock that nobody sets where both have it.
    pub(super) fn after_s(&self, other: &Self) -> f64 {
        match (&self.boottime, &other.boottime) {
            (Some((service, at_s)), Some((other, other_s))) if service == other => at_s - other_s,
            _ => self.since_s - other.since_s,
        }
    }
}

/// Where a recording of counters is in time.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    /// When its service began, which no other service did; empty if that is not known.
    service: Arc<str>,
    /// Its start, in s of `CLOCK_BOOTTIME`.
    start_boottime_s: f64,
    /// Its start, in s since the first reading.
    start_s: f64,
}

impl Axis {
    /// Returns that of this recording; the first reading was at `origin_s` after 1970.
    pub(super) fn new(run: &Run, origin_s: f64) -> Self {
        Self {
            service: service(run),
            start_boottime_s: run.clock.seconds(run.start_ticks),
            start_s: utc_s(&run.start_utc) - origin_s,
        }
    }

    /// Returns the instant of a reading.
    pub(super) fn at(&self, ticks: u64, clock: &Clock) -> Moment {
        self.at_boottime_s(clock.seconds(ticks))
    }

    /// Returns the instant of this time of `CLOCK_BOOTTIME`.
    pub(super) fn at_boottime_s(&self, boottime_s: f64) -> Moment {
        let since_s = self.start_s + boottime_s - self.start_boottime_s;
        let is_known = !self.service.is_empty();
        Moment { since_s, boottime: is_known.then(|| (Arc::clone(&self.service), boottime_s)) }
    }
}

/// Returns what recordings of counters are sorted by: those of one service by the clock that nobody sets.
pub(super) fn order(run: &Run) -> (String, u64) {
    let began = service(run);
    (if began.is_empty() { run.start_utc.clone() } else { began.to_string() }, run.start_ticks)
}

/// Returns when the service of a recording began; empty if that is not known.
fn service(run: &Run) -> Arc<str> {
    run.monitor.as_ref().map_or("", |monitor| &monitor.began_utc).into()
}

/// Whether the system's clock was set while a service ran.
#[derive(Debug, Default)]
pub(super) struct ClockSteps {
    /// For each service the smallest and largest distance of the two clocks, in s.
    distances: BTreeMap<Arc<str>, (f64, f64)>,
}

impl ClockSteps {
    /// Compares the clocks at the start and at the end of a recording of counters.
    pub(super) fn note(&mut self, run: &Run) {
        let start = Some((&run.start_utc, run.start_ticks));
        let end = run.end_utc.as_ref().map(|utc| (utc, run.end_ticks));
        for (utc, ticks) in start.into_iter().chain(end) {
            let distance_s = utc_s(utc) - run.clock.seconds(ticks);
            let range = self.distances.entry(service(run)).or_insert((distance_s, distance_s));
            *range = (range.0.min(distance_s), range.1.max(distance_s));
        }
    }

    /// Returns that some of the saved recordings may be joined wrongly, because the clock was set and they have no other.
    pub(super) fn doubt(&self, saved: &[(Moment, Saved)]) -> Option<String> {
        let was_set = self.distances.values().any(|(least, most)| most - least > LEAST_STEP_S);
        let unsure = saved.iter().filter(|(start, _)| start.boottime.is_none()).count();
        (was_set && unsure > 0).then(|| {
            format!(
                "the system's clock was set, and {unsure} of {} saved recordings have no other time: they may be shown beside what \
                 was unusual at another time",
                saved.len()
            )
        })
    }
}

/// Returns the seconds since 1970 of a time stamp; 0 if it is none.
pub(super) fn utc_s(utc: &str) -> f64 {
    crate::history::seconds(utc).unwrap_or_default()
}
