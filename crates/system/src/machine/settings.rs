//! The settings that affect noise, one row each: where the present value is, and how it is requested on the
//! kernel command line.

use super::agree::{Agree, FLAG, NMI, NUMA, PREEMPT, PSI, PSTATE, SMT, SWITCH};
use super::value::{self, Reader};
use super::{CommandLine, Root};
use anechoic_recording::machine::Setting;

/// A setting that affects noise.
#[derive(Debug, Clone, Copy)]
pub struct SettingRow {
    /// Name in an administrator's spelling.
    pub name: &'static str,
    /// The file with the present value; `*` stands for every entry.
    pub file: &'static str,
    read: Reader,
    request: Request,
    agree: Agree,
}

/// Where the requested value is found.
#[derive(Debug, Clone, Copy)]
enum Request {
    Nowhere,
    Parameter(&'static str),
    File(&'static str, Reader),
}

const fn row(name: &'static str, file: &'static str) -> SettingRow {
    SettingRow {
        name,
        file,
        read: value::text,
        request: Request::Nowhere,
        agree: Agree::Words(&[]),
    }
}

impl SettingRow {
    const fn by(self, read: Reader) -> Self {
        Self { read, ..self }
    }

    const fn asked(self, parameter: &'static str, agree: Agree) -> Self {
        Self { request: Request::Parameter(parameter), agree, ..self }
    }

    const fn asked_in(self, file: &'static str, read: Reader, agree: Agree) -> Self {
        Self { request: Request::File(file, read), agree, ..self }
    }

    fn setting(&self, root: &Root, command_line: &CommandLine) -> Setting {
        let requested = match self.request {
            Request::Nowhere => None,
            Request::Parameter(name) => command_line.get(name),
            Request::File(file, read) => read(root, file),
        };
        let effective = (self.read)(root, self.file);
        Setting { name: self.name.to_owned(), requested, effective, file: self.file.to_owned() }
    }
}

/// All settings, one row each, in the order of display.
#[rustfmt::skip]
pub const SETTINGS: &[SettingRow] = &[
    // Isolation: the CPUs that the kernel keeps its own work off.
    row("nohz_full", "/sys/devices/system/cpu/nohz_full").by(value::cpu_list).asked("nohz_full", Agree::Includes),
    row("isolcpus", "/sys/devices/system/cpu/isolated").by(value::cpu_list).asked("isolcpus", Agree::Includes),
    row("cpuset.cpus.isolated", "/sys/fs/cgroup/cpuset.cpus.isolated").by(value::present_list),
    row("cpuset.cpus.partition", "cpuset.cpus.partition")
        .by(value::own_cgroup)
        .asked_in("cpuset.cpus.partition", value::own_cgroup_kind, Agree::Words(&[])),
    row("cgroup controllers", "/sys/fs/cgroup/cgroup.controllers"),
    row("rcu_nocbs", "/proc/*/comm").by(value::rcu_offloaded).asked("rcu_nocbs", Agree::Includes),
    row("irqaffinity", "/proc/irq/default_smp_affinity").by(value::mask).asked("irqaffinity", Agree::Cpus),
    row("irqbalance", "/proc/*/comm").by(value::irqbalance),
    row("workqueue cpumask", "/sys/devices/virtual/workqueue/cpumask")
        .by(value::mask)
        .asked_in("/sys/devices/virtual/workqueue/cpumask_requested", value::mask, Agree::Unknown), // the kernel removes isolated CPUs
    row("workqueue.unbound_cpus", "/sys/devices/virtual/workqueue/cpumask").by(value::mask).asked("workqueue.unbound_cpus", Agree::Unknown),
    row("writeback cpumask", "/sys/devices/virtual/workqueue/writeback/cpumask").by(value::mask),
    row("workqueue.power_efficient", "/sys/module/workqueue/parameters/power_efficient")
        .asked("workqueue.power_efficient", FLAG),
    row("net.core.rps_default_mask", "/proc/sys/net/core/rps_default_mask").by(value::mask),
    // Timers and clocks.
    row("clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource").asked("clocksource", Agree::Words(&[])),
    row("tsc", "/proc/cmdline").by(value::unreadable).asked("tsc", Agree::Unknown),
    row("skew_tick", "/proc/cmdline").by(value::unreadable).asked("skew_tick", Agree::Unknown),
    row("kernel.timer_migration", "/proc/sys/kernel/timer_migration"),
    row("vm.stat_interval", "/proc/sys/vm/stat_interval"),
    // Watchdogs.
    row("kernel.watchdog", "/proc/sys/kernel/watchdog").asked("nowatchdog", Agree::Words(&[("nowatchdog", "0")])),
    row("kernel.soft_watchdog", "/proc/sys/kernel/soft_watchdog").asked("nosoftlockup", Agree::Words(&[("nosoftlockup", "0")])),
    row("kernel.nmi_watchdog", "/proc/sys/kernel/nmi_watchdog").asked("nmi_watchdog", NMI),
    row("kernel.watchdog_cpumask", "/proc/sys/kernel/watchdog_cpumask"),
    row("kernel.watchdog_thresh", "/proc/sys/kernel/watchdog_thresh"),
    row("machinecheck check_interval", "/sys/devices/system/machinecheck/machinecheck*/check_interval").by(value::per_entry),
    row("machinecheck ignore_ce", "/sys/devices/system/machinecheck/machinecheck*/ignore_ce").by(value::per_entry).asked("mce", Agree::Unknown),
    // Memory management.
    row("transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled").by(value::choice).asked("transparent_hugepage", Agree::Words(&[])),
    row("transparent_hugepage defrag", "/sys/kernel/mm/transparent_hugepage/defrag").by(value::choice),
    row("khugepaged defrag", "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag"),
    row("khugepaged scan_sleep_millisecs", "/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs"),
    row("vm.compaction_proactiveness", "/proc/sys/vm/compaction_proactiveness"),
    row("kernel.numa_balancing", "/proc/sys/kernel/numa_balancing").asked("numa_balancing", NUMA),
    row("ksm", "/sys/kernel/mm/ksm/run"),
    row("vm.swappiness", "/proc/sys/vm/swappiness"),
    row("swap", "/proc/swaps").by(value::swaps),
    row("vm.dirty_writeback_centisecs", "/proc/sys/vm/dirty_writeback_centisecs"),
    row("vm.dirty_ratio", "/proc/sys/vm/dirty_ratio"),
    row("vm.dirty_background_ratio", "/proc/sys/vm/dirty_background_ratio"),
    row("huge pages 2 MiB", "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"),
    row("huge pages 1 GiB", "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages"),
    // Power.
    row("cpuidle driver", "/sys/devices/system/cpu/cpuidle/current_driver"),
    row("cpuidle governor", "/sys/devices/system/cpu/cpuidle/current_governor").asked("cpuidle.governor", Agree::Words(&[])),
    row("C-states", "/sys/devices/system/cpu/cpu*/cpuidle").by(value::idle_states).asked("idle", Agree::Unknown),
    row("processor.max_cstate", "/sys/module/processor/parameters/max_cstate").asked("processor.max_cstate", Agree::Words(&[])),
    row("intel_idle.max_cstate", "/sys/module/intel_idle/parameters/max_cstate").asked("intel_idle.max_cstate", Agree::Words(&[])),
    row("pm_qos_resume_latency_us", "/sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us").by(value::per_entry),
    row("haltpoll guest_halt_poll_ns", "/sys/module/haltpoll/parameters/guest_halt_poll_ns").asked("haltpoll.guest_halt_poll_ns", Agree::Words(&[])),
    row("cpufreq driver", "/sys/devices/system/cpu/cpu*/cpufreq/scaling_driver").by(value::per_entry),
    row("cpufreq governor", "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor").by(value::per_entry).asked("cpufreq.default_governor", Agree::Words(&[])),
    row("cpufreq minimum kHz", "/sys/devices/system/cpu/cpu*/cpufreq/scaling_min_freq").by(value::per_entry),
    row("cpufreq maximum kHz", "/sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq").by(value::per_entry),
    row("energy_performance_preference", "/sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference").by(value::per_entry),
    row("intel_pstate", "/sys/devices/system/cpu/intel_pstate/status").asked("intel_pstate", PSTATE),
    row("amd_pstate", "/sys/devices/system/cpu/amd_pstate/status").asked("amd_pstate", Agree::Words(&[])),
    row("intel_pstate no_turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo"),
    row("cpufreq boost", "/sys/devices/system/cpu/cpufreq/boost"),
    row("smt", "/sys/devices/system/cpu/smt/control").asked("nosmt", SMT),
    // Scheduling.
    row("preempt", "/sys/kernel/debug/sched/preempt").by(value::preemption).asked("preempt", PREEMPT),
    row("kernel.sched_rt_runtime_us", "/proc/sys/kernel/sched_rt_runtime_us"),
    row("kernel.sched_rt_period_us", "/proc/sys/kernel/sched_rt_period_us"),
    row("fair_server runtime", "/sys/kernel/debug/sched/fair_server/cpu*/runtime").by(value::per_entry),
    row("kernel.sched_autogroup_enabled", "/proc/sys/kernel/sched_autogroup_enabled").asked("noautogroup", Agree::Words(&[("noautogroup", "0")])),
    row("kernel.sched_schedstats", "/proc/sys/kernel/sched_schedstats").asked("schedstats", SWITCH),
    row("psi", "/proc/pressure/cpu").by(value::psi).asked("psi", PSI),
    // Profiling, auditing, hardening.
    row("kernel.perf_event_max_sample_rate", "/proc/sys/kernel/perf_event_max_sample_rate"),
    row("kernel.perf_cpu_time_max_percent", "/proc/sys/kernel/perf_cpu_time_max_percent"),
    row("kernel.perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid"),
    row("kernel.kptr_restrict", "/proc/sys/kernel/kptr_restrict"),
    row("kernel.unprivileged_bpf_disabled", "/proc/sys/kernel/unprivileged_bpf_disabled"),
    row("kernel.randomize_va_space", "/proc/sys/kernel/randomize_va_space").asked("norandmaps", Agree::Words(&[("norandmaps", "0")])),
    row("audit", "/proc/cmdline").by(value::unreadable).asked("audit", Agree::Unknown),
    row("mitigations", "/sys/devices/system/cpu/vulnerabilities").by(value::mitigations).asked("mitigations", Agree::Unknown),
    // For a machine that is a host of others.
    row("kvm halt_poll_ns", "/sys/module/kvm/parameters/halt_poll_ns").asked("kvm.halt_poll_ns", Agree::Words(&[])),
    row("kvm kvmclock_periodic_sync", "/sys/module/kvm/parameters/kvmclock_periodic_sync"),
];

/// Returns the present values of all settings, one for each row of [`SETTINGS`].
#[must_use]
pub(crate) fn settings(root: &Root) -> Vec<Setting> {
    let command_line = CommandLine::parse(&root.read("/proc/cmdline").unwrap_or_default());
    SETTINGS.iter().map(|row| row.setting(root, &command_line)).collect()
}

/// Returns whether a setting was requested and is known not to be in effect.
#[must_use]
pub(crate) fn is_unmet(setting: &Setting) -> bool {
    let row = SETTINGS.iter().find(|row| row.name == setting.name);
    match (row, &setting.requested, &setting.effective) {
        (Some(row), Some(requested), Some(effective)) => !row.agree.holds(requested, effective),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_recording::tunable::TUNABLES;

    #[test]
    fn requests_that_are_not_in_effect_are_reported() {
        type Case<'a> = (&'a str, &'a str, Option<&'a str>, Option<&'a str>, bool);
        let cases: &[Case] = &[
            ("same list", "nohz_full", Some("2-7"), Some("2-7"), false),
            ("same CPUs", "nohz_full", Some("2,3"), Some("2-3"), false),
            ("not built in", "nohz_full", Some("2-7"), Some("none"), true),
            ("boot CPU taken out", "nohz_full", Some("0-7"), Some("1-7"), true),
            ("flags", "isolcpus", Some("managed_irq,domain,2-7"), Some("2-7"), false),
            ("flags, not in effect", "isolcpus", Some("domain,2-7"), Some("none"), true),
            ("flags that are not shown", "isolcpus", Some("managed_irq,2-7"), Some("none"), false),
            ("more by another setting", "rcu_nocbs", Some("2-3"), Some("2-7"), false),
            ("wider", "irqaffinity", Some("0"), Some("0-7"), true),
            ("isolated taken out", "workqueue cpumask", Some("0-7"), Some("0-1"), false),
            ("no list", "rcu_nocbs", Some("all"), Some("0-7"), false),
            ("unknown", "nohz_full", Some("2-7"), None, false),
            ("nothing asked", "nohz_full", None, Some("2-7"), false),
            ("word", "transparent_hugepage", Some("never"), Some("never"), false),
            ("changed since", "transparent_hugepage", Some("never"), Some("always"), true),
            ("pair", "kernel.numa_balancing", Some("disable"), Some("0"), false),
            ("pair, not in effect", "kernel.numa_balancing", Some("disable"), Some("1"), true),
            ("flag", "smt", Some("nosmt"), Some("off"), false),
            ("flag, not in effect", "smt", Some("nosmt"), Some("on"), true),
            ("unknown", "skew_tick", Some("1"), Some("0"), false),
            (
                "partition",
                "cpuset.cpus.partition",
                Some("isolated"),
                Some("isolated invalid (cpu list empty)"),
                true,
            ),
            ("no such row", "x", Some("1"), Some("0"), false),
        ];
        for (case, name, requested, effective, expected) in cases {
            let setting = Setting {
                name: (*name).to_owned(),
                requested: requested.map(str::to_owned),
                effective: effective.map(str::to_owned),
                file: String::new(),
            };
            assert_eq!(is_unmet(&setting), *expected, "case: {case}");
        }
    }

    /// The same setting has the same name and file in the table of what can be tried.
    #[test]
    fn settings_that_can_be_tried_have_the_same_files() {
        let mut same = 0;
        for tunable in TUNABLES {
            let name = tunable.name.replace('/', " ");
            let Some(row) = SETTINGS.iter().find(|row| row.name == name) else { continue };
            assert_eq!(row.file, tunable.file.replace("{cpu}", "*"), "{name}");
            same += 1;
        }
        assert!(same >= 28, "{same}");
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = SETTINGS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SETTINGS.len());
    }
}
