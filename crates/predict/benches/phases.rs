//! What noise costs a parallel job, how fast: `cargo bench -p anechoic-predict --bench phases [-- DETOURS]`.
//!
//! Goals: both laws of 10 million detours at 5 grains and 20 numbers of ranks in 2 s and three times the table;
//! the recursion of a million ranks at 50 million ranks and phases a second.

#![allow(clippy::unwrap_used, reason = "a bench stops at the first error")]

use anechoic_predict::phases::{Ask, Host, Job, Noise, Span, Tables, Timeline, laws, predict};
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
    recursions();
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
    let host = Host::new("host".into(), vec![(0, timeline)]).unwrap();
    let ranks = (0..20).map(|power| 10f64.powf(f64::from(power) * 0.47) as u64).collect();
    // A budget of 1 leaves the recursion out.
    let ask = Ask { grains_ns: GRAINS.to_vec(), ranks, budget: 1, ..Ask::default() };
    let start = Instant::now();
    black_box(predict(&Noise::from_hosts(vec![host]), &ask).unwrap());
    let seconds = start.elapsed().as_secs_f64();
    println!("with intervals and tails: {seconds:.2} s, most {} MiB", peak_rss_kib() / 1024);
}

/// A million ranks on two CPUs of independent hosts, and what a search of the table for every rank and phase takes.
fn recursions() {
    // 10 s: ticks only, and with 7,600 short detours a second.
    let ticks = |cpu: u64| {
        let tick =
            |at: u64| Span { start_ns: at * 4_000_000, end_ns: at * 4_000_000 + 20_000 + cpu };
        Timeline::new(10_000_000_000, (0..2_500).map(tick).collect())
    };
    let few = Host::new("ticks".into(), vec![(0, ticks(0)), (1, ticks(1))]).unwrap();
    let many = vec![(0, timeline(77_000)), (1, timeline(77_000))];
    let many = Host::new("many".into(), many).unwrap();
    let (ranks, phases) = (1_000_000, 200);
    for (host, grain) in [(&few, 100_000), (&few, 1_000_000), (&many, 100_000), (&many, 1_000_000)]
    {
        let hosts = std::slice::from_ref(host);
        let start = Instant::now();
        let tables = Tables::new(hosts, grain).expect("in memory");
        let mut job = Job::new(&tables, ranks, 0, &mut Pcg64Mcg::seed_from_u64(1));
        let made = start.elapsed().as_secs_f64();
        let took: u64 = (0..phases).map(|_| job.phase()).sum();
        let played = start.elapsed().as_secs_f64() - made;
        let searched = searches(host, grain, ranks, 4) * phases as f64 / 4.0;
        let slowdown = took as f64 / (phases * grain) as f64;
        println!(
            "{ranks} ranks x {phases} phases, {:5} at {grain:>7} ns: {played:.2} s ({:.0} million/s), \
             start {made:.2} s, searching {searched:.1} s = x{:.0}; slowdown {slowdown:.3}",
            host.name(),
            (ranks * phases) as f64 / played / 1e6,
            searched / played,
        );
    }
}

/// Seconds of the plain way: for each rank and phase, the next detour is searched for in the table.
fn searches(host: &Host, grain: u64, ranks: u64, phases: u64) -> f64 {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let length = host.length_ns();
    let offsets: Vec<u64> = (0..ranks / 2).map(|_| random.random_range(0..length)).collect();
    let start = Instant::now();
    let mut now = 0;
    for _ in 0..phases {
        let mut end = now + grain;
        for (_, timeline) in host.cpus() {
            let ends = offsets.iter().map(|offset| finish(timeline, now + offset, grain) - offset);
            end = end.max(ends.max().unwrap());
        }
        now = end;
    }
    black_box(now);
    start.elapsed().as_secs_f64()
}

fn finish(timeline: &Timeline, start: u64, grain: u64) -> u64 {
    let (detours, length) = (timeline.detours(), timeline.length_ns());
    let mut window = start / length * length;
    let mut next = detours.partition_point(|detour| detour.end_ns <= start - window);
    let (mut now, mut end) = (start, start + grain);
    loop {
        if next == detours.len() {
            (next, window) = (0, window + length);
        }
        let (from, to) = (window + detours[next].start_ns, window + detours[next].end_ns);
        if from >= end {
            return end;
        }
        end += to - from.max(now);
        now = to;
        next += 1;
    }
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
