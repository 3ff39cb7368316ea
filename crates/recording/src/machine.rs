//! The machine at the start of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What stands for the kernel's release where no operating system ran.
pub const NO_KERNEL: &str = "none";

/// More CPUs than any kernel is built for.
pub const MOST_CPUS: u32 = 1 << 13;

/// A cache of a CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// Level, from 1.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Size of a line in bytes.
    pub line_bytes: u32,
    /// Lines in each set; 0 if it is not known.
    #[serde(default)]
    pub ways: u32,
    /// CPUs that share it, as a list (`0-3,8`).
    pub shared_cpus: String,
}

/// The place of a CPU in the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Threads of the same core, as a list of CPUs.
    pub siblings: String,
    /// Its caches.
    pub caches: Vec<Cache>,
    /// Frequency governor, if any.
    pub governor: Option<String>,
}

/// The largest level of the data TLB, as the CPU describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DataTlb {
    /// Number of entries for the smallest pages.
    pub entries: u32,
    /// Number of entries for pages of 2 MiB, if known.
    pub entries_2m: Option<u32>,
}

/// A setting that affects noise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Name in an administrator's spelling: `nohz_full`, `isolcpus`, `kernel.numa_balancing`.
    pub name: String,
    /// What the kernel command line, or another request, asks for; absent if nothing does.
    pub requested: Option<String>,
    /// Effective value; absent if it cannot be read.
    pub effective: Option<String>,
    /// The file with the value.
    pub file: String,
}

/// The machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Timer ticks per second, if known.
    pub tick_hz: Option<u32>,
    /// Hypervisor, if any.
    pub hypervisor: Option<String>,
    /// Protection of this guest's memory from its host, if any: `AMD SEV-SNP`, `Intel TDX`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidential: Option<String>,
    /// The data TLB; absent if the CPU does not describe it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_tlb: Option<DataTlb>,
    /// Online CPUs, as a list.
    pub online: String,
    /// CPUs that this process may use, as a list.
    pub allowed: String,
    /// Whether SMT is active.
    pub smt: Option<bool>,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// All online CPUs.
    pub cpus: Vec<Cpu>,
    /// Noise-related settings.
    pub settings: Vec<Setting>,
}

impl Machine {
    /// Returns whether QEMU emulates the processor in software, so that no time means anything. Its emulation names itself in
    /// the processor's model, unless another model was asked for, and in CPUID, by which recordings name the hypervisor: under
    /// QEMU with KVM that is KVM.
    #[must_use]
    pub fn is_emulated(&self) -> bool {
        self.model.contains("QEMU TCG") || self.hypervisor.as_deref() == Some("QEMU")
    }

    /// Returns whether no operating system ran.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.kernel == NO_KERNEL
    }

    /// Returns whether the kernel has a server that lets ordinary threads run beside real-time ones (Linux 6.12), by its
    /// release; `None` if that does not begin with two numbers.
    #[must_use]
    pub fn has_fair_server(&self) -> Option<bool> {
        let mut numbers = self.kernel.split(|c: char| !c.is_ascii_digit());
        let version: (u32, u32) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
        Some(version >= (6, 12))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emulated_processor_is_recognised_by_its_model_or_its_hypervisor() {
        let cases = [
            ("QEMU TCG CPU version 2.5+", Some("QEMU"), true),
            ("QEMU TCG CPU version 2.5+", None, true),
            ("AMD EPYC-Genoa Processor", Some("QEMU"), true),
            ("QEMU Virtual CPU version 2.5+", Some("KVM"), false),
            ("AMD EPYC 9B14", Some("KVM"), false),
            ("Intel(R) Xeon(R) CPU X5650", None, false),
        ];
        for (model, hypervisor, expected) in cases {
            let machine = Machine {
                model: model.to_owned(),
                hypervisor: hypervisor.map(str::to_owned),
                ..Machine::default()
            };
            assert_eq!(machine.is_emulated(), expected, "case: {model}, {hypervisor:?}");
        }
    }

    #[test]
    fn releases_with_a_fair_server() {
        let cases = [
            ("6.18.44-fc-v669 #1 SMP", Some(true)),
            ("6.12.0", Some(true)),
            ("6.11.9", Some(false)),
            ("5.14.0-427.el9", Some(false)),
            ("10.0-rc1", Some(true)),
            ("6", None),
            ("", None),
            ("x.y", None),
        ];
        for (release, expected) in cases {
            let machine = Machine { kernel: release.to_owned(), ..Machine::default() };
            assert_eq!(machine.has_fair_server(), expected, "case: {release}");
        }
    }
}
