//! Readers of one recording share the parts that are open, and nothing stays open behind them.

use anechoic_lab::sample::{self, START};
use anechoic_recording::run::RunState;
use anechoic_recording::{Detour, Recorder, Recording};
use std::fs;
use std::path::Path;

/// Returns how many descriptors of this process lead to a file below `dir`.
fn open_files(dir: &Path) -> usize {
    let descriptors = fs::read_dir("/proc/self/fd").unwrap();
    descriptors
        .filter(|entry| {
            let entry = entry.as_ref().unwrap().path();
            fs::read_link(entry).is_ok_and(|file| file.starts_with(dir))
        })
        .count()
}

/// Each of two CPUs has two detours, each in a row group of its own; CPUs follow each other.
fn recording(dir: &Path) -> Recording {
    let run = sample::run(RunState::Complete);
    let mut recorder = Recorder::create(dir, &run).unwrap();
    for (cpu, start_ticks) in [(0, START), (1, START), (0, START + 9_000), (1, START + 9_000)] {
        recorder.append(&[Detour { cpu, start_ticks, end_ticks: start_ticks + 700 }]).unwrap();
    }
    recorder.finish(&run).unwrap();
    Recording::open(dir).unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn readers_share_a_part_for_as_long_as_it_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let recording = recording(dir.path());
    let apart = || [0, 1].map(|cpu| recording.rows_of_cpu::<Detour>(cpu));
    let all = |readers: [_; 2]| -> Vec<Vec<Detour>> {
        readers
            .map(|rows: anechoic_recording::Rows<'_, Detour>| {
                rows.each().map(Result::unwrap).collect()
            })
            .into()
    };
    let expected = all(apart());
    assert_eq!(expected.concat().len(), 4);
    let mut readers = apart();
    readers.iter_mut().for_each(|rows| drop(rows.next().unwrap().unwrap()));
    assert_eq!(open_files(dir.path()), 2, "each reader has its own");
    drop(readers);

    let (kept, inner) = (recording.keep_open(), recording.keep_open());
    let mut readers = apart();
    readers.iter_mut().for_each(|rows| drop(rows.next().unwrap().unwrap()));
    assert_eq!(open_files(dir.path()), 1, "both read one part");
    drop((readers, inner));
    assert_eq!(open_files(dir.path()), 1, "it is kept for the next reader");
    assert_eq!(all(apart()), expected);
    drop(kept);
    assert_eq!(open_files(dir.path()), 0, "nothing stays open");
    assert_eq!(all(apart()), expected);
}
