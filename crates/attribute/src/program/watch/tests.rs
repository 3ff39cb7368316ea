//! Made-up events of programs, whose lost time is known.

use super::*;
use anechoic_lab::builders;
use anechoic_recording::run::{OwnThread, Program, ProgramCgroup};
use anechoic_recording::who::SeenThread;

/// The tool's own thread, one of the program, one of another program, and the idle one.
const TOOL: i32 = 9;
const A: i32 = 10;
const OTHER: i32 = 50;
const IDLE: i32 = 0;
const RUNNABLE: u64 = 0;
const MS: u64 = 1_000_000;

fn watch(condition: &str, counted_cpus: &[u32]) -> (Watch, Run) {
    let mut run = builders::run("program", builders::clock(1_000_000_000), vec![]);
    run.start_ticks = 0;
    run.own_threads = vec![OwnThread::new(TOOL, "housekeeper")];
    let counted_cpus = counted_cpus.to_vec();
    run.program = Some(Program { threads: vec![A], counted_cpus, ..Program::default() });
    let watch = Watch::new(condition.parse().expect("a condition"), &run).expect("a program");
    (watch, run)
}

fn switch(ticks: u64, prev: i32, next: i32) -> KernelEvent {
    let args = [next as u64, RUNNABLE, 120];
    KernelEvent { cpu: 0, ticks, kind: EventKind::Switch, pid: prev, args }
}

/// The program has CPU 0 from the start, and `who` takes it at these times for so long.
fn preempted(who: i32, times: impl IntoIterator<Item = (u64, u64)>) -> Vec<KernelEvent> {
    let taken = times
        .into_iter()
        .flat_map(|(at, length)| [switch(at, A, who), switch(at + length, who, A)]);
    [switch(1, IDLE, A)].into_iter().chain(taken).collect()
}

/// Plays events in looks of 100 ms, each 1 ms late, up to `end`. Returns what met the condition, and when that was seen.
fn play(
    condition: &str,
    cpus: &[u32],
    events: &[KernelEvent],
    end: u64,
) -> Option<(StoppedBy, u64)> {
    let (mut watch, run) = watch(condition, cpus);
    let (mut rest, mut now) = (events, 0);
    while now < end {
        now = (now + 100 * MS).min(end);
        let (arrived, later) = rest.split_at(rest.partition_point(|event| event.ticks <= now));
        watch.take(arrived, &[]);
        watch.look(now - MS, &run);
        rest = later;
        if let Some(met) = watch.met() {
            return Some((met, now));
        }
    }
    watch.finish(end, &run);
    watch.met().map(|met| (met, end))
}

fn span(met: Option<(StoppedBy, u64)>) -> Option<(u64, u64)> {
    met.map(|(met, _)| (met.start_ticks, met.end_ticks))
}

#[test]
fn the_first_longer_detour_ends_the_recording_at_the_next_look() {
    let events = preempted(OTHER, [(50 * MS, MS), (330 * MS, 2 * MS), (350 * MS, 3 * MS)]);
    let met = play("detour>1ms", &[], &events, 1_000 * MS);
    assert_eq!(span(met), Some((330 * MS, 332 * MS)), "1 ms is not more than 1 ms");
    assert_eq!(met.map(|(_, seen)| seen), Some(400 * MS), "although nothing came after it");
    assert_eq!(play("detour>4ms", &[], &events, 1_000 * MS), None);
    assert_eq!(play("detour>1ms", &[1], &events, 1_000 * MS), None, "on a CPU that does not count");
    assert_eq!(play("detour>1ms", &[], &[], 1_000 * MS), None, "no events");
    let last = preempted(OTHER, [(998 * MS, 4 * MS)]);
    assert_eq!(span(play("detour>1ms", &[], &last, 1_000 * MS)), Some((998 * MS, 1_000 * MS)));
}

#[test]
fn the_number_of_detours_ends_the_recording() {
    let events = preempted(OTHER, (1..=9).map(|number| (number * 100 * MS, 10)));
    let met = play("detours>=3", &[], &events, 1_000 * MS);
    assert_eq!(span(met), Some((300 * MS, 300 * MS + 10)));
    assert_eq!(play("detours>=10", &[], &events, 1_000 * MS), None);
    let met = play("detours>=9", &[], &events, 1_000 * MS);
    assert_eq!(span(met), Some((900 * MS, 900 * MS + 10)), "the last one counts at the end");
}

