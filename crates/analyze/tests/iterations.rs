//! Iterations of a recorded program, from made-up events: every time is known beforehand.

use anechoic_analyze::{Iterations, iterations};
use anechoic_lab::builders;
use anechoic_recording::EventKind::{NewTask, Switch, Waking};
use anechoic_recording::machine::Cpu;
use anechoic_recording::run::Program;
use anechoic_recording::{
    Activity, ActivityKind, Detour, KernelEvent, Loss, LossKind, Mark, MarkKind, Marked, Recorder,
    Recording, Run, methods,
};

/// The threads of the program.
const A: i32 = 300;
const B: i32 = 301;
const MS: u64 = 1_000_000;

fn run(whole: bool) -> Run {
    let cpus = [0, 1].map(|cpu| builders::cpu_run(cpu, (0, 1_000 * MS), 0)).to_vec();
    let mut run = builders::run(methods::PROGRAM, builders::clock(1_000_000_000), cpus);
    let cpu = |cpu| Cpu {
        cpu,
        class: "made up".into(),
        package: None,
        core: None,
        node: None,
        siblings: String::new(),
        caches: vec![],
        governor: None,
    };
    run.machine.cpus = [0, 1].map(cpu).into();
    let marked =
        Marked { by: MarkKind::Function, what: "step".into(), file: None, whole, joined_lines: 0 };
    let threads = vec![A, B];
    run.program = Some(Program { threads, marked: Some(marked), ..Program::default() });
    run
}

fn mark(cpu: u32, ms: u64, thread: i32) -> Mark {
    Mark { cpu, ticks: ms * MS, thread, label: format!("at {ms}").into() }
}

fn switch(cpu: u32, ms: u64, from: i32, state: u64, to: i32) -> KernelEvent {
    let args = [to as u64, state, 120];
    KernelEvent { cpu, ticks: ms * MS, kind: Switch, pid: from, args }
}

fn woken(ms: u64, thread: i32) -> KernelEvent {
    let args = [thread as u64, 0, 0];
    KernelEvent { cpu: 1, ticks: ms * MS, kind: Waking, pid: 9, args }
}

/// Returns a detour in which one thread had the CPU.
fn detour(index: u64, cpu: u32, [from, until]: [u64; 2], by: &str) -> (Detour, Activity) {
    let (start, length) = (from * MS, (until - from) * MS);
    let row = builders::activity((cpu, index), ActivityKind::OffCpu, "thread", start, length);
    (Detour { cpu, start_ticks: start, end_ticks: until * MS }, Activity { name: by.into(), ..row })
}

fn found(
    marks: &[Mark],
    events: &[KernelEvent],
    detours: &[(Detour, Activity)],
    losses: &[Loss],
) -> Iterations {
    found_in(&run(false), marks, events, detours, losses)
}

fn found_in(
    run: &Run,
    marks: &[Mark],
    events: &[KernelEvent],
    detours: &[(Detour, Activity)],
    losses: &[Loss],
) -> Iterations {
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path().join("r");
    let mut recorder = Recorder::create(&dir, run).expect("a new directory");
    let mut events = events.to_vec();
    events.sort_by_key(|event| (event.cpu, event.ticks));
    recorder.append(&events).expect("in order");
    let mut sorted = marks.to_vec();
    sorted.sort_by_key(|mark| (mark.cpu, mark.ticks));
    recorder.append(&sorted).expect("in order");
    let (detours, activities): (Vec<Detour>, Vec<Activity>) = detours.iter().cloned().unzip();
    recorder.append(&detours).expect("in order");
    recorder.append(losses).expect("in order");
    recorder.finish(run).expect("there is space");
    let recording = Recording::open(&dir).expect("just written");
    let mut writer = recording.derive::<Activity>().expect("writable");
    writer.append(&activities).expect("in order");
    writer.finish().expect("there is space");
    let recording = Recording::open(&dir).expect("just written");
    iterations(&recording).expect("readable").expect("marks")
}

/// Wall, executed, lost, waited and slept time of each iteration in ms, by their beginning.
fn times(found: &Iterations) -> Vec<[u64; 5]> {
    let ms = |ns: u64| ns / MS;
    let each = found
        .drawn
        .iter()
        .map(|it| [it.wall_ns, it.executed_ns, it.lost_ns, it.waited_ns, it.slept_ns].map(ms));
    each.collect()
}

