//! The tables of the threads of a recorded program, as they are on disk: threads, delays and releases.

use crate::stage::*;
use anechoic_attribute::attribute;
use anechoic_recording::EventKind::{
    HrtimerEntry, HrtimerExit, HrtimerStart, LocalTimerEntry, LocalTimerExit, Switch, Waking,
};
use anechoic_recording::machine::Cpu;
use anechoic_recording::run::{Program, RunState};
use anechoic_recording::{
    Delay, DelayKind, EventKind, KernelEvent, Name, NameKind, ProgramThread, Recorder, Recording,
    Release, Run, methods,
};

/// The threads of the program, and one that is not its own.
const A: i32 = 300;
const B: i32 = 301;
const HOG: i32 = 42;
const US: u64 = 1_000;
/// The clock of the timers is this much ahead of the counter.
const AHEAD_US: u64 = 1_000_000;
const SLEEPS: u64 = 1;

/// A run of the program that recorded all events but these.
fn described(missing: &[EventKind]) -> Run {
    let mut run = run("other", vec![cpu_run(1, VICTIM)]);
    run.machine.cpus = [0, 1].map(|cpu| Cpu { cpu, ..run.machine.cpus[0].clone() }).into();
    let trace = run.trace.as_mut().unwrap();
    trace.events.retain(|event| missing.iter().all(|kind| event.number != *kind as u16));
    Run {
        method: methods::PROGRAM.into(),
        state: RunState::Complete,
        cpus: vec![],
        end_ticks: 9_000 * US,
        program: Some(Program { threads: vec![A, B], ..Program::default() }),
        ..run
    }
}

/// A is preempted by a hog and wakes B, which then sleeps for a timer.
fn events() -> Vec<KernelEvent> {
    let event = |us: u64, pid: i32, kind, args| on(us * US, pid, kind, args);
    let switch = |us: u64, prev: i32, state: u64, next: i32| {
        event(us, prev, Switch, [next as u64, state, 120])
    };
    vec![
        switch(1_000, 0, 0, A),
        switch(2_000, A, 0, HOG),
        switch(3_000, HOG, 0, A),
        event(4_000, A, Waking, [B as u64, 1, 0]),
        switch(5_000, A, SLEEPS, B),
        event(5_500, B, HrtimerStart, [7, 0, (7_000 + AHEAD_US) * US]),
        switch(6_000, B, SLEEPS, 0),
        event(7_001, 0, LocalTimerEntry, [0; 3]),
        event(7_002, 0, HrtimerEntry, [7, 0, (7_002 + AHEAD_US) * US]),
        event(7_003, 0, Waking, [B as u64, 1, 0]),
        event(7_004, 0, HrtimerExit, [7, 0, 0]),
        event(7_005, 0, LocalTimerExit, [0; 3]),
        switch(7_010, 0, 0, B),
        switch(8_000, B, SLEEPS, 0),
    ]
}

/// Returns the tables of a recording of these events.
fn tables(run: &Run) -> (Vec<ProgramThread>, Vec<Delay>, Vec<Release>) {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("r");
    let mut recorder = Recorder::create(&dir, run).unwrap();
    let name = |key: i32, name: &str| Name {
        kind: NameKind::Task,
        key: key as u64,
        ticks: 0,
        name: name.into(),
    };
    recorder.append(&[name(A, "first"), name(B, "second"), name(HOG, "hog")]).unwrap();
    recorder.append(&events()).unwrap();
    recorder.finish(run).unwrap();
    let attribution = attribute(&Recording::open(&dir).unwrap()).unwrap();
    assert_eq!(attribution.releases_left_out, None, "no clock was set");
    let recording = Recording::open(&dir).unwrap();
    (
        recording.rows().each().map(Result::unwrap).collect(),
        recording.rows().each().map(Result::unwrap).collect(),
        recording.rows().each().map(Result::unwrap).collect(),
    )
}

#[test]
fn threads_delays_and_releases_are_written() {
    let (threads, delays, releases) = tables(&described(&[]));
    let row = |thread: &ProgramThread| {
        let times = [thread.first_ticks, thread.last_ticks, thread.executed_ticks];
        (thread.tid, thread.name.to_string(), thread.cpus.to_string(), times.map(|at| at / US))
    };
    let mut found: Vec<_> = threads.iter().map(row).collect();
    found.sort();
    let expected = [
        (A, "first".into(), "1".into(), [1_000, 9_000, 3_000]),
        (B, "second".into(), "1".into(), [4_000, 9_000, 1_990]),
    ];
    assert_eq!(found, expected);
    let number = |tid: i32| threads.iter().find(|thread| thread.tid == tid).map(|it| it.thread);
    let row = |delay: &Delay| {
        let times = [delay.start_ticks, delay.end_ticks, delay.own_ticks].map(|at| at / US);
        (Some(delay.thread), delay.kind, times, delay.holder, delay.holder_name.to_string())
    };
    let expected = [
        (number(A), DelayKind::Preempted, [2_000, 3_000, 0], Some(HOG), "hog".into()),
        (number(B), DelayKind::Woken, [4_000, 5_000, 1_000], Some(A), "first".into()),
        (number(B), DelayKind::Woken, [7_003, 7_010, 0], Some(0), "idle".into()),
    ];
    assert_eq!(delays.iter().map(row).collect::<Vec<_>>(), expected);
    assert_eq!([delays[0].holder_thread, delays[1].holder_thread], [None, number(A)]);
    assert_eq!((delays[1].waker_thread, delays[2].slept_ticks), (number(A), Some(1_003 * US)));
    let row = |release: &Release| {
        let times = [release.due_ticks, release.woken_ticks, release.end_ticks].map(|at| at / US);
        (Some(release.thread), release.cpu, times)
    };
    let found: Vec<_> = releases.iter().map(row).collect();
    assert_eq!(found, [(number(B), 1, [7_000, 7_003, 7_010])]);
}

/// Older recordings have no event for the time that a timer was set to.
#[test]
fn without_their_events_there_are_no_releases() {
    for missing in [EventKind::HrtimerSoft, HrtimerEntry, HrtimerExit] {
        let (threads, delays, releases) = tables(&described(&[missing]));
        assert_eq!((threads.len(), delays.len(), releases.len()), (2, 3, 0), "{missing:?}");
    }
}
