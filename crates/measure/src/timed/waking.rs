//! The job of wake-up latency: sleeps until absolute times, and notes when it is woken.

use super::buffers::StoredSample;
use super::expiry::{Instant, next_expiry, sleep_until};
use super::gate::Gate;
use super::sinks::{Done, SeriesResult, Sinks, moved};
use super::usage::Usage;
use super::waker::{Calls, Task};
use super::working_set::{PassTimes, WorkingSet};
use anechoic_kernels::counter;
use anechoic_recording::Clock;
use anechoic_recording::run::Ended;
use anechoic_recording::wakeup::WakingCall;
use anechoic_system::cpus;
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
    /// Whether it has the policy SCHED_DEADLINE, with the interval as period.
    pub(crate) deadline: bool,
    /// Time between two expiries, in ns.
    pub(crate) interval_ns: u64,
    /// Time from the start to the first expiry, in ns.
    pub(crate) lead_ns: u64,
    /// How much later than the others the thread begins, in ns.
    pub(crate) offset_ns: u64,
    /// Number of expiries.
    pub(crate) expiries: u64,
    pub(crate) clock: Clock,
    /// What wakes the thread, if its timer does not.
    pub(crate) waker: Option<(WakingCall, Arc<Calls>)>,
    /// The memory that it reads after each wake-up.
    pub(crate) set: Option<Arc<WorkingSet>>,
}

/// Gives the calling thread the policy SCHED_DEADLINE, with a quarter of each interval to run.
///
/// # Errors
/// Returns the kernel's error.
pub(crate) fn set_deadline(interval_ns: u64) -> std::io::Result<()> {
    cpus::set_deadline(interval_ns / 4, interval_ns)
}

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
        // Only now, because the wait for the start would use up its time.
        let refused = self.deadline && set_deadline(self.interval_ns).is_err();
        let now = Instant::now();
        let since_start_ns = self.clock.ns(now.ticks.saturating_sub(first_ticks));
        let first_ns = now.ns - since_start_ns + self.lead_ns + self.offset_ns;
        let passes = self.set.as_deref().map(PassTimes::new);
        let mut taking = Taking { sinks, taken: 0, expiry: 0, last_ticks: first_ticks, passes };
        let ended = match &self.waker {
            _ if refused => Ended::Interrupted,
            None => self.by_timer(first_ns, gate, &mut taking),
            Some((call, calls)) => self.by_call((*call, calls), first_ns, gate, &mut taking),
        };
        if self.deadline {
            let _ = cpus::set_policy(libc::SCHED_OTHER, 0);
        }
        let Taking { sinks, taken, last_ticks, passes, .. } = taking;
        let series = SeriesResult {
            series: self.series,
            samples: taken,
            lost: sinks.lost_samples(),
            ended,
            passes: passes.and_then(PassTimes::medians),
            ..SeriesResult::default()
        };
        Done::with_series(first_ticks, last_ticks, series)
    }

    fn by_timer(&self, first_ns: u64, gate: &Gate, taking: &mut Taking<'_, '_, '_>) -> Ended {
        loop {
            if taking.expiry >= self.expiries {
                return Ended::Complete;
            }
            if taking.last_ticks >= gate.end.load(Ordering::Relaxed) {
                return Ended::Interrupted;
            }
            let due_ns = first_ns + taking.expiry * self.interval_ns;
            sleep_until(due_ns);
            let (end, on) = counter::boundary();
            let now = Instant::now();
            if let Some(ended) = self.cannot_go_on(end, on, taking.last_ticks) {
                return ended;
            }
            // A reading of the clock that was interrupted must not let samples overlap.
            let start = now.ticks_at(due_ns, &self.clock).clamp(taking.last_ticks, end);
            // Where the last wake-up is late, expiries behind the end are no part of the series.
            let next = next_expiry(first_ns, self.interval_ns, now.ns).min(self.expiries);
            taking.store((start, end), next.max(taking.expiry + 1), self.cpu.or(on));
            taking.woken(end);
        }
    }

    /// Sleeps until each call of the waking thread. What passes before the next call is known when that has been made.
    fn by_call(
        &self,
        (call, calls): (WakingCall, &Calls),
        first_ns: u64,
        gate: &Gate,
        taking: &mut Taking<'_, '_, '_>,
    ) -> Ended {
        let Waking { priority, interval_ns, expiries, .. } = *self;
        calls.begin(Task { call, priority, first_ns, interval_ns, expiries });
        let mut switches = Usage::now().voluntary_switches;
        let mut open: Option<((u64, u64), u64)> = None;
        let ended = loop {
            if taking.last_ticks >= gate.end.load(Ordering::Relaxed) {
                break Ended::Interrupted;
            }
            calls.sleep(call);
            let (end, on) = counter::boundary();
            let Some((start, expiry)) = calls.last() else { break Ended::Complete };
            if let Some(ended) = self.cannot_go_on(end, on, taking.last_ticks) {
                break ended;
            }
            // A call that comes before the thread sleeps wakes nobody: its expiry has passed.
            let before = std::mem::replace(&mut switches, Usage::now().voluntary_switches);
            if before == switches {
                continue;
            }
            if let Some((sample, _)) = open {
                taking.store(sample, expiry, self.cpu.or(on));
            }
            open = Some(((start.clamp(taking.last_ticks, end), end), expiry));
            taking.woken(end);
        };
        if let Some((sample, expiry)) = open {
            let next = if ended == Ended::Complete { expiries } else { expiry + 1 };
            taking.store(sample, next, self.cpu);
        }
        calls.end(call);
        ended
    }

    /// Returns why a loop cannot go on after a wake-up that ended at `end`, on this CPU.
    #[inline(always)]
    fn cannot_go_on(&self, end: u64, on: Option<u32>, last_ticks: u64) -> Option<Ended> {
        match end < last_ticks {
            true => Some(Ended::Clock),
            false => moved(self.cpu, on).then_some(Ended::Offline),
        }
    }
}

