//! The samples of all hosts: each experiment over all CPUs, hosts and CPUs by noise, and those that stand out.

use super::host::{CpuSeries, HostSamples, SampledExperiment, SeriesWithout};
use crate::cluster::adding::{measured_twice, no_host, overlap};
use crate::cluster::counts::LengthsInNs;
use crate::cluster::facts::{HostFacts, few, job, machines, notes, repeated, sorted, span};
use crate::cluster::findings::{about, findings_of_runs};
use crate::cluster::members::outliers;
use crate::cluster::outliers::Looked;
use crate::cluster::{Finding, FindingKind, Job, Machines, Outliers};
use crate::lengths::Lengths;
use crate::stats::Interval;
use anechoic_recording::Problem;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// Steps of the losses of which the share of samples is given: 1, 2 and 5 times a power of ten.
const STEPS: [u64; 3] = [1, 2, 5];
/// The smallest and the largest power of ten, in ns: 10 ns and 10 s.
const POWERS: std::ops::RangeInclusive<u32> = 1..=10;

/// The samples of many hosts together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SampledHosts {
    /// Version of anechoic that joined the hosts.
    pub summarized_by: String,
    /// Methods of measurement, without repetitions.
    pub methods: Vec<String>,
    /// Earliest start, RFC 3339 in UTC.
    pub start_utc: String,
    /// Latest end; absent if a run was cut off.
    pub end_utc: Option<String>,
    /// Parallel job that the hosts took part in; absent if there was none.
    pub job: Option<Job>,
    /// Kinds of hosts, the most frequent first.
    pub machines: Vec<Machines>,
    /// The experiments, in the order in which they were measured.
    pub experiments: Vec<JoinedExperiment>,
    /// Defects of the data set; empty for a sound one.
    pub findings: Vec<Finding>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// One experiment on all hosts. Every sample is compared with the best one of its own CPU, because each host calibrates
/// its work for itself.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JoinedExperiment {
    /// What was measured.
    pub experiment: SampledExperiment,
    /// Number of hosts.
    pub hosts: u64,
    /// Number of samples of all CPUs.
    pub samples: u64,
    /// Noise over all CPUs. Fixed work: time beyond the best samples, divided by the time of as many best samples. Fixed
    /// time: share of the windows' time.
    pub noise: f64,
    /// What a sample lost against the best one of its CPU; absent without samples.
    pub lost: Option<Lengths>,
    /// Share of all samples that lost at least 10, 20, 50, 100, … ns, as far as there are any.
    pub shares: Vec<LostShare>,
    /// The hosts, sorted by decreasing noise.
    pub by_host: Vec<JoinedHost>,
    /// The CPUs, sorted by decreasing noise.
    pub by_cpu: Vec<JoinedCpu>,
    /// Place in `by_cpu` of the CPU whose samples took longest on average, or did least work; absent without samples.
    pub slowest: Option<u64>,
    /// CPUs that are far noisier than the others of their class.
    pub cpu_outliers: Outliers,
    /// Hosts that are far noisier than the others of their CPU model.
    pub host_outliers: Outliers,
}

/// The samples that lost at least some time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LostShare {
    /// The time in ns.
    pub at_least_ns: u64,
    /// Number of samples that lost as much or more. Losses within 0.1 % of the time may be on either side.
    pub samples: u64,
    /// Their share of all samples.
    pub share: f64,
}

/// One host in an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JoinedHost {
    /// Name of the host.
    pub host: String,
    /// Number of its CPUs with samples, in each of its recordings.
    pub cpus: u64,
    /// Number of samples.
    pub samples: u64,
    /// Its noise.
    pub noise: f64,
    /// What a sample lost against the best one of its CPU; absent without samples.
    pub lost: Option<Lengths>,
    /// Its noisiest CPU; absent if that loop was not pinned.
    pub worst_cpu: Option<u32>,
    /// Noise of the noisiest CPU.
    pub worst: f64,
}

/// One CPU in an experiment. Values are ns if the work is fixed, units of work if the time is.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JoinedCpu {
    /// Name of the host.
    pub host: String,
    /// The CPU; absent if the loop was not pinned.
    pub cpu: Option<u32>,
    /// Class of equal CPUs, on all hosts.
    pub class: String,
    /// Number of samples.
    pub samples: u64,
    /// Minimum.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
    /// Noise. Fixed work: mean / minimum − 1. Fixed time: 1 − mean / maximum.
    pub noise: f64,
    /// Its 95 % interval; absent if few parts of the series make up the noise.
    pub interval: Option<Interval>,
    /// The noise that it exceeds with a probability of 97.5 %, also without an interval.
    pub at_least: Option<f64>,
}

