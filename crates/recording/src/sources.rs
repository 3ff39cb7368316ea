//! The catalogue of noise sources, to which the time of a detour can be attributed.
//!
//! The claims in `attribute` decide which activity belongs to which source.

/// The kind of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// An interrupt, or work that an interrupt deferred until just after it.
    Interrupt,
    /// Another thread had the CPU.
    Thread,
    /// The measured thread was held: stopped, blocked or throttled.
    Held,
    /// The measured thread was itself in the kernel.
    Own,
    /// Something below the kernel, which the kernel cannot see.
    Beneath,
    /// Nothing is known.
    Unknown,
}

/// A source of noise.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// The identifier in the `activities` table.
    pub id: &'static str,
    /// The name for people; see [`Source::title_on`].
    pub title: &'static str,
    /// The name for people on a machine without a hypervisor, if it differs.
    pub bare_metal_title: Option<&'static str>,
    /// What it is, in one sentence.
    pub what: &'static str,
    /// What reduces it, with the cost of doing so; one line each.
    pub reduce: &'static [&'static str],
    /// The kind of the source.
    pub class: Class,
    /// The name of its colour in pictures.
    pub color: &'static str,
}

impl Source {
    /// Returns the name for people, in a guest or on a machine without a hypervisor, where time that no
    /// kernel event explains is not the hypervisor's.
    #[must_use]
    pub fn title_on(&self, guest: bool) -> &'static str {
        self.bare_metal_title.filter(|_| !guest).unwrap_or(self.title)
    }

    /// Gives it another name on a machine without a hypervisor.
    const fn on_bare_metal(self, title: &'static str) -> Self {
        Self { bare_metal_title: Some(title), ..self }
    }

    /// Returns whether something on the machine itself reduces it.
    #[must_use]
    pub fn is_in_reach(&self) -> bool {
        !matches!(self.class, Class::Beneath | Class::Unknown)
    }

    /// Returns whether rows with this identifier belong to this source.
    #[must_use]
    pub fn is(&self, id: &str) -> bool {
        self.id == id
    }
}

/// Returns the source with this identifier; `None` if a newer version made the recording.
#[must_use]
pub fn find(id: &str) -> Option<&'static Source> {
    SOURCES.iter().copied().find(|source| source.is(id))
}

const fn source(
    id: &'static str,
    title: &'static str,
    class: Class,
    color: &'static str,
    what: &'static str,
    reduce: &'static [&'static str],
) -> Source {
    Source { id, title, bare_metal_title: None, what, reduce, class, color }
}

