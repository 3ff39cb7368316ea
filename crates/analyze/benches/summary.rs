//! How long 50 million detours of two CPUs take: `cargo bench -p anechoic-analyze -- [COUNT] [DIR]`.
//!
//! First the summary of a recording on disk, reading included, with the most memory that this process had. The goal is
//! 10 s and 200 MB. Then the same with an activity for every detour.

#![allow(clippy::unwrap_used, reason = "a bench stops at the first error")]

use anechoic_lab::two_cpus;
use anechoic_recording::attribution::Attribution;
use anechoic_recording::{Activity, ActivityKind, Detour, Recorder, Recording, Run};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Rows handed over at once, as a reader of row groups does.
const PART: usize = 128 << 10;
/// One detour in so many ticks (100 µs).
const PERIOD: u64 = 100 * two_cpus::MICRO;

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let count = arguments.first().map_or(50_000_000, |count| count.parse().unwrap());
    let place = arguments.get(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let place = tempfile::tempdir_in(place).unwrap();
    let dir = place.path().join("recording");
    let mut run = two_cpus::run(count as u64 / 2 * PERIOD);
    run.trace = None;
    let mut recorder = Recorder::create(&dir, &run).unwrap();
    write(&run, count / 2, &mut recorder);
    recorder.finish(&run).unwrap();

    let whole = summarize(&dir);
    let memory = peak_rss_kib() / 1024;
    attribute(&dir, &run);
    let attributed = summarize(&dir);
    println!("{count} detours");
    println!("reading and summary     {whole:6.2} s, {memory} MB at most");
    println!("the same, attributed    {attributed:6.2} s, {} MB at most", peak_rss_kib() / 1024);
}

/// Seconds from opening to the summary.
fn summarize(dir: &Path) -> f64 {
    let start = Instant::now();
    let summary = anechoic_analyze::summarize(&Recording::open(dir).unwrap()).unwrap();
    assert!(summary.total.noise > 0.0);
    start.elapsed().as_secs_f64()
}

/// Gives every detour to one of two sources.
fn attribute(dir: &Path, run: &Run) {
    let recording = Recording::open(dir).unwrap();
    let mut writer = recording.derive::<Activity>().unwrap();
    for cpu in &run.cpus {
        let mut index = 0;
        for detours in recording.rows_of_cpu::<Detour>(cpu.cpu) {
            let activity = |detour: &Detour| {
                let lost = detour.end_ticks - detour.start_ticks - two_cpus::SHORTEST;
                let (kind, source) = match lost {
                    ..10_000 => (ActivityKind::Unexplained, "vm-or-hardware"),
                    _ => (ActivityKind::Activity, "timer-tick"),
                };
                let at = (cpu.cpu, index);
                index += 1;
                two_cpus::activity(at, kind, source, detour.start_ticks, lost)
            };
            let rows: Vec<Activity> = detours.unwrap().iter().map(activity).collect();
            writer.append(&rows).unwrap();
        }
    }
    writer.finish().unwrap();
    recording.write_attribution(&Attribution::default()).unwrap();
}

/// Makes the detours and writes them.
fn write(run: &Run, per_cpu: usize, recorder: &mut Recorder) {
    for cpu in &run.cpus {
        let mut random = Pcg64Mcg::seed_from_u64(u64::from(cpu.cpu));
        for part in 0..per_cpu.div_ceil(PART) {
            let rows = rows(cpu.cpu, part * PART..(part * PART + PART).min(per_cpu), &mut random);
            recorder.append(&rows).unwrap();
        }
    }
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
            let start_ticks = index as u64 * PERIOD + random.random_range(0..10_000);
            Detour { cpu, start_ticks, end_ticks: start_ticks + length }
        })
        .collect()
}

/// The most memory that this process had at a time.
fn peak_rss_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches("kB").trim().parse().unwrap()
}
