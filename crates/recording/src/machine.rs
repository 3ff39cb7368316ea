//! The machine as it was when a run began.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One cache of one CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// Level, from 1.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// CPUs that share it, as a list (`0-3,8`).
    pub shared_cpus: String,
}

/// One CPU's place in the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// The CPU.
    pub cpu: u32,
    /// Class of equal CPUs: model and core type.
    pub class: String,
    /// Physical package.
    pub package: Option<u32>,
    /// Core in the package.
    pub core: Option<u32>,
    /// NUMA node.
    pub node: Option<u32>,
    /// Threads of the same core, as a list.
    pub siblings: String,
    /// Its caches.
    pub caches: Vec<Cache>,
    /// Frequency governor, where there is one.
    pub governor: Option<String>,
}

/// One setting that bears on noise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Its name, as an administrator would write it: `nohz_full`, `isolcpus`, `kernel.numa_balancing`.
    pub name: String,
    /// What was asked for (kernel command line), where that differs in kind from what is in effect.
    pub requested: Option<String>,
    /// What is in effect; absent where it cannot be read.
    pub effective: Option<String>,
    /// The file that says so.
    pub file: String,
}

/// The machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Host name.
    pub host: String,
    /// CPU model name.
    pub model: String,
    /// Instruction set: `x86_64`, `aarch64`.
    pub arch: String,
    /// Kernel release and version.
    pub kernel: String,
    /// Kernel command line.
    pub command_line: String,
    /// Timer ticks per second, where known.
    pub tick_hz: Option<u32>,
    /// Hypervisor, where there is one.
    pub hypervisor: Option<String>,
    /// CPUs that are online, as a list.
    pub online: String,
    /// CPUs that this process may use, as a list.
    pub allowed: String,
    /// Whether SMT is active.
    pub smt: Option<bool>,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Every online CPU.
    pub cpus: Vec<Cpu>,
    /// Noise-related settings.
    pub settings: Vec<Setting>,
}
