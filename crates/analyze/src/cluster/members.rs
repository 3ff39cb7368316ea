//! The CPUs and hosts that are tested for outliers, and what the test finds.

use super::host::{HostCpu, HostSummary};
use super::outliers::{ALPHA, FEWEST, LEAST_SPREAD, Looked, Outlier, Outliers, Verdict, judge};
use super::{ClusterCpu, HostNoise};
use std::collections::BTreeMap;

/// Finds the CPUs that stand out among those of their class.
pub(super) fn cpu_outliers(cpus: &[ClusterCpu], parts: &[HostSummary]) -> Outliers {
    let mut thresholds: BTreeMap<&str, u64> = BTreeMap::new();
    let mut recorded: BTreeMap<(&str, u32), Vec<&HostCpu>> = BTreeMap::new();
    for part in parts {
        thresholds.insert(&part.host, part.threshold_ns);
        for cpu in &part.cpus {
            recorded.entry((&part.host, cpu.cpu)).or_default().push(cpu);
        }
    }
    // One without any time was not measured.
    let measured: Vec<&ClusterCpu> = cpus.iter().filter(|cpu| cpu.wall_ns > 0).collect();
    let mut looked: Vec<Looked<'_>> = vec![];
    for cpu in &measured {
        let blocks = recorded.get(&(&*cpu.host, cpu.cpu)).into_iter().flatten();
        looked.push(Looked {
            class: &cpu.class,
            noise: cpu.noise,
            low: cpu.at_least.unwrap_or(0.0),
            least: least(thresholds.get(&*cpu.host).copied(), cpu.wall_ns),
            wall_ns: cpu.wall_ns as f64,
            blocks: blocks.flat_map(|cpu| &cpu.blocks).map(|&ns| ns as f64).collect(),
        });
    }
    outliers(&looked, |found| (measured[found].host.clone(), Some(measured[found].cpu)))
}

/// Finds the hosts that stand out among those of their CPU model.
pub(super) fn host_outliers(hosts: &[HostNoise], parts: &[HostSummary]) -> Outliers {
    let mut recorded: BTreeMap<&str, Vec<&HostSummary>> = BTreeMap::new();
    parts.iter().for_each(|part| recorded.entry(&part.host).or_default().push(part));
    let measured: Vec<&HostNoise> = hosts.iter().filter(|host| host.wall_ns > 0).collect();
    let mut looked: Vec<Looked<'_>> = vec![];
    for host in &measured {
        let parts = recorded.get(&*host.host).map_or(&[][..], Vec::as_slice);
        looked.push(Looked {
            class: parts.last().map_or("", |part| &part.model),
            noise: host.noise,
            low: host.at_least.unwrap_or(0.0),
            least: least(parts.last().map(|part| part.threshold_ns), host.wall_ns),
            wall_ns: host.wall_ns as f64,
            blocks: parts.iter().flat_map(|part| together(&part.cpus)).collect(),
        });
    }
    outliers(&looked, |found| (measured[found].host.clone(), None))
}

/// Returns the noise of a single detour of the length of the threshold.
fn least(threshold_ns: Option<u64>, wall_ns: u64) -> f64 {
    crate::share(threshold_ns.unwrap_or(0).max(1), wall_ns)
}

/// Returns the time that the CPUs of a recording lost together in each block: what stops all of them at once is one event.
fn together(cpus: &[HostCpu]) -> Vec<f64> {
    let mut blocks = vec![0.0; cpus.iter().map(|cpu| cpu.blocks.len()).max().unwrap_or(0)];
    for (at, &ns) in cpus.iter().flat_map(|cpu| cpu.blocks.iter().enumerate()) {
        blocks[at] += ns as f64;
    }
    blocks
}

/// Tests the members, noisiest first, and names the outliers.
pub(crate) fn outliers(
    looked: &[Looked<'_>],
    name: impl Fn(usize) -> (String, Option<u32>),
) -> Outliers {
    let (verdicts, classes) = judge(looked);
    let judged = classes.iter().filter(|class| class.spread.is_some());
    let found = verdicts
        .iter()
        .map(|verdict| outlier(verdict, looked[verdict.index].noise, name(verdict.index)));
    Outliers {
        alpha: ALPHA,
        fewest: FEWEST as u64,
        judged: judged.map(|class| class.count).sum(),
        found: found.collect(),
        assumes: format!(
            "except for outliers, the logarithm of the noise within a class is normal and independent, and events (blocks of the run in which more was lost than the median) come independently and equally often on all members; an outlier is tested without its largest event, by its distance from the median in robust standard deviations (median absolute deviation, at least {:.0} %, with p from Student's t with (n−1)/2 degrees of freedom) and by its part of all events (binomial), of which the larger p counts, or by both of its steady noise alone, corrected for all tests (Holm); a class needs at least {FEWEST} members, and only noisier members whose own lower bound lies above the median are outliers; where most members have no noise, the events alone are tested",
            LEAST_SPREAD * 100.0
        ),
        classes,
    }
}

fn outlier(verdict: &Verdict, noise: f64, (host, cpu): (String, Option<u32>)) -> Outlier {
    Outlier { host, cpu, noise, ratio: verdict.ratio, z: verdict.z, p: verdict.p }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stops all CPUs of a host is one event: their blocks are added up one by one. A CPU with fewer adds nothing to
    /// the last ones.
    #[test]
    fn the_blocks_of_a_host_are_those_of_its_cpus_together() {
        let cpu = |blocks: &[u64]| HostCpu {
            cpu: 0,
            class: "c".into(),
            wall_ns: 1_000,
            lost_ns: 0,
            interval: None,
            at_least: None,
            detours: 0,
            lengths: None,
            lost_detours: 0,
            slow_ns: None,
            calm_ns: None,
            blocks: blocks.to_vec(),
        };
        assert_eq!(together(&[cpu(&[1, 2, 3]), cpu(&[10, 20]), cpu(&[])]), [11.0, 22.0, 3.0]);
        assert_eq!(together(&[]), [0.0; 0]);
    }
}
