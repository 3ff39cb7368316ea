//! The wake-ups of many hosts together: the latencies of each, the hosts on which more are late than on the others, and what
//! took the time on all of them.

use super::BEYOND;
use super::host::{HostWakeups, KindOnHost};
use super::kind::Kind;
use crate::cluster::adding::{copied, measured_twice, no_host, overlap};
use crate::cluster::counts::LengthsInNs;
use crate::cluster::facts::{HostFacts, few, job, machines, notes, repeated, sorted, span};
use crate::cluster::findings::{about, doubtful, findings_of_runs};
use crate::cluster::outliers::{ALPHA, FEWEST, Looked, judge};
use crate::cluster::{Finding, FindingKind, Job, Machines};
use crate::stats::{Interval, dispersion, fewest_events, share_of_events};
use anechoic_recording::{Problem, ProblemKind};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

mod sources;

pub use sources::JoinedSource;
use sources::{most, sources, unknown};

/// The wake-ups of many hosts together. Quantiles are exact to 0.1 %.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WakeupHosts {
    /// Version of anechoic that joined the hosts.
    pub summarized_by: String,
    /// Earliest start, RFC 3339 in UTC.
    pub start_utc: String,
    /// Latest end; absent if a run was cut off.
    pub end_utc: Option<String>,
    /// Parallel job that the hosts took part in; absent if there was none.
    pub job: Option<Job>,
    /// Kinds of hosts, the most frequent first.
    pub machines: Vec<Machines>,
    /// Scheduling of the threads, without repetitions.
    pub policies: Vec<String>,
    /// A wake-up that took longer counts as late, in nanoseconds; absent if no thread slept on any host.
    pub late_ns: Option<u64>,
    /// The kinds of wake-ups.
    pub kinds: Vec<JoinedKind>,
    /// Hosts on which a larger share is late than on the others of their CPU model.
    pub late_hosts: LateHosts,
    /// What took the time of the wake-ups, over all hosts on which that is known; the largest part of the late ones first.
    pub sources: Vec<JoinedSource>,
    /// The part of the time of late wake-ups with kernel events which is not known, because events were lost or hidden, on all
    /// hosts with sources (0 to 1); absent if they have no late ones.
    pub unknown_share_late: Option<f64>,
    /// Defects of the data set; empty for a sound one.
    pub findings: Vec<Finding>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// The wake-ups of one kind on all hosts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JoinedKind {
    /// How the threads slept.
    pub kind: Kind,
    /// All hosts together.
    pub total: JoinedLatencies,
    /// The hosts: those with the largest share of late ones first, then those with the longest wake-up.
    pub hosts: Vec<JoinedLatencies>,
}

/// The wake-ups of one kind on one host, or on all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct JoinedLatencies {
    /// Name of the host; empty for all together.
    pub host: String,
    /// Number of CPUs that were measured.
    pub cpus: u64,
    /// Number of wake-ups.
    pub samples: u64,
    /// Number that were measured and not stored.
    pub lost: u64,
    /// Number of further expiries that passed before a thread could sleep again.
    pub overruns: u64,
    /// The median in nanoseconds; absent without wake-ups.
    pub p50_ns: Option<u64>,
    /// The 99th percentile in nanoseconds; absent for fewer than 1,000 wake-ups.
    pub p99_ns: Option<u64>,
    /// The 99.9th percentile in nanoseconds; absent for fewer than 10,000 wake-ups.
    pub p999_ns: Option<u64>,
    /// The longest in nanoseconds; absent without wake-ups.
    pub max_ns: Option<u64>,
    /// Number of late wake-ups.
    pub late: u64,
    /// Their share: the smallest and the largest that agree with their number, each with a probability of 95 %; absent without
    /// wake-ups.
    pub late_share: Option<Interval>,
    /// Identifier of the source that took most of the late wake-ups of this kind, or of all if none is late; absent if it is not
    /// known, or if more of their time is unknown.
    pub source: Option<String>,
    /// Which instance of that source.
    pub name: Option<String>,
    /// The part of the time of the late wake-ups, or of all if none is late, which is not known, because events were lost or
    /// hidden (0 to 1); absent if no source is known.
    pub unknown_share: Option<f64>,
}

/// Hosts on which a larger share of the wake-ups is late than on the others.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LateHosts {
    /// Largest probability of any false name.
    pub alpha: f64,
    /// Smallest number of hosts of one CPU model that are compared.
    pub fewest: u64,
    /// Number of hosts that were compared, once for each kind of wake-ups.
    pub judged: u64,
    /// The hosts that stand out.
    pub found: Vec<LateHost>,
    /// The assumptions, in words.
    pub assumes: String,
}