/// Another thread of the program.
const B: i32 = 11;

fn born(ticks: u64, tid: i32) -> KernelEvent {
    KernelEvent { kind: EventKind::NewTask, args: [tid as u64, 0, 0], ..switch(ticks, A, 0) }
}

fn waking(ticks: u64, tid: i32) -> KernelEvent {
    KernelEvent { kind: EventKind::Waking, args: [tid as u64, 0, 0], ..switch(ticks, OTHER, 0) }
}

#[test]
fn the_first_longer_wait_of_a_thread_ends_the_recording() {
    let events = preempted(OTHER, [(50 * MS, MS), (330 * MS, 2 * MS), (350 * MS, 3 * MS)]);
    let (met, seen) = play("wait>1ms", &[], &events, 1_000 * MS).expect("it is met");
    assert_eq!((met.start_ticks, met.end_ticks, met.thread), (330 * MS, 332 * MS, Some(A)));
    assert_eq!(seen, 400 * MS, "although nothing came after it");
    assert_eq!(play("wait>4ms", &[], &events, 1_000 * MS), None);
    assert_eq!(play("wait>1ms", &[1], &events, 1_000 * MS), None, "on a CPU that does not count");
    assert_eq!(play("wait>1ms", &[], &[], 1_000 * MS), None, "no events");
    let tool = preempted(TOOL, [(50 * MS, 5 * MS)]);
    assert_eq!(play("wait>1ms", &[], &tool, 1_000 * MS), None, "the tool ends nothing");
    let last = preempted(OTHER, [(998 * MS, 4 * MS)]);
    assert_eq!(span(play("wait>1ms", &[], &last, 1_000 * MS)), Some((998 * MS, 1_000 * MS)));
}

/// A waits for 5 ms behind B, and both for less than 1 ms behind another program; then B waits for 2.4 ms, of which A takes 1.2.
#[test]
fn a_wait_behind_the_programs_own_threads_ends_nothing() {
    let us = MS / 1_000;
    let own = [
        switch(1, IDLE, A),
        born(2, B),
        switch(50 * MS, A, B),
        switch(55 * MS, B, OTHER),
        switch(55 * MS + 900 * us, OTHER, A),
        switch(57 * MS + 100 * us, A, OTHER),
        switch(57 * MS + 400 * us, OTHER, B),
    ];
    // B began at 2 ns and had its CPU after 50 ms, in which A executed.
    assert_eq!(play("wait>1.3ms", &[], &own, 1_000 * MS), None);
    let (met, _) = play("wait>1ms", &[], &own, 1_000 * MS).expect("0.9 ms and 0.3 ms of one wait");
    assert_eq!((met.thread, met.start_ticks, met.end_ticks), (Some(B), 55 * MS, 57_400 * us));
    let found = play("wait>850us", &[], &own, 1_000 * MS).expect("0.9 ms");
    assert_eq!((found.0.thread, found.0.start_ticks), (Some(A), 50 * MS), "the first that began");
}

/// A wait after a waking counts from there, and one that goes on is kept from its start.
#[test]
fn a_woken_thread_waits_from_its_waking() {
    let sleeps = KernelEvent { args: [OTHER as u64, 1, 120], ..switch(20 * MS, A, OTHER) };
    let events = [switch(1, IDLE, A), sleeps, waking(30 * MS, A), switch(33 * MS, OTHER, A)];
    let met = play("wait>2ms", &[], &events, 1_000 * MS);
    assert_eq!(span(met), Some((30 * MS, 33 * MS)));
    let (mut watch, run) = watch("wait>2ms", &[]);
    watch.take(&events[..3], &[]);
    watch.look(40 * MS, &run);
    assert_eq!((watch.met(), watch.since(40 * MS)), (None, 30 * MS));
    // The CPU loses nothing while another thread of the program has it.
    let (mut watch, run) = super::tests::watch("wait>2ms", &[]);
    watch.take(&[switch(1, IDLE, A), born(2, B), switch(20 * MS, A, B), born(30 * MS, B + 1)], &[]);
    watch.look(40 * MS, &run);
    assert_eq!(watch.since(40 * MS), 20 * MS);
}

