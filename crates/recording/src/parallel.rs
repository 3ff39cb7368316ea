//! A parallel job whose ranks measured together.

use crate::text::texts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

texts! {
    /// What the ranks of a bulk-synchronous job do at the end of a phase.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
    )]
    #[serde(rename_all = "snake_case")]
    pub enum Meeting {
        /// Each rank waits until all have arrived.
        Barrier = "barrier",
        /// Each rank waits for the sum of one number (8 bytes) from all.
        Allreduce = "allreduce",
        /// Ranks do not wait for each other.
        Nothing = "nothing",
    }
}

/// The parallel job of which a recording covers one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Parallel {
    /// Identifies the job: equal in the recordings of all its hosts, and in no other. Absent where one process is the whole
    /// job, and in recordings of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// How the ranks communicate: `threads`, `shared directory`, or the name of the MPI library.
    pub through: String,
    /// Number of ranks in the whole job.
    pub ranks: u32,
    /// Number of hosts in the whole job.
    pub hosts: u32,
    /// The name of this host.
    pub host: String,
    /// The ranks on this host, in ascending order.
    pub here: Vec<Rank>,
}

/// A rank of a parallel job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rank {
    /// The number of the rank.
    pub rank: u32,
    /// The CPUs that the launcher gave it, in ascending order.
    pub cpus: Vec<u32>,
    /// The threads that the rank had at the start.
    pub tids: Vec<i32>,
}
