//! The alignment check: every kernel event on a measured CPU must lie inside a detour.

use anechoic_recording::KernelEvent;
use anechoic_recording::attribution::{Alignment, Outside};

/// The largest number of examples that are kept.
const EXAMPLES: usize = 20;

/// Counts events inside and outside detours.
#[derive(Debug)]
pub(crate) struct Aligning(Alignment);

impl Aligning {
    pub(crate) fn new(tolerance_ticks: u64) -> Self {
        Self(Alignment { tolerance_ticks, ..Alignment::default() })
    }

    /// Counts an event: `outside` is its distance to the nearest detour in ticks, or `None` if it is inside
    /// one.
    pub(crate) fn event(&mut self, event: &KernelEvent, outside: Option<u64>) {
        self.0.events += 1;
        let Some(distance_ticks) = outside else { return };
        self.0.outside += 1;
        if self.0.examples.len() < EXAMPLES {
            let spec = event.kind.spec();
            self.0.examples.push(Outside {
                cpu: event.cpu,
                ticks: event.ticks,
                event: format!("{}:{}", spec.system, spec.name),
                distance_ticks,
            });
        }
    }

    pub(crate) fn finish(self) -> Alignment {
        self.0
    }
}
