//! The machine: CPUs and their classes, kernel, hypervisor, and the settings that affect noise.
//!
//! Everything is read from /proc, /sys and /boot (and CPUID); nothing is changed. What cannot be read is
//! absent from the description.

mod agree;
pub mod cgroup;
mod cmdline;
mod config;
mod hypervisor;
mod memory;
mod model;
mod others;
mod root;
mod settings;
mod tlb;
mod topology;
mod value;

pub(crate) use cmdline::CommandLine;
pub(crate) use memory::bytes as memory_bytes;
pub use memory::{FreeMemory, free_memory};
pub use others::measured_by_others;
pub use root::Root;
pub use settings::{SETTINGS, SettingRow};
pub(crate) use settings::{is_unmet, settings};
pub(crate) use value::{list_from_mask, mask_from_cpus};

use anechoic_recording::machine::Machine;

/// Describes the machine that this process runs on.
#[must_use]
pub fn describe() -> Machine {
    let root = Root::live();
    let machine = describe_in(&root, hypervisor::live(&root), &crate::cpus::allowed());
    Machine { data_tlb: tlb::live(), ..machine }
}

/// Describes the machine whose files lie under `root`, with what no file contains: its hypervisor and the
/// CPUs that the process may use. The data TLB is described by the CPU alone.
#[must_use]
pub fn describe_in(root: &Root, hypervisor: Option<String>, allowed: &[u32]) -> Machine {
    let read = |path: &str| root.read(path).unwrap_or_default();
    let kernel = ["/proc/sys/kernel/osrelease", "/proc/sys/kernel/version"].map(read).join(" ");
    let online = root.cpus("/sys/devices/system/cpu/online");
    let online = online.filter(|cpus| !cpus.is_empty()).unwrap_or_else(|| allowed.to_vec());
    let models = model::models(&read("/proc/cpuinfo"));
    Machine {
        host: read("/proc/sys/kernel/hostname"),
        model: model::common(&models),
        arch: std::env::consts::ARCH.to_owned(),
        kernel: kernel.trim().to_owned(),
        command_line: read("/proc/cmdline"),
        tick_hz: config::tick_hz(root),
        confidential: confidential(root),
        data_tlb: None,
        hypervisor,
        online: crate::cpus::list(&online),
        allowed: crate::cpus::list(allowed),
        smt: root.number::<u8>("/sys/devices/system/cpu/smt/active").map(|active| active != 0),
        memory_bytes: memory::bytes(&read("/proc/meminfo"), "MemTotal:").unwrap_or(0),
        cpus: topology::cpus(root, &online, &models),
        settings: settings(root),
    }
}

/// Returns what protects the memory of this guest from its host, if anything does: the kernel offers a device to attest
/// it, or the CPU's flags show it.
fn confidential(root: &Root) -> Option<String> {
    const SIGNS: [(&str, &str, &str); 2] = [
        ("/dev/sev-guest", "sev_snp", "AMD SEV-SNP"),
        ("/dev/tdx_guest", "tdx_guest", "Intel TDX"),
    ];
    let cpuinfo = root.read("/proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    // A host has the AMD flags too: only a guest is protected.
    let guest = flags.split_ascii_whitespace().any(|flag| flag == "hypervisor");
    let has = |sign: &str| guest && flags.split_ascii_whitespace().any(|flag| flag == sign);
    let found = SIGNS.iter().find(|(device, flag, _)| root.exists(device) || has(flag));
    found.map(|(.., name)| (*name).to_owned())
}

/// Describes the settings whose effective values differ from those in `before`.
#[must_use]
pub fn changes(before: &Machine) -> Vec<String> {
    let now = settings(&Root::live());
    let pairs = before.settings.iter().zip(&now).filter(|(old, new)| old.name == new.name);
    let changed = pairs.filter(|(old, new)| old.effective != new.effective);
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    let words = changed.map(|(old, new)| {
        let (from, to) = (value(&old.effective), value(&new.effective));
        format!("{} changed from {from} to {to} during the measurement", new.name)
    });
    words.collect()
}

#[cfg(test)]
mod tests;