/// Joins the samples of hosts, in any order. `left_out` are recordings that could not be read, and why.
///
/// # Errors
///
/// There is no host, or one host was measured twice at the same time.
pub fn join(
    mut hosts: Vec<HostSamples>,
    left_out: &[(String, String)],
) -> Result<SampledHosts, Problem> {
    hosts.sort_by(|a, b| {
        (&a.host, &a.start_utc, &a.recording).cmp(&(&b.host, &b.start_utc, &b.recording))
    });
    let facts: Vec<&HostFacts> = hosts.iter().map(|host| &host.facts).collect();
    let (start_utc, end_utc) = span(&facts).ok_or_else(no_host)?;
    for (two, facts) in hosts.windows(2).zip(facts.windows(2)) {
        if facts[0].host == facts[1].host && overlap(facts[0], facts[1]) {
            return Err(measured_twice(&two[0].host, &two[0].recording, &two[1].recording));
        }
    }
    let mut experiments: Vec<&SampledExperiment> = vec![];
    for series in hosts.iter().flat_map(|host| &host.series) {
        if !experiments.contains(&&series.experiment) {
            experiments.push(&series.experiment);
        }
    }
    let idle = hosts.iter().filter(|host| !host.is_measured()).map(|host| &*host.host);
    let mut findings = findings_of_runs(&facts, sorted(idle), left_out);
    findings.extend(findings_of_samples(&hosts));
    let mut all_notes = notes(&facts);
    if repeated(&facts) > 0 {
        let count = repeated(&facts);
        all_notes
            .push(format!("hosts with several recordings, each with rows of its own: {count}"));
    }
    Ok(SampledHosts {
        summarized_by: env!("CARGO_PKG_VERSION").into(),
        methods: sorted(facts.iter().map(|host| &*host.method)),
        start_utc,
        end_utc,
        job: job(&facts),
        machines: machines(&facts),
        experiments: experiments.into_iter().map(|measured| experiment(measured, &hosts)).collect(),
        findings,
        notes: all_notes,
    })
}

/// Sums over some series of one experiment.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    samples: u64,
    lost_ns: f64,
    whole_ns: f64,
}

impl Sum {
    fn over<'a>(series: impl Iterator<Item = &'a CpuSeries>) -> Self {
        series.fold(Self::default(), |sum, one| Self {
            samples: sum.samples.saturating_add(one.samples),
            lost_ns: sum.lost_ns + one.lost_ns,
            whole_ns: sum.whole_ns + one.whole_ns,
        })
    }

    fn noise(&self) -> f64 {
        if self.whole_ns > 0.0 { self.lost_ns / self.whole_ns } else { 0.0 }
    }
}

/// Returns one experiment over all hosts.
fn experiment(experiment: &SampledExperiment, hosts: &[HostSamples]) -> JoinedExperiment {
    let mut by_name: BTreeMap<&str, Vec<&HostSamples>> = BTreeMap::new();
    for host in
        hosts.iter().filter(|host| host.series.iter().any(|one| one.experiment == *experiment))
    {
        by_name.entry(&host.host).or_default().push(host);
    }
    let mut lost = LengthsInNs::default();
    let (mut sum, mut by_host, mut series) = (Sum::default(), vec![], vec![]);
    for (name, recordings) in by_name {
        let here = recordings.iter().flat_map(|host| &host.series);
        let here: Vec<&CpuSeries> = here.filter(|one| one.experiment == *experiment).collect();
        let mut lost_here = LengthsInNs::default();
        let counts = recordings.iter().flat_map(|host| &host.lost);
        for counts in counts.filter(|counts| counts.experiment == *experiment) {
            lost_here.add(&counts.lost);
            lost.add(&counts.lost);
        }
        let host_sum = Sum::over(here.iter().copied());
        sum = Sum {
            samples: sum.samples.saturating_add(host_sum.samples),
            lost_ns: sum.lost_ns + host_sum.lost_ns,
            whole_ns: sum.whole_ns + host_sum.whole_ns,
        };
        by_host.push(ComparedHost {
            model: &recordings[0].model,
            bound: bound(&here),
            whole_ns: host_sum.whole_ns,
            blocks: together(&here),
            row: host_row(name, &here, host_sum, &lost_here),
        });
        series.extend(here.into_iter().map(|one| (name, one)));
    }
    by_host.sort_by(|a, b| b.row.noise.total_cmp(&a.row.noise));
    series.sort_by(|a, b| b.1.noise().total_cmp(&a.1.noise()));
    let samples = sum.samples;
    JoinedExperiment {
        experiment: experiment.clone(),
        hosts: by_host.len() as u64,
        samples,
        noise: sum.noise(),
        lost: lost.lengths(),
        shares: shares(&lost, samples),
        slowest: slowest(&series),
        cpu_outliers: cpu_outliers(&series),
        host_outliers: host_outliers(&by_host),
        by_cpu: series.into_iter().map(|(host, one)| cpu_row(host, one)).collect(),
        by_host: by_host.into_iter().map(|host| host.row).collect(),
    }
}

