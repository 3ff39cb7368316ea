//! The screen of many hosts: beside the one that was looked at and found good.
//!
//! After a change that is meant, look at `INSTA_UPDATE=always cargo test --workspace --test report`
//! in the diff of `tests/snapshots`.

use anechoic_analyze::cluster::{
    AnyAway, Cluster, ClusterBuilder, FirstCpus, HostCpu, HostFacts, HostSource, HostSummary,
    LengthCounts,
};
use anechoic_analyze::coverage::LossSummary;
use anechoic_analyze::lengths::Lengths;
use anechoic_analyze::stats::Interval;
use anechoic_recording::parallel::{Parallel, Rank};
use anechoic_recording::run::RunState;
use anechoic_report::{Style, View, schemas};

const WALL_NS: u64 = 10_000_000_000;

fn screen(cluster: &Cluster, view: &View<'_>) -> String {
    anechoic_report::cluster(cluster, view).to_text(view)
}

/// Looks at a screen: as it was, never over 80 columns, and as the schema says.
fn golden(name: &str, cluster: &Cluster) {
    let text = screen(cluster, &View::default());
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{name} has a line of {widest:?} columns:\n{text}");
    insta::assert_snapshot!(name, text);
    let (_, schema) =
        schemas().into_iter().find(|(name, _)| *name == "cluster.schema.json").expect("listed");
    let schema = serde_json::from_str(&schema).expect("a schema is JSON");
    let mut json = vec![];
    anechoic_report::json(cluster, &mut json).expect("writing to memory");
    let printed = serde_json::from_slice(&json).expect("JSON reads back");
    assert!(jsonschema::is_valid(&schema, &printed), "{name}");
    let back: Cluster = serde_json::from_slice(&json).expect("the type reads back");
    assert_eq!(&back, cluster, "{name}");
}

fn cpu(cpu: u32, lost_ns: u64) -> HostCpu {
    let noise = lost_ns as f64 / WALL_NS as f64;
    HostCpu {
        cpu,
        class: "AMD EPYC 7B13".into(),
        wall_ns: WALL_NS,
        lost_ns,
        interval: Some(Interval { low: noise * 0.95, high: noise * 1.06 }),
        at_least: Some(noise * 0.95),
        detours: 76_100,
        lengths: Some(Lengths {
            min_ns: 90,
            mean_ns: lost_ns as f64 / 76_100.0,
            p50_ns: 412,
            p99_ns: 22_400,
            max_ns: 1_132_000,
            p50_by_time_ns: 15_000,
            p99_by_time_ns: 500_000,
        }),
        lost_detours: 0,
        slow_ns: None,
        calm_ns: None,
        blocks: vec![lost_ns / 50; 50],
    }
}

fn source(source: &str, name: &str, lost_ns: u64, max_ns: u64) -> HostSource {
    HostSource {
        source: source.into(),
        name: name.into(),
        detours: lost_ns / 20_000,
        lost_ns,
        max_ns,
        cpus: 2,
    }
}

/// A host with the given number of CPUs, each with about 1 % noise.
fn host(number: u32, cpus: u32) -> HostSummary {
    host_with(number, cpus, |cpu| 100_000_000 + u64::from(number * 7 + cpu * 13) % 11 * 2_000_000)
}

/// A host with the given number of CPUs, each with the given noise.
fn host_with(number: u32, cpus: u32, lost: impl Fn(u32) -> u64) -> HostSummary {
    let cpus: Vec<HostCpu> = (0..cpus).map(|number| cpu(number, lost(number))).collect();
    let first = |size: &usize| {
        let lost_ns = cpus[..*size].iter().map(|cpu| cpu.lost_ns).sum();
        FirstCpus {
            cpus: *size as u64,
            wall_ns: WALL_NS * *size as u64,
            lost_ns,
            worst: cpus[..*size].iter().map(|cpu| cpu.lost_ns).max().unwrap_or(0) as f64 / 1e10,
            any: Some(AnyAway { window_ns: WALL_NS, away_ns: lost_ns * 4 / 5 }),
        }
    };
    let sum: u64 = cpus.iter().map(|cpu| cpu.lost_ns).sum();
    let noise = sum as f64 / (WALL_NS * cpus.len() as u64) as f64;
    HostSummary {
        facts: HostFacts {
            host: format!("node{number:02}"),
            recording: format!("data/host=node{number:02}"),
            measured_by: "0.1.0".into(),
            model: "AMD EPYC 7B13".into(),
            kernel: "6.18.5 #1 SMP PREEMPT_DYNAMIC".into(),
            hypervisor: Some("KVM".into()),
            method: "detours".into(),
            state: RunState::Complete,
            start_utc: format!("2026-05-09T07:31:17.{:06}Z", number + 1),
            end_utc: Some("2026-05-09T07:31:27.000002Z".into()),
            parallel: None,
            injected: false,
        },
        threshold_ns: 100,
        doubts: vec![],
        settings: std::collections::BTreeMap::new(),
        interval: Some(Interval { low: noise * 0.96, high: noise * 1.05 }),
        at_least: Some(noise * 0.96),
        lengths: LengthCounts {
            min_ns: 90,
            max_ns: 1_132_000,
            sum_ns: sum,
            cells: vec![(412, 76_000), (22_400, 99), (1_132_000, 1)],
        },
        sources: Some(vec![
            source("timer-tick", "", sum / 10 * 6, 45_000),
            source("vm-or-hardware", "", sum / 10 * 3, 1_132_000),
            source("thread", "kworker/1:1", sum / 10, 390_000),
        ]),
        losses: vec![],
        first_cpus: [1, 2, 4, 8, 16]
            .iter()
            .filter(|&&size| size <= cpus.len())
            .map(first)
            .collect(),
        cpus,
    }
}

