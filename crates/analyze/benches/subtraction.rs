//! How long the subtraction of 10^6 samples takes: `cargo bench -p anechoic-analyze --bench subtraction -- [COUNT] [DIR]`.
//!
//! Samples of 1 ms, each with an added interrupt, every fourth with a tick too: 4 million rows for a million
//! samples. `measure` is timed before and after their attribution, reading included; and the rows alone.

#![allow(clippy::unwrap_used, reason = "a bench stops at the first error")]

#[path = "../tests/interrupted/mod.rs"]
mod interrupted;

use anechoic_analyze::measure;
use anechoic_lab::two_cpus::{self, MICRO, SECOND};
use anechoic_recording::attribution::Attribution;
use anechoic_recording::{Activity, Recorder, Recording, Run, Sample};
use interrupted::{Chance, Made, entry, exit, nested, ran};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Samples handed over at once.
const PART: u64 = 32 << 10;

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let count = arguments.first().map_or(1_000_000, |count| count.parse().unwrap());
    let place = arguments.get(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let place = tempfile::tempdir_in(place).unwrap();
    let dir = place.path().join("recording");
    write(&dir, count);
    println!("{count} samples");
    println!("detours alone          {:6.2} s", timed(&dir));
    attribute(&dir, count);
    println!("activities             {:6.2} s, of it reading {:.2} s", timed(&dir), read(&dir));
}

/// Seconds from opening to the result.
fn timed(dir: &Path) -> f64 {
    let start = Instant::now();
    let measured = measure(&Recording::open(dir).unwrap()).unwrap();
    assert!(measured.series[0].subtraction.as_ref().unwrap().verdict.accounted > Some(0.9));
    start.elapsed().as_secs_f64()
}

/// Seconds for the rows of samples and activities.
fn read(dir: &Path) -> f64 {
    let start = Instant::now();
    let recording = Recording::open(dir).unwrap();
    let samples: usize = recording.rows::<Sample>().map(|rows| rows.unwrap().len()).sum();
    let activities: usize = recording.rows::<Activity>().map(|rows| rows.unwrap().len()).sum();
    std::hint::black_box((samples, activities));
    start.elapsed().as_secs_f64()
}

/// Makes the same samples every time and hands them over part by part.
fn make(count: u64, mut take: impl FnMut(&Made)) -> Made {
    let mut made = Made::new(0, "counter", true, SECOND);
    let mut chance = Chance(1);
    for number in 0..count {
        let before = 8 * MICRO + chance.below(6 * MICRO);
        let added = [entry("timer", before), ran("timer", "", MICRO), exit("timer", 3 * MICRO)];
        let tick = [
            entry("timer-tick", 9 * MICRO),
            ran("timer-tick", "", MICRO),
            nested("timer-tick", "", MICRO, 1),
            exit("timer-tick", 2 * MICRO),
        ];
        let both: [&[_]; 2] = [&added, &tick];
        let work = SECOND / 1000 + chance.below(100);
        made.sample(work, if number % 4 == 0 { &both } else { &both[..1] });
        if (number + 1) % PART == 0 || number + 1 == count {
            take(&made);
            made.samples.clear();
            made.detours.clear();
            made.activities.clear();
        }
    }
    made
}

fn write(dir: &Path, count: u64) {
    let mut run = Run { method: "loops".into(), ..two_cpus::run(0) };
    let mut recorder = Recorder::create(dir, &run).unwrap();
    let made = make(count, |made| {
        recorder.append(&made.samples).unwrap();
        recorder.append(&made.detours).unwrap();
    });
    recorder.append(std::slice::from_ref(&made.series)).unwrap();
    run.outcomes = vec![made.outcome()];
    run.end_ticks = made.end();
    recorder.finish(&run).unwrap();
}

fn attribute(dir: &Path, count: u64) {
    let recording = Recording::open(dir).unwrap();
    let mut writer = recording.derive::<Activity>().unwrap();
    make(count, |made| writer.append(&made.activities).unwrap());
    writer.finish().unwrap();
    recording.write_attribution(&Attribution::default()).unwrap();
}