fn host_row(name: &str, series: &[&CpuSeries], sum: Sum, lost: &LengthsInNs) -> JoinedHost {
    let worst = series.iter().rev().max_by(|a, b| a.noise().total_cmp(&b.noise()));
    JoinedHost {
        host: name.to_owned(),
        cpus: series.len() as u64,
        samples: sum.samples,
        noise: sum.noise(),
        lost: lost.lengths(),
        worst_cpu: worst.and_then(|one| one.cpu),
        worst: worst.map_or(0.0, |one| one.noise()),
    }
}

fn cpu_row(host: &str, series: &CpuSeries) -> JoinedCpu {
    JoinedCpu {
        host: host.to_owned(),
        cpu: series.cpu,
        class: series.class.clone(),
        samples: series.samples,
        min: series.min,
        mean: series.mean,
        median: series.median,
        p99: series.p99,
        max: series.max,
        noise: series.noise(),
        interval: series.interval,
        at_least: series.at_least,
    }
}

/// Returns the place of the series whose mean is farthest on the slow side.
fn slowest(series: &[(&str, &CpuSeries)]) -> Option<u64> {
    let places = series.iter().enumerate().rev();
    let slowest = places.max_by(|a, b| a.1.1.slowness().total_cmp(&b.1.1.slowness()));
    slowest.map(|(place, _)| place as u64)
}

/// Returns the shares of samples that lost at least so much, from the smallest time on.
fn shares(lost: &LengthsInNs, samples: u64) -> Vec<LostShare> {
    let cells: Vec<(u64, u64)> = lost.cells().collect();
    let times = POWERS.flat_map(|power| STEPS.map(|step| step * 10_u64.pow(power)));
    let share = |at_least_ns: u64| {
        let slower = cells.iter().filter(|&&(ns, _)| ns >= at_least_ns);
        let slower = slower.map(|&(_, count)| count).fold(0, u64::saturating_add);
        LostShare { at_least_ns, samples: slower, share: crate::share(slower, samples) }
    };
    times.map(share).take_while(|step| step.samples > 0).collect()
}

/// A host as it is compared with the others of its CPU model.
struct ComparedHost<'a> {
    model: &'a str,
    /// The noise that it exceeds with a probability of 97.5 %, and its resolution.
    bound: (f64, f64),
    /// Time in ns that `blocks` are a part of.
    whole_ns: f64,
    /// Time in ns that its CPUs lost together in each part of their series.
    blocks: Vec<f64>,
    row: JoinedHost,
}

/// Returns the time in ns that all series lost together in each of their parts.
fn together(series: &[&CpuSeries]) -> Vec<f64> {
    let mut blocks = vec![0.0; series.iter().map(|one| one.blocks.len()).max().unwrap_or(0)];
    for (at, ns) in series.iter().flat_map(|one| one.blocks.iter().enumerate()) {
        blocks[at] += ns;
    }
    blocks
}

/// Returns the noise that a host exceeds with a probability of 97.5 %, whose CPUs are assumed to be independent, and its
/// resolution.
fn bound(series: &[&CpuSeries]) -> (f64, f64) {
    let whole: f64 = series.iter().map(|one| one.whole_ns).sum();
    let noise = Sum::over(series.iter().copied()).noise();
    let below = |one: &&CpuSeries| {
        (one.whole_ns / whole * (one.noise() - one.at_least.unwrap_or(0.0))).powi(2)
    };
    let below: f64 = series.iter().map(below).sum();
    let least =
        series.iter().map(|one| one.least * one.whole_ns / whole).fold(f64::INFINITY, f64::min);
    ((noise - below.sqrt()).max(0.0), least)
}

