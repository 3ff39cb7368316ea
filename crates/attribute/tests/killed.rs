//! Recordings of programs that were killed: their detours are derived once, and never while somebody else writes.

use crate::stage::*;
use anechoic_attribute::program::{complete, lacks_detours};
use anechoic_recording::EventKind::Switch;
use anechoic_recording::machine::Cpu;
use anechoic_recording::run::{Program, RunState};
use anechoic_recording::{Detour, KernelEvent, ProblemKind, Recorder, Recording, Run, methods};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The thread of the program.
const A: i32 = 300;
const MS: u64 = 1_000_000;

/// Describes a run of a program up to a time.
fn described(end_ticks: u64, counted_cpus: Vec<u32>) -> Run {
    let mut run = run("other", vec![cpu_run(1, VICTIM)]);
    run.machine.cpus = [0, 1].map(|cpu| Cpu { cpu, ..run.machine.cpus[0].clone() }).into();
    let program = Program { threads: vec![A], counted_cpus, ..Program::default() };
    Run {
        method: methods::PROGRAM.into(),
        state: RunState::Running,
        cpus: vec![],
        end_ticks,
        program: (end_ticks > 0).then_some(program),
        ..run
    }
}

/// Records up to a save at 5 ms. The program lost the time from 2 to 3 ms on CPU 1.
fn saved(counted_cpus: &[u32]) -> (TempDir, PathBuf, Recorder) {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("r");
    let mut recorder = Recorder::create(&dir, &described(0, vec![])).unwrap();
    let switch = |ticks, prev, next: i32| KernelEvent {
        cpu: 1,
        ticks,
        kind: Switch,
        pid: prev,
        args: [next as u64, 0, 120],
    };
    recorder.append(&[switch(MS, 0, A), switch(2 * MS, A, 42), switch(3 * MS, 42, A)]).unwrap();
    recorder.complete_parts().unwrap();
    recorder.describe(&described(5 * MS, counted_cpus.to_vec())).unwrap();
    (place, dir, recorder)
}

fn detours(recording: &Recording) -> Vec<(u64, u64)> {
    let rows = recording.rows::<Detour>().each().map(Result::unwrap);
    rows.map(|detour| (detour.start_ticks, detour.end_ticks)).collect()
}

/// Returns the files in a directory and below, with their content.
fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = vec![];
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push((path.clone(), fs::read(&path).unwrap())),
        }
    }
    found.sort();
    found
}

#[test]
fn the_detours_are_derived_up_to_the_last_save_and_once() {
    for (counted_cpus, lost, cpus) in [
        (&[][..], &[(2 * MS, 3 * MS)][..], 1),
        (&[0], &[], 0), // it used none of the CPUs that count
    ] {
        let (_place, dir, recorder) = saved(counted_cpus);
        drop(recorder);
        let killed = Recording::open(&dir).unwrap();
        assert!(lacks_detours(&killed));
        let completed = complete(&killed).unwrap();
        assert_eq!((&*detours(&completed), completed.run().cpus.len()), (lost, cpus));
        let program = completed.run().program.as_ref().unwrap();
        assert_eq!(program.ran_ticks(1), 3 * MS);
        assert!(completed.cut_off() && !lacks_detours(&completed));
        let before = files(&dir);
        complete(&killed).unwrap(); // what was opened before
        assert_eq!(files(&dir), before);
    }
}

#[test]
fn a_recording_that_ended_since_it_was_opened_stays_as_it_is() {
    let (_place, dir, mut recorder) = saved(&[]);
    let opened = Recording::open(&dir).unwrap();
    recorder.append(&[Detour { cpu: 1, start_ticks: 7 * MS, end_ticks: 8 * MS }]).unwrap();
    recorder.complete_parts().unwrap();
    let ended = Run { state: RunState::Complete, ..described(9 * MS, vec![]) };
    recorder.finish(&ended).unwrap();
    let before = files(&dir);
    let completed = complete(&opened).unwrap();
    assert_eq!(files(&dir), before);
    assert_eq!((completed.run(), &*detours(&completed)), (&ended, &[(7 * MS, 8 * MS)][..]));
    completed.verify().unwrap();
    assert!(opened.describe(opened.run()).is_err(), "it is complete");
    assert_eq!(files(&dir), before);
}

#[test]
fn a_recording_that_goes_on_is_refused_before_and_after_its_first_save() {
    let place = tempfile::tempdir().unwrap();
    let early = place.path().join("early");
    let _recorder = Recorder::create(&early, &described(0, vec![])).unwrap();
    let (_place, dir, _other) = saved(&[]);
    for dir in [early, dir] {
        let opened = Recording::open(&dir).unwrap();
        let held = Recording::open(&dir).unwrap().hold().unwrap();
        let before = files(&dir);
        let problem = complete(&opened).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Unavailable);
        assert!(problem.to_string().contains("still being recorded"), "{problem}");
        assert_eq!(files(&dir), before);
        drop(held);
        complete(&opened).unwrap();
    }
}

#[test]
fn two_readers_at_once_end_with_the_same_result() {
    let (_place, dir, recorder) = saved(&[]);
    drop(recorder);
    let [one, other] = [0, 1].map(|_| Recording::open(&dir).unwrap());
    let found = thread::scope(|scope| {
        let both = [&one, &other].map(|one| scope.spawn(move || complete(one).unwrap()));
        both.map(|reader| reader.join().unwrap())
    });
    let found = found.each_ref().map(|recording| (recording.run(), detours(recording)));
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0].1, [(2 * MS, 3 * MS)]);
}

#[test]
fn who_takes_long_to_derive_the_detours_is_waited_for() {
    let (_place, dir, recorder) = saved(&[]);
    drop(recorder);
    let opened = Recording::open(&dir).unwrap();
    let held = opened.hold().unwrap();
    let begun = opened.derive_detours().unwrap();
    let (at, long) = (Instant::now(), Duration::from_millis(1_500));
    thread::scope(|scope| {
        let other = Recording::open(&dir).unwrap();
        let reader = scope.spawn(move || complete(&other).map(|done| detours(&done)));
        thread::sleep(long);
        drop(begun);
        drop(held);
        assert_eq!(reader.join().unwrap().unwrap(), [(2 * MS, 3 * MS)]);
    });
    assert!(at.elapsed() >= long);
}
