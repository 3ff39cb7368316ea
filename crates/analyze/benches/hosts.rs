//! How long the recordings of many hosts take together: `cargo bench -p anechoic-analyze --bench hosts -- [HOSTS] [DIR]`.
//!
//! 1,000 hosts of 64 CPUs with 60 million detours; the goal is 20 s on two CPUs and 300 MB. With a directory the recordings stay
//! there, and `anechoic merge` can read them.

#![allow(clippy::unwrap_used, reason = "a bench stops at the first error")]

use anechoic_analyze::cluster::{ClusterBuilder, HostSummary};
use anechoic_analyze::threads::{in_order_at_most, threads};
use anechoic_lab::{builders, two_cpus};
use anechoic_recording::run::{CpuRun, Run};
use anechoic_recording::{Detour, Recorder, Recording};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use std::path::{Path, PathBuf};
use std::time::Instant;

const CPUS: u32 = 64;
/// Detours of a CPU, one in 10 ms.
const DETOURS: u64 = 938;
const PERIOD: u64 = 10_000 * two_cpus::MICRO;

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let hosts = arguments.first().map_or(1_000, |count| count.parse().unwrap());
    let scratch = tempfile::tempdir().unwrap();
    let place = arguments.get(1).map_or_else(|| scratch.path().to_owned(), PathBuf::from);
    let dir = |host: usize| place.join(format!("host=n{host:05}"));
    in_order_at_most(usize::MAX, hosts, |host| {
        if !dir(host).exists() {
            write(&dir(host), host);
        }
    });
    let start = Instant::now();
    let mut cluster = ClusterBuilder::new();
    let read = in_order_at_most(usize::MAX, hosts, |host| {
        HostSummary::from_recording(&Recording::open(&dir(host)).unwrap()).unwrap()
    });
    let read_s = start.elapsed().as_secs_f64();
    read.into_iter().for_each(|host| cluster.add(host).unwrap());
    let found = cluster.finish().unwrap();
    assert!(found.total.noise > 0.0);
    let detours = hosts as u64 * u64::from(CPUS) * DETOURS;
    println!("{hosts} hosts of {CPUS} CPUs, {detours} detours, {} threads", threads());
    println!("reading      {read_s:6.2} s");
    println!("all together {:6.2} s, {} MB at most", start.elapsed().as_secs_f64(), peak_rss_mb());
}

fn write(dir: &Path, host: usize) {
    let wall_ticks = (DETOURS + 1) * PERIOD;
    let cpus = (0..CPUS).map(|cpu| CpuRun {
        iterations: wall_ticks / 25,
        ..builders::cpu_run(cpu, (0, wall_ticks), two_cpus::SHORTEST)
    });
    let mut run = Run {
        threshold_ticks: 150,
        ..builders::run("detours", builders::clock(two_cpus::SECOND), cpus.collect())
    };
    run.machine.host = format!("n{host:05}");
    let mut random = Pcg64Mcg::seed_from_u64(host as u64);
    let mut recorder = Recorder::create(dir, &run).unwrap();
    for cpu in 0..CPUS {
        let detour = |index: u64| {
            let length = random.random_range(500..50_000);
            let start_ticks = index * PERIOD + random.random_range(0..1_000_000);
            Detour { cpu, start_ticks, end_ticks: start_ticks + length }
        };
        recorder.append(&(0..DETOURS).map(detour).collect::<Vec<_>>()).unwrap();
    }
    recorder.finish(&run).unwrap();
}

/// The most memory that this process had at a time.
fn peak_rss_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() / 1024
}
