//! Made-up hosts, of which every number is computed again from the sums that it is defined by.

use super::counts::LengthCounts;
use super::host::{HostCpu, HostSource, HostSummary};
use super::together::{AnyAway, FirstCpus};
use super::{Cluster, ClusterBuilder};
use crate::cluster::facts::HostFacts;
use crate::stats::Interval;
use anechoic_recording::run::RunState;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use std::collections::{BTreeMap, BTreeSet};

fn cpu(number: u32, random: &mut Pcg64Mcg) -> HostCpu {
    let wall_ns = random.random_range(1_000..9_000);
    HostCpu {
        cpu: number,
        class: "class".into(),
        wall_ns,
        lost_ns: random.random_range(0..wall_ns / 2),
        interval: None,
        at_least: None,
        detours: random.random_range(0..90),
        lengths: None,
        lost_detours: random.random_range(0..3),
        slow_ns: None,
        calm_ns: None,
        blocks: vec![],
    }
}

fn sources(random: &mut Pcg64Mcg) -> Vec<HostSource> {
    let source = |name: &str, random: &mut Pcg64Mcg| HostSource {
        source: "thread".into(),
        name: name.into(),
        detours: random.random_range(1..50),
        lost_ns: random.random_range(0..400),
        max_ns: random.random_range(1..100),
        cpus: random.random_range(1..3),
    };
    let names = ["bash", "make", "sshd"].into_iter().filter(|_| random.random_bool(0.7));
    names.collect::<Vec<_>>().into_iter().map(|name| source(name, random)).collect()
}

/// Returns recording `number` of a host, some seconds after the one before.
fn recording(host: usize, number: usize, random: &mut Pcg64Mcg) -> HostSummary {
    let count = random.random_range(1..4);
    let cpus: Vec<HostCpu> = (0..count).map(|number| cpu(number, random)).collect();
    let first = |count: usize| {
        let first = &cpus[..count];
        let worst =
            first.iter().map(|cpu| cpu.lost_ns as f64 / cpu.wall_ns as f64).fold(0.0, f64::max);
        FirstCpus {
            cpus: count as u64,
            wall_ns: first.iter().map(|cpu| cpu.wall_ns).sum(),
            lost_ns: first.iter().map(|cpu| cpu.lost_ns).sum(),
            worst,
            any: (!host.is_multiple_of(3))
                .then_some(AnyAway { window_ns: 1_000, away_ns: 100 * count as u64 }),
        }
    };
    let second = 10 * number;
    HostSummary {
        facts: HostFacts {
            host: format!("node{host}"),
            recording: format!("node{host}/{number}"),
            measured_by: "0.1.0".into(),
            model: "model".into(),
            kernel: "6.18".into(),
            hypervisor: None,
            method: "detours".into(),
            state: RunState::Complete,
            start_utc: format!("2026-11-01T00:00:{second:02}.{host:06}Z"),
            end_utc: Some(format!("2026-11-01T00:00:{:02}.{host:06}Z", second + 9)),
            parallel: None,
            injected: false,
        },
        threshold_ns: 100 + host as u64,
        doubts: vec![],
        settings: BTreeMap::new(),
        interval: Some(Interval { low: 0.01, high: 0.9 }),
        at_least: None,
        lengths: LengthCounts::default(),
        sources: (!host.is_multiple_of(4)).then(|| sources(random)),
        losses: vec![],
        first_cpus: [1, 2, 3].into_iter().filter(|count| *count <= cpus.len()).map(first).collect(),
        cpus,
    }
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-12 + 1e-9 * expected.abs()
}