/// A host on which a larger share of the wake-ups is late than chance explains.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LateHost {
    /// Name of the host.
    pub host: String,
    /// How the threads slept.
    pub kind: Kind,
    /// Number of late wake-ups.
    pub late: u64,
    /// Their share.
    pub share: f64,
    /// Ratio to the median share of the hosts of its CPU model; absent if that is 0.
    pub ratio: Option<f64>,
    /// Probability of such a share on any of the hosts that were compared if all were equal.
    pub p: f64,
}

/// Joins the wake-ups of hosts, in any order. `left_out` are recordings that could not be read, and why.
///
/// # Errors
/// There is no host, one was measured twice at the same time, or hosts with wake-ups count as late what took longer than different
/// limits.
pub fn join(
    mut parts: Vec<HostWakeups>,
    left_out: &[(String, String)],
) -> Result<WakeupHosts, Problem> {
    parts.sort_by(|a, b| {
        (&a.host, &a.start_utc, &a.recording).cmp(&(&b.host, &b.start_utc, &b.recording))
    });
    let facts: Vec<&HostFacts> = parts.iter().map(|part| &part.facts).collect();
    let (start_utc, end_utc) = span(&facts).ok_or_else(no_host)?;
    refuse_copies(&parts, &facts)?;
    let late_ns = limit(&parts)?;
    let kinds: BTreeSet<Kind> =
        parts.iter().flat_map(|part| part.kinds.iter().map(|on_host| on_host.kind)).collect();
    let policies = sorted(parts.iter().map(|part| part.policy.as_str()));
    let idle = parts.iter().filter(|part| !part.is_measured()).map(|part| &*part.host);
    let mut findings = findings_of_runs(&facts, sorted(idle), left_out);
    findings.extend(doubtful(
        parts.iter().flat_map(|part| part.doubts.iter().map(|doubt| (&*part.host, doubt))),
    ));
    findings.extend(findings_of_wakeups(&parts, &policies, &kinds));
    let mut all_notes = notes(&facts);
    if repeated(&facts) > 0 {
        all_notes.push(format!(
            "hosts with several recordings, which count as one: {}",
            repeated(&facts)
        ));
    }
    Ok(WakeupHosts {
        summarized_by: env!("CARGO_PKG_VERSION").into(),
        start_utc,
        end_utc,
        job: job(&facts),
        machines: machines(&facts),
        policies,
        late_ns,
        kinds: kinds.iter().map(|kind| joined(*kind, &parts)).collect(),
        late_hosts: late_hosts(&parts, &kinds),
        sources: sources(&parts),
        unknown_share_late: unknown(parts.iter(), &kinds, 1),
        findings,
        notes: all_notes,
    })
}

/// Returns the limit over which a wake-up is late. A host without wake-ups does not have to agree: it may have been killed before
/// its limit was recorded.
fn limit(parts: &[HostWakeups]) -> Result<Option<u64>, Problem> {
    let mut limits: BTreeMap<u64, BTreeSet<&str>> = BTreeMap::new();
    for part in parts.iter().filter(|part| part.kinds.iter().any(|kind| kind.samples > 0)) {
        part.late_ns.iter().for_each(|ns| {
            limits.entry(*ns).or_default().insert(&part.host);
        });
    }
    if limits.len() < 2 {
        let unused = || parts.iter().find_map(|part| part.late_ns);
        return Ok(limits.into_keys().next().or_else(unused));
    }
    let named = limits.iter().map(|(ns, hosts)| {
        let hosts = sorted(hosts.iter().copied());
        format!("{} µs on {}", *ns as f64 / 1e3, few(&hosts))
    });
    let limits = named.collect::<Vec<_>>().join(", ");
    let why = format!("the hosts count as late what took longer than different limits: {limits}");
    Err(ProblemKind::Usage.problem(why, "measure all hosts with the same --late"))
}

/// Refuses a host that was measured twice at the same time, and one recording under two names.
fn refuse_copies(parts: &[HostWakeups], facts: &[&HostFacts]) -> Result<(), Problem> {
    for (at, one) in parts.iter().enumerate() {
        for (before, other) in parts[..at].iter().enumerate() {
            if one.host == other.host && overlap(facts[before], facts[at]) {
                return Err(measured_twice(&one.host, &other.recording, &one.recording));
            }
            let times = |part: &HostWakeups| (part.start_utc.clone(), part.end_utc.clone());
            if times(one) == times(other) && one.kinds == other.kinds {
                let named = |part: &HostWakeups| [part.recording.clone(), part.host.clone()];
                return Err(copied(named(other), named(one)));
            }
        }
    }
    Ok(())
}

