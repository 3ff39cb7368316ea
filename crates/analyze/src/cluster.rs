//! Many hosts that were measured together, or one after the other: how noisy all are, which of them stands out,
//! and how noise grows with the CPUs and hosts that are used.
//!
//! Each host is added up by itself ([`HostSummary::of`]), where its recording lies; what it sends is small.
//! [`ClusterOf`] takes these one by one, in any order, and keeps little of each.

mod adding;
mod counts;
mod findings;
mod host;
mod outliers;
mod ranked;
mod together;
mod used;

pub use adding::ClusterOf;
pub use counts::LengthCounts;
pub use findings::{Finding, FindingKind};
pub use host::{HOST_DIR, HostCpu, HostSource, HostSummary, host_name};
pub use outliers::{ClassSpread, FEWEST, Outlier, Outliers};
pub use together::{AnyAway, FirstCpus};

use crate::lengths::Lengths;
use crate::stats::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What many hosts say together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cluster {
    /// Version of anechoic that added up.
    pub summarized_by: String,
    /// What was measured, the same on all hosts or each: `detours`, or the method of its series.
    pub methods: Vec<String>,
    /// The earliest start, RFC 3339 in UTC.
    pub start_utc: String,
    /// The latest end; absent where a run was cut off.
    pub end_utc: Option<String>,
    /// The parallel job that the hosts were a part of; absent where it was none.
    pub job: Option<Job>,
    /// The lowest threshold of a host,
    pub threshold_ns: u64,
    /// and the highest.
    pub highest_threshold_ns: u64,
    /// The kinds of hosts, the most frequent first.
    pub machines: Vec<Machines>,
    /// All measured CPUs of all hosts.
    pub total: ClusterNoise,
    /// The hosts, the noisiest first.
    pub hosts: Vec<HostNoise>,
    /// The CPUs, the noisiest first.
    pub cpus: Vec<ClusterCpu>,
    /// CPUs that are far noisier than the others of their class.
    pub cpu_outliers: Outliers,
    /// Hosts that are far noisier than the others of their CPU model.
    pub host_outliers: Outliers,
    /// What took the time, over all hosts; absent where nothing was attributed on any.
    pub sources: Option<ClusterSources>,
    /// The first 1, 2, 4, … CPUs of each host, by number.
    pub by_cpus: Vec<Used>,
    /// The first 1, 2, 4, … hosts, by name, with all their CPUs.
    pub by_hosts: Vec<Used>,
    /// What makes this less than it should be; none of a sound data set.
    pub findings: Vec<Finding>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// A parallel job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// What joined its ranks.
    pub through: String,
    /// Its ranks.
    pub ranks: u32,
    /// Its hosts.
    pub hosts: u32,
}

/// Hosts that are alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Machines {
    /// How many.
    pub hosts: u64,
    /// CPU model name.
    pub model: String,
    /// Kernel release and version.
    pub kernel: String,
    /// Hypervisor, where there is one.
    pub hypervisor: Option<String>,
    /// Version of anechoic that measured.
    pub measured_by: String,
}

/// All hosts together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterNoise {
    /// Hosts.
    pub hosts: u64,
    /// Measured CPUs.
    pub cpus: u64,
    /// Sum of their wall times.
    pub wall_ns: u64,
    /// Time that they lost.
    pub lost_ns: u64,
    /// Lost time over wall time. With lost detours, at least this.
    pub noise: f64,
    /// Its 95 % interval, from those of the hosts, which are taken to be independent; absent where one has none.
    pub interval: Option<Interval>,
    /// Detours.
    pub detours: u64,
    /// Detours a second of one CPU, the mean.
    pub rate_per_s: f64,
    /// How long they were, all together; absent where there were none.
    pub lengths: Option<Lengths>,
    /// Detours that found no free buffer, or no space on the disk.
    pub lost_detours: u64,
    /// How the CPUs' noise is spread.
    pub of_cpus: Quantiles,
    /// How the hosts' noise is spread.
    pub of_hosts: Quantiles,
}

/// Quantiles of a set of shares; all 0 of none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quantiles {
    /// The least.
    pub least: f64,
    /// Half are at most this.
    pub median: f64,
    /// Nine in ten are at most this.
    pub p90: f64,
    /// The most.
    pub most: f64,
}

/// One host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostNoise {
    /// The host.
    pub host: String,
    /// Its recordings, from different times.
    pub recordings: u64,
    /// Its measured CPUs.
    pub cpus: u64,
    /// Sum of their wall times.
    pub wall_ns: u64,
    /// Time that they lost.
    pub lost_ns: u64,
    /// Lost time over wall time.
    pub noise: f64,
    /// Its 95 % interval; absent where the run was too short for one.
    pub interval: Option<Interval>,
    /// Detours a second of one CPU, the mean.
    pub rate_per_s: f64,
    /// Its noisiest CPU; absent where none was measured,
    pub worst_cpu: Option<u32>,
    /// and the noise of that.
    pub worst: f64,
    /// The longest detour; absent where there was none.
    pub max_ns: Option<u64>,
}

/// One CPU of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterCpu {
    /// The host.
    pub host: String,
    /// The CPU.
    pub cpu: u32,
    /// Class of equal CPUs, on all hosts.
    pub class: String,
    /// Time that its loop ran.
    pub wall_ns: u64,
    /// Time that it lost.
    pub lost_ns: u64,
    /// Lost time over wall time.
    pub noise: f64,
    /// Its 95 % interval; absent where the run was too short for one.
    pub interval: Option<Interval>,
    /// Detours a second.
    pub rate_per_s: f64,
    /// 99 % of its detours are at most this long, in that of its recordings where they are longest; absent where there
    /// were none.
    pub p99_ns: Option<u64>,
    /// The longest; absent where there was none.
    pub max_ns: Option<u64>,
    /// Detours that found no free buffer, or no space on the disk.
    pub lost_detours: u64,
}

/// What took the time, over all hosts where that is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterSources {
    /// Hosts where it is known.
    pub hosts: u64,
    /// The sources, the largest first.
    pub rows: Vec<ClusterSource>,
    /// Share of those hosts' lost time that no activity tells of.
    pub unattributed: f64,
}

/// One source over all hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterSource {
    /// Identifier of the source.
    pub source: String,
    /// Which of that source's; empty where there is one only.
    pub name: String,
    /// Hosts that it touched.
    pub hosts: u64,
    /// CPUs that it touched.
    pub cpus: u64,
    /// Its time as a share of all lost time, with the gaps around it.
    pub share: f64,
    /// Its time as a share of the wall time of all CPUs of those hosts: the noise that it makes.
    pub noise: f64,
    /// Detours that it had a part in, per second of one CPU, the mean of the CPUs that it touched.
    pub rate_per_s: f64,
    /// What it took of a detour, the mean.
    pub mean_ns: f64,
    /// The most that it took of one.
    pub max_ns: u64,
    /// The host on which it took most,
    pub most_on: String,
    /// and the part of its time that this was.
    pub most_share: f64,
}

/// Some of the CPUs, while all were measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Used {
    /// CPUs of each host, or hosts.
    pub count: u64,
    /// Hosts that these are the figures of.
    pub hosts: u64,
    /// Their lost time over their wall time.
    pub noise: f64,
    /// The noise of the worst CPU.
    pub worst: f64,
    /// Share of the time in which at least one of these CPUs was in a detour. Of one host it is measured, of CPUs by
    /// number the mean over hosts; hosts, whose clocks are not joined, are taken to be independent. Absent where the
    /// CPUs of a host had no common time.
    pub any: Option<f64>,
}
