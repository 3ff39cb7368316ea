//! What is said of one source.

use crate::lengths::Lengths;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One source of noise.
///
/// All that a source took of one detour is one duration: its activities, however many, and
/// the gaps that are charged to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceRow {
    /// Identifier of the source, from the table of sources.
    pub source: String,
    /// Which of that source's: device, softirq vector, thread; empty where there is one only.
    pub name: String,
    /// Detours that it had a part in.
    pub detours: u64,
    /// Its activities in them; more than `detours` where it came more than once in one. What is
    /// nested in an activity of the same source (the tick's timer in its interrupt) is not another.
    pub activities: u64,
    /// Detours per second of one CPU, the mean of the CPUs that it touched.
    pub rate_per_s: f64,
    /// Its time as a share of the wall time of all measured CPUs: the noise that it makes.
    pub noise: f64,
    /// Its time as a share of all lost time, with the gaps around it.
    pub share: f64,
    /// Its time as a share of all lost time, without gaps.
    pub share_without_gaps: f64,
    /// Share of all detours that it had a part in.
    pub detour_share: f64,
    /// How long it took per detour, gaps included.
    pub charged: Lengths,
    /// Median of the gaps in that: trap, return and, in a guest, the VM exit.
    pub gap_p50_ns: u64,
    /// CPUs that it touched.
    pub cpus: Vec<u32>,
    /// The kernel functions that took most of it, three at most.
    pub functions: Vec<FunctionShare>,
    /// Who sent, queued or woke most of it, three at most.
    pub senders: Vec<SenderShare>,
    /// Hypervisor steal in it; absent where steal was not read.
    pub steal: Option<Steal>,
}

/// What one kernel function took of a source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionShare {
    /// The function.
    pub function: String,
    /// How often it ran.
    pub activities: u64,
    /// Its time as a share of the source's, gaps left out.
    pub share: f64,
}

/// What one sender caused of a source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SenderShare {
    /// CPU that it was sent from, where known.
    pub cpu: Option<u32>,
    /// Task that sent it, where known.
    pub task: Option<String>,
    /// How often.
    pub activities: u64,
    /// The time that this took as a share of the source's, gaps left out.
    pub share: f64,
}

/// Hypervisor steal within a source.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Steal {
    /// Nanoseconds stolen.
    pub ns: u64,
    /// Their share of the source's time, of that part for which steal was read.
    pub share: f64,
}
