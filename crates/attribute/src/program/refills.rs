//! When control groups with a CPU quota got new time, while a program is followed.
//!
//! Which group a timer is for does not matter here: it only bounds when a thread that had been held back began.

use anechoic_recording::{EventKind, KernelEvent};
use std::collections::HashSet;

/// When the kernel last gave a control group new CPU time.
#[derive(Debug, Default)]
pub(super) struct Refills {
    /// The functions of the timers that do that.
    functions: HashSet<u64>,
    /// The CPUs on which one expires now.
    expiring: HashSet<u32>,
    last_ticks: Option<u64>,
}

impl Refills {
    /// Knows the functions of the timers that do that.
    pub(super) fn know(&mut self, functions: &HashSet<u64>) {
        self.functions.clone_from(functions);
    }

    /// Returns when the last one had expired, if one has.
    pub(super) fn last_ticks(&self) -> Option<u64> {
        self.last_ticks
    }

    pub(super) fn event(&mut self, event: &KernelEvent) {
        match event.kind {
            EventKind::HrtimerEntry if self.functions.contains(&event.args[1]) => {
                self.expiring.insert(event.cpu);
            }
            EventKind::HrtimerExit if self.expiring.remove(&event.cpu) => {
                self.last_ticks = Some(event.ticks);
            }
            _ => {}
        }
    }
}
