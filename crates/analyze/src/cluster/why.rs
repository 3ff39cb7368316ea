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
    let all: f64 = found.iter().map(|source| more(source).max(0.0)).sum();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, noise: f64) -> HostNoise {
        HostNoise {
            host: name.into(),
            recordings: 1,
            cpus: 1,
            wall_ns: 1_000,
            lost_ns: (1_000.0 * noise) as u64,
            noise,
            interval: None,
            at_least: None,
            rate_per_s: 0.0,
            worst_cpu: None,
            worst: 0.0,
            max_ns: None,
            slow: None,
            calm_ns: None,
        }
    }

    #[test]
    fn only_hosts_far_above_the_median_of_the_others_are_explained() {
        let cases: [(&str, &[f64], &[usize]); 6] = [
            ("alone", &[0.5], &[]),
            ("half as much more", &[0.3, 0.2], &[]),
            ("more than that", &[0.31, 0.2], &[0]),
            ("beside silent ones", &[0.1, 0.0, 0.0], &[0]),
            (
                "the noisiest three of four",
                &[0.9, 0.8, 0.7, 0.6, 0.1, 0.1, 0.1, 0.1, 0.1],
                &[0, 1, 2],
            ),
            ("nothing anywhere", &[0.0, 0.0], &[]),
        ];
        for (name, noise, expected) in cases {
            let hosts: Vec<HostNoise> = noise
                .iter()
                .enumerate()
                .map(|(at, noise)| host(&format!("n{at}"), *noise))
                .collect();
            let found = differences(&hosts, &[], &BySource::new());
            let names: Vec<&str> = found.iter().map(|found| &*found.host).collect();
            let expected: Vec<String> = expected.iter().map(|at| format!("n{at}")).collect();
            assert_eq!(names, expected, "case: {name}");
            let unmeasured = HostNoise { wall_ns: 0, ..host("none", 1.0) };
            let with_it: Vec<HostNoise> = std::iter::once(unmeasured).chain(hosts).collect();
            assert_eq!(differences(&with_it, &[], &BySource::new()), found, "case: {name}");
        }
    }

    #[test]
    fn a_setting_differs_where_more_than_half_of_the_others_have_another_value() {
        type Case = (
            &'static str,
            Option<&'static str>,
            &'static [Option<&'static str>],
            Option<&'static str>,
        );
        let cases: [Case; 7] = [
            ("all others", Some("a"), &[Some("b"), Some("b")], Some("b")),
            ("as all others", Some("b"), &[Some("b"), Some("b")], None),
            ("half of them", Some("a"), &[Some("b"), Some("c")], None),
            ("two of three", Some("a"), &[Some("b"), Some("c"), Some("b")], Some("b")),
            ("not known here", None, &[Some("b"), Some("b")], Some("b")),
            ("known of half", Some("a"), &[Some("b"), None], None),
            ("known of none", Some("a"), &[None], None),
        ];
        let settings = |value: Option<&str>| -> BTreeMap<String, String> {
            value.map(|value| ("governor".to_owned(), value.to_owned())).into_iter().collect()
        };
        for (name, here, others, expected) in cases {
            let others: Vec<_> = others.iter().map(|value| settings(*value)).collect();
            let others: Vec<_> = others.iter().collect();
            let found = other_setting("governor", &settings(here), &others);
            let expected = expected.map(|others| OtherSetting {
                name: "governor".into(),
                here: here.map(str::to_owned),
                others: others.into(),
            });
            assert_eq!(found, expected, "case: {name}");
        }
    }
}