/// Returns what of the wake-ups is lost, and what differs between hosts.
fn findings_of_wakeups(
    parts: &[HostWakeups],
    policies: &[String],
    kinds: &BTreeSet<Kind>,
) -> Vec<Finding> {
    let hosts = |is: &dyn Fn(&HostWakeups) -> bool| {
        sorted(parts.iter().filter(|part| is(part)).map(|part| &*part.host))
    };
    let lost: u64 = parts.iter().flat_map(|part| &part.kinds).map(|kind| kind.lost).sum();
    let losers = hosts(&|part| part.kinds.iter().any(|kind| kind.lost > 0));
    let usual = usual_policy(parts);
    let others = hosts(&|part| part.policy.as_str() != usual);
    let by_host = by_host(parts);
    // A host without any kind is named by another finding.
    let some = 1..kinds.len();
    let fewer = by_host.iter().filter(|(_, all)| some.contains(&kinds_of_recordings(all).len()));
    let fewer = sorted(fewer.map(|(host, _)| *host));
    let unknown = hosts(&|part| part.sources.is_none() && !part.kinds.is_empty());
    let known = parts.iter().any(|part| part.sources.is_some());
    let all = [
        about(FindingKind::Losses, losers, |hosts| format!("{lost} wake-ups were lost on {hosts}")),
        about(FindingKind::Methods, others, |hosts| {
            format!(
                "scheduling differs ({}; not {usual} on {hosts}), and latencies with it; measure all hosts with the same --policy",
                policies.join(", ")
            )
        }),
        about(FindingKind::Methods, fewer, |hosts| {
            format!(
                "not every kind of wake-up was measured on {hosts}; measure all hosts with the same options"
            )
        }),
        about(FindingKind::NotAttributed, unknown, |hosts| {
            format!(
                "the sources are unknown on {hosts}; `anechoic check` there shows what is missing"
            )
        })
        .filter(|_| known),
    ];
    all.into_iter().flatten().collect()
}

/// Returns the scheduling of the threads on most hosts.
fn usual_policy(parts: &[HostWakeups]) -> &str {
    let mut hosts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for part in parts {
        hosts.entry(part.policy.as_str()).or_default().insert(&part.host);
    }
    let most = hosts.into_iter().rev().max_by_key(|(_, hosts)| hosts.len());
    most.map_or("", |(policy, _)| policy)
}

/// Returns the kinds of wake-ups that these recordings have.
fn kinds_of_recordings(recordings: &[&HostWakeups]) -> BTreeSet<Kind> {
    recordings.iter().flat_map(|part| &part.kinds).map(|on_host| on_host.kind).collect()
}

/// Returns the recordings of each host by name.
fn by_host(parts: &[HostWakeups]) -> BTreeMap<&str, Vec<&HostWakeups>> {
    let mut hosts: BTreeMap<&str, Vec<&HostWakeups>> = BTreeMap::new();
    parts.iter().for_each(|part| hosts.entry(&part.host).or_default().push(part));
    hosts
}

/// Returns a kind of wake-ups on all hosts.
fn joined(kind: Kind, parts: &[HostWakeups]) -> JoinedKind {
    let mut hosts: Vec<JoinedLatencies> = vec![];
    for (host, recordings) in by_host(parts) {
        let row = JoinedLatencies::sum(kind, &recordings);
        let class = usize::from(row.late > 0);
        let (source, name) = most(kind, &recordings, class).unzip();
        let unknown_share = unknown(recordings.iter().copied(), &BTreeSet::from([kind]), class);
        hosts.extend((row.cpus > 0).then(|| JoinedLatencies {
            host: host.into(),
            source,
            name,
            unknown_share,
            ..row
        }));
    }
    let share = |row: &JoinedLatencies| crate::share(row.late, row.samples);
    hosts.sort_by(|a, b| share(b).total_cmp(&share(a)).then(b.max_ns.cmp(&a.max_ns)));
    let all: Vec<&HostWakeups> = parts.iter().collect();
    let cpus = hosts.iter().map(|row| row.cpus).sum();
    let total = JoinedLatencies::sum(kind, &all);
    let class = usize::from(total.late > 0);
    let unknown_share = unknown(parts.iter(), &BTreeSet::from([kind]), class);
    JoinedKind { kind, total: JoinedLatencies { cpus, unknown_share, ..total }, hosts }
}