/// The samples of a series so far.
struct Taking<'t, 'l, 'a> {
    sinks: &'t mut Sinks<'l, 'a>,
    passes: Option<PassTimes<'t>>,
    taken: u64,
    /// The first expiry that no sample has.
    expiry: u64,
    last_ticks: u64,
}

impl Taking<'_, '_, '_> {
    /// Does what follows a wake-up that ended at `end`.
    #[inline(always)]
    fn woken(&mut self, end: u64) {
        self.last_ticks = end;
        self.passes.iter_mut().for_each(PassTimes::take);
    }

    /// Stores a sample that has all expiries before `next`.
    #[inline(always)]
    fn store(&mut self, (start, end): (u64, u64), next: u64, cpu: Option<u32>) {
        let count = u32::try_from(next - self.expiry).unwrap_or(u32::MAX);
        if let Some(samples) = &mut self.sinks.samples {
            let (index, cpu) = (self.taken, cpu.unwrap_or(0));
            samples.store(StoredSample { index, start, end, count, cpu });
        }
        (self.taken, self.expiry) = (self.taken + 1, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timed::buffers::{Arena, BlockExchange, Sink};
    use crate::timed::waker::Waker;
    use anechoic_lab::builders;
    use anechoic_system::tracefs::Marker;

    /// The grid is the truth here: samples begin on it, and each expiry belongs to exactly one of them.
    #[test]
    fn expiries_lie_on_a_grid_and_none_is_dropped() {
        let clock = anechoic_system::clock::calibrate(&[], true).expect("a clock");
        let (mut gaps, mut samples) =
            (Arena::small().expect("memory"), Arena::small().expect("memory"));
        let (gaps, samples) = (BlockExchange::new(&mut gaps), BlockExchange::new(&mut samples));
        let mut sinks =
            Sinks { gaps: Sink::new(&gaps, 0), samples: Some(Sink::new(&samples, 0)), paces: None };
        let (interval_ns, expiries) = (200_000, 100);
        let waking = Waking {
            series: 0,
            cpu: None,
            priority: None,
            deadline: false,
            interval_ns,
            lead_ns: interval_ns,
            offset_ns: 0,
            expiries,
            clock: clock.clone(),
            waker: None,
            set: None,
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

    /// The grid is the truth here, too: each expiry belongs to one sample, and no sample begins before its expiry.
    #[test]
    fn calls_follow_a_grid_and_no_expiry_is_dropped() {
        let clock = anechoic_system::clock::calibrate(&[], true).expect("a clock");
        let cpu = anechoic_system::cpus::allowed()[0];
        let calls = Arc::new(Calls::new(cpu).expect("descriptors"));
        let _waker = Waker::spawn(&calls, &Marker::default()).expect("a thread");
        for call in WakingCall::ALL.into_iter().chain(WakingCall::ALL) {
            let (mut gaps, mut samples) =
                (Arena::small().expect("memory"), Arena::small().expect("memory"));
            let (gaps, samples) = (BlockExchange::new(&mut gaps), BlockExchange::new(&mut samples));
            let mut sinks = Sinks {
                gaps: Sink::new(&gaps, 0),
                samples: Some(Sink::new(&samples, 0)),
                paces: None,
            };
            let (interval_ns, expiries) = (200_000, 50);
            let waking = Waking {
                series: 0,
                cpu: None,
                priority: None,
                deadline: false,
                interval_ns,
                lead_ns: 1_000_000,
                offset_ns: 0,
                expiries,
                clock: clock.clone(),
                waker: Some((call, Arc::clone(&calls))),
                set: None,
            };
            let gate = Gate::new(1);
            let start = counter::ordered();
            gate.start.store(start, Ordering::Release);
            let done = waking.run(&gate, &mut sinks).series.expect("a series");
            sinks.flush();
            assert_eq!(done.ended, Ended::Complete);
            let mut rows: Vec<StoredSample> = Vec::new();
            while samples.read(&mut rows, |_, sample| *sample) {}
            assert!(!rows.is_empty() && rows.len() as u64 == done.samples, "{call:?}: {done:?}");
            let all: u64 = rows.iter().map(|row| u64::from(row.count)).sum();
            assert_eq!(all, expiries, "{call:?}: every expiry belongs to a sample");
            for pair in rows.windows(2) {
                assert!(pair[0].end <= pair[1].start && pair[1].start < pair[1].end, "{pair:?}");
            }
            // A sample has the expiries after its own; the first also those before.
            let mut own = u64::from(rows[0].count);
            for row in &rows[1..] {
                let since_ns = clock.ns(row.start - start) + 20_000;
                assert!(since_ns > 1_000_000 + own * interval_ns, "{call:?}: {row:?}");
                own += u64::from(row.count);
            }
            // A task that is called off ends, too.
            let gate = Gate::new(1);
            gate.start.store(counter::ordered(), Ordering::Release);
            gate.end.store(1, Ordering::Release);
            let done = waking.run(&gate, &mut sinks).series.expect("a series");
            assert_eq!((done.samples, done.ended), (0, Ended::Interrupted));
        }
    }

    #[test]
    fn a_called_off_round_ends_at_once() {
        let gate = Gate::new(1);
        gate.call_off();
        let waking = Waking {
            series: 0,
            cpu: None,
            priority: None,
            deadline: false,
            interval_ns: 1_000_000_000,
            lead_ns: 1_000_000_000,
            offset_ns: 0,
            expiries: 10,
            clock: builders::clock(1_000_000_000),
            waker: None,
            set: None,
        };
        let mut gaps = Arena::small().expect("memory");
        let gaps = BlockExchange::new(&mut gaps);
        let mut sinks = Sinks { gaps: Sink::new(&gaps, 0), samples: None, paces: None };
        let done = waking.run(&gate, &mut sinks).series.expect("a series");
        assert_eq!((done.samples, done.ended), (0, Ended::Interrupted));
    }
}
