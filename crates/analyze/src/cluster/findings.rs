//! Defects of a data set of many hosts.

use super::facts::{HostFacts, NAMED, few, first, sorted};
use super::host::HostSummary;
use crate::known::{Doubt, by_kind};
use anechoic_recording::LossKind;
use anechoic_recording::run::RunState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Thresholds with a smaller relative difference count as equal, because counters of different rates round differently.
const SAME_THRESHOLD: f64 = 0.02;

/// A defect of a data set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Kind of defect.
    pub kind: FindingKind,
    /// Affected hosts, if known.
    pub hosts: Vec<String>,
    /// Description; the remedy follows a semicolon.
    pub text: String,
}

/// Kinds of defects of a data set.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The job had more hosts than there are recordings.
    MissingHosts,
    /// The recording of a host could not be read.
    LeftOut,
    /// No loop ran on a host.
    NothingMeasured,
    /// A run was killed before its end.
    CutOff,
    /// A run ended early.
    EndedEarly,
    /// Hosts were measured by different methods.
    Methods,
    /// The recordings are from different jobs.
    Jobs,
    /// Hosts were measured by different versions.
    Versions,
    /// Thresholds differ.
    Thresholds,
    /// Detours, events or steal readings were lost.
    Losses,
    /// The sources are known on some hosts, but not on others.
    NotAttributed,
    /// A run knew why its noise is doubtful: another program or another anechoic on its CPUs, an emulated processor and
    /// the like.
    Doubtful,
    /// Work returned a wrong value, so that the machine cannot be trusted.
    WrongResults,
}

/// Returns all defects of these recordings. `left_out` are recordings that could not be read, and why.
pub(super) fn findings(parts: &[HostSummary], left_out: &[(String, String)]) -> Vec<Finding> {
    let facts: Vec<&HostFacts> = parts.iter().map(|part| &part.facts).collect();
    let idle = hosts(parts.iter().filter(|part| !part.is_measured()));
    let mut found = findings_of_runs(&facts, idle, left_out);
    found.extend(doubtful(
        parts.iter().flat_map(|part| part.doubts.iter().map(|doubt| (&*part.host, doubt))),
    ));
    found.extend(thresholds(parts));
    found.extend(not_attributed(parts));
    found.extend(losses(parts));
    found
}

/// Returns the defects that the facts of the runs show. Nothing was measured on the hosts `idle`.
pub(crate) fn findings_of_runs(
    parts: &[&HostFacts],
    idle: Vec<String>,
    left_out: &[(String, String)],
) -> Vec<Finding> {
    let mut found = vec![];
    found.extend(missing(parts));
    found.extend(left_out.iter().map(|(recording, why)| Finding {
        kind: FindingKind::LeftOut,
        hosts: vec![recording.clone()],
        text: format!("{recording} is left out: {why}"),
    }));
    found.extend(ended(parts, idle));
    found.extend(differing(parts));
    found
}

/// Finds hosts and ranks of the job without a recording.
fn missing(parts: &[&HostFacts]) -> Option<Finding> {
    let jobs = || parts.iter().filter_map(|part| part.parallel.as_ref());
    let asked = jobs().map(|job| job.hosts).max()? as usize;
    let here: BTreeSet<&str> =
        parts.iter().filter(|part| part.parallel.is_some()).map(|part| &*part.host).collect();
    if here.len() >= asked {
        return None;
    }
    let ranks = jobs().map(|job| job.ranks).max().unwrap_or(0);
    let all = jobs().flat_map(|job| &job.here).map(|rank| rank.rank);
    let seen: BTreeSet<u32> = all.filter(|&rank| rank < ranks).collect();
    let away: Vec<String> = (0..ranks)
        .filter(|rank| !seen.contains(rank))
        .take(NAMED)
        .map(|rank| rank.to_string())
        .collect();
    let missing_ranks = match (ranks as usize - seen.len(), &away[..]) {
        (0, _) => String::new(),
        (1, [rank]) => format!(": the host of rank {rank} is missing"),
        (count, _) => format!(": the hosts of ranks {} are missing", first(&away, count)),
    };
    Some(Finding {
        kind: FindingKind::MissingHosts,
        hosts: vec![],
        text: format!(
            "only {} of the job's {asked} hosts {} present{missing_ranks}; copy the missing directories here and merge again",
            here.len(),
            if here.len() == 1 { "is" } else { "are" }
        ),
    })
}

