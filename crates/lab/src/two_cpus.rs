//! A made-up run of two CPUs at 2.5 GHz.

use crate::builders;
pub use crate::builders::activity;
use crate::trains::Interruption;
use anechoic_recording::attribution::Attribution;
use anechoic_recording::run::{CpuRun, Run};
use anechoic_recording::{Activity, ActivityKind, Detour, Recorder, Recording};
use std::path::Path;

/// Ticks of a second.
pub const SECOND: u64 = 2_500_000_000;
/// Ticks of a microsecond.
pub const MICRO: u64 = 2_500;
/// What is subtracted from every gap.
pub const SHORTEST: u64 = 24;

/// A complete run of two CPUs, as long as given in counter ticks, with kernel events.
pub fn run(wall_ticks: u64) -> Run {
    let cpus = [0, 1].map(|cpu| CpuRun {
        iterations: wall_ticks / 25,
        ..builders::cpu_run(cpu, (0, wall_ticks), SHORTEST)
    });
    Run {
        threshold_ticks: 150,
        trace: Some(builders::trace()),
        ..builders::run("detours", builders::clock(SECOND), cpus.to_vec())
    }
}

/// Writes an attributed recording in which CPU 1 had these interruptions by source (`timer-tick`, or with its name
/// `thread:ksmd`), and CPU 0 none. What would overlap comes one after the other.
///
/// # Panics
///
/// It cannot be written.
#[must_use]
pub fn record(dir: &Path, run: &Run, sources: &[(&str, Vec<Interruption>)]) -> Recording {
    let ticks = |seconds: f64| (seconds * SECOND as f64).round() as u64;
    let all = sources.iter().flat_map(|(name, played)| played.iter().map(move |&at| (*name, at)));
    let mut all: Vec<(&str, Interruption)> = all.collect();
    all.sort_by(|a, b| a.1.0.total_cmp(&b.1.0));
    let (mut detours, mut activities, mut free_ticks) = (vec![], vec![], 0);
    for (source, (at, length)) in all {
        let start_ticks = ticks(at).max(free_ticks);
        let length_ticks = ticks(length);
        let key = (1, detours.len() as u64);
        let (source, name) = source.split_once(':').unwrap_or((source, ""));
        activities.push(Activity {
            name: name.into(),
            ..activity(key, ActivityKind::Activity, source, start_ticks, length_ticks)
        });
        free_ticks = start_ticks + length_ticks + SHORTEST + 1;
        detours.push(Detour { cpu: 1, start_ticks, end_ticks: free_ticks - 1 });
    }
    let mut recorder = Recorder::create(dir, run).expect("a new directory");
    detours.chunks(100_000).for_each(|part| recorder.append(part).expect("in order"));
    recorder.finish(run).expect("there is space");
    let recording = Recording::open(dir).expect("just written");
    let mut writer = recording.derive::<Activity>().expect("writable");
    activities.chunks(100_000).for_each(|part| writer.append(part).expect("in order"));
    writer.finish().expect("there is space");
    recording.write_attribution(&Attribution::default()).expect("writable");
    Recording::open(dir).expect("just written")
}
