//! What attribution works on.

use crate::names::Names;
use anechoic_recording::run::Run;
use anechoic_recording::{Counter, Detour, KernelEvent, Loss, Problem, Stint};
use std::sync::Arc;

/// Rows of one table and CPU, in time order.
pub type Feed<'a, T> = Box<dyn Iterator<Item = Result<T, Problem>> + 'a>;

/// What one measured CPU's loops saw, each in time order.
pub struct CpuInput<'a> {
    /// The CPU; one of [`Run::cpus`].
    pub cpu: u32,
    /// When which loop ran on it.
    pub stints: Vec<Stint>,
    /// Its detours; where gaps were not watched its samples, each as if it were one.
    pub detours: Feed<'a, Detour>,
    /// Readings of its steal (`steal_ns`); none where it was not read.
    pub steal: Feed<'a, Counter>,
    /// Its losses, in any order.
    pub losses: Vec<Loss>,
}

/// All that attribution works on.
pub struct Input<'a> {
    /// What ran.
    pub run: &'a Run,
    /// Names of threads, functions and interrupts.
    pub names: Arc<Names>,
    /// The measured CPUs. One of which [`Run::cpus`] knows nothing is left out.
    pub cpus: Vec<CpuInput<'a>>,
    /// Kernel events, a feed a CPU, measured or not, each in time order.
    pub events: Vec<Feed<'a, KernelEvent>>,
    /// The kernel's counts at the start and end of the run, in any order.
    pub counters: Vec<Counter>,
}