#[test]
fn an_iteration_has_what_its_thread_did() {
    let marks = [
        mark(0, 10, A),
        mark(0, 20, A),    // undisturbed
        mark(0, 40, A),    // a stranger had the CPU for 5 ms
        mark(0, 70, A),    // the other thread of the program had it for 4 ms
        mark(1, 100, A),   // it slept for 10 ms, waited for 6 ms of which 3 ms were lost, and moved
        mark(1, 110, 999), // of another program
        mark(1, 110, A),
    ];
    let events = [
        switch(0, 5, 0, 0, A),
        switch(0, 25, A, 0, 42),
        switch(0, 30, 42, 0, A),
        switch(0, 50, A, 0, B),
        switch(0, 54, B, 1, A),
        switch(0, 74, A, 1, 0),
        woken(84, A),
        switch(1, 90, 42, 0, A),
    ];
    let detours = [detour(0, 0, [25, 30], "hog"), detour(0, 1, [87, 90], "other")];
    let found = found(&marks, &events, &detours, &[]);
    let expected = [
        [10, 10, 0, 0, 0],
        [20, 15, 5, 0, 0],
        [30, 26, 0, 4, 0],
        [30, 14, 3, 3, 10],
        [10, 10, 0, 0, 0],
    ];
    assert_eq!(times(&found), expected);
    assert_eq!((found.marks, found.foreign_marks, found.iterations), (7, 1, 5));
    assert_eq!(found.slowest[0].label, "at 40");
    let most = found.drawn[3].most.as_ref().expect("something was lost");
    assert_eq!((&*most.name, most.ns), ("other", 3 * MS));
    let shares: Vec<(&str, f64)> =
        found.sources.iter().map(|source| (&*source.name, source.lost_ns.max)).collect();
    assert_eq!(shares, [("hog", 5e6), ("other", 3e6)]);
    assert_eq!(found.explained.share, None, "five decide nothing");
}

#[test]
fn threads_have_their_own_iterations_and_one_that_ends_has_no_more() {
    let marks = [
        mark(0, 10, A),
        mark(1, 12, B),
        mark(0, 20, A),
        mark(1, 32, B),
        mark(0, 30, A),
        mark(1, 60, B), // another thread with the number, begun by the program
        mark(1, 65, B),
    ];
    let born = KernelEvent { kind: NewTask, pid: A, args: [B as u64, 0, 0], ..woken(50, B) };
    let ended = switch(1, 40, B, 0x10, 0);
    let events =
        [switch(0, 5, 0, 0, A), switch(1, 5, 0, 0, B), ended, born, switch(1, 55, 0, 0, B)];
    let found = found(&marks, &events, &[], &[]);
    let by_thread: Vec<(i32, u64)> =
        found.threads.iter().map(|thread| (thread.thread, thread.iterations)).collect();
    assert_eq!(by_thread, [(A, 2), (B, 2)]);
    assert_eq!(times(&found).iter().map(|times| times[0]).collect::<Vec<_>>(), [10, 20, 10, 5]);
}

#[test]
fn iterations_in_which_events_were_lost_do_not_count() {
    let marks: Vec<Mark> = (1..=6).map(|at| mark(0, 10 * at, A)).collect();
    let loss = |from: u64, until: u64, what| Loss {
        what,
        cpu: 1,
        start_ticks: from * MS,
        end_ticks: until * MS,
        count: 7,
    };
    let losses = [loss(25, 31, LossKind::Events), loss(50, 60, LossKind::Steal)];
    let found = found(&marks, &[switch(0, 5, 0, 0, A)], &[], &losses);
    assert_eq!((found.iterations, found.left_out), (3, 2));
    assert_eq!(found.drawn.iter().map(|it| it.number).collect::<Vec<_>>(), [1, 4, 5]);
}

#[test]
fn few_marks_are_few_iterations() {
    for count in 0..=5 {
        let marks: Vec<Mark> = (0..count).map(|at| mark(0, 10 + at * at, A)).collect();
        let found = found(&marks, &[], &[], &[]);
        assert_eq!(found.iterations, count.saturating_sub(1), "{count} marks");
        assert_eq!(found.times.is_some(), count > 1);
        assert_eq!(found.explained.interval, None);
    }
}

/// A thread that waits for another one: with the whole program, what delays that counts.
#[test]
fn the_whole_program_may_count() {
    let marks = [mark(0, 10, A), mark(0, 30, A), mark(0, 60, A)];
    let events = [
        switch(0, 5, 0, 0, A),
        switch(0, 12, A, 1, 0), // sleeps while the other thread works
        switch(1, 12, 0, 0, B),
        switch(1, 15, B, 0, 42),
        switch(1, 19, 42, 0, B),
        woken(29, A),
        switch(0, 29, 0, 0, A),
    ];
    let detours = [detour(0, 1, [15, 19], "hog"), detour(1, 1, [55, 65], "late")];
    for (whole, lost_ms) in [(false, [0, 0]), (true, [4, 5])] {
        let found = found_in(&run(whole), &marks, &events, &detours, &[]);
        let expected = [[20, 3, lost_ms[0], 0, 17], [30, 30, lost_ms[1], 0, 0]];
        assert_eq!(times(&found), expected, "whole: {whole}");
    }
}

#[test]
fn marks_before_the_start_begin_no_iteration() {
    let marks: Vec<Mark> = (1..=5).map(|at| mark(0, 10 * at, A)).collect();
    let run = Run { start_ticks: 25 * MS, ..run(false) };
    let found = found_in(&run, &marks, &[], &[], &[]);
    assert_eq!((found.iterations, found.marks), (2, 5));
}
