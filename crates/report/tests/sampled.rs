//! The screen of the samples of many hosts, beside the one that was looked at and found good.

use anechoic_analyze::cluster::{HostFacts, LengthCounts};
use anechoic_analyze::sampled::{
    CpuSeries, ExperimentCounts, HostSamples, SampledExperiment, SampledHosts, join,
};
use anechoic_analyze::samples::Fixed;
use anechoic_analyze::stats::Interval;
use anechoic_recording::parallel::{Parallel, Rank};
use anechoic_recording::run::RunState;
use anechoic_report::results::hosts::HOSTS;
use anechoic_report::results::{AnyRow, Found};
use anechoic_report::{View, schemas};

/// Samples of a series.
const COUNT: u64 = 10_000;

/// Looks at a screen: as it was, never over 80 columns, and as the schema says.
fn golden(name: &str, sampled: &SampledHosts) {
    let found = Found::from_value(&HOSTS, sampled.clone(), &[]);
    let text = found.screen(&View::default()).to_text(&View::default());
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{name} has a line of {widest:?} columns:\n{text}");
    insta::assert_snapshot!(name, text);
    let schema = HOSTS.schema().expect("it is printed");
    assert!(schemas().iter().any(|(name, text)| *name == "hosts.schema.json" && *text == schema));
    let schema = serde_json::from_str(&schema).expect("a schema is JSON");
    let mut json = vec![];
    found.json(&mut json).expect("writing to memory");
    let printed = serde_json::from_slice(&json).expect("JSON reads back");
    assert!(jsonschema::is_valid(&schema, &printed), "{name}");
}

fn experiment(variant: &str, fixed: Fixed) -> SampledExperiment {
    let (policy, pinned) = ("other".into(), true);
    SampledExperiment { variant: variant.into(), grain_ns: Some(100_000), policy, fixed, pinned }
}

/// A loop of which one sample in a hundred loses this much more than the least one.
fn series(experiment: &SampledExperiment, cpu: u32, lost_ns: u64) -> CpuSeries {
    let share = lost_ns as f64 / 100.0 / 100_000.0;
    let (min, mean, median, p99, max) = match experiment.fixed {
        Fixed::Work => (1e5, 1e5 * (1.0 + share), 1e5, 1e5, (100_000 + lost_ns) as f64),
        Fixed::Time => (400.0, 1_000.0 * (1.0 - share), 1_000.0, 1_000.0, 1_000.0),
    };
    CpuSeries {
        experiment: experiment.clone(),
        cpu: Some(cpu),
        class: "AMD EPYC 7B13".into(),
        samples: COUNT,
        lost_samples: 0,
        wrong: 0,
        min,
        mean,
        median,
        p99,
        max,
        lost_ns: (lost_ns * COUNT) as f64 / 100.0,
        whole_ns: 1e5 * COUNT as f64,
        interval: Some(Interval { low: share * 0.95, high: share * 1.06 }),
        at_least: Some(share * 0.95),
        least: 1e-9,
        blocks: vec![(lost_ns * COUNT) as f64 / 3200.0; 32],
    }
}

fn host(
    number: u32,
    hosts: u32,
    experiments: &[SampledExperiment],
    lost_ns: &[u64],
) -> HostSamples {
    let name = format!("node{number:02}");
    let one = |experiment: &SampledExperiment| {
        (0..).zip(lost_ns).map(|(cpu, &ns)| series(experiment, cpu, ns)).collect::<Vec<_>>()
    };
    let counts = |experiment: &SampledExperiment| {
        let all = lost_ns.len() as u64 * COUNT;
        let mut cells = vec![(0, all / 100 * 99)];
        let mut sorted = lost_ns.to_vec();
        sorted.sort_unstable();
        cells.extend(sorted.iter().map(|&ns| (ns, COUNT / 100)));
        let max_ns = sorted.last().copied().unwrap_or(0);
        let sum_ns = lost_ns.iter().map(|ns| ns * COUNT / 100).sum();
        let lost = LengthCounts { min_ns: 0, max_ns, sum_ns, cells };
        ExperimentCounts { experiment: experiment.clone(), lost }
    };
    HostSamples {
        facts: HostFacts {
            recording: format!("data/host={name}"),
            measured_by: "0.1.0".into(),
            model: "AMD EPYC 7B13".into(),
            kernel: "6.1.0-26-amd64 #1 SMP".into(),
            hypervisor: None,
            method: "loops".into(),
            state: RunState::Complete,
            start_utc: "2026-11-20T10:00:00Z".into(),
            end_utc: Some("2026-11-20T10:00:10Z".into()),
            parallel: Some(Parallel {
                job: None,
                through: "Open MPI 4.1.4".into(),
                ranks: hosts * 4,
                hosts,
                host: name.clone(),
                here: (0..4)
                    .map(|rank| Rank { rank: number * 4 + rank, cpus: vec![rank], tids: vec![] })
                    .collect(),
            }),
            injected: false,
            host: name,
        },
        without: vec![],
        series: experiments.iter().flat_map(one).collect(),
        lost: experiments.iter().map(counts).collect(),
    }
}

#[test]
fn sixteen_hosts_of_which_one_cpu_stands_out() {
    let experiments = [experiment("counter", Fixed::Work)];
    let lost = |number: u32| match number {
        7 => [12_000, 11_000, 13_000, 900_000],
        _ => [12_000 + u64::from(number) * 90, 11_500, 12_500, 11_900],
    };
    let hosts = (0..16).map(|number| host(number, 16, &experiments, &lost(number))).collect();
    golden("sampled_usual", &join(hosts, &[]).expect("sixteen hosts"));
}

#[test]
fn two_experiments_on_two_unequal_hosts() {
    let experiments = [experiment("counter-reg", Fixed::Time), experiment("sum", Fixed::Work)];
    let hosts =
        vec![host(0, 2, &experiments, &[10_000, 50_000]), host(1, 2, &experiments[..1], &[30_000])];
    golden("sampled_two", &join(hosts, &[]).expect("two hosts"));
}

#[test]
fn hosts_without_samples() {
    let mut none = host(0, 2, &[], &[]);
    none.state = RunState::Interrupted("SIGTERM".into());
    let left_out = [("data/host=node01".to_owned(), "it is damaged; copy it again".to_owned())];
    golden("sampled_none", &join(vec![none], &left_out).expect("one host"));
}
