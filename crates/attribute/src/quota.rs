//! When the kernel gives a control group with a CPU quota new time: until then its threads may have been held back, whoever
//! else had the CPU.
//!
//! No event shows that threads are held back. The timer that gives them new time is one, and the kernel counts for how long
//! they were held back in the whole run. So a wait in which this timer expired is charged to the quota up to there, as long as
//! the sum stays within the kernel's account: a short preemption around the expiry is charged, too, at the cost of another one.

use crate::names::Names;
use anechoic_recording::run::Run;
use anechoic_recording::{EventKind, KernelEvent};
use std::collections::HashSet;

/// The expiries of the timer of the run's control group.
#[derive(Debug)]
pub(crate) struct Refills {
    /// How much of the held time is not charged yet, in ticks.
    pub(crate) left_ticks: u64,
    /// The timers of all groups so far.
    timers: HashSet<u64>,
    /// Those that threads of the run's group started: its own, unless they also woke threads of another group.
    started: HashSet<u64>,
}

impl Refills {
    pub(crate) fn new(run: &Run) -> Self {
        let limits = run.limits.as_ref().filter(|limits| limits.quota_us.is_some());
        let held_ns = limits.and_then(|limits| limits.throttled_ns).unwrap_or(0);
        Self {
            left_ticks: run.clock.ticks(held_ns),
            timers: HashSet::new(),
            started: HashSet::new(),
        }
    }

    /// Notes which timer may be that of the group: one that a thread of the group starts, outside the interrupts of such timers.
    pub(crate) fn note(&mut self, event: &KernelEvent, names: &Names, is_of_group: bool) {
        let [timer, function, _] = event.args;
        if self.left_ticks > 0
            && event.kind == EventKind::HrtimerStart
            && is_of_group
            && names.is_refill(function)
        {
            self.started.insert(timer);
        }
    }

    /// Returns whether the event is an expiry of the group's timer, which arms itself again then: of a CPU that is not measured
    /// only that is known. Where no thread was seen to start one, it is the only such timer so far; where they started several, none is.
    pub(crate) fn is_own(&mut self, event: &KernelEvent, names: &Names) -> bool {
        let [timer, function, _] = event.args;
        if self.left_ticks == 0
            || !matches!(event.kind, EventKind::HrtimerEntry | EventKind::HrtimerStart)
            || !names.is_refill(function)
        {
            return false;
        }
        self.timers.insert(timer);
        match self.started.len() {
            0 => self.timers.len() == 1,
            1 => self.started.contains(&timer),
            _ => false,
        }
    }
}
