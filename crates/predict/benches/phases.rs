//! What noise costs a parallel job, how fast: `cargo bench -p anechoic-predict --bench phases [-- DETOURS]`.
//!
//! Goals: both laws of 10 million detours at 5 grains and 20 numbers of ranks in 2 s and three times the table;
//! the recursion of a million ranks at 50 million ranks and phases a second.

#![allow(clippy::unwrap_used, reason = "a bench stops at the first error")]

use anechoic_predict::phases::{Span, Timeline, laws};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use std::hint::black_box;
use std::time::Instant;

/// One detour in so many ns, on average.
const PERIOD: u64 = 130_000;
const GRAINS: [u64; 5] = [10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let count = arguments.first().map_or(10_000_000, |count| count.parse().unwrap());
    closed_laws(count);
}

fn closed_laws(count: u64) {
    let timeline = timeline(count);
    let table = peak_rss_kib();
    let start = Instant::now();
    for grain in GRAINS {
        let laws = laws([&timeline], grain);
        let passed = start.elapsed().as_secs_f64();
        let ranks = (0..20).map(|power| 10f64.powf(f64::from(power) * 0.47) as u64);
        let sum: f64 = ranks
            .map(|ranks| laws.free.mean_of_slowest_ns(ranks) + laws.wall.mean_of_slowest_ns(ranks))
            .sum();
        black_box(sum);
        println!("  grain {grain:>11} ns: pass done at {passed:.2} s");
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("both laws, {} detours, 5 grains, 20 ranks: {seconds:.2} s", timeline.detours().len());
    println!("memory: table {} MiB, most {} MiB", table / 1024, peak_rss_kib() / 1024);
}

/// Mostly short detours, one in 40 as long as a tick, one in 10,000 longer by far.
fn timeline(count: u64) -> Timeline {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let detour = |index: u64| {
        let length = match random.random_range(0..10_000) {
            0 => random.random_range(100_000..5_000_000),
            1..250 => random.random_range(8_000..32_000),
            _ => random.random_range(100..1_200),
        };
        let start_ns = index * PERIOD + random.random_range(0..PERIOD);
        Span { start_ns, end_ns: start_ns + length }
    };
    // Collected in place: the table is there once.
    let mut detours = Vec::with_capacity(count as usize);
    detours.extend((0..count).map(detour));
    Timeline::new(count * PERIOD, detours)
}

/// The most memory that this process had at a time.
fn peak_rss_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches("kB").trim().parse().unwrap()
}
