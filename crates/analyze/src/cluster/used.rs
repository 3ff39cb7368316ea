//! Noise against the number of CPUs and hosts used.

use super::Used;
use super::host::HostSummary;
use super::together::{AnyAway, FirstCpus, sizes};
use std::collections::{BTreeMap, BTreeSet};

/// The first CPUs of hosts, combined.
#[derive(Debug, Clone, Default)]
struct Sum {
    wall_ns: u128,
    lost_ns: u128,
    worst: f64,
    window_ns: u128,
    away_ns: u128,
    /// Whether some host's CPUs were never measured at the same time.
    any_unknown: bool,
}

impl Sum {
    fn add(&mut self, first: &FirstCpus) {
        self.wall_ns += u128::from(first.wall_ns);
        self.lost_ns += u128::from(first.lost_ns);
        self.worst = self.worst.max(first.worst);
        let AnyAway { window_ns, away_ns } =
            first.any.unwrap_or(AnyAway { window_ns: 0, away_ns: 0 });
        self.window_ns += u128::from(window_ns);
        self.away_ns += u128::from(away_ns);
        self.any_unknown |= window_ns == 0;
    }

    fn noise(&self) -> f64 {
        share(self.lost_ns, self.wall_ns)
    }

    fn any(&self) -> Option<f64> {
        (!self.any_unknown).then(|| share(self.away_ns, self.window_ns))
    }

    /// Returns the row of a number of CPUs on each of a number of hosts.
    fn used(&self, count: u64, hosts: usize) -> Used {
        Used { count, hosts: hosts as u64, noise: self.noise(), worst: self.worst, any: self.any() }
    }
}

/// Returns `part / whole`, and 0 if the whole is 0.
pub(super) fn share(part: u128, whole: u128) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Returns the first 1, 2, 4, … CPUs of each host.
pub(super) fn by_cpus(parts: &[HostSummary]) -> Vec<Used> {
    let mut rows: BTreeMap<u64, (Sum, BTreeSet<&str>)> = BTreeMap::new();
    for part in parts {
        for first in &part.first_cpus {
            let row = rows.entry(first.cpus).or_default();
            row.0.add(first);
            row.1.insert(&part.host);
        }
    }
    rows.into_iter().map(|(count, (sum, hosts))| sum.used(count, hosts.len())).collect()
}

/// Returns the first 1, 2, 4, … hosts by name, each with all its CPUs.
///
/// At least one CPU of n hosts is in a detour for 1 − Π(1 − u) of the time, where u is the share of one host: hosts are
/// assumed to be independent.
pub(super) fn by_hosts(parts: &[HostSummary]) -> Vec<Used> {
    let mut hosts: BTreeMap<&str, Sum> = BTreeMap::new();
    for part in parts {
        let sum = hosts.entry(&part.host).or_default();
        if let Some(all) = part.first_cpus.last() {
            sum.add(all);
        }
    }
    let hosts: Vec<Sum> = hosts.into_values().collect();
    sizes(hosts.len()).into_iter().map(|count| used_together(&hosts[..count])).collect()
}

/// Returns these hosts together.
fn used_together(hosts: &[Sum]) -> Used {
    let free = hosts.iter().map(|host| host.any().map(|any| 1.0 - any));
    Used {
        count: hosts.len() as u64,
        hosts: hosts.len() as u64,
        noise: share(
            hosts.iter().map(|host| host.lost_ns).sum(),
            hosts.iter().map(|host| host.wall_ns).sum(),
        ),
        worst: hosts.iter().map(|host| host.worst).fold(0.0, f64::max),
        any: free.product::<Option<f64>>().map(|free| 1.0 - free),
    }
}
