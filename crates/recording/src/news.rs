//! What a run saw since the last look, for those who watch it while it goes on.

use crate::rows::{Counter, Detour, KernelEvent, Loss, Name};

/// Rows that were new since the last look. Of one CPU they are in time order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct News {
    /// All detours that had ended by then are known, and all events of them, in ticks.
    pub until_ticks: u64,
    /// Detours.
    pub detours: Vec<Detour>,
    /// Events.
    pub events: Vec<KernelEvent>,
    /// Names that were learnt.
    pub names: Vec<Name>,
    /// What was lost.
    pub losses: Vec<Loss>,
    /// Readings of the hypervisor's steal (`steal_ns`).
    pub steal: Vec<Counter>,
}
