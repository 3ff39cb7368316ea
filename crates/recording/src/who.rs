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
    /// Returns for how long quotas held threads back, in ns, added up over CPUs and groups.
    #[must_use]
    pub fn held_ns(&self) -> u64 {
        let others = self.also_limited.iter().map(|group| group.throttled_ns);
        others.chain(self.throttled_ns).fold(0, u64::saturating_add)
    }
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
