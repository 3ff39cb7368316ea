mod interrupts;
mod moves;

use super::*;
use crate::program::cpu_state::Executed;
use anechoic_lab::builders;
use anechoic_recording::run::Program;
use anechoic_recording::run::RanOn;

/// The thread of the tool that starts programs.
const TOOL: i32 = 9;
/// Threads of the program, from the start.
const A: i32 = 10;
const B: i32 = 11;
/// Another program's thread.
const OTHER: i32 = 50;
const IDLE: i32 = 0;
/// The states of `sched_switch`.
const SLEEPS: u64 = 1;
const RUNNABLE: u64 = 0;
const ZOMBIE: u64 = 0x20;

/// An event of CPU 0; see [`on`].
fn event(ticks: u64, kind: EventKind, pid: i32, args: [u64; 3]) -> KernelEvent {
    KernelEvent { cpu: 0, ticks, kind, pid, args }
}

/// The same event on another CPU.
fn on(cpu: u32, event: KernelEvent) -> KernelEvent {
    KernelEvent { cpu, ..event }
}

fn switch(ticks: u64, prev: i32, state: u64, next: i32) -> KernelEvent {
    event(ticks, EventKind::Switch, prev, [next as u64, state, 120])
}

fn waking(ticks: u64, by: i32, tid: i32) -> KernelEvent {
    event(ticks, EventKind::Waking, by, [tid as u64, 0, 0])
}

fn born(ticks: u64, by: i32, tid: i32) -> KernelEvent {
    event(ticks, EventKind::NewTask, by, [tid as u64, 0, 0])
}

/// Entry and exit of the timer's interrupt.
fn tick(ticks: u64, pid: i32, length: u64) -> [KernelEvent; 2] {
    [
        event(ticks, EventKind::LocalTimerEntry, pid, [0; 3]),
        event(ticks + length, EventKind::LocalTimerExit, pid, [0; 3]),
    ]
}

/// Entry and exit of a softirq.
fn softirq(ticks: u64, pid: i32, length: u64) -> [KernelEvent; 2] {
    [
        event(ticks, EventKind::SoftirqEntry, pid, [1, 0, 0]),
        event(ticks + length, EventKind::SoftirqExit, pid, [1, 0, 0]),
    ]
}

/// CPU, start and end of a detour.
type Span3 = (u32, u64, u64);

/// Plays events up to 1 s, with intervals of loss on CPUs, at 1 GHz. Returns the detours, and the ticks for which the program
/// executed on each CPU.
fn play(events: &[KernelEvent], losses: &[Span3]) -> (Vec<Span3>, Vec<(u32, u64)>) {
    play_from(0, events, losses)
}

/// The same, of which only what is after `start` counts.
fn play_from(
    start: u64,
    events: &[KernelEvent],
    losses: &[Span3],
) -> (Vec<Span3>, Vec<(u32, u64)>) {
    let program = Program { started_by: Some(TOOL), threads: vec![A, B], ..Program::default() };
    play_program(&program, start, events, losses)
}

fn play_program(
    program: &Program,
    start: u64,
    events: &[KernelEvent],
    losses: &[Span3],
) -> (Vec<Span3>, Vec<(u32, u64)>) {
    let clock = builders::clock(1_000_000_000);
    let lost = |&(cpu, start_ticks, end_ticks): &Span3| Loss {
        what: LossKind::Events,
        cpu,
        start_ticks,
        end_ticks,
        count: 1,
    };
    let mut lost_time = LostTime::new(Members::new(program), &clock, start);
    lost_time.losses(losses.iter().map(lost));
    events.iter().for_each(|event| lost_time.event(event));
    lost_time.finish(SECOND);
    let span = |detour: Detour| (detour.cpu, detour.start_ticks, detour.end_ticks);
    let mut found: Vec<_> = lost_time.found().map(span).collect();
    found.sort_unstable();
    (found, lost_time.ran().map(|ran| (ran.cpu, ran.ticks)).collect())
}

const SECOND: u64 = 1_000_000_000;
/// A time in which a program executes, in ticks: longer than what joins two detours.
const MS: u64 = 1_000_000;

