//! Combines hosts one by one.

use super::counts::{LengthCounts, LengthsInNs};
use super::facts::{HostFacts, job, machines, notes, repeated, span};
use super::findings::findings;
use super::host::HostSummary;
use super::members::{cpu_outliers, host_outliers};
use super::ranked::{Runs, by_host, cpus_of, host_of, quantiles, rate_per_s, runs_of, saturated};
use super::used::{by_cpus, by_hosts, share};
use super::why::{BySource, differences};
use super::{Cluster, ClusterCpu, ClusterNoise, ClusterSource, ClusterSources, HostNoise};
use crate::stats::Bounds;
use anechoic_recording::{Problem, ProblemKind};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Combines the summaries of hosts in any order and keeps little of each: a fixed size for every CPU.
#[derive(Debug, Clone, Default)]
pub struct ClusterBuilder {
    /// The summaries without what is combined immediately.
    parts: Vec<HostSummary>,
    /// Indices of each host's recordings in `parts`.
    places: BTreeMap<String, Vec<usize>>,
    left_out: Vec<(String, String)>,
    lengths: LengthsInNs,
    sources: BTreeMap<(String, String), SourceBuilder>,
}

/// Sums for one source.
#[derive(Debug, Clone, Default)]
struct SourceBuilder {
    detours: u64,
    lost_ns: u128,
    max_ns: u64,
    /// Wall time of the CPUs on which it occurred, from their mean on each host.
    touched_ns: u128,
    /// Its time on each host, and the number of CPUs on which it occurred there.
    by_host: BTreeMap<String, (u64, u64)>,
}

impl ClusterBuilder {
    /// Returns an empty collection.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a recording of a host; several recordings of one host from different times count as one.
    ///
    /// # Errors
    ///
    /// Another recording of the same host is from the same time, or the recording was added before under the name of
    /// another host. Nothing is added in this case.
    pub fn add(&mut self, mut host: HostSummary) -> Result<(), Problem> {
        let places = self.places.entry(host.host.clone()).or_default();
        if let Some(&same) =
            places.iter().find(|&&place| overlap(&self.parts[place].facts, &host.facts))
        {
            let first = &self.parts[same].recording;
            return Err(measured_twice(&host.host, first, &host.recording));
        }
        if let Some(copy) = self.parts.iter().find(|part| is_copy(part, &host)) {
            let named = |part: &HostSummary| [part.recording.clone(), part.host.clone()];
            return Err(copied(named(copy), named(&host)));
        }
        let places = self.places.entry(host.host.clone()).or_default();
        places.push(self.parts.len());
        self.lengths.add(&host.lengths);
        let wall_ns: u128 = host.cpus.iter().map(|cpu| u128::from(cpu.wall_ns)).sum();
        let cpus = host.cpus.len().max(1) as u128;
        let sources = host.sources.as_mut().map(std::mem::take); // an empty list still states that it is attributed
        for source in sources.into_iter().flatten() {
            let sums = self.sources.entry((source.source, source.name)).or_default();
            sums.detours = sums.detours.saturating_add(source.detours);
            sums.lost_ns += u128::from(source.lost_ns);
            sums.max_ns = sums.max_ns.max(source.max_ns);
            let touched_ns = wall_ns.saturating_mul(u128::from(source.cpus)) / cpus;
            sums.touched_ns = sums.touched_ns.saturating_add(touched_ns);
            let here = sums.by_host.entry(host.host.clone()).or_default();
            *here = (here.0.saturating_add(source.lost_ns), here.1.max(source.cpus));
        }
        host.lengths = LengthCounts::default();
        self.parts.push(host);
        Ok(())
    }

    /// Notes a recording that could not be read, and why, for the result.
    pub fn leave_out(&mut self, recording: &str, why: &str) {
        self.left_out.push((recording.to_owned(), why.to_owned()));
    }

    /// Returns the result for all hosts, which does not depend on their order.
    ///
    /// # Errors
    ///
    /// No host was added.
    pub fn finish(mut self) -> Result<Cluster, Problem> {
        self.parts.sort_by(|a, b| {
            (&a.host, &a.start_utc, &a.recording).cmp(&(&b.host, &b.start_utc, &b.recording))
        });
        self.left_out.sort();
        let parts = &self.parts[..];
        let facts: Vec<&HostFacts> = parts.iter().map(|part| &part.facts).collect();
        let (start_utc, end_utc) = span(&facts).ok_or_else(no_host)?;
        let thresholds = || parts.iter().map(|part| part.threshold_ns);
        let (hosts, cpus) = ranked(parts);
        let methods: BTreeSet<&String> = parts.iter().map(|part| &part.method).collect();
        Ok(Cluster {
            summarized_by: env!("CARGO_PKG_VERSION").into(),
            methods: methods.into_iter().cloned().collect(),
            start_utc,
            end_utc,
            job: job(&facts),
            threshold_ns: thresholds().min().unwrap_or(0),
            highest_threshold_ns: thresholds().max().unwrap_or(0),
            machines: machines(&facts),
            total: self.total(&hosts, &cpus),
            cpu_outliers: cpu_outliers(&cpus, parts),
            host_outliers: host_outliers(&hosts, parts),
            differences: Some(differences(&hosts, parts, &self.by_source())),
            sources: self.sources(),
            by_cpus: by_cpus(parts),
            by_hosts: by_hosts(parts),
            findings: findings(parts, &self.left_out),
            notes: all_notes(&facts),
            hosts,
            cpus,
        })
    }

