//! What gives a user the rights that a measurement needs.

use rustix::process::geteuid;
use std::fs;

/// The number of CAP_SYS_NICE.
const SYS_NICE: u32 = 23;

/// Returns the remedy for a user without these capabilities, which are written as `setcap` reads them: `cap_bpf,cap_perfmon`.
#[must_use]
pub fn remedy(capabilities: &str) -> String {
    remedy_by_user(capabilities, geteuid().is_root())
}

/// Root lacks a right only where somebody took it away, as containers do.
fn remedy_by_user(capabilities: &str, is_root: bool) -> String {
    if is_root {
        let add = |capability: &str| {
            format!(" --cap-add {}", capability.trim_start_matches("cap_").to_uppercase())
        };
        let added: String = capabilities.split(',').map(add).collect();
        return format!(
            "give this container {capabilities}, for example: docker run{added}; or run outside of it"
        );
    }
    format!(
        "run as root, or give this program the right with: setcap {capabilities}+ep PATH/anechoic"
    )
}

/// Returns the remedy for a user who may not use real-time priorities.
#[must_use]
pub fn fifo_remedy() -> String {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    fifo_remedy_by(has_capability(&status, SYS_NICE), geteuid().is_root())
}

fn fifo_remedy_by(has_right: bool, is_root: bool) -> String {
    match (has_right, is_root) {
        // The right is there, so the kernel refuses for its other reason.
        (true, _) => "the kernel shares out real-time time by control group (CONFIG_RT_GROUP_SCHED), and this one has none: \
                      put the shell into the root group: echo $$ > /sys/fs/cgroup/cgroup.procs (cgroup v1: \
                      /sys/fs/cgroup/cpu/tasks), or boot with rt_group_sched=0 (from Linux 6.16 on)"
            .to_owned(),
        (false, true) => remedy_by_user("cap_sys_nice", true),
        (false, false) => format!(
            "{}; or set rtprio to 1 or more for your user in /etc/security/limits.conf, and log in again",
            remedy_by_user("cap_sys_nice", false)
        ),
    }
}

/// Returns whether a process whose /proc/PID/status this is has a capability in effect.
fn has_capability(status: &str, number: u32) -> bool {
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .is_some_and(|set| set >> number & 1 == 1)
}

/// Returns the remedy for a user who may not open perf events; `paranoid` is the largest value of the kernel's setting that
/// permits them.
#[must_use]
pub fn perf_remedy(paranoid: u8) -> String {
    format!("{}; or, as root: sysctl kernel.perf_event_paranoid={paranoid}", remedy("cap_perfmon"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_told_to_become_who_they_are() {
        for (has_right, is_root, expected, absent) in [
            (false, false, "run as root", "docker"),
            (false, true, "--cap-add SYS_NICE", "run as root"),
            (true, true, "cgroup.procs", "run as root"),
        ] {
            let text = fifo_remedy_by(has_right, is_root);
            assert!(text.contains(expected) && !text.contains(absent), "{text}");
        }
        let two = remedy_by_user("cap_bpf,cap_perfmon", true);
        assert!(two.contains("docker run --cap-add BPF --cap-add PERFMON;"), "{two}");
    }

    #[test]
    fn a_capability_is_a_bit_of_the_effective_set() {
        for (status, expected) in [
            ("Name:\tx\nCapPrm:\t000001fffeffffff\nCapEff:\t0000000000800000\n", true),
            ("CapPrm:\t000001fffeffffff\nCapEff:\t000001ffff7fffff\n", false),
            ("CapEff:\tnothing\n", false),
            ("", false),
        ] {
            assert_eq!(has_capability(status, SYS_NICE), expected, "{status}");
        }
    }
}