/// A row: name, events, detours, and for how long the program executed on each CPU.
type Row = (&'static str, Vec<KernelEvent>, &'static [Span3], &'static [(u32, u64)]);

fn verify(rows: Vec<Row>) {
    for (name, events, detours, ran) in rows {
        let found = play(&events, &[]);
        assert_eq!(found, (detours.to_vec(), ran.to_vec()), "case: {name}");
    }
}

#[test]
fn a_cpu_waits_for_its_thread_while_another_one_has_it() {
    let program = Program { threads: vec![A, B], ..Program::default() };
    let clock = builders::clock(1_000_000_000);
    let mut lost_time = LostTime::new(Members::new(&program), &clock, 0);
    let steps: [(KernelEvent, &[(u32, u64)]); 7] = [
        (switch(MS, IDLE, RUNNABLE, A), &[]),
        (on(1, switch(2 * MS, IDLE, RUNNABLE, B)), &[]),
        (switch(3 * MS, A, RUNNABLE, OTHER), &[(0, 3 * MS)]),
        (on(1, switch(4 * MS, B, RUNNABLE, OTHER)), &[(0, 3 * MS), (1, 4 * MS)]),
        (switch(5 * MS, OTHER, SLEEPS, A), &[(1, 4 * MS)]),
        (on(1, switch(6 * MS, OTHER, SLEEPS, B)), &[]),
        (switch(7 * MS, A, SLEEPS, OTHER), &[]),
    ];
    for (event, expected) in steps {
        lost_time.event(&event);
        assert_eq!(lost_time.waiting().collect::<Vec<_>>(), expected, "at {}", event.ticks);
    }
}

#[test]
fn another_thread_takes_the_cpu() {
    verify(vec![
        (
            "preempted, and back",
            vec![
                switch(MS, IDLE, RUNNABLE, A),
                switch(2 * MS, A, RUNNABLE, OTHER),
                switch(5 * MS, OTHER, SLEEPS, A),
                switch(6 * MS, A, SLEEPS, IDLE),
            ],
            &[(0, 2 * MS, 5 * MS)],
            &[(0, 2 * MS)],
        ),
        (
            "it ends of itself: no time is lost after that",
            vec![switch(MS, IDLE, RUNNABLE, A), switch(2 * MS, A, ZOMBIE, OTHER)],
            &[],
            &[(0, MS)],
        ),
        (
            "it sleeps, and an idle CPU is no loss",
            vec![switch(MS, IDLE, RUNNABLE, A), switch(2 * MS, A, SLEEPS, IDLE)],
            &[],
            &[(0, MS)],
        ),
        (
            "another CPU takes it over",
            vec![
                switch(MS, IDLE, RUNNABLE, A),
                switch(2 * MS, A, RUNNABLE, OTHER),
                on(1, switch(4 * MS, IDLE, RUNNABLE, A)),
                switch(5 * MS, OTHER, SLEEPS, IDLE),
                on(1, switch(6 * MS, A, SLEEPS, IDLE)),
            ],
            &[(0, 2 * MS, 4 * MS)],
            &[(0, MS), (1, 2 * MS)],
        ),
        (
            "two threads of the program share a CPU",
            vec![
                switch(MS, IDLE, RUNNABLE, A),
                switch(2 * MS, A, RUNNABLE, B),
                switch(4 * MS, B, SLEEPS, A),
                switch(5 * MS, A, SLEEPS, IDLE),
            ],
            &[],
            &[(0, 4 * MS)],
        ),
        (
            "one waits, the other goes to sleep, and a stranger comes first",
            vec![
                switch(MS, IDLE, RUNNABLE, A),
                switch(2 * MS, A, RUNNABLE, B),
                switch(3 * MS, B, SLEEPS, OTHER),
                switch(4 * MS, OTHER, RUNNABLE, A),
                switch(5 * MS, A, SLEEPS, IDLE),
            ],
            &[(0, 3 * MS, 4 * MS)],
            &[(0, 3 * MS)],
        ),
        (
            "strangers alone",
            vec![switch(MS, IDLE, RUNNABLE, OTHER), switch(2 * MS, OTHER, RUNNABLE, 51)],
            &[],
            &[],
        ),
    ]);
}

#[test]
fn a_thread_that_was_woken_waits() {
    verify(vec![
        (
            "for an idle CPU",
            vec![
                switch(MS, IDLE, RUNNABLE, A),
                switch(2 * MS, A, SLEEPS, IDLE),
                on(1, waking(7 * MS, OTHER, A)),
                switch(8 * MS, IDLE, RUNNABLE, A),
                switch(9 * MS, A, SLEEPS, IDLE),
            ],
            &[(0, 7 * MS, 8 * MS)],
            &[(0, 2 * MS)],
        ),
        (
            "while another thread of the program has the CPU: no loss until that sleeps",
            vec![
                switch(MS, IDLE, RUNNABLE, A),
                waking(2 * MS, A, B),
                switch(3 * MS, A, SLEEPS, OTHER),
                switch(4 * MS, OTHER, RUNNABLE, B),
                switch(5 * MS, B, SLEEPS, IDLE),
            ],
            &[(0, 3 * MS, 4 * MS)],
            &[(0, 3 * MS)],
        ),
        (
            "just before it is switched out",
            vec![
                switch(MS, IDLE, RUNNABLE, A),
                on(1, waking(2 * MS, OTHER, A)),
                switch(2 * MS + 1, A, SLEEPS, IDLE),
                switch(3 * MS, IDLE, RUNNABLE, A),
                switch(4 * MS, A, SLEEPS, IDLE),
            ],
            &[(0, 2 * MS + 1, 3 * MS)],
            &[(0, 2 * MS + 1)],
        ),
        (
            "it did not sleep after it was woken, but later",
            vec![
                switch(MS, IDLE, RUNNABLE, A),
                on(1, waking(2 * MS, OTHER, A)),
                switch(3 * MS, A, SLEEPS, IDLE),
                on(1, waking(8 * MS, OTHER, A)),
                switch(9 * MS, IDLE, RUNNABLE, A),
                switch(10 * MS, A, SLEEPS, IDLE),
            ],
            &[(0, 8 * MS, 9 * MS)],
            &[(0, 3 * MS)],
        ),
        (
            "a process that the tool begins",
            vec![
                born(MS, TOOL, 20),
                on(1, switch(2 * MS, IDLE, RUNNABLE, 20)),
                on(1, switch(3 * MS, 20, ZOMBIE, IDLE)),
            ],
            &[(1, MS, 2 * MS)],
            &[(1, MS)],
        ),
        (
            "a process of a stranger",
            vec![born(MS, OTHER, 20), switch(2 * MS, IDLE, RUNNABLE, 20)],
            &[],
            &[],
        ),
    ]);
}

#[test]
fn nothing_counts_where_events_were_lost() {
    let events = [
        switch(MS, IDLE, RUNNABLE, A),
        switch(2 * MS, A, RUNNABLE, OTHER),
        // What happened until 6 ms is not known.
        tick(7 * MS, A, 100)[0],
        tick(7 * MS, A, 100)[1],
        switch(8 * MS, A, SLEEPS, IDLE),
    ];
    let found = play(&events, &[(0, 3 * MS, 6 * MS)]);
    let detours = vec![(0, 2 * MS, 3 * MS), (0, 7 * MS, 7 * MS + 100)];
    assert_eq!(found, (detours, vec![(0, 2 * MS - 100)]));
    // A waking that was lost is not made up.
    let events = [
        switch(MS, IDLE, RUNNABLE, A),
        switch(2 * MS, A, SLEEPS, IDLE),
        switch(8 * MS, IDLE, RUNNABLE, A),
        switch(9 * MS, A, SLEEPS, IDLE),
    ];
    assert_eq!(play(&events, &[(1, 3 * MS, 6 * MS)]), (vec![], vec![(0, 2 * MS)]));
    // A loss begins at the last event before it.
    let events = [switch(MS, IDLE, RUNNABLE, A), switch(7 * MS, OTHER, SLEEPS, IDLE)];
    assert_eq!(play(&events, &[(0, MS, 7 * MS)]), (vec![], vec![(0, 0)]));
    // After the end nothing is lost, and one that goes on until then takes what is before it.
    let events = [switch(MS, IDLE, RUNNABLE, A)];
    for (start, ran) in
        [(SECOND + MS, SECOND - MS), (SECOND, SECOND - MS), (SECOND - MS, SECOND - 2 * MS)]
    {
        let found = play(&events, &[(0, start, SECOND + 2 * MS)]);
        assert_eq!(found, (vec![], vec![(0, ran)]), "a loss from {start} on");
    }
}

#[test]
fn what_goes_on_at_the_end_ends_there() {
    let events = [switch(MS, IDLE, RUNNABLE, A), on(1, switch(2 * MS, IDLE, RUNNABLE, B))];
    let preempted = on(1, switch(3 * MS, B, RUNNABLE, OTHER));
    let found = play(&[events[0], events[1], preempted], &[]);
    assert_eq!(found, (vec![(1, 3 * MS, SECOND)], vec![(0, SECOND - MS), (1, MS)]));
}

#[test]
fn what_was_before_the_start_shows_who_does_what_then() {
    let events = [
        switch(MS, IDLE, RUNNABLE, A),
        switch(2 * MS, A, RUNNABLE, OTHER),
        on(1, switch(3 * MS, IDLE, RUNNABLE, B)),
        on(2, waking(3 * MS, OTHER, 12)),
        switch(7 * MS, OTHER, SLEEPS, A),
        on(1, switch(8 * MS, B, SLEEPS, IDLE)),
        switch(9 * MS, A, SLEEPS, IDLE),
    ];
    let found = play_from(5 * MS, &events, &[]);
    assert_eq!(found, (vec![(0, 5 * MS, 7 * MS)], vec![(0, 2 * MS), (1, 3 * MS)]));
    let slept = [switch(MS, IDLE, RUNNABLE, A), switch(2 * MS, A, SLEEPS, IDLE)];
    assert_eq!(play_from(5 * MS, &slept, &[]), (vec![], vec![]), "it used no CPU in the run");
}

/// What the kernel counts as CPU time of the program, beside what its threads executed.
#[test]
fn what_belongs_to_the_kernels_account_is_counted_apart() {
    let executed = |ran, interrupted, waking, unseen| Executed {
        ran,
        interrupted,
        waking,
        unseen,
        events: 0,
        switches: 0,
    };
    let rows: Vec<(&str, Vec<KernelEvent>, Executed)> = vec![
        (
            "an interrupt with its softirq, on top of the program",
            [
                vec![switch(MS, IDLE, RUNNABLE, A)],
                tick(2 * MS, A, 100).to_vec(),
                softirq(2 * MS + 400, A, 600).to_vec(),
                vec![switch(3 * MS, A, SLEEPS, IDLE)],
            ]
            .concat(),
            executed(2 * MS - 1_000, 1_000, 0, 0),
        ),
        (
            "up to the switch to another thread",
            [
                vec![switch(MS, IDLE, RUNNABLE, A)],
                tick(2 * MS, A, 100).to_vec(),
                vec![switch(2 * MS + 500, A, RUNNABLE, OTHER), switch(3 * MS, OTHER, SLEEPS, A)],
                vec![switch(4 * MS, A, SLEEPS, IDLE)],
            ]
            .concat(),
            executed(2 * MS, 500, 0, 0),
        ),
        (
            "from its waking on",
            vec![
                switch(MS, A, SLEEPS, OTHER),
                on(1, waking(2 * MS, OTHER, A)),
                switch(2 * MS + 7_000, OTHER, RUNNABLE, A),
                switch(3 * MS, A, SLEEPS, IDLE),
            ],
            executed(MS - 7_000, 0, 7_000, 0),
        ),
        (
            "but not where another thread came first",
            vec![
                switch(MS, A, SLEEPS, OTHER),
                on(1, waking(2 * MS, OTHER, A)),
                switch(2 * MS + 7_000, OTHER, SLEEPS, 51),
                switch(3 * MS, 51, SLEEPS, A),
                switch(4 * MS, A, SLEEPS, IDLE),
            ],
            executed(MS, 0, 0, 0),
        ),
        (
            "an idle thread whose switches are not reported",
            [
                vec![switch(MS, A, SLEEPS, IDLE)],
                vec![tick(2 * MS, IDLE, 5_000)[0], waking(2 * MS + 2_000, IDLE, A)],
                vec![tick(2 * MS, IDLE, 5_000)[1], switch(3 * MS, A, SLEEPS, IDLE)],
            ]
            .concat(),
            executed(MS - 5_000, 0, 3_000, MS - 5_000),
        ),
        (
            "another thread whose switches are not reported, and that preempts it",
            [
                vec![switch(MS, IDLE, RUNNABLE, A), switch(2 * MS, A, RUNNABLE, OTHER)],
                tick(3 * MS, OTHER, 1_000).to_vec(),
                tick(5 * MS, A, 1_000).to_vec(),
                vec![switch(6 * MS, A, SLEEPS, IDLE)],
            ]
            .concat(),
            executed(4 * MS - 2_000, 1_000, 0, 2 * MS - 1_000),
        ),
        (
            "another thread whose switches are not reported, and that had the CPU when it was woken",
            [
                vec![switch(MS, A, SLEEPS, OTHER), waking(2 * MS, OTHER, A)],
                tick(3 * MS, A, 1_000).to_vec(),
                vec![switch(4 * MS, A, SLEEPS, IDLE)],
            ]
            .concat(),
            executed(2 * MS - 1_000, 1_000, 0, MS),
        ),
        (
            "its own switches are not reported",
            [
                vec![switch(MS, IDLE, RUNNABLE, A)],
                tick(2 * MS, A, 1_000).to_vec(),
                tick(4 * MS, OTHER, 1_000).to_vec(),
            ]
            .concat(),
            executed(3 * MS - 1_000, 1_000, 0, 2 * MS - 1_000),
        ),
    ];
    for (name, events, expected) in rows {
        let program = Program { threads: vec![A], ..Program::default() };
        let clock = builders::clock(1_000_000_000);
        let mut lost_time = LostTime::new(Members::new(&program), &clock, 0);
        events.iter().for_each(|event| lost_time.event(event));
        lost_time.finish(SECOND);
        let ran = lost_time.ran().find(|ran| ran.cpu == 0).map(|ran| RanOn {
            events: 0,
            switches: 0,
            ..ran
        });
        assert_eq!(ran, Some(expected.on(0)), "case: {name}");
    }
}

/// A thread is woken before the start and begins after it, on a CPU that has no event before: it waited from the start on.
#[test]
fn what_a_thread_waited_before_the_start_does_not_count() {
    let program = Program { threads: vec![A], ..Program::default() };
    let clock = builders::clock(1_000_000_000);
    let mut lost_time = LostTime::new(Members::new(&program), &clock, 5 * MS);
    let woken = on(1, waking(2 * MS, OTHER, A));
    let begins = switch(7 * MS, IDLE, RUNNABLE, A);
    let ends = switch(9 * MS, A, SLEEPS, IDLE);
    [woken, begins, ends].iter().for_each(|event| lost_time.event(event));
    lost_time.finish(SECOND);
    let ran = lost_time.ran().find(|ran| ran.cpu == 0);
    let expected =
        Executed { ran: 2 * MS, interrupted: 0, waking: 2 * MS, unseen: 0, events: 2, switches: 2 };
    assert_eq!(ran, Some(expected.on(0)));
}

/// An event is written in the time of the program if one of its threads is current, or becomes it.
#[test]
fn events_count_while_a_thread_of_the_program_is_current() {
    let rows: [(&str, Vec<KernelEvent>, (u64, u64)); 4] = [
        ("no event of it", vec![switch(MS, IDLE, RUNNABLE, OTHER)], (0, 0)),
        (
            "it comes and goes",
            vec![switch(MS, IDLE, RUNNABLE, A), switch(2 * MS, A, SLEEPS, OTHER)],
            (2, 2),
        ),
        (
            "a tick on top of it, and one on top of another thread",
            [
                vec![switch(MS, IDLE, RUNNABLE, A)],
                tick(2 * MS, A, 100).to_vec(),
                vec![switch(3 * MS, A, RUNNABLE, OTHER)],
                tick(4 * MS, OTHER, 100).to_vec(),
            ]
            .concat(),
            (2 + tick(0, A, 0).len() as u64, 2),
        ),
        (
            "another thread wakes it",
            vec![waking(MS, OTHER, A), switch(2 * MS, OTHER, SLEEPS, A)],
            (1, 1),
        ),
    ];
    for (name, events, expected) in rows {
        let program = Program { threads: vec![A, B], ..Program::default() };
        let clock = builders::clock(1_000_000_000);
        let mut lost_time = LostTime::new(Members::new(&program), &clock, 0);
        events.iter().for_each(|event| lost_time.event(event));
        lost_time.finish(SECOND);
        let ran = lost_time.ran().find(|ran| ran.cpu == 0).unwrap_or_default();
        assert_eq!((ran.events, ran.switches), expected, "case: {name}");
    }
}

/// The idle task of CPU 0 does not report its switches. The quota of the program's group is used up after 20 ms, and a timer on
/// CPU 1 gives it new time after 100 ms; the first event after that is a tick.
#[test]
fn a_thread_that_a_quota_held_back_goes_on_after_its_group_has_new_time() {
    const QUOTA: u64 = 0x51;
    const REFILLED: u64 = 100 * MS + 5_000;
    let expiry = |ticks, function| {
        [
            on(1, event(ticks, EventKind::HrtimerEntry, IDLE, [7, function, 0])),
            on(1, event(ticks + 5_000, EventKind::HrtimerExit, IDLE, [7, 0, 0])),
        ]
    };
    let held_back = |between: &[KernelEvent]| {
        let before = [switch(10 * MS, IDLE, RUNNABLE, A), switch(30 * MS, A, RUNNABLE, IDLE)];
        let after = [switch(120 * MS, A, SLEEPS, IDLE)];
        let first = tick(103 * MS, A, 3_000);
        let events = [&before[..], between, &first, &after].concat();
        let program = Program { started_by: Some(TOOL), threads: vec![A], ..Program::default() };
        let clock = builders::clock(1_000_000_000);
        let mut lost_time = LostTime::new(Members::new(&program), &clock, 0);
        lost_time.timers().know_refills(&[QUOTA].into());
        events.iter().for_each(|event| lost_time.event(event));
        lost_time.finish(SECOND);
        let first = lost_time.found().next().map(|found| (found.start_ticks, found.end_ticks));
        let ran = lost_time.ran().find(|ran| ran.cpu == 0).expect("CPU 0");
        (first.expect("a detour"), ran.ticks, ran.unseen_ticks)
    };
    let again = 103 * MS;
    let seen = 20 * MS + (120 * MS - again - 3_000);
    let unseen = again - REFILLED;
    assert_eq!(held_back(&expiry(100 * MS, QUOTA)), ((30 * MS, REFILLED), seen + unseen, unseen));
    let twice = [expiry(60 * MS, QUOTA), expiry(100 * MS, QUOTA)].concat();
    assert_eq!(held_back(&twice).0, (30 * MS, REFILLED), "the last one bounds it");
    // It began after the last event of the idle CPU.
    let idle = tick(101 * MS, IDLE, 3_000);
    let still_idle = [&expiry(100 * MS, QUOTA)[..], &idle].concat();
    let unseen = again - 101 * MS - 3_000;
    let expected = ((30 * MS, 101 * MS + 3_000), seen + unseen, unseen);
    assert_eq!(held_back(&still_idle), expected);
    // Without such a timer nothing shows when it began.
    let (lost, ran, unseen) = held_back(&expiry(100 * MS, 0x99));
    assert_eq!((lost.0, ran, unseen), (30 * MS, seen, 0));
}

/// The kernel puts a thread that a quota held back on the queue of its idle CPU when the group has new time, and counts from then
/// on, though the CPU begins with it only 400 µs later.
#[test]
fn the_kernel_counts_from_the_new_time_of_a_quota_on() {
    const QUOTA: u64 = 0x51;
    let again = 100 * MS + 400_000;
    let events = |function| {
        [
            switch(10 * MS, IDLE, RUNNABLE, A),
            switch(30 * MS, A, RUNNABLE, IDLE),
            on(1, event(100 * MS, EventKind::HrtimerEntry, IDLE, [7, function, 0])),
            on(1, event(100 * MS + 5_000, EventKind::HrtimerExit, IDLE, [7, 0, 0])),
            switch(again, IDLE, RUNNABLE, A),
            switch(120 * MS, A, SLEEPS, IDLE),
        ]
    };
    for (function, waking) in [(QUOTA, 395_000), (0x99, 0)] {
        let program = Program { started_by: Some(TOOL), threads: vec![A], ..Program::default() };
        let clock = builders::clock(1_000_000_000);
        let mut lost_time = LostTime::new(Members::new(&program), &clock, 0);
        lost_time.timers().know_refills(&[QUOTA].into());
        events(function).iter().for_each(|event| lost_time.event(event));
        lost_time.finish(SECOND);
        let lost: Vec<_> =
            lost_time.found().map(|found| (found.start_ticks, found.end_ticks)).collect();
        assert_eq!(lost, [(30 * MS, again)], "{function}");
        let ran = lost_time.ran().find(|ran| ran.cpu == 0).expect("CPU 0");
        assert_eq!((ran.ticks, ran.waking_ticks), (20 * MS + 120 * MS - again, waking));
    }
}
