//! When the kernel gives a control group with a CPU quota new time: until then its threads may have been held back, whoever
//! else had the CPU.
//!
//! No event shows that threads are held back. The timer that gives them new time is one, and the kernel counts for how long
//! they were held back in the whole run. So a wait in which this timer expired is charged to the quota up to there, if the
//! threads had used their quota since its last expiry, and as long as the sum stays within the kernel's account.

use crate::names::Names;
use anechoic_recording::run::Run;
use anechoic_recording::{EventKind, KernelEvent};
use std::collections::{HashMap, HashSet};

/// What the kernel hands out to a CPU at once, in ns: so much of a quota may lie unused there.
const SLICE_NS: u64 = 5_000_000;

/// The expiries of the timer of the run's control group.
#[derive(Debug)]
pub(crate) struct Refills {
    /// How much of the held time is not charged yet, in ticks.
    pub(crate) left_ticks: u64,
    /// What the threads executed at least in a period in which they were held back, in ticks.
    least_ticks: u64,
    /// What they executed since the last expiry, in ticks.
    ran_ticks: u64,
    /// The CPUs that execute one of them, with the time since when.
    since: HashMap<u32, u64>,
    /// The timers of all groups so far.
    timers: HashSet<u64>,
    /// The one that expires on a CPU now, and arms itself again.
    expiring: HashMap<u32, u64>,
    /// Those that threads of the run's group started: its own, unless they also woke threads of another group.
    started: HashSet<u64>,
}

impl Refills {
    pub(crate) fn new(run: &Run) -> Self {
        let limits = run.limits.as_ref().filter(|limits| limits.quota_us.is_some());
        let held_ns = limits.and_then(|limits| limits.throttled_ns).unwrap_or(0);
        let quota_us = limits.and_then(|limits| limits.quota_us).map_or(0, |(quota, _)| quota);
        let quota_ns = quota_us.saturating_mul(1_000);
        let unused_ns = SLICE_NS.saturating_mul(run.cpus.len() as u64).min(quota_ns / 2);
        Self {
            left_ticks: run.clock.ticks(held_ns),
            least_ticks: run.clock.ticks(quota_ns - unused_ns),
            ran_ticks: 0,
            since: HashMap::new(),
            timers: HashSet::new(),
            expiring: HashMap::new(),
            started: HashSet::new(),
        }
    }

    /// Handles an event; `is_victim` tells the threads of the run. Returns whether their group gets new time now, after they had
    /// used up what they had.
    pub(crate) fn event(
        &mut self,
        event: &KernelEvent,
        names: &Names,
        is_victim: impl Fn(i32) -> bool,
    ) -> bool {
        let [timer, function, _] = event.args;
        match event.kind {
            _ if self.left_ticks == 0 => false,
            EventKind::Switch => {
                self.stop(event.cpu, event.ticks);
                if is_victim(event.args[0] as i32) {
                    self.since.insert(event.cpu, event.ticks);
                }
                false
            }
            EventKind::HrtimerEntry if names.is_refill(function) => {
                self.expiring.insert(event.cpu, timer);
                self.timers.insert(timer);
                self.is_own(timer) && self.begin_period(event.ticks)
            }
            EventKind::HrtimerExit => {
                self.expiring.remove(&event.cpu);
                false
            }
            EventKind::HrtimerStart if names.is_refill(function) => {
                let rearms = self.expiring.get(&event.cpu) == Some(&timer);
                if is_victim(event.pid) && !rearms {
                    self.started.insert(timer);
                }
                self.timers.insert(timer);
                // Of a CPU that is not measured only this is known of an expiry.
                !rearms && self.is_own(timer) && self.begin_period(event.ticks)
            }
            _ => false,
        }
    }

    /// Notes that a CPU no longer executes a thread of the run.
    fn stop(&mut self, cpu: u32, ticks: u64) {
        if let Some(since) = self.since.remove(&cpu) {
            self.ran_ticks += ticks.saturating_sub(since);
        }
    }

    /// Begins a period of the quota; returns whether the quota of the one before was used up.
    fn begin_period(&mut self, ticks: u64) -> bool {
        let running: u64 = self.since.values().map(|since| ticks.saturating_sub(*since)).sum();
        let ran = std::mem::take(&mut self.ran_ticks).saturating_add(running);
        self.since.values_mut().for_each(|since| *since = ticks);
        ran >= self.least_ticks
    }

    /// Returns whether a timer is that of the group. Where no thread was seen to start one, it is the only such timer so far;
    /// where they started several, none is.
    fn is_own(&self, timer: u64) -> bool {
        match self.started.len() {
            0 => self.timers.len() == 1,
            1 => self.started.contains(&timer),
            _ => false,
        }
    }
}