/// Finds runs that did not end normally.
fn ended(parts: &[&HostFacts], idle: Vec<String>) -> Vec<Finding> {
    let mut found = vec![];
    found.extend(about(FindingKind::NothingMeasured, idle, |hosts| {
        format!("nothing was measured on {hosts}")
    }));
    let cut_off = |part: &&HostFacts| part.state == RunState::Running;
    found.extend(about(
        FindingKind::CutOff,
        names(parts.iter().copied().filter(cut_off)),
        |hosts| format!("cut off before the end, included as far as it was saved: {hosts}"),
    ));
    let mut early: BTreeMap<&str, Vec<&HostFacts>> = BTreeMap::new();
    for part in parts {
        if let RunState::Interrupted(why) = &part.state {
            early.entry(why).or_default().push(part);
        }
    }
    for (why, parts) in early {
        found.extend(about(FindingKind::EndedEarly, names(parts.into_iter()), |hosts| {
            format!("ended early ({why}): {hosts}")
        }));
    }
    found
}

/// Finds properties that should be the same on all hosts.
fn differing(parts: &[&HostFacts]) -> Vec<Finding> {
    type Property<'a> = &'a dyn Fn(&HostFacts) -> String;
    let rows: [(FindingKind, &str, Property<'_>, &str); 3] = [
        (FindingKind::Methods, "methods", &|part| part.method.clone(), "merge hosts of one method"),
        (FindingKind::Jobs, "jobs", &job_in_words, "merge the hosts of one job"),
        (
            FindingKind::Versions,
            "versions of anechoic",
            &|part| part.measured_by.clone(),
            "measure all hosts with one version",
        ),
    ];
    rows.into_iter()
        .filter_map(|(kind, what, property, remedy)| {
            difference(parts, kind, what, property, remedy)
        })
        .collect()
}

/// Returns the parallel job of a recording in words.
fn job_in_words(part: &HostFacts) -> String {
    let Some(job) = &part.parallel else { return "no job".into() };
    let hosts = if job.hosts == 1 { "host" } else { "hosts" };
    let id = job.job.as_ref().map_or(String::new(), |id| format!(" (job {id})"));
    format!("{} ranks on {} {hosts} through {}{id}", job.ranks, job.hosts, job.through)
}

fn difference(
    parts: &[&HostFacts],
    kind: FindingKind,
    what: &str,
    property: &dyn Fn(&HostFacts) -> String,
    remedy: &str,
) -> Option<Finding> {
    let mut values: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for part in parts {
        values.entry(property(part)).or_default().insert(&part.host);
    }
    if values.len() < 2 {
        return None;
    }
    let mut values: Vec<(String, BTreeSet<&str>)> = values.into_iter().collect();
    values.sort_by_key(|(_, hosts)| std::cmp::Reverse(hosts.len()));
    // The most frequent is the usual one: those that differ are named.
    let hosts: BTreeSet<&str> = values[1..].iter().flat_map(|(_, hosts)| hosts).copied().collect();
    let texts: Vec<String> = values
        .iter()
        .map(|(value, hosts)| {
            let names: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
            format!("{value} ({})", few(&names))
        })
        .collect();
    Some(Finding {
        kind,
        hosts: hosts.into_iter().map(str::to_owned).collect(),
        text: format!("{what} differ: {}; {remedy}", few(&texts)),
    })
}

/// Finds what the runs themselves knew: one defect for each kind of doubt, in the words of the host where it is worst.
pub(crate) fn doubtful<'a>(doubts: impl Iterator<Item = (&'a str, &'a Doubt)>) -> Vec<Finding> {
    // The others have findings or notes of their own.
    let is_new = |doubt: &Doubt| {
        !matches!(doubt, Doubt::Interrupted { .. } | Doubt::CutOff | Doubt::Injected)
    };
    let doubts = doubts.filter(|(_, doubt)| is_new(doubt));
    by_kind(doubts).into_iter().filter_map(|(worst, hosts)| doubt_finding(worst, hosts)).collect()
}

