//! What one instruction of a kernel took, and the core's frequency that follows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How fast the kernel ran undisturbed, from the third decile (see `Distribution::third_decile_mean`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pace {
    /// Nanoseconds of one instruction of the kernel's kind.
    pub ns_per_instruction: f64,
    /// Counter ticks of one instruction.
    pub ticks_per_instruction: f64,
    /// Core cycles of one instruction, and where they come from.
    pub cycles: Option<Cycles>,
    /// Why there are no cycles.
    pub why_no_cycles: Option<String>,
}

/// Core cycles, by comparison with a chain of additions, each of which takes one cycle.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cycles {
    /// Cycles of one instruction.
    pub per_instruction: f64,
    /// The core's frequency while the chain of additions ran, in MHz.
    pub core_mhz: f64,
    /// The series of the chain of additions: of the same CPU, or of the fastest of the same class.
    pub series: u32,
    /// Whether it ran on the same CPU.
    pub same_cpu: bool,
}