    fn total(&self, hosts: &[HostNoise], cpus: &[ClusterCpu]) -> ClusterNoise {
        let mut all = Runs::default();
        for recordings in by_host(&self.parts).values() {
            let host = runs_of(recordings);
            let (wall_ns, lost_ns) = (saturated(host.wall_ns), saturated(host.lost_ns));
            all.add(wall_ns, lost_ns, host.detours, host.bounds());
        }
        let Bounds { interval, at_least } = all.bounds();
        ClusterNoise {
            hosts: hosts.len() as u64,
            cpus: cpus.len() as u64,
            wall_ns: saturated(all.wall_ns),
            lost_ns: saturated(all.lost_ns),
            noise: all.noise(),
            interval,
            at_least,
            detours: all.detours,
            rate_per_s: all.rate_per_s(),
            lengths: self.lengths.lengths(),
            lost_detours: cpus.iter().map(|cpu| cpu.lost_detours).fold(0, u64::saturating_add),
            of_cpus: quantiles(cpus.iter().map(|cpu| cpu.noise)),
            of_hosts: quantiles(hosts.iter().map(|host| host.noise)),
        }
    }

    /// Returns the time of each source on each host.
    fn by_source(&self) -> BySource {
        let sources = self.sources.iter();
        sources.map(|(name, builder)| (name.clone(), builder.lost_by_host())).collect()
    }

    fn sources(&self) -> Option<ClusterSources> {
        let parts: Vec<&HostSummary> = self.parts.iter().filter(|p| p.sources.is_some()).collect();
        let hosts: BTreeSet<&str> = parts.iter().map(|part| &*part.host).collect();
        let all = runs_of(&parts);
        let attributed_ns: u128 = self.sources.values().map(|builder| builder.lost_ns).sum();
        let mut sources: Vec<_> = self.sources.iter().collect();
        sources.sort_by_key(|(name, builder)| (Reverse(builder.lost_ns), *name));
        (!parts.is_empty()).then(|| ClusterSources {
            hosts: hosts.len() as u64,
            rows: sources.into_iter().map(|(name, builder)| builder.row(name, &all)).collect(),
            unattributed: share(all.lost_ns.saturating_sub(attributed_ns), all.lost_ns),
        })
    }
}

impl SourceBuilder {
    /// Returns its time on each host.
    fn lost_by_host(&self) -> BTreeMap<String, u64> {
        self.by_host.iter().map(|(host, (lost_ns, _))| (host.clone(), *lost_ns)).collect()
    }

    fn row(&self, (source, name): &(String, String), all: &Runs) -> ClusterSource {
        // Of equals the first by name.
        let most = self.by_host.iter().rev().max_by_key(|(_, (lost_ns, _))| *lost_ns);
        let (most_on, most_ns) =
            most.map_or((String::new(), 0), |(host, (lost_ns, _))| (host.clone(), *lost_ns));
        ClusterSource {
            source: source.clone(),
            name: name.clone(),
            hosts: self.by_host.len() as u64,
            cpus: self.by_host.values().map(|(_, cpus)| *cpus).fold(0, u64::saturating_add),
            share: share(self.lost_ns, all.lost_ns),
            noise: share(self.lost_ns, all.wall_ns),
            rate_per_s: rate_per_s(self.detours, self.touched_ns),
            mean_ns: share(self.lost_ns, u128::from(self.detours)),
            max_ns: self.max_ns,
            most_on,
            most_share: share(u128::from(most_ns), self.lost_ns),
        }
    }
}

/// Whether two recordings of one host cannot both be of one machine. Where the end is not known, the start alone
/// counts.
pub(crate) fn overlap(a: &HostFacts, b: &HostFacts) -> bool {
    let end = |host: &HostFacts| host.end_utc.as_ref().unwrap_or(&host.start_utc).clone();
    a.start_utc == b.start_utc || (a.start_utc < end(b) && b.start_utc < end(a))
}

/// Whether two recordings are one: no two hosts start and end in the same microseconds with the same detours.
fn is_copy(a: &HostSummary, b: &HostSummary) -> bool {
    (&a.start_utc, &a.end_utc, &a.cpus) == (&b.start_utc, &b.end_utc, &b.cpus)
}

/// Sorts hosts and CPUs by decreasing noise, equal ones by name and number.
fn ranked(parts: &[HostSummary]) -> (Vec<HostNoise>, Vec<ClusterCpu>) {
    let (mut hosts, mut all) = (vec![], vec![]);
    for (host, recordings) in by_host(parts) {
        let cpus = cpus_of(host, &recordings);
        hosts.push(host_of(host, &recordings, &cpus));
        all.extend(cpus);
    }
    hosts.sort_by(|a, b| b.noise.total_cmp(&a.noise));
    all.sort_by(|a, b| b.noise.total_cmp(&a.noise));
    (hosts, all)
}

fn all_notes(facts: &[&HostFacts]) -> Vec<String> {
    let mut notes = notes(facts);
    match repeated(facts) {
        0 => {}
        count => notes.push(format!("hosts with several recordings, which count as one: {count}")),
    }
    notes
}

/// Returns an error: one host was measured twice at the same time, so it is a copy, or two machines with one name.
pub(crate) fn measured_twice(host: &str, first: &str, second: &str) -> Problem {
    let why = format!("{first} and {second} both claim to be host {host} at the same time");
    let remedy =
        "remove the copy or, if they are two machines, rename their directories to host=NAME";
    ProblemKind::Data.problem(why, remedy)
}

/// Returns an error: one recording is there twice, under the names of two hosts. Each is its path and that name.
pub(crate) fn copied([first, its_host]: [String; 2], [second, other_host]: [String; 2]) -> Problem {
    let why = format!(
        "{first} and {second} are copies of one recording, under the names {its_host} and {other_host}"
    );
    ProblemKind::Data.problem(why, "remove the copy")
}

pub(crate) fn no_host() -> Problem {
    let remedy = "give a directory with a recording of each host";
    ProblemKind::NoInput.problem("no host could be read", remedy)
}
