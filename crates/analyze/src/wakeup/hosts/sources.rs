//! What took the time of the wake-ups of many hosts, and how much of it is unknown.

use crate::wakeup::host::{HostWakeups, SourcesOnHost, add};
use crate::wakeup::kind::Kind;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A source over all hosts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JoinedSource {
    /// Identifier of the source.
    pub source: String,
    /// Name within the source, without numbers of CPUs; empty if there is only one.
    pub name: String,
    /// Number of hosts on which it occurred.
    pub hosts: u64,
    /// Its share of the latency of all explained wake-ups.
    pub share: f64,
    /// Its share of the latency of the late ones; absent if none of them is explained.
    pub share_late: Option<f64>,
    /// Host on which it took most.
    pub most_on: String,
}

/// Returns the source that took most of the wake-ups of a kind in these recordings: of all (`class` 0) or of the late ones (1);
/// none, if more of their time is unknown.
pub(super) fn most(
    kind: Kind,
    recordings: &[&HostWakeups],
    class: usize,
) -> Option<(String, String)> {
    let mut unknown = [0.0; 2];
    let mut taken: BTreeMap<&(String, String), [f64; 2]> = BTreeMap::new();
    for sources in recordings.iter().filter_map(|part| part.sources.as_ref()?.get(&kind)) {
        add(&mut unknown, sources.unknown_ns);
        for (name, ns) in &sources.by_source {
            add(taken.entry(name).or_default(), *ns);
        }
    }
    let most = taken.into_iter().rev().max_by(|a, b| a.1[class].total_cmp(&b.1[class]));
    most.filter(|(_, ns)| ns[class] > unknown[class]).map(|(name, _)| name.clone())
}

/// Returns the part of the time of wake-ups of these kinds which is not known: of all (`class` 0) or of the late ones (1); absent
/// if there are none with kernel events.
pub(super) fn unknown<'a>(
    recordings: impl Iterator<Item = &'a HostWakeups>,
    kinds: &BTreeSet<Kind>,
    class: usize,
) -> Option<f64> {
    let known = recordings.filter_map(|part| part.sources.as_ref()).flatten();
    let (mut explained, mut unknown) = ([0.0; 2], [0.0; 2]);
    for (_, sources) in known.filter(|(kind, _)| kinds.contains(kind)) {
        add(&mut explained, sources.all_ns);
        add(&mut unknown, sources.unknown_ns);
    }
    let all = explained[class] + unknown[class];
    (all > 0.0).then(|| unknown[class] / all)
}

/// Returns what took the time on all hosts.
pub(super) fn sources(parts: &[HostWakeups]) -> Vec<JoinedSource> {
    let mut all = [0.0; 2];
    let mut taken: BTreeMap<&(String, String), BTreeMap<&str, [f64; 2]>> = BTreeMap::new();
    for part in parts {
        let kinds = part.sources.iter().flat_map(BTreeMap::values);
        kinds.for_each(|sources: &SourcesOnHost| {
            add(&mut all, sources.all_ns);
            for (name, ns) in &sources.by_source {
                add(taken.entry(name).or_default().entry(&part.host).or_default(), *ns);
            }
        });
    }
    let class = usize::from(all[1] > 0.0);
    let share = |ns: f64, all: f64| if all > 0.0 { ns / all } else { 0.0 };
    let mut sources: Vec<JoinedSource> = vec![];
    for ((source, name), hosts) in taken {
        let mut sum = [0.0; 2];
        hosts.values().for_each(|ns| add(&mut sum, *ns));
        let most = hosts.iter().rev().max_by(|a, b| a.1[class].total_cmp(&b.1[class]));
        sources.push(JoinedSource {
            source: source.clone(),
            name: name.clone(),
            hosts: hosts.len() as u64,
            share: share(sum[0], all[0]),
            share_late: (all[1] > 0.0).then(|| share(sum[1], all[1])),
            most_on: most.map_or(String::new(), |(host, _)| (*host).to_owned()),
        });
    }
    let rank = |source: &JoinedSource| [source.share_late.unwrap_or(0.0), source.share];
    sources.sort_by(|a, b| rank(b).partial_cmp(&rank(a)).unwrap_or(std::cmp::Ordering::Equal));
    sources
}
