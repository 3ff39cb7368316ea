//! Probes of the pace: short pieces of work, each of which another shortage slows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Additions, each waiting for the one before: the clock rate of the core alone.
pub const CHAIN: &str = "chain";
/// Independent additions: also the units that another thread of the core uses.
pub const ADDITIONS: &str = "additions";
/// Code that the first-level cache does not hold.
pub const CODE: &str = "code";
/// Loads that wait for each other, of lines in the first-level cache.
pub const FIRST_LEVEL: &str = "first level";
/// The same in the second-level cache.
pub const SECOND_LEVEL: &str = "second level";
/// The same in the last-level cache, whose lines were left alone for a while.
pub const LAST_LEVEL: &str = "last level";
/// The same in memory.
pub const MEMORY: &str = "memory";
/// Memory, in sequence.
pub const STREAM: &str = "stream";

/// A probe as it was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// Its name: `chain`, …
    pub name: String,
    /// Its work kernel.
    pub kernel: String,
    /// Size of the memory that it works on, in bytes; 0 without.
    pub bytes: u64,
    /// Size of the part of it that a step works on, one after the other, in bytes; 0 without.
    pub step_bytes: u64,
    /// Iterations of the kernel in a step.
    pub iterations: u64,
    /// Operations in a step: additions, or lines that are loaded or run through.
    pub operations: u64,
    /// Whether it passes over its memory, unmeasured, before the steps of a sample.
    pub warms_up: bool,
}

/// Number of steps of a probe in a sample.
pub const STEPS: usize = 9;
