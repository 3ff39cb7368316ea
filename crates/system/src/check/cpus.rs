//! Checks the CPUs: which may be used, which are isolated, what they share, and what runs beneath them.

use super::{RowResult, Scene};
use crate::changes;
use crate::cpus::{list, parse};
use crate::machine::{self, cgroup};
use anechoic_recording::machine::Setting;

pub(super) fn allowed(scene: &Scene) -> RowResult {
    let online = parse(&scene.machine.online).unwrap_or_default();
    let allowed = &scene.allowed;
    if *allowed == online {
        return RowResult::good(format!("all {} online ({})", online.len(), list(&online)));
    }
    let found = format!("{} of {} online ({})", allowed.len(), online.len(), list(allowed));
    // A cpuset bounds every affinity; what is missing beyond it was removed by the affinity.
    match cgroup::cpuset(&scene.root) {
        Some((file, cpus)) if cpus.iter().all(|cpu| allowed.contains(cpu)) => RowResult::limited(
            format!("{found}, by the cgroup's cpuset"),
            format!("run in a cgroup with more CPUs than {file}"),
        ),
        _ => RowResult::limited(
            format!("{found}, by affinity"),
            format!("taskset -c {} anechoic ...", list(&online)),
        ),
    }
}

pub(super) fn isolation(scene: &Scene) -> RowResult {
    let value = |name| scene.setting(name).unwrap_or("unknown");
    let (isolated, nohz) = (value("isolcpus"), value("nohz_full"));
    RowResult::fact(match (isolated, nohz) {
        ("none", "none") => "none; no CPU without ticks (nohz_full)".to_owned(),
        _ => format!("{isolated}; without ticks (nohz_full): {nohz}"),
    })
}

pub(super) fn smt(scene: &Scene) -> RowResult {
    match scene.machine.smt {
        None => RowResult::fact("unknown"),
        Some(false) => RowResult::good("not active: no CPU shares its core"),
        Some(true) => RowResult::limited(
            "on: loops on both threads of a core disturb each other",
            format!("one loop per core: anechoic run --cpus {}", list(&first_threads(scene))),
        ),
    }
}

/// Returns the allowed CPUs without those whose sibling is already among them.
fn first_threads(scene: &Scene) -> Vec<u32> {
    let siblings = |cpu: u32| {
        let row = scene.machine.cpus.iter().find(|row| row.cpu == cpu);
        row.map(|row| parse(&row.siblings).unwrap_or_default()).unwrap_or_default()
    };
    let mut chosen: Vec<u32> = Vec::new();
    for &cpu in &scene.allowed {
        if !siblings(cpu).iter().any(|sibling| chosen.contains(sibling)) {
            chosen.push(cpu);
        }
    }
    chosen
}

pub(super) fn hypervisor(scene: &Scene) -> RowResult {
    let Some(name) = &scene.machine.hypervisor else {
        return RowResult::good("no hypervisor detected");
    };
    let stat = scene.root.read("/proc/stat").unwrap_or_default();
    let steal = stolen(&stat, rustix::param::clock_ticks_per_second());
    RowResult::fact(match steal {
        Some((seconds, percent)) => {
            format!("{name}; stolen since boot: {seconds:.2} s ({percent:.2} %)")
        }
        None => format!("{name}; steal is not readable"),
    })
}

/// Returns the seconds stolen from all CPUs since boot, and their share of all CPU time in percent.
fn stolen(stat: &str, user_hz: u64) -> Option<(f64, f64)> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    // The fields are user, nice, system, idle, iowait, irq, softirq, steal; guest time is part of user time.
    let times: Vec<u64> = line.split_whitespace().take(8).map_while(|t| t.parse().ok()).collect();
    let (&steal, total) = (times.get(7)?, times.iter().map(|&t| t as f64).sum::<f64>());
    Some((steal as f64 / user_hz.max(1) as f64, 100.0 * steal as f64 / total.max(1.0)))
}

pub(super) fn governor(scene: &Scene) -> RowResult {
    let Some(governor) = scene.setting("cpufreq governor") else {
        return RowResult::fact("not controlled from here (no cpufreq)");
    };
    let turbo = match (scene.setting("intel_pstate no_turbo"), scene.setting("cpufreq boost")) {
        (Some("0"), _) | (None, Some("1")) => ", turbo on",
        (Some("1"), _) | (None, Some("0")) => ", turbo off",
        _ => "",
    };
    let found = format!("governor {governor}{turbo}");
    if governor == "performance" {
        return RowResult::good(found);
    }
    RowResult::limited(found, "cpupower frequency-set -g performance")
}

/// Checks for settings that a killed process left changed, and for those that were requested but are not in effect.
pub(super) fn settings(scene: &Scene) -> RowResult {
    if changes::are_left() {
        return RowResult::limited(
            "an anechoic process that was killed left some changed",
            "any command of anechoic puts them back, as root: sudo anechoic check",
        );
    }
    let settings = &scene.machine.settings;
    let unmet: Vec<&Setting> = settings.iter().filter(|s| machine::is_unmet(s)).collect();
    if unmet.is_empty() {
        let asked = settings.iter().filter(|s| s.requested.is_some()).count();
        return RowResult::good(format!(
            "{asked} on the kernel command line, all in effect as far as can be read"
        ));
    }
    let found = unmet.iter().map(|s| {
        let (asked, is) = (s.requested.as_deref(), s.effective.as_deref());
        format!("{}: requested {}, is {}", s.name, asked.unwrap_or(""), is.unwrap_or(""))
    });
    let found = found.collect::<Vec<_>>().join("; ");
    let files: Vec<&str> = unmet.iter().map(|s| s.file.as_str()).collect();
    RowResult::limited(found, format!("see {} and the kernel log (dmesg)", files.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_since_boot() {
        type Case<'a> = (&'a str, &'a str, Option<(f64, f64)>);
        let cases: &[Case] = &[
            ("some", "cpu  10 0 10 70 0 0 0 10 5 0\ncpu0 1\n", Some((0.1, 10.0))),
            ("idle machine", "cpu  0 0 0 0 0 0 0 0\n", Some((0.0, 0.0))),
            ("old kernel", "cpu  10 0 10 70\n", None),
            ("hostile", "cpu  a b c d e f g h\n", None),
            ("empty", "", None),
        ];
        for (case, stat, expected) in cases {
            assert_eq!(stolen(stat, 100), *expected, "case: {case}");
        }
    }
}
