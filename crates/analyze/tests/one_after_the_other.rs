//! CPUs that were measured one after the other have the bounds of the same CPUs measured together.

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
fn detours(cpu: u32, first_ticks: u64) -> Vec<Detour> {
    let mut random = Pcg64Mcg::seed_from_u64(u64::from(cpu));
    let mut exponential = |mean: f64| -mean * (1.0 - random.random::<f64>()).ln();
    let (mut detours, mut at) = (vec![], 0.0);
    loop {
        at += exponential(1e9 / RATE_HZ);
        let length = exponential(LENGTH_NS) + SHORTEST as f64;
        if at + length >= WALL as f64 {
            return detours;
        }
        let start_ticks = first_ticks + at as u64;
        let end_ticks = start_ticks + length as u64;
        detours.push(Detour { cpu, start_ticks, end_ticks });
        at += length;
    }
}

/// Summarises four CPUs, each of which begins so long after the one before.
fn summary(dir: &Path, later_ticks: u64) -> Summary {
    let first = |cpu: u32| SECOND + u64::from(cpu) * later_ticks;
    let cpus = (0..4).map(|cpu| cpu_run(cpu, (first(cpu), first(cpu) + WALL), SHORTEST));
    let run = run("detours", clock(SECOND), cpus.collect());
    let mut recorder = Recorder::create(dir, &run).expect("a new directory");
    (0..4).for_each(|cpu| recorder.append(&detours(cpu, first(cpu))).expect("in order"));
    recorder.finish(&run).expect("there is space");
    summarize(&Recording::open(dir).expect("just written")).expect("it can be read")
}

#[test]
fn they_have_the_bounds_of_the_same_cpus_measured_together() {
    let dir = tempfile::tempdir().expect("a directory");
    let together = summary(&dir.path().join("together"), 0);
    let in_turn = summary(&dir.path().join("in turn"), WALL + SECOND);
    let bounds = |of: &Summary| {
        let cpus = of.cpus.iter().map(|cpu| (cpu.noise, cpu.interval, cpu.at_least));
        let total = (of.total.noise, of.total.interval, of.total.at_least);
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