/// Returns the defect of recordings with one kind of doubt; absent if it has no words.
fn doubt_finding(worst: &Doubt, hosts: Vec<&str>) -> Option<Finding> {
    let words = worst.known_in_words()?;
    let most = if hosts.len() > 1 && worst.part() > 0.0 { " (the most)" } else { "" };
    about(FindingKind::Doubtful, sorted(hosts.into_iter()), |hosts| {
        format!("{hosts}{most}: {words}")
    })
}

/// Finds thresholds that differ.
fn thresholds(parts: &[HostSummary]) -> Option<Finding> {
    let lowest = parts.iter().map(|part| part.threshold_ns).min()?;
    let same = |part: &&HostSummary| {
        part.threshold_ns as f64 <= lowest as f64 * (1.0 + SAME_THRESHOLD) + 1.0
    };
    let higher = hosts(parts.iter().filter(|part| !same(part)));
    let highest = parts.iter().map(|part| part.threshold_ns).max()?;
    about(FindingKind::Thresholds, higher, |hosts| {
        format!(
            "thresholds differ, from {lowest} to {highest} ns (above the lowest on {hosts}): a higher threshold counts fewer detours; measure all hosts with the same --threshold"
        )
    })
}

/// Finds hosts whose sources are unknown although those of others are known.
fn not_attributed(parts: &[HostSummary]) -> Option<Finding> {
    let unknown = hosts(parts.iter().filter(|part| part.sources.is_none()));
    let known = parts.iter().any(|part| part.sources.is_some());
    about(FindingKind::NotAttributed, unknown, |hosts| {
        format!("the sources are unknown on {hosts}; `anechoic check` there shows what is missing")
    })
    .filter(|_| known)
}

/// Finds losses by kind.
fn losses(parts: &[HostSummary]) -> Vec<Finding> {
    let mut kinds: BTreeMap<&str, (u64, Vec<&HostSummary>)> = BTreeMap::new();
    for part in parts {
        for loss in part.losses.iter().filter(|loss| loss.what != LossKind::Untraced) {
            let kind = kinds.entry(&loss.what).or_default();
            kind.0 = kind.0.saturating_add(loss.count);
            kind.1.push(part);
        }
        let lost = part.cpus.iter().map(|cpu| cpu.lost_detours).fold(0, u64::saturating_add);
        let recorded = part.losses.iter().any(|loss| loss.what == LossKind::Detours);
        if lost > 0 && !recorded {
            let kind = kinds.entry("detours").or_default();
            kind.0 = kind.0.saturating_add(lost);
            kind.1.push(part);
        }
    }
    kinds
        .into_iter()
        .filter_map(|(what, (count, parts))| loss_finding(what, count, parts))
        .collect()
}

/// Returns the losses of one kind on these hosts; 0 is an unknown number.
fn loss_finding(what: &str, count: u64, parts: Vec<&HostSummary>) -> Option<Finding> {
    about(FindingKind::Losses, hosts(parts.into_iter()), |hosts| match count {
        0 => format!("{what} were lost on {hosts}"),
        _ => format!("{count} {what} were lost on {hosts}"),
    })
}

/// Returns the hosts of these recordings by name, without repetitions.
fn hosts<'a>(parts: impl Iterator<Item = &'a HostSummary>) -> Vec<String> {
    sorted(parts.map(|part| &*part.host))
}

/// Returns the same for the facts of recordings.
fn names<'a>(parts: impl Iterator<Item = &'a HostFacts>) -> Vec<String> {
    sorted(parts.map(|part| &*part.host))
}

/// Returns a defect of these hosts; none if there are none.
pub(crate) fn about(
    kind: FindingKind,
    hosts: Vec<String>,
    text: impl Fn(&str) -> String,
) -> Option<Finding> {
    (!hosts.is_empty()).then(|| Finding { kind, text: text(&few(&hosts)), hosts })
}