macro_rules! sources {
    ($($(#[$doc:meta])* $name:ident = $source:expr;)*) => {
        $($(#[$doc])* pub const $name: Source = $source;)*

        /// All sources.
        pub const SOURCES: &[&Source] = &[$(&$name),*];
    };
}

sources! {
    /// The scheduler's timer tick.
    TIMER_TICK = source("timer-tick", "timer tick", Class::Interrupt, "tick",
        "The kernel's periodic timer interrupt (CONFIG_HZ times per second on a busy CPU): accounting, scheduling, timekeeping.",
        &[
            "nohz_full=CPUS on the kernel command line: no tick while only one thread runs; makes system calls slower, needs a housekeeping CPU, excludes the boot CPU",
            "a kernel with a lower CONFIG_HZ: fewer ticks, coarser time slices",
            "skew_tick=1: ticks of different CPUs no longer coincide; less lock contention, but costs power, and unaligned ticks can slow bulk-synchronous jobs more",
        ]);

    /// Timers other than the tick.
    TIMER = source("timer", "timer", Class::Interrupt, "timer",
        "A kernel timer other than the tick that expired on this CPU, named by its function.",
        &[
            "find who armed it (sent by) and stop or move it: a sampling profiler, a watchdog, a sleeping daemon",
            "kernel.watchdog_cpumask without these CPUs, or nosoftlockup: no watchdog timers; lock-ups there go undetected",
            "kernel.timer_migration: 0 keeps timers on their CPUs, 1 lets idle CPUs pass them on; recommendations differ, so measure both",
            "tsc=nowatchdog: no clocksource watchdog; hides a drifting TSC",
        ]);

    /// Device interrupts.
    DEVICE_IRQ = source("device-irq", "device interrupt", Class::Interrupt, "device",
        "A device's interrupt handler, named as in /proc/interrupts.",
        &[
            "write housekeeping CPUs to /proc/irq/N/smp_affinity_list, irqaffinity= for new ones, and ban the CPUs in irqbalance: fewer CPUs then serve input and output",
            "isolcpus=managed_irq,CPUS for queues that the kernel places itself: best effort",
        ]);

    /// Softirqs and the tasklets in them.
    SOFTIRQ = source("softirq", "softirq", Class::Interrupt, "softirq",
        "Work that an interrupt deferred until just after it, by kind: TIMER, NET_RX, SCHED, RCU and others.",
        &[
            "RCU: rcu_nocbs=CPUS moves callbacks to threads, which then need housekeeping CPUs",
            "NET_RX, NET_TX, BLOCK: move the device's interrupts; keep these CPUs out of /sys/class/net/*/queues/rx-*/rps_cpus",
            "TIMER: see the timers in it; SCHED: isolate the CPUs from load balancing (cpuset.cpus.partition=isolated), every thread must then be pinned",
        ]);

    /// Interrupts that CPUs send to each other.
    IPI = source("ipi", "IPI", Class::Interrupt, "ipi",
        "Another CPU (or this one) made this CPU do something immediately: flush its TLB, run a function, look at its run queue.",
        &[
            "see who sent it: avoid sharing an address space with that process's threads, pin it elsewhere, or stop it",
            "TLB flushes: touch and lock memory before the run (mlockall), no munmap or module unloading while it runs",
            "khugepaged, compaction and NUMA balancing off (transparent_hugepage, vm.compaction_proactiveness=0, kernel.numa_balancing=0): more TLB misses and fragmentation",
        ]);

    /// The CPU's own alarms.
    PLATFORM_IRQ = source("platform-irq", "platform interrupt", Class::Interrupt, "platform",
        "The CPU reports its own state: thermal throttling, machine-check thresholds, interrupt controller errors, spurious interrupts.",
        &[
            "thermal: better cooling, or a lower fixed frequency; see thermal_throttle/*_count",
            "threshold: replace failing memory; mce=ignore_ce hides corrected errors and their telemetry",
        ]);

    /// Non-maskable interrupts.
    NMI = source("nmi", "NMI", Class::Interrupt, "nmi",
        "A non-maskable interrupt: hardware counters of a profiler or the lock-up watchdog, or a backtrace request.",
        &[
            "kernel.nmi_watchdog=0: hard lock-ups go undetected; frees a hardware counter",
            "stop profilers, or kernel.perf_event_max_sample_rate=1 while measuring: breaks profilers until it is reset",
        ]);

    /// Page faults of the measured thread.
    PAGE_FAULT = source("page-fault", "page fault", Class::Own, "fault",
        "The measured thread touched a page that was not mapped, and waited for it. In anechoic's own loop this is a bug.",
        &[
            "touch and lock memory before the run (mlockall)",
            "kernel.numa_balancing=0: no hinting faults; suitable for threads bound to their memory",
            "transparent_hugepage=madvise or never: no compaction in a fault, but more TLB misses",
        ]);

    /// The measured thread was stopped.
    STOPPED = source("stopped", "stopped", Class::Held, "scheduler",
        "The measured thread was stopped by a signal or a debugger, so whatever ran in the meantime took nothing from it.",
        &["do not stop or debug the program while it is measured: see who sent the signal"]);

    /// The measured thread waited in the kernel.
    BLOCKED = source("blocked", "blocked", Class::Held, "scheduler",
        "The measured thread waited in the kernel for something other than a page; the loop itself never sleeps.",
        &["freezing or suspending causes this: cgroup.freeze, system sleep, checkpointing"]);

    /// The tool itself.
    ANECHOIC = source("anechoic", "anechoic itself", Class::Thread, "anechoic",
        "A thread of this tool ran on a measured CPU: reading events, writing the recording.",
        &[
            "leave a CPU for the tool's own threads (--cpus, or taskset for a recorded program)",
            "a shorter run stays in memory and writes nothing until its end",
        ]);

    /// Real-time throttling: an artefact of measuring with `--fifo`.
    RT_THROTTLING = source("rt-throttling", "RT throttling", Class::Held, "scheduler",
        "An artefact of --fifo: the CPU idled although the real-time loop could run, because real-time threads may not use all of a CPU.",
        &[
            "measure without --fifo",
            "kernel.sched_rt_runtime_us=-1, only for proven FIFO programs: a runaway thread then locks up the machine",
        ]);

    /// The switch to a woken thread of a recorded program.
    WAKE_UP = source("wake-up", "wake-up", Class::Held, "scheduler",
        "A thread was woken, and the CPU switched to it without delay: what each waking costs, whatever had the CPU.",
        &["fewer wakings: larger batches, a busy loop instead of short sleeps, or a CPU of its own for each thread"]);

    /// The interrupt of a timer that comes late.
    LATE_TIMER = source("late-timer", "late timer interrupt", Class::Beneath, "slower",
        "The timer of a thread that was to be woken had expired, and its interrupt had not come: the CPU left its idle state, the thread named kept interrupts disabled, or the hypervisor or the hardware was late.",
        &[
            "after idle: shallower idle states (cpupower idle-set, /dev/cpu_dma_latency), at the cost of power; in a guest, idle=poll, which keeps the host's CPU busy",
            "after a thread: a real-time kernel, which keeps interrupts disabled for shorter times; keep that thread off these CPUs",
        ]);

    /// The system call with which one thread wakes another.
    WAKING_CALL = source("waking-call", "waking call", Class::Held, "scheduler",
        "A thread had begun the system call that wakes the measured one (futex, pipe, eventfd), and had not woken it yet: the call's own work, and what interrupted it on the CPU of the caller.",
        &["a cheaper call: a futex costs less than a pipe; keep interrupts and other threads off the CPU that wakes"]);

    /// A CPU that idles although a thread of a recorded program wants it.
    SCHEDULING_DELAY = source("scheduling-delay", "scheduling delay", Class::Held, "scheduler",
        "The CPU idled although a thread of the program could run there: it woke up from its idle state, or the scheduler moved the thread.",
        &[
            "shallower idle states on these CPUs (cpupower idle-set, /dev/cpu_dma_latency), at the cost of power; in a guest, idle=poll or haltpoll, which keeps the host's CPU busy",
            "pin the program's threads (taskset), so that the scheduler does not move them",
        ]);

    /// A cgroup's CPU quota.
    CPU_QUOTA = source("cpu-quota", "CPU quota", Class::Held, "scheduler",
        "The measured thread could run, but its control group had used up its CPU time, whether the CPU idled or another thread had it meanwhile.",
        &["cpu.max of the control group (max lifts the limit): a container's CPU limit sets it"]);

    /// The fair server: an artefact of measuring with `--fifo`.
    FAIR_SERVER = source("fair-server", "fair server", Class::Thread, "scheduler",
        "The kernel gave ordinary threads a share of a CPU that real-time threads occupied (50 ms per second by default): an artefact of --fifo, or of the program's own policy.",
        &[
            "/sys/kernel/debug/sched/fair_server/cpuN/runtime = 0 ends these holes: ordinary threads on that CPU then starve",
            "measure without --fifo",
        ]);

    /// Other threads.
    THREAD = source("thread", "thread", Class::Thread, "thread",
        "Another thread had the CPU while the measured one could run; kernel workers are shown with the function that they ran.",
        &[
            "keep it off these CPUs: taskset, AllowedCPUs= for a service, or cpuset.cpus.partition=isolated for the CPUs, where every thread must then be pinned",
            "unbound kernel workers: /sys/devices/virtual/workqueue/cpumask without these CPUs",
            "vmstat_update: vm.stat_interval=10, at the cost of stale counters",
            "kernel threads: pin them to housekeeping CPUs (taskset); per-CPU ones cannot be moved, so look for who queues their work",
        ]);

    /// The measured thread's own time in the kernel.
    VICTIM_KERNEL = source("victim-kernel", "own kernel work", Class::Own, "own",
        "The measured thread was itself in the kernel: handling a signal, entering or leaving, outside any handler that has events.",
        &["do not send the program signals while it runs"]);

    /// Work that took longer, without an interruption.
    SLOWER = source("slower", "slower execution", Class::Beneath, "slower",
        "A step of the work took longer than usual, but less than twice as long, and no kernel event fell into it: something slowed the core down (another hardware thread of it, which may be another guest's, a lower frequency, displaced caches). A VM exit of that length looks the same.",
        &[
            "leave the other hardware threads of these cores idle: measure one of each (--cpus), or switch them off (echo off > /sys/devices/system/cpu/smt/control)",
            "in a guest: an instance type whose cores are not shared; not possible from inside the guest",
            "on bare metal: a fixed frequency, at the cost of power and heat",
        ]);

    /// What the kernel knows nothing of.
    VM_OR_HARDWARE = source("vm-or-hardware", "VM exit or hardware", Class::Beneath, "host",
        "No kernel event fell into the detour: the hypervisor ran, or something below the operating system (a system management interrupt, a frequency change, a stalled bus).",
        &[
            "in a guest: virtual CPUs that are pinned to their own cores, another instance type, the host's kvm settings (halt_poll_ns, ple_gap); not possible from inside the guest",
            "system management interrupts: the firmware's performance profile; never disable thermal ones",
            "on the host or on bare metal: fixed frequency and shallow C-states, at the cost of power and heat",
        ]).on_bare_metal("hardware");

    /// Detours whose cause is unknown.
    NOT_ATTRIBUTABLE = source("not-attributable", "not attributable", Class::Unknown, "unknown",
        "Kernel events were lost, not recorded on purpose, or hidden by the kernel, so the cause is unknown.",
        &["nothing to reduce; if events were lost, use larger trace buffers or measure fewer CPUs"]);
}

/// Names of softirqs by vector number, as in /proc/softirqs.
pub const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// Returns whether a softirq finishes what device interrupts began: network, disks and the tasklets of drivers. The
/// others belong to timers, the scheduler and RCU.
#[must_use]
pub fn is_softirq_of_devices(name: &str) -> bool {
    matches!(name, "HI" | "NET_TX" | "NET_RX" | "BLOCK" | "IRQ_POLL" | "TASKLET")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_source_describes_itself() {
        let ids: HashSet<&str> = SOURCES.iter().map(|source| source.id).collect();
        assert_eq!(ids.len(), SOURCES.len(), "identifiers are unique");
        for source in SOURCES {
            let id = source.id;
            assert!(id.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{id}");
            let titles = [source.title, source.title_on(false), source.title_on(true)];
            for title in titles {
                assert!(!title.is_empty() && title.len() <= 24, "{id}: a title fits its column");
            }
            assert!(source.what.ends_with('.'), "{id}: a sentence");
            let lines = source.reduce;
            assert!(!lines.is_empty() && lines.iter().all(|line| !line.is_empty()), "{id}");
            assert_eq!(find(id), Some(*source), "{id}");
        }
        assert_eq!(find("no-such-source"), None);
    }

    #[test]
    fn only_a_guest_has_vm_exits() {
        assert_eq!(VM_OR_HARDWARE.title_on(true), "VM exit or hardware");
        assert_eq!(VM_OR_HARDWARE.title_on(false), "hardware");
        assert_eq!(TIMER_TICK.title_on(false), "timer tick");
    }
}
