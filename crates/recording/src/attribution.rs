//! `attribution.json`: what attribution found about itself (derived, beside the `activities` table).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How well events and detours fit together, and what could not be checked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attribution {
    /// Version of anechoic that derived it.
    pub tool_version: String,
    /// The alignment check.
    pub alignment: Alignment,
    /// The kernel's own counts beside the events seen, a row a counter and CPU.
    pub audit: Vec<Audit>,
    /// Interrupts of the kernel's own counts that no event tells of, in words.
    pub untraced: Vec<String>,
    /// Steal that the readings on measured CPUs tell of, in ns; absent where steal was not read.
    #[serde(default)]
    pub steal_read_ns: Option<u64>,
    /// The part of it that gaps and unexplained detours had room for: it is in their rows.
    #[serde(default)]
    pub steal_placed_ns: Option<u64>,
}

/// Every kernel event on a measured CPU must lie inside a detour that the loop saw.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alignment {
    /// Kernel events on measured CPUs while their loops ran.
    pub events: u64,
    /// Those that no detour contains.
    pub outside: u64,
    /// An event this near to a detour counts as inside: one counter step, in ticks.
    pub tolerance_ticks: u64,
    /// The first of those outside, twenty at most.
    pub examples: Vec<Outside>,
}

/// One kernel event that no detour contains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outside {
    /// Its CPU.
    pub cpu: u32,
    /// When.
    pub ticks: u64,
    /// `system:name`.
    pub event: String,
    /// Distance to the nearest detour of that CPU, in ticks.
    pub distance_ticks: u64,
}

/// One counter of the kernel beside the events of the same kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Audit {
    /// The counter, as in the `counters` table: `interrupts/LOC`, `softirqs/TIMER`.
    pub counter: String,
    /// Its CPU.
    pub cpu: u32,
    /// What the kernel counted between the two readings around the run.
    pub counted: u64,
    /// The events seen between the same two readings; absent where no event tells of this counter.
    pub seen: Option<u64>,
}
