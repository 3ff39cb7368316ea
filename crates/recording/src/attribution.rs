//! `attribution.json`: the checks of attribution itself (derived, beside the `activities` table).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How well events and detours fit together, and what could not be checked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attribution {
    /// The version of anechoic that derived it.
    pub tool_version: String,
    /// The alignment check.
    pub alignment: Alignment,
    /// The kernel's own counts beside the events seen, one row per counter and CPU.
    pub audit: Vec<Audit>,
    /// Interrupts in the kernel's own counts that have no events, in words.
    pub untraced: Vec<String>,
    /// Steal that the readings on measured CPUs report, in ns; absent if steal was not read.
    #[serde(default)]
    pub steal_read_ns: Option<u64>,
    /// The part of that steal that fitted into gaps and unexplained detours, whose rows contain it.
    #[serde(default)]
    pub steal_placed_ns: Option<u64>,
    /// Number of releases of a program's threads that are left out, because the time of day was set while the thread slept until a
    /// time of it; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub releases_left_out: Option<u64>,
}

/// The alignment check: every kernel event on a measured CPU must lie inside a detour of the loop.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alignment {
    /// Number of kernel events on measured CPUs while their loops ran.
    pub events: u64,
    /// How many of them no detour contains.
    pub outside: u64,
    /// An event this close to a detour counts as inside: one counter step, in ticks.
    pub tolerance_ticks: u64,
    /// The first events outside, at most twenty.
    pub examples: Vec<Outside>,
}

/// A kernel event that no detour contains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outside {
    /// Its CPU.
    pub cpu: u32,
    /// Its time.
    pub ticks: u64,
    /// `system:name`.
    pub event: String,
    /// Distance to the nearest detour of that CPU, in ticks.
    pub distance_ticks: u64,
}

/// One of the kernel's counters beside the events of the same kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Audit {
    /// The counter, as in the `counters` table: `interrupts/LOC`, `softirqs/TIMER`.
    pub counter: String,
    /// The CPU.
    pub cpu: u32,
    /// The increase that the kernel counted between the two readings around the run.
    pub counted: u64,
    /// The number of events between the same two readings; absent if no event belongs to this counter.
    pub seen: Option<u64>,
}
