//! Many hosts that were measured together or one after the other: their noise, outliers, and how noise grows with the
//! number of CPUs and hosts used.
//!
//! Each host is summarised where its recording is ([`HostSummary::from_recording`]), and sends only a small summary.
//! [`ClusterBuilder`] adds these one by one in any order and keeps little of each.

pub(crate) mod adding;
pub(crate) mod counts;
pub(crate) mod facts;
pub(crate) mod findings;
mod host;
pub(crate) mod members;
pub(crate) mod outliers;
pub(crate) mod ranked;
#[cfg(test)]
mod recomputed_tests;
mod together;
mod used;
mod why;

pub use adding::ClusterBuilder;
pub use counts::LengthCounts;
pub use facts::{HOST_DIR, HostFacts, host_name};
pub use findings::{Finding, FindingKind};
pub(crate) use host::settings;
pub use host::{HostCpu, HostSource, HostSummary};
pub use outliers::{ClassSpread, FEWEST, Outlier, Outliers};
pub use together::{AnyAway, FirstCpus};
pub use why::{Excess, HostDifference, NOISIER, OtherSetting};

use crate::lengths::Lengths;
use crate::stats::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The results of many hosts together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cluster {
    /// Version of anechoic that combined the hosts.
    pub summarized_by: String,
    /// Methods of measurement on the hosts, without repetitions: `detours`, or the method of the series.
    pub methods: Vec<String>,
    /// Earliest start, RFC 3339 in UTC.
    pub start_utc: String,
    /// Latest end; absent if a run was cut off.
    pub end_utc: Option<String>,
    /// Parallel job that the hosts took part in; absent if there was none.
    pub job: Option<Job>,
    /// Lowest threshold of a host, in ns.
    pub threshold_ns: u64,
    /// Highest threshold of a host, in ns.
    pub highest_threshold_ns: u64,
    /// Kinds of hosts, the most frequent first.
    pub machines: Vec<Machines>,
    /// All measured CPUs of all hosts.
    pub total: ClusterNoise,
    /// The hosts, sorted by decreasing noise.
    pub hosts: Vec<HostNoise>,
    /// The CPUs, sorted by decreasing noise.
    pub cpus: Vec<ClusterCpu>,
    /// CPUs that are far noisier than the others of their class.
    pub cpu_outliers: Outliers,
    /// Hosts that are far noisier than the others of their CPU model.
    pub host_outliers: Outliers,
    /// Why the noisiest hosts differ from the others, at most three; empty if none does, absent if the version that combined
    /// the hosts did not compare them.
    #[serde(default)]
    pub differences: Option<Vec<HostDifference>>,
    /// Sources of the lost time over all hosts; absent if no host has attribution.
    pub sources: Option<ClusterSources>,
    /// Noise of the first 1, 2, 4, … CPUs of each host, by number.
    pub by_cpus: Vec<Used>,
    /// Noise of the first 1, 2, 4, … hosts by name, with all their CPUs.
    pub by_hosts: Vec<Used>,
    /// Defects of the data set; empty for a sound one.
    pub findings: Vec<Finding>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// A parallel job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// How its ranks were joined.
    pub through: String,
    /// Number of ranks.
    pub ranks: u32,
    /// Number of hosts.
    pub hosts: u32,
}

/// Hosts of the same kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Machines {
    /// Number of hosts.
    pub hosts: u64,
    /// CPU model name.
    pub model: String,
    /// Kernel release and version.
    pub kernel: String,
    /// Name of the hypervisor, if there is one.
    pub hypervisor: Option<String>,
    /// Version of anechoic that measured.
    pub measured_by: String,
}

