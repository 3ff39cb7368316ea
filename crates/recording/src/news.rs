//! What a run measured since the last call, for programs that watch it.

use crate::rows::{Counter, Detour, KernelEvent, Loss, Name};

/// Rows that are new since the last call, in time order for each CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct News {
    /// All detours that had ended at this tick are known, and all their events.
    pub until_ticks: u64,
    /// Detours.
    pub detours: Vec<Detour>,
    /// Events.
    pub events: Vec<KernelEvent>,
    /// New names.
    pub names: Vec<Name>,
    /// New losses.
    pub losses: Vec<Loss>,
    /// Readings of the hypervisor's steal time (`steal_ns`).
    pub steal: Vec<Counter>,
}
