//! The context-switch ring: threads or processes on one CPU that pass a token.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The role of a thread that passes the token on.
pub const PARTNER: &str = "partner in the ring";

/// A ring of members on one CPU. The token goes once around in each sample; whoever has it passes over its own working set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ring {
    /// Number of members, the measuring loop included: the number of hops in a sample.
    pub members: u32,
    /// What the members are.
    pub partners: Partners,
    /// Whether the token really changes members. Otherwise the loop itself writes and reads the token in each hop, and passes
    /// over its own working set: what a hop costs without a switch.
    pub switches: bool,
}

/// What the members of a ring are.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Partners {
    /// Processes: a switch also changes the address space.
    Processes,
    /// Threads of one process.
    Threads,
}

impl Partners {
    /// All kinds.
    pub const ALL: [Self; 2] = [Partners::Processes, Partners::Threads];

    /// Returns the name on the command line and in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Partners::Processes => "processes",
            Partners::Threads => "threads",
        }
    }
}