/// All hosts together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterNoise {
    /// Number of hosts.
    pub hosts: u64,
    /// Number of measured CPUs.
    pub cpus: u64,
    /// Sum of their wall times.
    pub wall_ns: u64,
    /// Lost time.
    pub lost_ns: u64,
    /// Lost time divided by wall time; a lower bound if detours were lost.
    pub noise: f64,
    /// Its 95 % interval from those of the hosts, which are assumed to be independent; absent if any host has none.
    pub interval: Option<Interval>,
    /// The noise that it exceeds with a probability of 97.5 %, also without an interval.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// Number of detours.
    pub detours: u64,
    /// Detours per second and CPU, the mean.
    pub rate_per_s: f64,
    /// Lengths of all detours; absent without detours.
    pub lengths: Option<Lengths>,
    /// Number of detours that found no free buffer, or no space on the disk.
    pub lost_detours: u64,
    /// Distribution of the CPUs' noise.
    pub of_cpus: Quantiles,
    /// Distribution of the hosts' noise.
    pub of_hosts: Quantiles,
}

/// Quantiles of a set of shares; all 0 for an empty set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quantiles {
    /// Minimum.
    pub least: f64,
    /// Median.
    pub median: f64,
    /// 90th percentile.
    pub p90: f64,
    /// Maximum.
    pub most: f64,
}

/// One host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostNoise {
    /// Name of the host.
    pub host: String,
    /// Number of its recordings, from different times.
    pub recordings: u64,
    /// Number of its measured CPUs.
    pub cpus: u64,
    /// Sum of their wall times.
    pub wall_ns: u64,
    /// Lost time.
    pub lost_ns: u64,
    /// Lost time divided by wall time.
    pub noise: f64,
    /// Its 95 % interval; absent if the run was too short or few events make up the noise.
    pub interval: Option<Interval>,
    /// The noise that it exceeds with a probability of 97.5 %, also without an interval.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// Detours per second and CPU, the mean.
    pub rate_per_s: f64,
    /// Its noisiest CPU; absent where none was measured.
    pub worst_cpu: Option<u32>,
    /// Noise of the noisiest CPU.
    pub worst: f64,
    /// The longest detour; absent where there was none.
    pub max_ns: Option<u64>,
    /// Share of the wall time that a pace slower than calm took between detours, besides the noise; absent where it was not
    /// recorded of all CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow: Option<f64>,
    /// Median over its CPUs of the time of an iteration at the calm pace, in ns; absent likewise. That of equal hosts is equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calm_ns: Option<f64>,
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
    /// Its 95 % interval; absent if the run was too short or few events make up the noise.
    pub interval: Option<Interval>,
    /// The noise that it exceeds with a probability of 97.5 %, also without an interval.
    #[serde(default)]
    pub at_least: Option<f64>,
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
    /// Number of hosts whose sources are known.
    pub hosts: u64,
    /// The sources, sorted by decreasing time.
    pub rows: Vec<ClusterSource>,
    /// Share of these hosts' lost time without a recorded activity.
    pub unattributed: f64,
}

/// One source over all hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterSource {
    /// Identifier of the source.
    pub source: String,
    /// Name within the source; empty if there is only one.
    pub name: String,
    /// Number of hosts on which it occurred.
    pub hosts: u64,
    /// Number of CPUs on which it occurred.
    pub cpus: u64,
    /// Share of all lost time, including the gaps around it.
    pub share: f64,
    /// Share of the wall time of all CPUs of these hosts, which is its noise.
    pub noise: f64,
    /// Detours that contain it per second and CPU, the mean over the CPUs on which it occurred.
    pub rate_per_s: f64,
    /// Mean of its time per detour, in ns.
    pub mean_ns: f64,
    /// Maximum of its time in one detour, in ns.
    pub max_ns: u64,
    /// Host on which it took most.
    pub most_on: String,
    /// Share of its time that it took there.
    pub most_share: f64,
}

/// Noise of some of the CPUs, over the time in which all were measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Used {
    /// Number of CPUs of each host, or of hosts.
    pub count: u64,
    /// Number of hosts that these results are from.
    pub hosts: u64,
    /// Lost time divided by wall time.
    pub noise: f64,
    /// Noise of the worst CPU.
    pub worst: f64,
    /// Share of the time in which at least one of these CPUs was in a detour. Within a host it is measured, and for
    /// CPUs by number it is the mean over hosts; hosts, whose clocks are not joined, are assumed to be independent.
    /// Absent if the CPUs of a host were never measured at the same time.
    pub any: Option<f64>,
}