fn over(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

#[test]
fn every_number_is_that_of_its_sums() {
    let mut random = Pcg64Mcg::seed_from_u64(41);
    for trial in 0..100 {
        let hosts = 1 + trial % 6;
        let mut parts: Vec<HostSummary> = vec![];
        for host in 0..hosts {
            // Some hosts have two recordings.
            let count = 1 + usize::from(host % 2 == trial % 2);
            parts.extend((0..count).map(|number| recording(host, number, &mut random)));
        }
        let mut builder = ClusterBuilder::new();
        for part in parts.iter().rev() {
            builder.add(part.clone()).expect("different recordings");
        }
        let cluster = builder.finish().expect("hosts");
        check_total(&cluster, &parts);
        check_hosts(&cluster, &parts);
        check_sources(&cluster, &parts);
        check_used(&cluster, &parts);
    }
}

fn check_total(cluster: &Cluster, parts: &[HostSummary]) {
    let cpus = || parts.iter().flat_map(|part| &part.cpus);
    let sum = |value: fn(&HostCpu) -> u64| cpus().map(value).sum::<u64>();
    let total = &cluster.total;
    let [wall, lost, detours] =
        [sum(|cpu| cpu.wall_ns), sum(|cpu| cpu.lost_ns), sum(|cpu| cpu.detours)];
    assert_eq!((total.wall_ns, total.lost_ns, total.detours), (wall, lost, detours));
    assert_eq!(total.lost_detours, sum(|cpu| cpu.lost_detours));
    assert!(
        close(total.noise, over(lost, wall))
            && close(total.rate_per_s, over(detours * 1_000_000_000, wall))
    );
    let numbers: BTreeSet<(&str, u32)> =
        parts.iter().flat_map(|part| part.cpus.iter().map(|cpu| (&*part.host, cpu.cpu))).collect();
    let names: BTreeSet<&str> = parts.iter().map(|part| &*part.host).collect();
    assert_eq!((total.cpus, total.hosts), (numbers.len() as u64, names.len() as u64));
    let thresholds = || parts.iter().map(|part| part.threshold_ns);
    let ends = (thresholds().min(), thresholds().max());
    assert_eq!((Some(cluster.threshold_ns), Some(cluster.highest_threshold_ns)), ends);
    let mut noise: Vec<f64> = cluster.cpus.iter().map(|cpu| cpu.noise).collect();
    noise.sort_by(f64::total_cmp);
    let last = noise.len() - 1;
    let at = |share: f64| noise[(last as f64 * share).round() as usize];
    let quantiles = total.of_cpus;
    assert_eq!((quantiles.least, quantiles.p90, quantiles.most), (at(0.0), at(0.9), at(1.0)));
    assert!(close(quantiles.median, (noise[last / 2] + noise[noise.len() / 2]) / 2.0));
}

fn check_hosts(cluster: &Cluster, parts: &[HostSummary]) {
    assert!(cluster.cpus.is_sorted_by(|a, b| a.noise >= b.noise));
    assert!(cluster.hosts.is_sorted_by(|a, b| a.noise >= b.noise));
    for found in &cluster.cpus {
        let own = parts.iter().filter(|part| part.host == found.host);
        let own: Vec<&HostCpu> =
            own.flat_map(|part| &part.cpus).filter(|cpu| cpu.cpu == found.cpu).collect();
        let sum = |value: fn(&HostCpu) -> u64| own.iter().map(|cpu| value(cpu)).sum::<u64>();
        let (wall, lost) = (sum(|cpu| cpu.wall_ns), sum(|cpu| cpu.lost_ns));
        assert_eq!((found.wall_ns, found.lost_ns), (wall, lost));
        assert_eq!(found.lost_detours, sum(|cpu| cpu.lost_detours));
        assert!(close(found.noise, over(lost, wall)));
        assert!(close(found.rate_per_s, over(sum(|cpu| cpu.detours) * 1_000_000_000, wall)));
    }
    for found in &cluster.hosts {
        let own: Vec<&HostSummary> = parts.iter().filter(|part| part.host == found.host).collect();
        let sum = |value: fn(&HostCpu) -> u64| {
            own.iter().flat_map(|part| &part.cpus).map(value).sum::<u64>()
        };
        let (wall, lost) = (sum(|cpu| cpu.wall_ns), sum(|cpu| cpu.lost_ns));
        assert_eq!((found.wall_ns, found.lost_ns), (wall, lost));
        assert_eq!(found.recordings, own.len() as u64);
        let cpus: Vec<_> = cluster.cpus.iter().filter(|cpu| cpu.host == found.host).collect();
        assert_eq!(found.cpus, cpus.len() as u64);
        assert_eq!((found.worst_cpu, found.worst), (Some(cpus[0].cpu), cpus[0].noise));
    }
}

fn check_sources(cluster: &Cluster, parts: &[HostSummary]) {
    let known: Vec<&HostSummary> = parts.iter().filter(|part| part.sources.is_some()).collect();
    let Some(sources) = &cluster.sources else { return assert!(known.is_empty()) };
    let hosts: BTreeSet<&str> = known.iter().map(|part| &*part.host).collect();
    assert_eq!(sources.hosts, hosts.len() as u64);
    let cpus = || known.iter().flat_map(|part| &part.cpus);
    let wall: u64 = cpus().map(|cpu| cpu.wall_ns).sum();
    let lost: u64 = cpus().map(|cpu| cpu.lost_ns).sum();
    assert!(sources.rows.is_sorted_by(|a, b| a.share >= b.share));
    let mut attributed = 0;
    for row in &sources.rows {
        let of_part = |part: &&HostSummary| {
            let sources = part.sources.as_ref()?;
            let found = sources.iter().find(|source| source.name == row.name)?;
            let wall: u64 = part.cpus.iter().map(|cpu| cpu.wall_ns).sum();
            // The wall time of the CPUs on which it occurred is taken to be usual.
            let touched = wall * found.cpus / part.cpus.len() as u64;
            Some((part.host.clone(), found.clone(), touched))
        };
        let own: Vec<(String, HostSource, u64)> = known.iter().filter_map(of_part).collect();
        let sum = |value: fn(&(String, HostSource, u64)) -> u64| own.iter().map(value).sum::<u64>();
        let [taken, detours, touched] =
            [sum(|part| part.1.lost_ns), sum(|part| part.1.detours), sum(|part| part.2)];
        attributed += taken;
        let mut by_host: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (host, source, _) in &own {
            let here = by_host.entry(host).or_default();
            *here = (here.0 + source.lost_ns, here.1.max(source.cpus));
        }
        assert_eq!((row.source.as_str(), row.hosts), ("thread", by_host.len() as u64));
        assert_eq!(row.cpus, by_host.values().map(|here| here.1).sum::<u64>());
        assert!(close(row.share, over(taken, lost)) && close(row.noise, over(taken, wall)));
        assert!(close(row.rate_per_s, over(detours * 1_000_000_000, touched)), "{row:?}");
        assert!(close(row.mean_ns, over(taken, detours)));
        assert_eq!(Some(row.max_ns), own.iter().map(|part| part.1.max_ns).max());
        let most = by_host[&*row.most_on].0;
        assert!(by_host.values().all(|here| here.0 <= most), "{row:?}");
        assert!(by_host.iter().all(|(host, here)| here.0 < most || **host >= *row.most_on));
        assert!(taken == 0 || close(row.most_share, over(most, taken)));
    }
    assert!(close(sources.unattributed, over(lost.saturating_sub(attributed), lost)));
}

fn check_used(cluster: &Cluster, parts: &[HostSummary]) {
    for row in &cluster.by_cpus {
        let rows =
            parts.iter().flat_map(|part| part.first_cpus.iter().map(move |first| (part, first)));
        let own: Vec<_> = rows.filter(|(_, first)| first.cpus == row.count).collect();
        let hosts: BTreeSet<&str> = own.iter().map(|(part, _)| &*part.host).collect();
        assert_eq!(row.hosts, hosts.len() as u64);
        let sum =
            |value: fn(&FirstCpus) -> u64| own.iter().map(|(_, first)| value(first)).sum::<u64>();
        assert!(close(row.noise, over(sum(|first| first.lost_ns), sum(|first| first.wall_ns))));
        let any = own.iter().map(|(_, first)| first.any).collect::<Option<Vec<AnyAway>>>();
        let any = any.map(|any| {
            over(any.iter().map(|any| any.away_ns).sum(), any.iter().map(|any| any.window_ns).sum())
        });
        assert_eq!(row.any.is_some(), any.is_some());
        assert!(row.any.zip(any).is_none_or(|(found, expected)| close(found, expected)));
    }
    let counts: Vec<u64> = cluster.by_hosts.iter().map(|row| row.count).collect();
    let hosts = cluster.hosts.len() as u64;
    assert_eq!((counts[0], counts.last()), (1, Some(&hosts)));
    for row in &cluster.by_hosts {
        let names: BTreeSet<&str> = parts.iter().map(|part| &*part.host).collect();
        let names: Vec<&str> = names.into_iter().take(row.count as usize).collect();
        let own = || parts.iter().filter(|part| names.contains(&&*part.host));
        let first = || own().filter_map(|part| part.first_cpus.last());
        let lost: u64 = first().map(|first| first.lost_ns).sum();
        assert!(close(row.noise, over(lost, first().map(|first| first.wall_ns).sum())));
        assert!(close(row.worst, first().map(|first| first.worst).fold(0.0, f64::max)));
        let free = |name: &&str| {
            let any: Option<Vec<AnyAway>> = own()
                .filter(|part| part.host == **name)
                .map(|part| part.first_cpus.last().and_then(|first| first.any))
                .collect();
            let any = any?;
            let window: u64 = any.iter().map(|any| any.window_ns).sum();
            Some(1.0 - over(any.iter().map(|any| any.away_ns).sum(), window))
        };
        let expected = names.iter().map(free).product::<Option<f64>>().map(|free| 1.0 - free);
        assert_eq!(row.any.is_some(), expected.is_some());
        assert!(row.any.zip(expected).is_none_or(|(found, expected)| close(found, expected)));
    }
}