fn cpu_outliers(series: &[(&str, &CpuSeries)]) -> Outliers {
    let pinned: Vec<&(&str, &CpuSeries)> =
        series.iter().filter(|(_, one)| one.cpu.is_some()).collect();
    let looked: Vec<Looked<'_>> = pinned
        .iter()
        .map(|(_, one)| Looked {
            class: &one.class,
            noise: one.noise(),
            low: one.at_least.unwrap_or(0.0),
            least: one.least,
            wall_ns: one.whole_ns,
            blocks: one.blocks.clone(),
        })
        .collect();
    outliers(&looked, |at| (pinned[at].0.to_owned(), pinned[at].1.cpu))
}

fn host_outliers(hosts: &[ComparedHost<'_>]) -> Outliers {
    let looked: Vec<Looked<'_>> = hosts
        .iter()
        .map(|host| Looked {
            class: host.model,
            noise: host.row.noise,
            low: host.bound.0,
            least: host.bound.1,
            wall_ns: host.whole_ns,
            blocks: host.blocks.clone(),
        })
        .collect();
    outliers(&looked, |at| (hosts[at].row.host.clone(), None))
}

/// Finds samples that were lost or wrong.
fn findings_of_samples(hosts: &[HostSamples]) -> Vec<Finding> {
    let (all, names) = counted(hosts, lost_samples);
    let lost =
        about(FindingKind::Losses, names, |hosts| format!("{all} samples were lost on {hosts}"));
    let (all, names) = counted(hosts, wrong_samples);
    let wrong = about(FindingKind::WrongResults, names, |hosts| {
        format!(
            "the work of {all} samples returned a wrong value on {hosts}; do not trust these machines"
        )
    });
    lost.into_iter().chain(hosts.iter().flat_map(not_used)).chain(wrong).collect()
}

/// Returns the sum of a count over all hosts, and the names of the hosts that have some.
fn counted(hosts: &[HostSamples], count: fn(&HostSamples) -> u64) -> (u64, Vec<String>) {
    let names = sorted(hosts.iter().filter(|host| count(host) > 0).map(|host| &*host.host));
    (hosts.iter().map(count).fold(0, u64::saturating_add), names)
}

fn lost_samples(host: &HostSamples) -> u64 {
    let without = host.without.iter().map(|series| series.lost_samples);
    let with = host.series.iter().map(|series| series.lost_samples);
    with.chain(without).fold(0, u64::saturating_add)
}

fn wrong_samples(host: &HostSamples) -> u64 {
    let without = host.without.iter().map(|series| series.wrong);
    let with = host.series.iter().map(|series| series.wrong);
    with.chain(without).fold(0, u64::saturating_add)
}

/// Names the series of a host of which no sample can be used: no table has a row of them.
fn not_used(host: &HostSamples) -> Vec<Finding> {
    let mut experiments: Vec<&SampledExperiment> = vec![];
    for experiment in host.without.iter().map(|experiment| &experiment.experiment) {
        if !experiments.contains(&experiment) {
            experiments.push(experiment);
        }
    }
    experiments.into_iter().map(|experiment| not_used_of(experiment, host)).collect()
}

/// Names the series of an experiment on a host of which no sample can be used.
fn not_used_of(experiment: &SampledExperiment, host: &HostSamples) -> Finding {
    let here = || host.without.iter().filter(|series| series.experiment == *experiment);
    let cpu = |cpu: Option<u32>| cpu.map_or("any CPU".into(), |cpu| format!("CPU {cpu}"));
    let cpus: Vec<String> = here().map(|series| cpu(series.cpu)).collect();
    let sum = |count: fn(&SeriesWithout) -> u64| here().map(count).fold(0, u64::saturating_add);
    let (samples, lost) = (sum(|series| series.samples), sum(|series| series.lost_samples));
    let (cpus, host) = (few(&cpus), &host.host);
    let what = format!("{} on {cpus} of {host}", named(experiment));
    let text = if samples == lost && lost > 0 {
        format!("all {lost} samples of {what} were lost, so that no table has them")
    } else {
        format!(
            "no sample of {what} can be used, so that no table has them: {samples} were taken, {lost} of them lost"
        )
    };
    Finding { kind: FindingKind::Losses, hosts: vec![host.clone()], text }
}

/// Returns the words for an experiment: `counter of 250µs, fifo 50`.
fn named(experiment: &SampledExperiment) -> String {
    let mut name = experiment.variant.clone();
    if let Some(ns) = experiment.grain_ns {
        name.push_str(&format!(" of {:?}", Duration::from_nanos(ns)));
    }
    if !experiment.policy.is_other() {
        name.push_str(&format!(", {}", experiment.policy.as_str()));
    }
    name
}