fn merged(hosts: Vec<HostSummary>) -> ClusterBuilder {
    let mut all = ClusterBuilder::new();
    hosts.into_iter().for_each(|host| all.add(host).expect("different hosts"));
    all
}

fn job(host: &HostSummary, first: u32, hosts: u32) -> Parallel {
    let ranks = host.cpus.len() as u32;
    Parallel {
        job: None,
        through: "Open MPI 4.1.4".into(),
        ranks: hosts * ranks,
        hosts,
        host: host.host.clone(),
        here: (0..ranks)
            .map(|rank| Rank { rank: first + rank, cpus: vec![rank], tids: vec![] })
            .collect(),
    }
}

#[test]
fn usual() {
    let mut hosts: Vec<HostSummary> = (0..16).map(|number| host(number, 4)).collect();
    let usual: Vec<u64> = hosts[7].cpus.iter().map(|cpu| cpu.lost_ns).collect();
    hosts[7] = host_with(7, 4, |cpu| if cpu == 3 { 980_000_000 } else { usual[cpu as usize] });
    for (number, host) in hosts.iter_mut().enumerate() {
        host.parallel = Some(job(host, number as u32 * 4, 16));
    }
    let cluster = merged(hosts).finish().expect("sixteen hosts");
    golden("cluster_usual", &cluster);
    insta::assert_snapshot!(
        "cluster_all",
        screen(&cluster, &View { all: true, ..View::default() })
    );
    let colored = View { style: Style { color: true }, width: 100, all: true, ..View::default() };
    let text = screen(&cluster, &colored);
    assert!(text.contains('\x1b') && !text.contains("--all"), "{text}");
}

#[test]
fn two_hosts_of_two() {
    let cluster = merged(vec![host(0, 2), host(1, 2)]).finish().expect("two hosts");
    golden("cluster_two", &cluster);
}

#[test]
fn one_cpu() {
    let mut only = HostSummary { sources: None, ..host(0, 1) };
    only.hypervisor = None;
    only.cpus[0].interval = None;
    only.interval = None;
    golden("cluster_one_cpu", &merged(vec![only]).finish().expect("one host"));
}

#[test]
fn much_is_wrong() {
    let mut hosts: Vec<HostSummary> = (0..4).map(|number| host(number, 2)).collect();
    hosts[0].parallel = Some(job(&hosts[0], 0, 6));
    hosts[1].state = RunState::Running;
    hosts[1].end_utc = None;
    hosts[1].first_cpus.iter_mut().for_each(|first| first.any = None);
    hosts[2].state = RunState::Interrupted("SIGTERM".into());
    hosts[2].measured_by = "0.2.0".into();
    hosts[2].injected = true;
    hosts[3].threshold_ns = 1_000;
    hosts[3].sources = None;
    hosts[3].cpus[1].lost_detours = 1_234;
    hosts[3].host = "a host\u{1b}[2J of a name that does not end where one would like".into();
    hosts[3].losses = vec![LossSummary {
        what: "events".into(),
        intervals: 3,
        count: 99,
        time_share: 0.01,
        cpus: vec![0],
    }];
    let mut all = merged(hosts);
    all.leave_out(
        "data/host=node09",
        "data/host=node09/run.json is damaged; restore it from a copy",
    );
    golden("cluster_wrong", &all.finish().expect("four hosts"));
}

#[test]
fn nothing_was_measured() {
    let empty = HostSummary {
        cpus: vec![],
        lengths: LengthCounts::default(),
        sources: Some(vec![]),
        first_cpus: vec![],
        interval: None,
        at_least: None,
        ..host(0, 1)
    };
    golden("cluster_nothing", &merged(vec![empty]).finish().expect("one host"));
}

