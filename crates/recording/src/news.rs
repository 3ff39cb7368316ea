//! What a run measured since the last call, for programs that watch it.

use crate::rows::{Counter, Detour, KernelEvent, Loss, Name, Sample};
use crate::run::Run;

/// Rows that are new since the last call, in time order for each CPU.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct News {
    /// All detours and wake-ups that had ended at this tick are known, and all their events.
    pub until_ticks: u64,
    /// Detours.
    pub detours: Vec<Detour>,
    /// Wake-ups, or other samples.
    pub samples: Vec<Sample>,
    /// Events.
    pub events: Vec<KernelEvent>,
    /// New names.
    pub names: Vec<Name>,
    /// New losses.
    pub losses: Vec<Loss>,
    /// Readings of the hypervisor's steal time (`steal_ns`).
    pub steal: Vec<Counter>,
    /// The run as it is known now, if a program is recorded and more is known of its threads or limits than before.
    pub known: Option<Box<Run>>,
}
