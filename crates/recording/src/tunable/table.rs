//! The table of settings, one row each.

use super::Form::{Choice, Held, List, Mask, Number, Word};
use super::Recommended::{Depends, OtherCpus, Value};
use super::{Form, Keep, Recommended, Tunable};

const fn row(name: &'static str, form: Form, file: &'static str) -> Tunable {
    Tunable {
        name,
        file,
        asked: None,
        effect: None,
        form,
        what: "",
        recommended: Depends,
        goal: "",
        risk: "",
        needs: "",
        keep: Keep::File,
        also: "",
        acts_on: "",
        advised: &[],
        untried: None,
        reference: "",
    }
}

const fn sysctl(name: &'static str, form: Form, file: &'static str) -> Tunable {
    Tunable { keep: Keep::Sysctl, ..row(name, form, file) }
}

impl Tunable {
    /// What it is, and the noise that it acts on.
    const fn what(self, what: &'static str, acts_on: &'static str) -> Self {
        Self { what, acts_on, ..self }
    }

    /// The value worth a trial, what it is for, and what it costs.
    const fn worth(self, recommended: Recommended, goal: &'static str, risk: &'static str) -> Self {
        Self { recommended, goal, risk, ..self }
    }

    /// What has it, and where the facts are from.
    const fn from(self, needs: &'static str, reference: &'static str) -> Self {
        Self { needs, reference, ..self }
    }

    const fn against(self, advised: &'static [(&'static str, &'static str)]) -> Self {
        Self { advised, ..self }
    }

    const fn kept(self, keep: Keep) -> Self {
        Self { keep, ..self }
    }

    const fn also(self, also: &'static str) -> Self {
        Self { also, ..self }
    }
}

const SYSCTL_VM: &str = "Documentation/admin-guide/sysctl/vm.rst";
const SYSCTL_KERNEL: &str = "Documentation/admin-guide/sysctl/kernel.rst";
const CPUIDLE: &str = "Documentation/admin-guide/pm/cpuidle.rst";
const CPUFREQ: &str = "Documentation/admin-guide/pm/cpufreq.rst";
const THP: &str = "Documentation/admin-guide/mm/transhuge.rst";

