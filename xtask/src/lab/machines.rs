//! The machines and command lines that kernels are booted with.

/// One machine of the emulator.
#[derive(Debug)]
pub struct Machine {
    /// How the laboratory calls it.
    pub name: &'static str,
    /// Number of CPUs.
    pub cpus: u32,
    /// QEMU's options for CPUs and sockets, and devices.
    pub options: &'static [&'static str],
    /// Memory, in MiB.
    pub memory_mib: u32,
    /// Whether its time is the number of its instructions. Then every boot is the same, whatever the host does
    /// meanwhile, and its clocks keep time. Otherwise its time is the host's, and what the host takes looks like a
    /// hypervisor's.
    pub exact: bool,
    /// Whether its CPUs run in turns. Where they are many more than the host's, those that wait for others would
    /// otherwise have the host's time, and kernels more often meet a breakpoint that is no longer there.
    pub in_turns: bool,
    /// The oldest version of QEMU that emulates it.
    pub since: u32,
}

/// The cores of a machine: 2 sockets of 2 cores with 2 threads each. Each socket has its own memory.
const EIGHT: &[&str] = &[
    "-smp",
    "8,sockets=2,cores=2,threads=2",
    "-object",
    "memory-backend-ram,id=near,size=512M",
    "-object",
    "memory-backend-ram,id=far,size=512M",
    "-numa",
    "node,nodeid=0,cpus=0-3,memdev=near",
    "-numa",
    "node,nodeid=1,cpus=4-7,memdev=far",
];
/// More than 255 CPUs need x2APIC numbers, which interrupts reach through an IOMMU.
const MANY: &[&str] = &["-smp", "300", "-device", "intel-iommu,intremap=on,eim=on"];

/// All machines.
pub const MACHINES: &[Machine] = &[
    Machine { name: "1 CPU, exact time", cpus: 1, exact: true, ..PLAIN },
    Machine { name: "2 CPUs", cpus: 2, options: &["-smp", "2"], ..PLAIN },
    Machine { name: "8 CPUs, 2 sockets, SMT", cpus: 8, options: EIGHT, in_turns: true, ..PLAIN },
    Machine { name: "32 CPUs", cpus: 32, options: &["-smp", "32"], ..LARGE },
    Machine { name: "300 CPUs", cpus: 300, options: MANY, in_turns: true, since: 9, ..LARGE },
];

/// What most machines have.
const PLAIN: Machine = Machine {
    name: "",
    cpus: 1,
    options: &[],
    memory_mib: 1024,
    exact: false,
    in_turns: false,
    since: 7,
};
/// What those with many CPUs have.
const LARGE: Machine = Machine { memory_mib: 4096, ..PLAIN };

/// A kernel command line.
#[derive(Debug)]
pub struct CommandLine {
    /// How the laboratory calls it.
    pub name: &'static str,
    /// Parameters of the kernel.
    pub words: &'static str,
}

/// All command lines.
pub const COMMAND_LINES: &[CommandLine] = &[
    CommandLine { name: "default", words: "" },
    CommandLine {
        name: "isolated",
        words: "isolcpus=nohz,domain,managed_irq,1 nohz_full=1 rcu_nocbs=1",
    },
    CommandLine { name: "threadirqs", words: "threadirqs" },
    CommandLine { name: "lockdown", words: "lockdown=confidentiality" },
    // That of the first kernel; the second one has it from `anechoic minimal`.
    CommandLine { name: "by kexec", words: "" },
    // Words for init.sh: the tool mounts tracefs for itself.
    CommandLine { name: "tracefs not mounted", words: "lab.tracefs=no" },
];

impl CommandLine {
    /// Returns whether nothing may read what the kernel does.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.words.contains("lockdown")
    }
}
