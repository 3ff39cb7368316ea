//! Hosts and CPUs sorted by noise.

use super::host::{HostCpu, HostSummary};
use super::used::share;
use super::{ClusterCpu, HostNoise, Quantiles};
use crate::stats::{Bounds, Interval, median};
use std::collections::BTreeMap;

/// One or more recordings of the same CPUs.
#[derive(Debug, Clone, Default)]
pub(super) struct Runs {
    pub(super) wall_ns: u128,
    pub(super) lost_ns: u128,
    pub(super) detours: u64,
    /// Wall time, noise and its bounds of each recording.
    each: Vec<(u64, f64, Bounds)>,
}

impl Runs {
    pub(super) fn add(&mut self, wall_ns: u64, lost_ns: u64, detours: u64, bounds: Bounds) {
        self.wall_ns += u128::from(wall_ns);
        self.lost_ns += u128::from(lost_ns);
        self.detours = self.detours.saturating_add(detours);
        self.each.push((wall_ns, crate::share(lost_ns, wall_ns), bounds));
    }

    pub(super) fn noise(&self) -> f64 {
        share(self.lost_ns, self.wall_ns)
    }

    pub(super) fn rate_per_s(&self) -> f64 {
        rate_per_s(self.detours, self.wall_ns)
    }

    /// Returns the bounds of the noise of all, weighted by wall time and assumed to be independent: the distances to the
    /// ends add up in squares (Zou & Donner 2008). There is no interval if any has none: also not beside a silent
    /// recording, whose true noise may be above 0.
    pub(super) fn bounds(&self) -> Bounds {
        if let [(_, _, bounds)] = self.each[..] {
            return bounds;
        }
        let (mut below, mut above) = (0.0, Some(0.0));
        for &(wall_ns, noise, bounds) in &self.each {
            let weight = share(u128::from(wall_ns), self.wall_ns);
            below += (weight * (noise - bounds.at_least.unwrap_or(0.0))).powi(2);
            if wall_ns == 0 {
                continue; // it measured nothing
            }
            let over = bounds.interval.map(|interval| (weight * (interval.high - noise)).powi(2));
            above = above.zip(over).map(|(sum, over)| sum + over);
        }
        let noise = self.noise();
        let at_least = Some(noise - below.sqrt()).filter(|&least| least > 0.0);
        let interval = above
            .filter(|_| noise > 0.0)
            .map(|above| Interval { low: at_least.unwrap_or(0.0), high: noise + above.sqrt() });
        Bounds { interval, at_least }
    }
}

/// Returns the bounds of a summary; one of an earlier version has no lower bound beside its interval.
fn stored(interval: Option<Interval>, at_least: Option<f64>) -> Bounds {
    Bounds { interval, at_least: at_least.or_else(|| interval.map(|ends| ends.low)) }
}

pub(super) fn rate_per_s(detours: u64, wall_ns: u128) -> f64 {
    if wall_ns == 0 { 0.0 } else { detours as f64 * 1e9 / wall_ns as f64 }
}

pub(super) fn saturated(ns: u128) -> u64 {
    u64::try_from(ns).unwrap_or(u64::MAX)
}

/// Returns the recordings of each host, sorted by name of the host.
pub(super) fn by_host(parts: &[HostSummary]) -> BTreeMap<&str, Vec<&HostSummary>> {
    let mut hosts: BTreeMap<&str, Vec<&HostSummary>> = BTreeMap::new();
    for part in parts {
        hosts.entry(&part.host).or_default().push(part);
    }
    hosts
}

/// Returns all CPUs of all recordings of one host.
pub(super) fn runs_of(parts: &[&HostSummary]) -> Runs {
    let mut runs = Runs::default();
    for part in parts {
        let sum = |quantity: fn(&HostCpu) -> u64| {
            part.cpus.iter().map(quantity).fold(0, u64::saturating_add)
        };
        runs.add(
            sum(|cpu| cpu.wall_ns),
            sum(|cpu| cpu.lost_ns),
            sum(|cpu| cpu.detours),
            stored(part.interval, part.at_least),
        );
    }
    runs
}

/// Returns the CPUs of one host, by number.
pub(super) fn cpus_of(host: &str, parts: &[&HostSummary]) -> Vec<ClusterCpu> {
    let mut cpus: BTreeMap<u32, Vec<&HostCpu>> = BTreeMap::new();
    for cpu in parts.iter().flat_map(|part| &part.cpus) {
        cpus.entry(cpu.cpu).or_default().push(cpu);
    }
    cpus.into_iter().map(|(cpu, measured)| cluster_cpu(host, cpu, &measured)).collect()
}

