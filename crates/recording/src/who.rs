//! Whose the time is that a CPU was away for: threads with their process and unit, and the limits of the run's own cgroup.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the names of threads begin in a redacted recording.
pub(crate) const ALIAS: &str = "user-";
/// What stands for a text that is removed from one.
pub(crate) const REMOVED: &str = "(removed)";

/// A thread that ran on a measured CPU, as /proc showed it while it lived.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeenThread {
    /// Thread id.
    pub tid: i32,
    /// Id of its process.
    pub pid: i32,
    /// Name of the thread.
    pub name: String,
    /// Other names that it had during the run, as one that executes another program has; at most four.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_names: Vec<String>,
    /// Command line of its process, shortened; empty for a thread of the kernel.
    pub command: String,
    /// Its cgroup, as a path.
    pub cgroup: String,
    /// What that is to an administrator: a systemd unit, a pod, a container, a job; absent for the root cgroup.
    pub unit: Option<String>,
    /// For how long it ran between start and end of the run, by its `schedstat`; absent if events show more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran_ns: Option<u64>,
}

impl SeenThread {
    /// Returns whether it is a thread of the kernel, which has no command line.
    #[must_use]
    pub fn is_of_kernel(&self) -> bool {
        self.command.is_empty()
    }

    /// Returns whether this is the thread that has its number and the name `name` in the events. With another name it is
    /// one that had the number at another time. /proc shows longer names of
    /// kernel threads than the events do, and a redacted recording has other names in either place.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        let name = name.trim();
        let longer = self.is_of_kernel() && self.name.starts_with(name);
        let other = self.other_names.iter().any(|other| other.trim() == name);
        self.name == name || other || longer || name.starts_with(ALIAS)
    }
}

/// What the kernel counted over the run for the cgroup of the run and for the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuLimits {
    /// The cgroup of the run, as a path.
    pub cgroup: String,
    /// The cgroup that has a CPU quota: that of the run, or one above it; absent if none has.
    pub limited: Option<String>,
    /// Its quota: CPU time per period, both in microseconds.
    pub quota_us: Option<(u64, u64)>,
    /// Time for which its threads were held back by the quota, added up over CPUs (`cpu.stat`); absent without a quota.
    pub throttled_ns: Option<u64>,
    /// Time in which a runnable thread of the run's cgroup waited for a CPU (`cpu.pressure`, some).
    pub waited_ns: Option<u64>,
    /// Time in which a runnable thread of the machine waited for a CPU (`/proc/pressure/cpu`, some).
    pub machine_waited_ns: Option<u64>,
    /// The other cgroups whose quota held threads of the run back, the longest time first; each for a shorter time than
    /// `limited`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_limited: Vec<HeldBack>,
}

impl CpuLimits {
    /// Returns for how long quotas held threads back at least, in ns, added up over CPUs and over groups that are not inside each
    /// other: a thread may be held back by a group and by one around it at the same time.
    #[must_use]
    pub fn held_ns(&self) -> u64 {
        let name = self.limited.as_deref().unwrap_or_default();
        let longest = self.throttled_ns.map(|ns| (name, ns));
        let others = self.also_limited.iter().map(|group| (&*group.cgroup, group.throttled_ns));
        let groups: Vec<(&str, u64)> = longest.into_iter().chain(others).collect();
        let outermost = groups.iter().enumerate().filter(|&(at, (group, _))| {
            let around = |&(other_at, (other, _)): &(usize, &(&str, u64))| {
                other_at != at && is_inside(group, other) && !(group == other && other_at > at)
            };
            !groups.iter().enumerate().any(|other| around(&other))
        });
        outermost
            .map(|(_, &(group, ns))| held_inside(group, ns, &groups))
            .fold(0, u64::saturating_add)
    }
}

/// Returns whether a cgroup is inside another one, or that one.
fn is_inside(group: &str, other: &str) -> bool {
    let below = group.strip_prefix(other.trim_end_matches('/'));
    below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns for how long a group and those inside it held threads back at least: the longer one of it and of the longest inside it.
fn held_inside(group: &str, own_ns: u64, groups: &[(&str, u64)]) -> u64 {
    let inside = groups.iter().filter(|(other, _)| is_inside(other, group));
    inside.map(|&(_, ns)| ns).fold(own_ns, u64::max)
}

/// What the CPU quota of a cgroup did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldBack {
    /// The cgroup, as its directory.
    pub cgroup: String,
    /// Its quota: CPU time per period, both in microseconds.
    pub quota_us: (u64, u64),
    /// Time for which its threads were held back by the quota, in ns, added up over CPUs (`cpu.stat`).
    pub throttled_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_inside_each_other_hold_the_same_thread_back() {
        let limits = |groups: &[(&str, u64)]| {
            let mut all = groups.iter().map(|&(cgroup, throttled_ns)| HeldBack {
                cgroup: cgroup.into(),
                quota_us: (1, 10),
                throttled_ns,
            });
            let first = all.next();
            CpuLimits {
                limited: first.as_ref().map(|group| group.cgroup.clone()),
                throttled_ns: first.map(|group| group.throttled_ns),
                also_limited: all.collect(),
                ..CpuLimits::default()
            }
        };
        for (name, groups, held_ns) in [
            ("none", &[][..], 0),
            ("one", &[("/a", 7)], 7),
            ("side by side", &[("/a", 7), ("/b", 5)], 12),
            ("inside", &[("/a", 7), ("/a/b", 5)], 7),
            ("inside, for longer", &[("/a/b", 7), ("/a", 5), ("/ab", 1)], 8),
            ("their names were removed", &[("removed", 7), ("removed", 5)], 7),
        ] {
            assert_eq!(limits(groups).held_ns(), held_ns, "case: {name}");
        }
    }
}