#[test]
fn what_the_tool_takes_ends_nothing() {
    let events = preempted(TOOL, [(50 * MS, 5 * MS)]);
    assert_eq!(play("detour>1ms", &[], &events, 1_000 * MS), None);
    assert_eq!(play("lost>0.1%", &[], &events, 2_000 * MS), None);
    // Another thread has the CPU before the tool, for longer than may be.
    let both = [
        switch(1, IDLE, A),
        switch(50 * MS, A, OTHER),
        switch(52 * MS, OTHER, TOOL),
        switch(57 * MS, TOOL, A),
    ];
    assert_eq!(span(play("detour>1ms", &[], &both, 1_000 * MS)), Some((50 * MS, 57 * MS)));
    assert_eq!(play("detour>2ms", &[], &both, 1_000 * MS), None);
}

/// 4 % are lost in the first second, and 6 % in the second one, in which the longest detour takes 3 ms.
#[test]
fn the_first_second_in_which_too_much_is_lost_ends_the_recording() {
    let at = |second: u64, number: u64| second * 1_000 * MS + number * 20 * MS + MS;
    let first = (0..40).map(|number| (at(0, number), MS));
    let second =
        (0..30).map(|number| (at(1, number), if number == 7 { 3 * MS } else { 2 * MS - MS / 29 }));
    let events = preempted(OTHER, first.chain(second));
    let (met, seen) = play("lost>5%", &[], &events, 4_000 * MS).expect("it is met");
    let lossy = met.second.expect("a second");
    assert_eq!((lossy.start_ticks, lossy.wanted_ticks), (1_000 * MS, 1_000 * MS));
    assert_eq!(lossy.lost_ticks.div_ceil(MS), 61, "29 of 2 ms − 1/29 ms, and one of 3 ms");
    assert_eq!((met.start_ticks, met.end_ticks - met.start_ticks), (at(1, 7), 3 * MS));
    assert_eq!(seen, 2_100 * MS, "when it is over");
    assert_eq!(play("lost>7%", &[], &events, 4_000 * MS), None);
    assert_eq!(play("lost>3.5%", &[], &events, 4_000 * MS).expect("it is met").0.begun_ticks(), 0);
    // Half of the time is lost, but it wants a CPU for less than 100 ms in a second.
    let rarely = [(0, 40 * MS), (2_000 * MS, 45 * MS)].map(|(at, length)| {
        let sleeps =
            KernelEvent { args: [IDLE as u64, 1, 120], ..switch(at + 2 * length + 5, A, IDLE) };
        [
            switch(at + 5, IDLE, A),
            switch(at + length + 5, A, OTHER),
            switch(at + 2 * length, OTHER, A),
            sleeps,
        ]
    });
    assert_eq!(play("lost>5%", &[], rarely.as_flattened(), 4_000 * MS), None);
}

/// Of a second that is not over it is not known yet for how long the program executed.
#[test]
fn the_second_that_goes_on_is_not_judged() {
    let events = preempted(OTHER, [(100 * MS, 300 * MS)]);
    assert_eq!(play("lost>50%", &[], &events, 2_000 * MS), None);
    assert_eq!(play("lost>29%", &[], &events, 2_000 * MS).map(|met| met.1), Some(1_100 * MS));
}

/// Another program begins a thread in the control group (`CLONE_INTO_CGROUP`): only `/proc` shows which group that is.
#[test]
fn a_thread_that_another_program_begins_in_the_group_is_known_once_it_is_read() {
    let (_, mut run) = watch("detour>1ms", &[]);
    let cgroup = ProgramCgroup { path: "/jobs".into(), ..ProgramCgroup::default() };
    run.program = Some(Program { cgroup: Some(cgroup), ..Program::default() });
    let condition = "detour>1ms".parse().expect("a condition");
    let mut watch = Watch::new(condition, &run).expect("a program");
    watch.look(10 * MS, &run);
    run.threads =
        vec![SeenThread { tid: A, pid: A, cgroup: "/jobs".into(), ..SeenThread::default() }];
    let begins = KernelEvent { pid: OTHER, args: [A as u64, 1 << 33, 0], ..born(15 * MS, A) };
    let gone =
        [begins, switch(16 * MS, IDLE, A), switch(20 * MS, A, OTHER), switch(22 * MS, OTHER, A)];
    watch.take(&gone, &[]);
    watch.look(100 * MS, &run);
    assert_eq!(watch.met().map(|met| met.start_ticks), Some(20 * MS));
}

