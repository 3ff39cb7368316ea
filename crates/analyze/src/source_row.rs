//! One row of the table of sources.

use crate::lengths::Lengths;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One source of noise.
///
/// Everything that a source took of one detour counts as one duration: all its activities, and the gaps that are
/// charged to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceRow {
    /// Identifier of the source, from the table of sources.
    pub source: String,
    /// Name within the source: device, softirq vector, thread; empty if there is only one.
    pub name: String,
    /// Number of detours that contain it.
    pub detours: u64,
    /// Number of its activities in these; larger than `detours` if it occurred several times in one. An activity nested
    /// in another one of the same source (the tick's timer in its interrupt) does not count.
    pub activities: u64,
    /// Detours per second and CPU, the mean over the CPUs on which it occurred.
    pub rate_per_s: f64,
    /// Share of the wall time of all measured CPUs, which is its noise.
    pub noise: f64,
    /// Share of all lost time, including the gaps around it.
    pub share: f64,
    /// Share of all lost time, without gaps.
    pub share_without_gaps: f64,
    /// Share of all detours that contain it.
    pub detour_share: f64,
    /// Time that it took per detour, including gaps.
    pub charged: Lengths,
    /// Median of the gaps in that time: trap, return and, in a guest, the VM exit.
    pub gap_p50_ns: u64,
    /// CPUs on which it occurred.
    pub cpus: Vec<u32>,
    /// The kernel functions that took most of it, at most three.
    pub functions: Vec<FunctionShare>,
    /// The senders that sent, queued or woke most of it, at most three.
    pub senders: Vec<SenderShare>,
    /// The threads that took most of it, at most three; empty for a source without threads.
    #[serde(default)]
    pub threads: Vec<ThreadShare>,
    /// Hypervisor steal in it; absent if steal was not read.
    pub steal: Option<Steal>,
}

/// Share of one thread in a source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadShare {
    /// Thread id.
    pub tid: i32,
    /// Id of its process; absent if the thread had ended before /proc was read, like what follows.
    pub pid: Option<i32>,
    /// Command line of its process; empty for a thread of the kernel.
    pub command: Option<String>,
    /// Its cgroup, as a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
    /// Its systemd unit, pod, container or job; absent for the root cgroup.
    pub unit: Option<String>,
    /// Share of the source's time, without gaps.
    pub share: f64,
}

/// Share of one kernel function in a source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionShare {
    /// Name of the function.
    pub function: String,
    /// Number of times it ran.
    pub activities: u64,
    /// Share of the source's time, without gaps.
    pub share: f64,
}

/// Share of one sender in a source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SenderShare {
    /// CPU of the sender, if known.
    pub cpu: Option<u32>,
    /// Task of the sender, if known.
    pub task: Option<String>,
    /// Number of times it sent.
    pub activities: u64,
    /// Share of the source's time, without gaps.
    pub share: f64,
}

/// Hypervisor steal within a source.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Steal {
    /// Stolen time in ns.
    pub ns: u64,
    /// Share of the source's time for which steal was read.
    pub share: f64,
}