/// The first sentences name a host that is noisier than the other, and whether that may be chance.
#[test]
fn the_noisiest_host_is_named() {
    let chance = "This may be chance: measure for longer.";
    for (lost, low, says, doubted) in [
        (
            300_000_000,
            0.02,
            "node02 lost 3.00 %, the other 1.00 %; timer tick took 1.80 % on node02, 0.60 % on the other.",
            false,
        ),
        (300_000_000, 0.01, "node02 lost 3.00 %, the other 1.00 %; timer tick took 1.80 %", true),
        (140_000_000, 0.01, "Neither host lost more than 1.5 times what the other did.", false),
    ] {
        let (quiet, mut noisy) = (host_with(1, 1, |_| 100_000_000), host_with(2, 1, |_| lost));
        noisy.interval = Some(Interval { low, high: 0.05 });
        let text =
            screen(&merged(vec![quiet, noisy]).finish().expect("two hosts"), &View::default());
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(says), "{lost}, {low}: {text}");
        assert_eq!(words.contains(chance), doubted, "{lost}, {low}: {text}");
    }
}

/// One host lost time although nothing interrupted it, another is slower than its equals even when calm.
#[test]
fn slow_hosts_are_named() {
    let hosts = (0..4).map(|number| {
        let mut host = host(number, 2);
        for cpu in &mut host.cpus {
            cpu.slow_ns = Some(if number == 2 { WALL_NS / 8 } else { WALL_NS / 2_000 });
            cpu.calm_ns = Some(if number == 3 { 11.8 } else { 10.36 });
        }
        host
    });
    let found = merged(hosts.collect()).finish().expect("four hosts");
    let slowest = found.hosts.iter().filter_map(|host| host.slow).fold(0.0, f64::max);
    assert!((slowest - 0.125).abs() < 1e-9, "{slowest}");
    let text = screen(&found, &View::default()).replace('\n', " ");
    assert!(
        text.contains("Without being interrupted, node02 lost another 12.5 % by a slower pace."),
        "{text}"
    );
    assert!(text.contains("Even when calm, node03 is 13.9 % slower than the median"), "{text}");
    assert!(text.contains("slower") && text.contains("0.050 %"), "{text}");
    let equal =
        merged((0..4).map(|number| host(number, 2)).collect()).finish().expect("four hosts");
    assert!(!screen(&equal, &View::default()).contains("slower"));
}

/// A host on which no loop ran is not one of those that a host is compared with.
#[test]
fn only_measured_hosts_are_the_others() {
    let (quiet, noisy) = (host_with(1, 1, |_| 100_000_000), host_with(2, 1, |_| 300_000_000));
    let mut silent = host_with(3, 1, |_| 0);
    silent.cpus[0].wall_ns = 0;
    let cluster = merged(vec![quiet, noisy, silent]).finish().expect("three hosts");
    assert_eq!(cluster.total.hosts, 3);
    let text = screen(&cluster, &View { all: true, ..View::default() });
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("node02 lost 3.00 %, the other 1.00 %"), "{text}");
    assert!(!words.contains("median of the others"), "{text}");
}

/// A result of a version that did not compare the hosts is no result that found no difference.
#[test]
fn an_older_result_is_not_compared() {
    let hosts = vec![host_with(1, 1, |_| 100_000_000), host_with(2, 1, |_| 300_000_000)];
    let cluster = merged(hosts).finish().expect("two hosts");
    let mut json = serde_json::to_value(&cluster).expect("JSON");
    json.as_object_mut().expect("an object").remove("differences").expect("it is there");
    let old: Cluster = serde_json::from_value(json).expect("an older result reads");
    assert_eq!(old.differences, None);
    let text = screen(&old, &View::default());
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("The hosts were not compared with each other"), "{text}");
    assert!(!words.contains("lost more than") && !text.contains("why they differ"), "{text}");
}

/// An interval from nearly nothing to all of the time says nothing, and neither does its lower bound.
#[test]
fn an_interval_that_says_nothing_is_not_shown() {
    let mut wide = host_with(1, 1, |_| 100_000_000);
    let nothing = Some(Interval { low: 1e-7, high: 1.0 });
    (wide.interval, wide.at_least) = (nothing, Some(1e-7));
    (wide.cpus[0].interval, wide.cpus[0].at_least) = (nothing, Some(1e-7));
    let cluster = merged(vec![wide]).finish().expect("one host");
    let text = screen(&cluster, &View { all: true, ..View::default() });
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("(too few events to give an interval: measure for longer)"), "{text}");
    assert!(words.contains("– under 95 %: no interval"), "{text}");
    assert!(!text.contains("–100") && !text.contains("≥ 0"), "{text}");
}
