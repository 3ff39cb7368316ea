//! What is written is read again: every table, every CPU, whatever the rows.

mod sample;

use anechoic_recording::attribution::Attribution;
use anechoic_recording::run::RunState;
use anechoic_recording::{
    Activity, Counter, CpuRow, Detour, KernelEvent, Loss, Name, Recorder, Recording, Row,
};
use std::path::Path;

fn all<R: Row>(recording: &Recording) -> Vec<R> {
    recording.rows().collect::<Result<Vec<_>, _>>().unwrap().concat()
}

fn of_cpu<R: CpuRow>(recording: &Recording, cpu: u32) -> Vec<R> {
    recording.rows_of_cpu(cpu).collect::<Result<Vec<_>, _>>().unwrap().concat()
}

/// Writes the sample; derived tables included.
fn write(dir: &Path) {
    let mut recorder = Recorder::create(dir, &sample::run(RunState::Running)).unwrap();
    for cpu in [0, 1] {
        recorder.append(&sample::detours(cpu)).unwrap();
        recorder.append(&sample::events(cpu)).unwrap();
    }
    recorder.append(&sample::losses()).unwrap();
    recorder.append(&sample::counters()).unwrap();
    recorder.append(&sample::names()).unwrap();
    recorder.finish(&sample::run(RunState::Complete)).unwrap();
    let recording = Recording::open(dir).unwrap();
    let mut derived = recording.derive::<Activity>().unwrap();
    derived.append(&sample::activities(0)).unwrap();
    derived.append(&sample::activities(1)).unwrap();
    derived.finish().unwrap();
    recording.write_attribution(&Attribution::default()).unwrap();
}

#[test]
fn every_table_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path());
    let recording = Recording::open(dir.path()).unwrap();
    recording.verify().unwrap();
    assert_eq!(recording.run(), &sample::run(RunState::Complete));
    assert!(!recording.cut_off());
    assert_eq!(recording.attribution().unwrap(), Some(Attribution::default()));
    for cpu in [0, 1] {
        assert_eq!(of_cpu::<Detour>(&recording, cpu), sample::detours(cpu));
        assert_eq!(of_cpu::<KernelEvent>(&recording, cpu), sample::events(cpu));
        assert_eq!(of_cpu::<Activity>(&recording, cpu), sample::activities(cpu));
        let losses: Vec<_> = sample::losses().into_iter().filter(|row| row.cpu == cpu).collect();
        assert_eq!(of_cpu::<Loss>(&recording, cpu), losses);
        let counters: Vec<_> = sample::counters().into_iter().filter(|r| r.cpu == cpu).collect();
        assert_eq!(of_cpu::<Counter>(&recording, cpu), counters);
    }
    assert_eq!(all::<Detour>(&recording), [sample::detours(0), sample::detours(1)].concat());
    assert_eq!(all::<Name>(&recording), sample::names());
    assert_eq!(of_cpu::<Detour>(&recording, 7), []);
}
