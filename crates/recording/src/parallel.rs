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
        /// Each waits until all have come.
        Barrier = "barrier",
        /// Each waits for the sum of a number (8 bytes) of all.
        Allreduce = "allreduce",
        /// Nothing: each goes on by itself.
        Nothing = "nothing",
    }
}

/// The parallel job that a recording is a part of: that of one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Parallel {
    /// What joins the ranks: `threads`, `shared directory`, or the MPI library in its own words.
    pub through: String,
    /// Ranks of the whole job.
    pub ranks: u32,
    /// Hosts of the whole job.
    pub hosts: u32,
    /// This host, as it calls itself.
    pub host: String,
    /// Its ranks, rising.
    pub here: Vec<Rank>,
}

/// One rank of a parallel job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rank {
    /// Its number.
    pub rank: u32,
    /// The CPUs that its launcher gave it, rising.
    pub cpus: Vec<u32>,
    /// The threads that it had at the start.
    pub tids: Vec<i32>,
}
