//! The input of attribution.

use crate::names::Names;
use anechoic_recording::run::Run;
use anechoic_recording::{Counter, Detour, KernelEvent, Loss, Stint};
use std::sync::Arc;

pub use anechoic_recording::Feed;

/// What the loops of one measured CPU recorded, each in time order.
pub struct CpuInput<'a> {
    /// The CPU; one of [`Run::cpus`].
    pub cpu: u32,
    /// Which loops ran on it and when.
    pub stints: Vec<Stint>,
    /// Its detours; or its samples, each treated as a detour, if gaps were not recorded.
    pub detours: Feed<'a, Detour>,
    /// Readings of its steal (`steal_ns`); empty if it was not read.
    pub steal: Feed<'a, Counter>,
    /// Its losses, in any order.
    pub losses: Vec<Loss>,
}

/// The complete input of attribution.
pub struct Input<'a> {
    /// The description of the run.
    pub run: &'a Run,
    /// Names of threads, functions and interrupts.
    pub names: Arc<Names>,
    /// The measured CPUs. A CPU that is not in [`Run::cpus`] is ignored.
    pub cpus: Vec<CpuInput<'a>>,
    /// Kernel events, one feed per CPU, measured or not, each in time order.
    pub events: Vec<Feed<'a, KernelEvent>>,
    /// The kernel's counts at the start and end of the run, in any order.
    pub counters: Vec<Counter>,
}
