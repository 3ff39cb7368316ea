//! Timers of the kernel's scheduler, while a program is followed: those that give control groups with a CPU quota new time, and
//! the timer tick, at which the kernel reads its clock.
//!
//! Which group a timer is for does not matter here: it only bounds when a thread that had been held back began.

use anechoic_recording::{EventKind, KernelEvent};
use std::collections::HashSet;

/// The timers, and when the kernel last gave a control group new CPU time.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    /// The functions of the timers that do that.
    refills: HashSet<u64>,
    /// Those of the timer tick.
    ticks: HashSet<u64>,
    /// The CPUs on which one expires now.
    expiring: HashSet<u32>,
    last_ticks: Option<u64>,
}

impl Timers {
    /// Lets the functions be known that give control groups with a quota new time.
    pub(crate) fn know_refills(&mut self, functions: &HashSet<u64>) {
        self.refills.clone_from(functions);
    }

    /// Lets the functions of the timer tick be known.
    pub(super) fn know_ticks(&mut self, functions: &HashSet<u64>) {
        self.ticks.clone_from(functions);
    }

    /// Returns whether this is a timer tick.
    pub(super) fn is_tick(&self, event: &KernelEvent) -> bool {
        event.kind == EventKind::HrtimerEntry && self.ticks.contains(&event.args[1])
    }

    /// Returns when a control group last got new time, if one has.
    pub(super) fn last_refill_ticks(&self) -> Option<u64> {
        self.last_ticks
    }

    pub(super) fn event(&mut self, event: &KernelEvent) {
        match event.kind {
            EventKind::HrtimerEntry if self.refills.contains(&event.args[1]) => {
                self.expiring.insert(event.cpu);
            }
            EventKind::HrtimerExit if self.expiring.remove(&event.cpu) => {
                self.last_ticks = Some(event.ticks);
            }
            _ => {}
        }
    }
}