/// All settings that can be tried. Where several are advised against the same noise, the first counts.
#[rustfmt::skip]
pub const TUNABLES: &[Tunable] = &[
    // Kernel threads and workers.
    sysctl("vm.stat_interval", Number, "/proc/sys/vm/stat_interval")
        .what("seconds between two updates of a CPU's memory counters by a kernel worker", "worker vmstat_update")
        .worth(Value("10"), "a tenth of these workers", "counters of free memory and the like are up to that much older")
        .from("CONFIG_SMP", "tuned cpu-partitioning; Documentation/admin-guide/sysctl/vm.rst")
        .against(&[("thread", "vmstat_update"), ("thread", "vmstat_shepherd")]),
    row("workqueue/cpumask", Mask, "/sys/devices/virtual/workqueue/cpumask")
        .what("the CPUs on which unbound kernel workers run", "workers kworker/u*")
        .worth(OtherCpus, "these workers run elsewhere", "the other CPUs do their work")
        .from("Linux 4.2", "Documentation/core-api/workqueue.rst")
        .also("workqueue.unbound_cpus=LIST on the kernel command line (Linux 6.3)")
        .against(&[("thread", "kworker/u*")])
        .asked_in("/sys/devices/virtual/workqueue/cpumask_requested", "/sys/devices/virtual/workqueue/cpumask"),
    row("ksm", Number, "/sys/kernel/mm/ksm/run")
        .what("whether ksmd merges equal pages: 0 no, 1 yes, 2 no and undo", "ksmd, page faults")
        .worth(Value("0"), "ksmd does not run", "hosts of virtual machines need more memory")
        .from("CONFIG_KSM", "Documentation/admin-guide/mm/ksm.rst; tuned realtime-virtual-host")
        .also("stop the services ksm and ksmtuned, which set it")
        .against(&[("thread", "ksmd")]),
    row("khugepaged/defrag", Number, "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag")
        .what("whether khugepaged may compact memory to make huge pages", "khugepaged, IPIs")
        .worth(Value("0"), "khugepaged compacts nothing", "fewer huge pages")
        .from("CONFIG_TRANSPARENT_HUGEPAGE", THP)
        .against(&[("thread", "khugepaged")]),
    row("khugepaged/scan_sleep_millisecs", Number, "/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs")
        .what("time between two scans of khugepaged, in ms", "khugepaged, IPIs")
        .worth(Value("60000"), "fewer scans", "huge pages are made later")
        .from("CONFIG_TRANSPARENT_HUGEPAGE", THP)
        .against(&[("thread", "khugepaged")]),
    sysctl("vm.compaction_proactiveness", Number, "/proc/sys/vm/compaction_proactiveness")
        .what("how much kcompactd does in advance, from 0 to 100", "kcompactd*, IPIs")
        .worth(Value("0"), "no compaction in advance", "memory is compacted when a huge page is needed")
        .from("Linux 5.9, CONFIG_COMPACTION", SYSCTL_VM)
        .against(&[("thread", "kcompactd*")]),
    sysctl("vm.dirty_writeback_centisecs", Number, "/proc/sys/vm/dirty_writeback_centisecs")
        .what("time between two wake-ups of the threads that write changed data, in 1/100 s", "worker wb_workfn")
        .worth(Value("1500"), "fewer wake-ups of these threads", "a crash loses more changed data")
        .from("all kernels", "Documentation/admin-guide/sysctl/vm.rst; PowerTOP")
        .against(&[("thread", "wb_workfn")]),
    sysctl("vm.swappiness", Number, "/proc/sys/vm/swappiness")
        .what("whether memory of programs or of files is given up first, from 0 to 200", "kswapd*, page faults")
        .worth(Value("10"), "programs keep their memory", "files are read from the disk again sooner")
        .from("CONFIG_SWAP", "tuned latency-performance; Documentation/admin-guide/sysctl/vm.rst")
        .against(&[("thread", "kswapd*")]),
    // Timers and watchdogs.
    sysctl("kernel.watchdog_cpumask", List, "/proc/sys/kernel/watchdog_cpumask")
        .what("the CPUs that the lock-up watchdogs watch", "watchdog_timer_fn")
        .worth(OtherCpus, "no watchdog on the measured CPUs", "lock-ups there go unseen")
        .from("Linux 4.2, CONFIG_LOCKUP_DETECTOR", SYSCTL_KERNEL)
        .against(&[("timer", "watchdog_timer_fn"), ("thread", "softlockup_fn")]),
    sysctl("kernel.watchdog", Number, "/proc/sys/kernel/watchdog")
        .what("whether the lock-up watchdogs run", "watchdog_timer_fn")
        .worth(Value("0"), "no watchdogs", "lock-ups go unseen")
        .from("CONFIG_LOCKUP_DETECTOR", SYSCTL_KERNEL)
        .also("nowatchdog on the kernel command line")
        .against(&[("timer", "watchdog_timer_fn"), ("thread", "softlockup_fn")]),
    sysctl("kernel.watchdog_thresh", Number, "/proc/sys/kernel/watchdog_thresh")
        .what("seconds until a hard lock-up is noticed; the timer expires every 2/5 of it", "watchdog_timer_fn")
        .worth(Value("30"), "a third of these timers", "lock-ups are noticed later")
        .from("CONFIG_LOCKUP_DETECTOR", SYSCTL_KERNEL),
    sysctl("kernel.nmi_watchdog", Number, "/proc/sys/kernel/nmi_watchdog")
        .what("whether a hardware counter watches for hard lock-ups", "NMIs")
        .worth(Value("0"), "none of its NMIs", "hard lock-ups go unseen; frees a hardware counter")
        .from("CONFIG_HARDLOCKUP_DETECTOR and hardware counters", SYSCTL_KERNEL)
        .also("nmi_watchdog=0 on the kernel command line")
        .against(&[("nmi", "*")]),
    sysctl("kernel.timer_migration", Number, "/proc/sys/kernel/timer_migration")
        .what("whether timers of idle CPUs move to busy ones", "timers")
        .worth(Value("0"), "timers stay where they were armed", "idle CPUs wake up for them; tuned sets 0, OpenShift 1: measure both")
        .from("CONFIG_NO_HZ_COMMON; Linux 6.9 moves them in another way", "tuned cpu-partitioning; openshift-node-performance"),
    row("machinecheck/check_interval", Number, "/sys/devices/system/machinecheck/machinecheck{cpu}/check_interval")
        .what("seconds between two looks for corrected hardware errors; one value for all CPUs", "mce_timer_fn")
        .worth(Value("0"), "no such timers", "corrected memory errors are noticed by interrupts only")
        .from("x86 with machine checks", "Documentation/arch/x86/x86_64/machinecheck.rst")
        .against(&[("timer", "mce_timer_fn")]),
    sysctl("kernel.perf_event_max_sample_rate", Number, "/proc/sys/kernel/perf_event_max_sample_rate")
        .what("most samples of profilers per second", "NMIs of profilers")
        .worth(Value("1"), "profilers hardly interrupt", "profilers are useless; the kernel lowers it itself if samples take long")
        .from("CONFIG_PERF_EVENTS", SYSCTL_KERNEL)
        .against(&[("timer", "perf_swevent_hrtimer")]),
    // Memory of programs.
    sysctl("kernel.numa_balancing", Number, "/proc/sys/kernel/numa_balancing")
        .what("whether the kernel moves memory to the node that uses it", "page faults")
        .worth(Value("0"), "no faults that look for remote memory", "threads that are not bound to a node get slower")
        .from("CONFIG_NUMA_BALANCING, several nodes", "tuned network-latency, hpc-compute; Documentation/admin-guide/sysctl/kernel.rst")
        .also("numa_balancing=disable on the kernel command line")
        .against(&[("page-fault", "*")]),
    row("transparent_hugepage", Choice, "/sys/kernel/mm/transparent_hugepage/enabled")
        .what("which memory gets huge pages by itself", "page faults")
        .worth(Value("madvise"), "only memory whose program asks for it", "more TLB misses; profiles for HPC set always: measure both")
        .from("CONFIG_TRANSPARENT_HUGEPAGE", THP)
        .also("transparent_hugepage=madvise on the kernel command line"),
    row("transparent_hugepage/defrag", Choice, "/sys/kernel/mm/transparent_hugepage/defrag")
        .what("whether a page fault compacts memory for a huge page", "page faults")
        .worth(Value("never"), "no page fault waits for compaction", "fewer huge pages")
        .from("CONFIG_TRANSPARENT_HUGEPAGE", THP),
    // Interrupts.
    row("irq/*", List, "/proc/irq/*/smp_affinity_list")
        .what("the CPUs that handle a device's interrupt; `irq/24` is that of number 24 in /proc/interrupts", "device interrupts")
        .worth(OtherCpus, "the interrupt comes elsewhere", "fewer CPUs for the device; irqbalance may move it back; the kernel refuses managed interrupts")
        .from("devices with interrupts that can be moved", "Documentation/core-api/irq/irq-affinity.rst")
        .kept(Keep::Otherwise("irqaffinity=LIST on the kernel command line, for all: numbers may change from start to start"))
        .also("a policy of irqbalance")
        .in_effect("/proc/irq/*/effective_affinity_list"),
    row("rps_cpus/*/*", Mask, "/sys/class/net/*/queues/*/rps_cpus")
        .what("the CPUs to which received packets are passed on; `rps_cpus/eth0/rx-0` is that of a queue", "softirq NET_RX")
        .worth(OtherCpus, "packets are handled elsewhere", "costs an interrupt between CPUs for each batch")
        .from("CONFIG_RPS", "Documentation/networking/scaling.rst")
        .kept(Keep::Otherwise("a udev rule that writes it when the device comes up"))
        .also("net.core.rps_default_mask in /etc/sysctl.d (Linux 6.4)"),
    // Idle states and frequency.
    row("cpu_dma_latency", Held, "/dev/cpu_dma_latency")
        .what("longest time that leaving an idle state may take, in µs, on all CPUs", "late wake-ups")
        .worth(Value("0"), "CPUs stay in idle states that they leave at once", "power and heat; less turbo for others")
        .from("CONFIG_CPU_IDLE", "Documentation/power/pm_qos_interface.rst")
        .kept(Keep::Otherwise("a service that holds the file open, such as tuned with force_latency=0"))
        .against(&[("late-timer", "*"), ("scheduling-delay", "*")]),
    row("pm_qos_resume_latency_us", Word, "/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us")
        .what("the same for single CPUs: 0 is no limit, n/a no latency at all", "late wake-ups")
        .worth(Value("n/a"), "these CPUs stay in idle states that they leave at once", "power and heat; less turbo for others")
        .from("Linux 4.11, n/a 4.15", CPUIDLE),
    row("cpuidle/*", Number, "/sys/devices/system/cpu/cpu{cpu}/cpuidle/state*/disable")
        .what("whether a CPU leaves out this idle state; `cpuidle/2` is state 2", "late wake-ups")
        .worth(Depends, "shows what one idle state costs", "power and heat; the next shallower state is used")
        .from("a cpuidle driver", CPUIDLE),
    row("haltpoll/guest_halt_poll_ns", Number, "/sys/module/haltpoll/parameters/guest_halt_poll_ns")
        .what("longest time that an idle CPU of a guest polls before it halts, in ns", "late wake-ups")
        .worth(Value("200000"), "wake-ups within that time need no exit to the host", "the host's CPU is busy meanwhile")
        .from("Linux 5.4, the cpuidle governor haltpoll", "Documentation/virt/guest-halt-polling.rst"),
    row("cpufreq/governor", Word, "/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor")
        .what("how the frequency of a CPU is chosen", "slower execution")
        .worth(Value("performance"), "the same high frequency all the time", "power and heat")
        .from("a cpufreq driver", CPUFREQ)
        .also("cpufreq.default_governor=performance on the kernel command line"),
    row("energy_performance_preference", Word, "/sys/devices/system/cpu/cpu{cpu}/cpufreq/energy_performance_preference")
        .what("what the processor prefers when it chooses its frequency", "slower execution")
        .worth(Value("performance"), "high frequencies sooner", "power and heat")
        .from("intel_pstate or amd_pstate in active mode", "Documentation/admin-guide/pm/intel_pstate.rst"),
    row("intel_pstate/no_turbo", Number, "/sys/devices/system/cpu/intel_pstate/no_turbo")
        .what("whether turbo frequencies are left out", "runs that differ")
        .worth(Value("1"), "the frequency does not depend on temperature and neighbours", "a slower single thread")
        .from("intel_pstate", "Documentation/admin-guide/pm/intel_pstate.rst"),
    row("cpufreq/boost", Number, "/sys/devices/system/cpu/cpufreq/boost")
        .what("whether frequencies above the nominal one are used", "runs that differ")
        .worth(Value("0"), "the frequency does not depend on temperature and neighbours", "a slower single thread")
        .from("acpi-cpufreq, amd_pstate and others", CPUFREQ),
    Tunable {
        untried: Some("CPUs would go offline, and what was bound to them is not moved back: compare two starts of the machine"),
        ..row("smt", Word, "/sys/devices/system/cpu/smt/control")
            .what("whether the other hardware threads of each core are used", "slower execution")
            .worth(Value("off"), "no program shares a core", "fewer CPUs")
            .from("processors with several threads per core", "Documentation/admin-guide/cpu-isolation.rst")
            .kept(Keep::Otherwise("nosmt on the kernel command line"))
    },
    // Real-time threads, and hosts of guests.
    row("fair_server/runtime", Number, "/sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime")
        .what("ns per period that ordinary threads get on a CPU that real-time threads occupy", "real-time programs")
        .worth(Value("0"), "no such holes", "ordinary threads on that CPU starve, also the kernel's")
        .from("Linux 6.12, debugfs", "commit d741f297bcea (sched/fair: Fair server interface)")
        .kept(Keep::Otherwise("a service that writes it after sys-kernel-debug.mount"))
        .against(&[("fair-server", "*")]),
    sysctl("kernel.sched_rt_runtime_us", Number, "/proc/sys/kernel/sched_rt_runtime_us")
        .what("µs per period that real-time threads may have; -1 is no limit", "real-time programs")
        .worth(Value("-1"), "real-time threads are not throttled", "a runaway real-time thread locks its CPU")
        .from("throttles before Linux 6.12, or with CONFIG_RT_GROUP_SCHED; since then the fair server does", "tuned realtime; Documentation/scheduler/sched-rt-group.rst")
        .against(&[("rt-throttling", "*")]),
    row("kvm/halt_poll_ns", Number, "/sys/module/kvm/parameters/halt_poll_ns")
        .what("longest time that a host's CPU polls for an idle guest, in ns", "late wake-ups")
        .worth(Depends, "0 frees the host's CPU, more wakes guests up sooner", "depends on who shares the host")
        .from("a host with KVM", "Documentation/virt/kvm/halt-polling.rst"),
];

impl Tunable {
    const fn asked_in(self, asked: &'static str, effect: &'static str) -> Self {
        Self { asked: Some(asked), effect: Some(effect), ..self }
    }

    const fn in_effect(self, effect: &'static str) -> Self {
        Self { effect: Some(effect), ..self }
    }
}
