//! How long 10 million samples take: `cargo bench -p anechoic-analyze --bench samples -- [COUNT] [DIR]`.
//!
//! The samples of two CPUs are written once, then `measure` is timed, reading included, with the most memory that
//! this process had. The goal is 1 s. First samples as a counter with a step of 10 ns sees them, then of a counter
//! without a step and work that varies so much that hardly two samples are equal.

#![allow(clippy::unwrap_used, reason = "a bench stops at the first error")]

use anechoic_analyze::measure;
use anechoic_lab::two_cpus;
use anechoic_recording::run::{Ended, Outcome};
use anechoic_recording::{Fixed, Parameters, Recorder, Recording, Run, Sample, Series};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Rows handed over at once.
const PART: u64 = 128 << 10;
/// What a sample takes undisturbed: 100 µs.
const GRAIN: u64 = 100 * two_cpus::MICRO;
/// The counter's step: 10 ns.
const STEP: u64 = 25;

/// Draws how long a sample is.
type Duration = fn(&mut Pcg64Mcg) -> u64;
const KINDS: [(&str, Duration); 2] = [("usual", usual), ("all differ", varied)];

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let count = arguments.first().map_or(10_000_000, |count| count.parse().unwrap());
    let place = arguments.get(1).map_or_else(std::env::temp_dir, PathBuf::from);
    for (name, duration) in KINDS {
        let place = tempfile::tempdir_in(&place).unwrap();
        let dir = place.path().join("recording");
        write(&dir, count / 2, duration);
        let read = read(&dir);
        let start = Instant::now();
        let measured = measure(&Recording::open(&dir).unwrap()).unwrap();
        let whole = start.elapsed().as_secs_f64();
        let samples: u64 = measured.series.iter().map(|series| series.facts.samples).sum();
        let memory = peak_rss_kib() / 1024;
        println!(
            "{samples} samples, {name}: {whole:.2} s, of it reading {read:.2} s; {memory} MB at most"
        );
    }
}

/// Seconds for the rows alone.
fn read(dir: &Path) -> f64 {
    let start = Instant::now();
    let recording = Recording::open(dir).unwrap();
    let rows: usize = recording.rows::<Sample>().map(|rows| rows.unwrap().len()).sum();
    std::hint::black_box(rows);
    start.elapsed().as_secs_f64()
}

/// In steps of the counter: a main body of a few steps, one in 40 with a tick, one in 10,000 with more.
fn usual(random: &mut Pcg64Mcg) -> u64 {
    let steps = match random.random_range(0..10_000) {
        0 => random.random_range(5_000..100_000),
        1..250 => random.random_range(1_000..3_000),
        250..2_000 => random.random_range(0..100),
        _ => random.random_range(0..4),
    };
    GRAIN + steps * STEP
}

/// Between 100 and 200 µs, each tick alike.
fn varied(random: &mut Pcg64Mcg) -> u64 {
    random.random_range(GRAIN..2 * GRAIN)
}

fn write(dir: &Path, per_cpu: u64, duration: Duration) {
    let mut run = Run { method: "fwq".into(), trace: None, ..two_cpus::run(per_cpu * 2 * GRAIN) };
    let mut recorder = Recorder::create(dir, &run).unwrap();
    recorder.append(&[series(0), series(1)]).unwrap();
    for cpu in 0..2 {
        let mut random = Pcg64Mcg::seed_from_u64(u64::from(cpu));
        let mut end = 0;
        for part in 0..per_cpu.div_ceil(PART) {
            let sample = |index| {
                let start_ticks = end;
                end += duration(&mut random);
                Sample { series: cpu, index, cpu, start_ticks, end_ticks: end, count: 1 }
            };
            let part: Vec<Sample> =
                (part * PART..(part * PART + PART).min(per_cpu)).map(sample).collect();
            recorder.append(&part).unwrap();
        }
        run.outcomes.push(Outcome {
            series: cpu,
            first_ticks: 0,
            last_ticks: end,
            samples: per_cpu,
            lost: 0,
            wrong: 0,
            ended: Ended::Complete,
            ..Outcome::default()
        });
    }
    recorder.finish(&run).unwrap();
}

fn series(cpu: u32) -> Series {
    Series {
        series: cpu,
        method: "fwq".into(),
        variant: "intadd-chain".into(),
        cpu: Some(cpu),
        tid: 100,
        policy: "other".into(),
        grain_ticks: GRAIN,
        fixed: Fixed::Work,
        asked: 0,
        round: 0,
        parameters: Parameters {
            iterations: 500,
            calibrated_ticks: GRAIN,
            instructions: 512,
            copies: 1,
            ..Parameters::default()
        },
    }
}

/// The most memory that this process had at a time.
fn peak_rss_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches("kB").trim().parse().unwrap()
}
