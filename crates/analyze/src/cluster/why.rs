//! Why a host is noisier than the others: what its sources took more, and how its settings differ. Two hosts are enough.

use super::HostNoise;
use super::host::HostSummary;
use crate::stats::median;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// A host is noisier than the others, and explained, if its noise exceeds their median this many times.
pub const NOISIER: f64 = 1.5;
/// Largest number of hosts that are explained.
const EXPLAINED: usize = 3;
/// Largest number of sources of a host, which are those that took most more.
const MOST_SOURCES: usize = 3;
/// A source is mentioned if it makes up this share of what the host lost more.
const LEAST_SHARE: f64 = 0.05;

/// The time in nanoseconds of each source, by host.
pub(super) type BySource = BTreeMap<(String, String), BTreeMap<String, u64>>;

/// How a host differs from the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostDifference {
    /// Name of the host.
    pub host: String,
    /// Its noise.
    pub noise: f64,
    /// Median noise of the other hosts.
    pub others: f64,
    /// The sources that took more than on the others, the largest excess first; empty if its sources are not known.
    pub sources: Vec<Excess>,
    /// Settings of which most of the others have another value.
    pub settings: Vec<OtherSetting>,
}

/// A source that took more on one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Excess {
    /// Identifier of the source.
    pub source: String,
    /// Name within the source; empty if there is only one.
    pub name: String,
    /// Share of the time of this host's CPUs.
    pub noise: f64,
    /// Median share on the other hosts whose sources are known.
    pub others: f64,
}

/// A setting that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherSetting {
    /// Name of the setting.
    pub name: String,
    /// Its value on this host; absent if it is not known there.
    pub here: Option<String>,
    /// Its value on most of the others.
    pub others: String,
}

/// Explains the noisiest hosts. `hosts` are sorted by decreasing noise.
pub(super) fn differences(
    hosts: &[HostNoise],
    parts: &[HostSummary],
    sources: &BySource,
) -> Vec<HostDifference> {
    let measured: Vec<&HostNoise> = hosts.iter().filter(|host| host.wall_ns > 0).collect();
    let noisiest = measured.iter().take(EXPLAINED);
    noisiest.filter_map(|host| difference(host, &measured, parts, sources)).collect()
}

/// Explains one host beside the others of `measured`; absent if it is not much noisier than these.
fn difference(
    host: &HostNoise,
    measured: &[&HostNoise],
    parts: &[HostSummary],
    sources: &BySource,
) -> Option<HostDifference> {
    let others: Vec<&HostNoise> =
        measured.iter().filter(|other| other.host != host.host).copied().collect();
    let median = median_of(others.iter().map(|other| other.noise))?;
    (host.noise > NOISIER * median).then(|| HostDifference {
        host: host.host.clone(),
        noise: host.noise,
        others: median,
        sources: excesses(host, &others, parts, sources),
        settings: settings(&host.host, parts),
    })
}

/// Returns the sources that make up what the host lost more than the others.
fn excesses(
    host: &HostNoise,
    others: &[&HostNoise],
    parts: &[HostSummary],
    sources: &BySource,
) -> Vec<Excess> {
    let attributed: BTreeSet<&str> =
        parts.iter().filter(|part| part.sources.is_some()).map(|part| &*part.host).collect();
    let others: Vec<&&HostNoise> =
        others.iter().filter(|other| attributed.contains(&*other.host)).collect();
    if !attributed.contains(&*host.host) || others.is_empty() {
        return vec![];
    }
    let mut found: Vec<Excess> = vec![];
    for ((source, name), lost_by_host) in sources {
        let noise = |on: &HostNoise| {
            crate::share(lost_by_host.get(&on.host).copied().unwrap_or(0), on.wall_ns)
        };
        let median = median_of(others.iter().map(|other| noise(other)));
        found.extend(median.map(|median| Excess {
            source: source.clone(),
            name: name.clone(),
            noise: noise(host),
            others: median,
        }));
    }
    let more = |source: &Excess| source.noise - source.others;
    let all: f64 = found.iter().map(more).filter(|more| *more > 0.0).sum();
    found.retain(|source| more(source) > 0.0 && more(source) >= LEAST_SHARE * all);
    found.sort_by(|a, b| more(b).partial_cmp(&more(a)).unwrap_or(Ordering::Equal));
    found.truncate(MOST_SOURCES);
    found
}

/// Returns the settings of which more than half of the others have one value, and this host another.
fn settings(host: &str, parts: &[HostSummary]) -> Vec<OtherSetting> {
    let mut by_host: BTreeMap<&str, &BTreeMap<String, String>> =
        parts.iter().map(|part| (&*part.host, &part.settings)).collect();
    let Some(own) = by_host.remove(host) else { return vec![] };
    let names: BTreeSet<&String> = by_host.values().flat_map(|settings| settings.keys()).collect();
    let others: Vec<_> = by_host.into_values().collect();
    names.into_iter().filter_map(|name| other_setting(name, own, &others)).collect()
}

/// Returns a setting of which more than half of the others have one value, and this host another.
fn other_setting(
    name: &str,
    own: &BTreeMap<String, String>,
    others: &[&BTreeMap<String, String>],
) -> Option<OtherSetting> {
    let mut values: BTreeMap<&str, usize> = BTreeMap::new();
    for value in others.iter().filter_map(|settings| settings.get(name)) {
        *values.entry(value).or_default() += 1;
    }
    let (usual, count) = values.into_iter().max_by_key(|(_, count)| *count)?;
    let here = own.get(name);
    (2 * count > others.len() && here.is_none_or(|here| here != usual)).then(|| OtherSetting {
        name: name.to_owned(),
        here: here.cloned(),
        others: usual.to_owned(),
    })
}

fn median_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| median(&mut values))
}
