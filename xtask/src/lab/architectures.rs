//! The instruction sets of the machines: how Debian calls them, and what emulates them.

/// One instruction set.
#[derive(Debug)]
pub struct Architecture {
    /// How Rust calls it.
    pub name: &'static str,
    /// How Debian calls it.
    pub debian: &'static str,
    /// The emulator's program.
    pub emulator: &'static str,
    /// The packages of a newer emulator than the oldest suite has, each with the directory that has what is needed of
    /// it. It runs with the libraries of the older one.
    pub newer: &'static [[&'static str; 2]],
    /// The emulator's options for the kind of machine and CPU.
    pub machine: &'static [&'static str],
    /// The emulator's device with the serial ports `/dev/ttyS0` and following; absent if the machine has them.
    pub ports: Option<&'static str>,
    /// Parameters of every kernel.
    pub words: &'static str,
    /// Parameters of a kernel whose time is that of the host, from the rate of the host's counter in kHz and that of
    /// the tick in Hz.
    pub time: fn(u64, u64) -> String,
}

/// The architecture on which the laboratory itself runs.
pub const X86_64: Architecture = Architecture {
    name: "x86_64",
    debian: "amd64",
    emulator: "qemu-system-x86_64",
    newer: &[
        ["qemu-system-x86", "./usr"],
        ["qemu-system-common", "./usr"],
        ["qemu-system-data", "./usr"],
    ],
    machine: &["-M", "q35", "-cpu", "max"],
    ports: None,
    // A busy host would make the kernel's tests of its timers fail.
    words: "console=ttyS0 no_timer_check tsc=reliable",
    time: rate_of_the_counter,
};

/// A 64-bit Arm machine with an interrupt controller of version 3, as servers have.
pub const AARCH64: Architecture = Architecture {
    name: "aarch64",
    debian: "arm64",
    emulator: "qemu-system-aarch64",
    newer: &[],
    machine: &["-M", "virt,gic-version=3", "-cpu", "cortex-a76"],
    ports: Some("pci-serial-4x"),
    words: "console=ttyAMA0",
    time: |_, _| String::new(),
};

/// Returns the rate of the counter, and what each CPU would measure with it: a kernel that measures them on a busy host
/// is far off, and takes long with many CPUs.
fn rate_of_the_counter(counter_khz: u64, hertz: u64) -> String {
    format!("tsc_early_khz={counter_khz} lpj={}", counter_khz * 1_000 / hertz)
}