/// A thread waits for three seconds: that is known when it goes on, and all seconds in between were lost.
#[test]
fn a_long_wait_is_lost_in_the_seconds_in_which_it_lies() {
    let events = preempted(OTHER, [(500 * MS, 3_000 * MS)]);
    let (met, seen) = play("lost>60%", &[], &events, 5_000 * MS).expect("it is met");
    let second =
        met.second.map(|second| (second.start_ticks, second.lost_ticks, second.wanted_ticks));
    assert_eq!(second, Some((1_000 * MS, 1_000 * MS, 1_000 * MS)), "half of the first second");
    assert_eq!((met.begun_ticks(), seen), (500 * MS, 3_600 * MS));
}

/// The threads at a time are those after all events that were read, also those that wait for other CPUs' events.
#[test]
fn the_threads_of_the_program_are_known_at_any_time() {
    let (mut watch, run) = watch("detour>1ms", &[]);
    let born = KernelEvent { kind: EventKind::NewTask, args: [11, 0, 0], ..switch(90 * MS, A, 0) };
    watch.take(&[born], &[]);
    watch.look(50 * MS, &run);
    assert_eq!(watch.members().threads(), [A, 11]);
    let ends = |ticks, tid| KernelEvent { args: [0, 0x20, 120], ..switch(ticks, tid, 0) };
    watch.take(&[switch(95 * MS, A, 11), ends(96 * MS, 11)], &[]);
    assert_eq!(watch.members().threads(), [A], "it has ended");
    watch.take(&[ends(97 * MS, A)], &[]);
    watch.look(100 * MS, &run);
    assert!(watch.members().threads().is_empty(), "so has the other, after the look");
}

/// A quota holds A back until 60 ms; the kernel hides that A goes on then on its idle CPU, and its next event comes at 130 ms.
#[test]
fn a_wait_for_a_quota_ends_when_there_is_new_time() {
    const REFILLS: u64 = 0x51;
    let on_another = |kind, ticks| KernelEvent {
        cpu: 1,
        kind,
        args: [7, REFILLS, 0],
        ..switch(ticks, IDLE, IDLE)
    };
    let events = [
        switch(1, IDLE, A),
        switch(30 * MS, A, IDLE),
        on_another(EventKind::HrtimerEntry, 60 * MS),
        on_another(EventKind::HrtimerExit, 60 * MS + 5_000),
        KernelEvent { kind: EventKind::PageFaultUser, ..switch(130 * MS, A, IDLE) },
        switch(135 * MS, A, OTHER),
    ];
    let waited = |address: Option<u64>, condition| {
        let (watch, run) = watch(condition, &[]);
        let mut watch = watch.knowing_refills(address);
        watch.take(&events, &[]);
        watch.finish(140 * MS, &run);
        watch.met().map(|met| (met.start_ticks, met.end_ticks))
    };
    assert_eq!(waited(Some(REFILLS), "wait>30ms"), Some((30 * MS, 60 * MS + 5_000)));
    assert_eq!(waited(Some(REFILLS), "wait>31ms"), None);
    assert_eq!(waited(None, "wait>31ms"), Some((30 * MS, 130 * MS)), "nothing else is known");
}

/// A process that already ran is recorded from 60 ms on; events before that show which threads have a CPU.
#[test]
fn a_wait_before_the_recording_ends_nothing() {
    let (_, mut run) = watch("wait>1ms", &[]);
    run.start_ticks = 60 * MS;
    let mut watch = Watch::new("wait>1ms".parse().expect("a condition"), &run).expect("a program");
    let mut met_at = |events: &[KernelEvent], until| {
        watch.take(events, &[]);
        watch.look(until, &run);
        watch.met().map(|met| (met.start_ticks, met.end_ticks))
    };
    let events = preempted(OTHER, [(10 * MS, 5 * MS), (70 * MS, 5 * MS)]);
    let (before, after) = events.split_at(3);
    assert_eq!(met_at(before, 58 * MS), None);
    assert_eq!(met_at(after, 80 * MS), Some((70 * MS, 75 * MS)));
}
