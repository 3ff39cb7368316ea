//! The cost of each source at scale, from the laws of timelines with and without it.

use super::law::Law;
use super::outcome::{SourceCost, SourceFacts};
use super::recorded::Noise;
use super::taken::SourceName;
use super::timeline::{Host, Timeline};
use anechoic_analyze::threads::in_order;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Number of sources with the most time, and with the longest single detour, whose cost is computed.
const MOST: usize = 8;

/// Returns the sources that may matter, those with most time and those with the longest detours, sorted by decreasing time;
/// empty if sources are unknown.
pub fn culprits(noise: &Noise) -> (Vec<SourceName>, Vec<SourceFacts>) {
    if noise.sources.is_err() {
        return (vec![], vec![]);
    }
    let timelines = || noise.hosts.iter().flat_map(Host::cpus).map(|(_, timeline)| timeline);
    let mut totals: BTreeMap<SourceName, (u64, u64)> = BTreeMap::new();
    for recorded in timelines().filter_map(Timeline::recorded) {
        for (source, taken) in &recorded.found().taken {
            let total = totals.entry(source.clone()).or_default();
            *total = (total.0.saturating_add(taken.ns), total.1.max(taken.longest_ns));
        }
    }
    let lost: u64 = timelines().map(Timeline::lost_ns).sum();
    let mut by_total: Vec<(&SourceName, u64, u64)> =
        totals.iter().map(|(source, &(ns, longest))| (source, ns, longest)).collect();
    by_total.sort_by_key(|&(source, ns, _)| (Reverse(ns), source));
    let mut by_longest = by_total.clone();
    by_longest.sort_by_key(|&(source, _, longest)| (Reverse(longest), source));
    let chosen: BTreeSet<&SourceName> =
        by_total.iter().take(MOST).chain(by_longest.iter().take(MOST)).map(|s| s.0).collect();
    let rows = by_total.iter().filter(|(source, _, _)| chosen.contains(source));
    rows.map(|&(source, ns, longest_ns)| {
        let facts = SourceFacts {
            source: source.0.to_string(),
            name: source.1.to_string(),
            share: if lost == 0 { 0.0 } else { ns as f64 / lost as f64 },
            longest_ns,
        };
        (source.clone(), facts)
    })
    .unzip()
}

/// Returns the costs of all culprits at one grain, for each number of ranks sorted by decreasing cost. `laws` are those
/// without each culprit, and of each alone.
pub(super) fn costs(
    culprits: &[SourceName],
    laws: &[[Law; 2]],
    grain_ns: u64,
    ranks: &[u64],
) -> Vec<Vec<SourceCost>> {
    let by_culprit = in_order(culprits.len(), |at| -> Vec<SourceCost> {
        ranks.iter().map(|&ranks| cost(&culprits[at], &laws[at], grain_ns, ranks)).collect()
    });
    let mut costs = vec![vec![]; ranks.len()];
    for culprit in by_culprit {
        costs.iter_mut().zip(culprit).for_each(|(costs, cost)| costs.push(cost));
    }
    for costs in &mut costs {
        costs.sort_by(|a, b| {
            a.without.total_cmp(&b.without).then_with(|| b.alone.total_cmp(&a.alone))
        });
    }
    costs
}

/// Returns the cost of a culprit to this number of ranks, by the laws without it and of it alone.
fn cost(
    culprit: &SourceName,
    [without, alone]: &[Law; 2],
    grain_ns: u64,
    ranks: u64,
) -> SourceCost {
    let slowdown = |law: &Law| 1.0 + law.mean_of_slowest_ns(ranks) / grain_ns as f64;
    SourceCost {
        source: culprit.0.to_string(),
        name: culprit.1.to_string(),
        without: slowdown(without),
        alone: slowdown(alone),
    }
}