/// Returns one CPU of a host from all of its recordings, of which there is at least one.
fn cluster_cpu(host: &str, cpu: u32, measured: &[&HostCpu]) -> ClusterCpu {
    let mut runs = Runs::default();
    for part in measured {
        let bounds = stored(part.interval, part.at_least);
        runs.add(part.wall_ns, part.lost_ns, part.detours, bounds);
    }
    let Bounds { interval, at_least } = runs.bounds();
    let lengths = || measured.iter().filter_map(|part| part.lengths.as_ref());
    ClusterCpu {
        host: host.to_owned(),
        cpu,
        class: measured[0].class.clone(),
        wall_ns: saturated(runs.wall_ns),
        lost_ns: saturated(runs.lost_ns),
        noise: runs.noise(),
        interval,
        at_least,
        rate_per_s: runs.rate_per_s(),
        p99_ns: lengths().map(|lengths| lengths.p99_ns).max(),
        max_ns: lengths().map(|lengths| lengths.max_ns).max(),
        lost_detours: measured.iter().map(|part| part.lost_detours).fold(0, u64::saturating_add),
    }
}

/// Returns one host with these CPUs.
pub(super) fn host_of(host: &str, parts: &[&HostSummary], cpus: &[ClusterCpu]) -> HostNoise {
    let runs = runs_of(parts);
    let Bounds { interval, at_least } = runs.bounds();
    let worst = cpus.iter().max_by(|a, b| a.noise.total_cmp(&b.noise).then(b.cpu.cmp(&a.cpu)));
    HostNoise {
        host: host.to_owned(),
        recordings: parts.len() as u64,
        cpus: cpus.len() as u64,
        wall_ns: saturated(runs.wall_ns),
        lost_ns: saturated(runs.lost_ns),
        noise: runs.noise(),
        interval,
        at_least,
        rate_per_s: runs.rate_per_s(),
        worst_cpu: worst.map(|cpu| cpu.cpu),
        worst: worst.map_or(0.0, |cpu| cpu.noise),
        max_ns: cpus.iter().filter_map(|cpu| cpu.max_ns).max(),
        slow: slow(parts, runs.wall_ns),
        calm_ns: calm_ns(parts),
    }
}

/// Returns the share of the wall time that a slower pace took on all CPUs; `None` if it was not recorded of some.
fn slow(parts: &[&HostSummary], wall_ns: u128) -> Option<f64> {
    let slow_ns = parts.iter().flat_map(|part| &part.cpus).map(|cpu| cpu.slow_ns.map(u128::from));
    let slow_ns: Option<u128> = slow_ns.sum();
    slow_ns.filter(|_| wall_ns > 0).map(|slow_ns| share(slow_ns, wall_ns))
}

/// Returns the median calm pace of all CPUs; `None` if it is not known of some.
fn calm_ns(parts: &[&HostSummary]) -> Option<f64> {
    let all = parts.iter().flat_map(|part| &part.cpus).map(|cpu| cpu.calm_ns);
    let mut all: Vec<f64> = all.collect::<Option<_>>()?;
    (!all.is_empty()).then(|| median(&mut all))
}

/// Returns the distribution of shares by nearest rank.
pub(super) fn quantiles(shares: impl Iterator<Item = f64>) -> Quantiles {
    let mut sorted: Vec<f64> = shares.collect();
    let median = median(&mut sorted);
    let place = |part: f64| (sorted.len().saturating_sub(1) as f64 * part).round() as usize;
    let at = |part: f64| sorted.get(place(part)).copied().unwrap_or(0.0);
    Quantiles { least: at(0.0), median, p90: at(0.9), most: at(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_independent_runs() {
        let interval = |low, high| Some(Interval { low, high });
        type Case = (&'static str, Vec<(u64, u64, Option<Interval>)>, Option<(f64, f64)>);
        let cases: [Case; 8] = [
            ("none", vec![], None),
            ("its own", vec![(100, 10, interval(0.05, 0.2))], Some((0.05, 0.2))),
            // Half of 0.03 and 0.04, in squares: 0.025.
            (
                "two of equal length",
                vec![(100, 10, interval(0.07, 0.13)), (100, 20, interval(0.16, 0.24))],
                Some((0.125, 0.175)),
            ),
            ("one of them silent", vec![(100, 10, interval(0.07, 0.13)), (100, 0, None)], None),
            (
                "one of no length",
                vec![(100, 10, interval(0.07, 0.13)), (0, 0, None)],
                Some((0.07, 0.13)),
            ),
            ("all silent", vec![(100, 0, None), (100, 0, None)], None),
            ("one without", vec![(100, 10, interval(0.07, 0.13)), (100, 20, None)], None),
            (
                "from 0",
                vec![(100, 1, interval(0.0, 0.01)), (100, 1, interval(0.0, 0.01))],
                Some((0.01 - 0.005 * std::f64::consts::SQRT_2, 0.01)),
            ),
        ];
        for (name, each, expected) in cases {
            let mut runs = Runs::default();
            for &(wall, lost, interval) in &each {
                runs.add(wall, lost, 0, stored(interval, None));
            }
            let found = runs.bounds().interval.map(|ends| (ends.low, ends.high));
            let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
            let same = match (found, expected) {
                (Some(found), Some(expected)) => {
                    near(found.0, expected.0) && near(found.1, expected.1)
                }
                _ => found == expected,
            };
            assert!(same, "case: {name}: {found:?}");
        }
    }
}
