//! The alignment check: every kernel event on a measured CPU must lie inside a detour.

use anechoic_recording::attribution::{Alignment, Outside};
use anechoic_recording::{Clock, KernelEvent};

/// Examples that are kept.
const EXAMPLES: usize = 20;

/// One step of the counter in ticks: events this near to a detour count as inside.
///
/// The counter can be coarser than its unit: the step is the smallest distance between two
/// distinct differences of back-to-back reads; the cost of a read where only one was seen.
#[must_use]
pub fn counter_step(clock: &Clock) -> u64 {
    let mut deltas: Vec<u64> = clock.read_deltas.iter().map(|(delta, _)| *delta).collect();
    deltas.sort_unstable();
    let steps = deltas.windows(2).map(|pair| pair[1] - pair[0]);
    steps.filter(|step| *step > 0).min().unwrap_or(clock.read_min_ticks)
}

/// Counts events inside and outside of detours.
#[derive(Debug)]
pub(crate) struct Aligning(Alignment);

impl Aligning {
    pub(crate) fn new(tolerance_ticks: u64) -> Self {
        Self(Alignment { tolerance_ticks, ..Alignment::default() })
    }

    /// Counts an event that lies `outside` of all detours by that many ticks, or inside of one.
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
