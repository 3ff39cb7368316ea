//! How long the accumulators take for 50 million detours of two CPUs: `cargo bench -p anechoic-analyze`.
//!
//! Reading is not part of it; the goal for both together is 10 s and 200 MB.

use anechoic_analyze::detours::DetoursOf;
use anechoic_recording::Detour;
use anechoic_recording::clock::Clock;
use anechoic_recording::machine::Machine;
use anechoic_recording::run::{CpuRun, DrainPolicy, FORMAT_VERSION, Run, RunState};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use std::time::{Duration, Instant};

const PER_CPU: usize = 25_000_000;
/// Rows handed over at once, as a reader of row groups would.
const PART: usize = 1 << 18;
/// One detour in so many ticks (100 µs at 2.5 GHz).
const PERIOD_TICKS: u64 = 250_000;

fn main() {
    let run = run();
    let mut spent = Duration::ZERO;
    for cpu in &run.cpus {
        let mut random = Pcg64Mcg::seed_from_u64(u64::from(cpu.cpu));
        let mut detours = DetoursOf::new(&run, cpu);
        for part in 0..PER_CPU.div_ceil(PART) {
            let rows = rows(cpu.cpu, part * PART..(part * PART + PART).min(PER_CPU), &mut random);
            let start = Instant::now();
            rows.iter().for_each(|detour| detours.add(detour));
            spent += start.elapsed();
        }
        let start = Instant::now();
        let lengths = detours.lengths().lengths(&run.clock).expect("there were detours");
        spent += start.elapsed();
        println!("CPU {}: {} detours, {lengths:?}", cpu.cpu, detours.lengths().count());
    }
    println!("{} detours in {:.2} s", 2 * PER_CPU, spent.as_secs_f64());
}

/// Mostly short detours, one in 40 as long as a tick, one in 10,000 longer by far.
fn rows(cpu: u32, indices: std::ops::Range<usize>, random: &mut Pcg64Mcg) -> Vec<Detour> {
    indices
        .map(|index| {
            let length = match random.random_range(0..10_000) {
                0 => random.random_range(100_000..240_000),
                1..250 => random.random_range(20_000..80_000),
                _ => random.random_range(200..3_000),
            };
            let start_ticks = index as u64 * PERIOD_TICKS;
            Detour { cpu, start_ticks, end_ticks: start_ticks + length }
        })
        .collect()
}

fn run() -> Run {
    let end_ticks = PER_CPU as u64 * PERIOD_TICKS;
    let cpu = |cpu| CpuRun {
        cpu,
        tid: 1,
        class: "synthetic".into(),
        first_ticks: 0,
        last_ticks: end_ticks,
        iterations: end_ticks / 25,
        own_shortest_gap_ticks: 24,
        shortest_gap_ticks: 24,
        detours: PER_CPU as u64,
        lost_detours: 0,
        page_faults: 0,
        last_cpu: cpu,
    };
    Run {
        format_version: FORMAT_VERSION,
        tool_version: "bench".into(),
        command: vec![],
        method: "detours".into(),
        state: RunState::Complete,
        start_utc: String::new(),
        end_utc: None,
        start_ticks: 0,
        end_ticks,
        clock: clock(),
        threshold_ticks: 150,
        threshold_source: "asked".into(),
        policy: "other".into(),
        drain: DrainPolicy::HighWater,
        repetition: None,
        cpus: vec![cpu(0), cpu(1)],
        own_threads: vec![],
        trace: None,
        steal_readings: false,
        not_available: vec![],
        notes: vec![],
        machine: machine(),
    }
}

fn clock() -> Clock {
    Clock {
        counter: "tsc".into(),
        frequency_mhz: 2_500_000_000_000,
        frequency_source: "synthetic".into(),
        residual_ppm: None,
        invariant: true,
        read_mean_ticks: 24.5,
        read_min_ticks: 24,
        read_deltas: vec![],
        call_costs_ns: vec![],
        skew: vec![],
    }
}

fn machine() -> Machine {
    Machine {
        host: "bench".into(),
        model: "synthetic".into(),
        arch: "x86_64".into(),
        kernel: String::new(),
        command_line: String::new(),
        tick_hz: None,
        hypervisor: None,
        online: "0-1".into(),
        allowed: "0-1".into(),
        smt: None,
        memory_bytes: 0,
        cpus: vec![],
        settings: vec![],
    }
}
