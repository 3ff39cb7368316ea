//! CPUs that were measured one after the other have the bounds and the outliers of the same CPUs measured together.

use anechoic_analyze::cluster::{Cluster, ClusterBuilder, HostSummary};
use anechoic_analyze::{Summary, summarize};
use anechoic_lab::builders::{clock, cpu_run, run};
use anechoic_recording::{Detour, Recorder, Recording};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use std::path::Path;

const SECOND: u64 = 1_000_000_000;
/// What is subtracted from every gap.
const SHORTEST: u64 = 10;
/// For how long each CPU is watched.
const WALL: u64 = 10 * SECOND;
/// Detours per second, and the mean time that each takes.
const RATE_HZ: f64 = 250.0;
const LENGTH_NS: f64 = 30_000.0;
const NOISE: f64 = RATE_HZ * LENGTH_NS / 1e9;

/// Returns the detours of one CPU that is watched from this time on: independent ones of exponential lengths.
fn detours(cpu: u32, first_ticks: u64, length_ns: f64) -> Vec<Detour> {
    let mut random = Pcg64Mcg::seed_from_u64(u64::from(cpu));
    let mut exponential = |mean: f64| -mean * (1.0 - random.random::<f64>()).ln();
    let (mut detours, mut at) = (vec![], 0.0);
    loop {
        at += exponential(1e9 / RATE_HZ);
        let length = exponential(length_ns) + SHORTEST as f64;
        if at + length >= WALL as f64 {
            return detours;
        }
        let start_ticks = first_ticks + at as u64;
        let end_ticks = start_ticks + length as u64;
        detours.push(Detour { cpu, start_ticks, end_ticks });
        at += length;
    }
}

/// Records CPUs with these mean lengths of detours, each of which begins so long after the one before.
fn record(dir: &Path, later_ticks: u64, lengths_ns: &[f64]) -> Recording {
    let first = |cpu: u32| SECOND + u64::from(cpu) * later_ticks;
    let cpus = || (0..).zip(lengths_ns);
    let runs = cpus().map(|(cpu, _)| cpu_run(cpu, (first(cpu), first(cpu) + WALL), SHORTEST));
    let run = run("detours", clock(SECOND), runs.collect());
    let mut recorder = Recorder::create(dir, &run).expect("a new directory");
    for (cpu, &length_ns) in cpus() {
        recorder.append(&detours(cpu, first(cpu), length_ns)).expect("in order");
    }
    recorder.finish(&run).expect("there is space");
    Recording::open(dir).expect("just written")
}

/// Summarises four CPUs, each of which begins so long after the one before.
fn summary(dir: &Path, later_ticks: u64) -> Summary {
    summarize(&record(dir, later_ticks, &[LENGTH_NS; 4])).expect("it can be read")
}

/// Returns what merging one host finds, whose CPUs begin so long after each other; CPU 5 has this mean length.
fn merged(dir: &Path, later_ticks: u64, noisy_ns: f64) -> Cluster {
    let mut lengths_ns = [LENGTH_NS; 12];
    lengths_ns[5] = noisy_ns;
    let recording = record(dir, later_ticks, &lengths_ns);
    let mut all = ClusterBuilder::new();
    all.add(HostSummary::from_recording(&recording).expect("it can be read")).expect("the first");
    all.finish().expect("one host")
}

#[test]
fn the_noisy_one_of_them_is_found() {
    let dir = tempfile::tempdir().expect("a directory");
    for (noisy_ns, expected) in [(10.0 * LENGTH_NS, &[Some(5)][..]), (LENGTH_NS, &[])] {
        let merged = |name: &str, later_ticks: u64| {
            merged(&dir.path().join(format!("{name} {noisy_ns}")), later_ticks, noisy_ns)
        };
        let together = merged("together", 0).cpu_outliers;
        let in_turn = merged("in turn", WALL + SECOND).cpu_outliers;
        let found: Vec<_> = together.found.iter().map(|outlier| outlier.cpu).collect();
        assert_eq!((together.judged, &found[..]), (12, expected));
        assert_eq!(in_turn, together, "CPU 5 of {noisy_ns} ns");
    }
}

#[test]
fn they_have_the_bounds_of_the_same_cpus_measured_together() {
    let dir = tempfile::tempdir().expect("a directory");
    let together = summary(&dir.path().join("together"), 0);
    let in_turn = summary(&dir.path().join("in turn"), WALL + SECOND);
    let bounds = |found: &Summary| {
        let cpus = found.cpus.iter().map(|cpu| (cpu.noise, cpu.interval, cpu.at_least));
        let total = (found.total.noise, found.total.interval, found.total.at_least);
        cpus.chain([total]).collect::<Vec<_>>()
    };
    assert_eq!(bounds(&in_turn), bounds(&together));
    assert_eq!(in_turn.total.wall_ns, 4 * WALL);
    for (noise, interval, at_least) in bounds(&in_turn) {
        let interval = interval.expect("2,500 detours are enough");
        assert!(interval.low < NOISE && NOISE < interval.high, "{noise}: {interval:?}");
        assert!(interval.low > 0.8 * noise && interval.high < 1.2 * noise, "{noise}: {interval:?}");
        assert!(at_least.is_some_and(|least| least > 0.8 * noise), "{noise}: {at_least:?}");
    }
}