impl JoinedLatencies {
    /// Adds up the wake-ups of a kind in these recordings.
    fn sum(kind: Kind, recordings: &[&HostWakeups]) -> Self {
        let mut lengths = LengthsInNs::default();
        let (mut sum, mut late) = (Self::default(), vec![]);
        let here = recordings.iter().flat_map(|part| &part.kinds);
        for on_host in here.filter(|on_host| on_host.kind == kind) {
            lengths.add(&on_host.latencies);
            late.extend_from_slice(&on_host.late);
            sum.cpus = sum.cpus.max(on_host.cpus);
            sum.samples = sum.samples.saturating_add(on_host.samples);
            sum.lost = sum.lost.saturating_add(on_host.lost);
            sum.overruns = sum.overruns.saturating_add(on_host.overruns);
        }
        let cells: Vec<(u64, u64)> = lengths.cells().collect();
        let at = |share: f64| quantile(&cells, sum.samples, share);
        Self {
            p50_ns: at(0.5),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            max_ns: lengths.lengths().map(|lengths| lengths.max_ns),
            late: late.iter().sum::<f64>() as u64,
            late_share: (sum.samples > 0).then(|| share_of_events(&late, sum.samples)),
            ..sum
        }
    }
}

/// Returns the value that this share of the wake-ups does not exceed, if enough lie beyond it.
fn quantile(cells: &[(u64, u64)], samples: u64, share: f64) -> Option<u64> {
    let number = samples as f64;
    let enough = samples > 0 && (share <= 0.5 || number * (1.0 - share) >= BEYOND - 1e-6);
    let rank = (number * share).ceil() as u64;
    let mut below = 0_u64;
    let reaches = |(_, count): &&(u64, u64)| {
        below = below.saturating_add(*count);
        below >= rank
    };
    enough.then(|| cells.iter().find(reaches).or(cells.last()).map(|(ns, _)| *ns))?
}

/// Finds the hosts on which a larger share is late than on the others of their CPU model, by the test of noisy hosts: a wake-up
/// takes the place of a unit of time, and a late one that of time lost.
fn late_hosts(parts: &[HostWakeups], kinds: &BTreeSet<Kind>) -> LateHosts {
    let hosts = by_host(parts);
    let (mut names, mut classes, mut counted) = (vec![], vec![], vec![]);
    for kind in kinds {
        for (host, recordings) in &hosts {
            let here = recordings.iter().flat_map(|part| &part.kinds);
            let here: Vec<&KindOnHost> = here.filter(|one| one.kind == *kind).collect();
            let samples: u64 = here.iter().map(|one| one.samples).sum();
            if samples > 0 {
                let late: Vec<f64> = here.iter().flat_map(|one| one.late.clone()).collect();
                names.push((*host, *kind));
                classes.push(format!("{}, {kind:?}", recordings[0].model));
                counted.push((samples as f64, late));
            }
        }
    }
    let looked: Vec<Looked<'_>> = classes
        .iter()
        .zip(&counted)
        .map(|(class, (samples, late))| looked(class, *samples, late))
        .collect();
    let (verdicts, spreads) = judge(&looked);
    let found = verdicts.iter().map(|verdict| LateHost {
        host: names[verdict.index].0.to_owned(),
        kind: names[verdict.index].1,
        late: counted[verdict.index].1.iter().sum::<f64>() as u64,
        share: looked[verdict.index].noise,
        ratio: verdict.ratio,
        p: verdict.p,
    });
    let judged = spreads.iter().filter(|class| class.spread.is_some());
    LateHosts {
        alpha: ALPHA,
        fewest: FEWEST as u64,
        judged: judged.map(|class| class.count).sum(),
        found: found.collect(),
        assumes: format!(
            "late wake-ups of a host in the same part of the time are one event, and events come independently and equally often on \
             all hosts of a CPU model; a host is tested without its largest event, by its part of all events (binomial) and by the \
             distance of its share from the median in robust standard deviations, of which the larger p counts, corrected for all \
             tests (Holm); where most hosts have no late wake-up, the events alone are tested; at least {FEWEST} hosts are needed"
        ),
    }
}

fn looked<'a>(class: &'a str, samples: f64, late: &[f64]) -> Looked<'a> {
    let number = late.iter().sum::<f64>();
    Looked {
        class,
        noise: number / samples,
        low: fewest_events(number, dispersion(late)) / samples,
        least: 1.0 / samples,
        wall_ns: samples,
        blocks: late.to_vec(),
    }
}

#[cfg(test)]
mod tests;
