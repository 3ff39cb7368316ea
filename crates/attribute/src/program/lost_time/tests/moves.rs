//! Threads that come to belong to the program, or no longer do.

use super::*;
use anechoic_recording::run::ProgramCgroup;

/// A thread of another program is woken or begun before a thread of this one gets its number by executing a program: what it
/// waited for until then is not lost.
#[test]
fn who_was_woken_before_belonging_to_the_program_has_not_waited() {
    const PROCESS: i32 = 20;
    let events = |stranger: KernelEvent| {
        vec![
            switch(MS / 2, A, SLEEPS, IDLE),
            on(1, switch(MS, IDLE, RUNNABLE, B)),
            on(1, stranger),
            on(1, event(3 * MS, EventKind::Exec, B, [PROCESS as u64, B as u64, 0])),
            switch(4 * MS, IDLE, RUNNABLE, PROCESS),
            switch(5 * MS, PROCESS, SLEEPS, IDLE),
            on(1, switch(6 * MS, B, SLEEPS, IDLE)),
        ]
    };
    let ran = &[(0, MS), (1, 5 * MS)];
    verify(vec![
        ("woken", events(waking(2 * MS, B, PROCESS)), &[], ran),
        ("begun", events(born(2 * MS, OTHER, PROCESS)), &[], ran),
    ]);
}

#[test]
fn a_thread_that_leaves_the_control_group_counts_no_longer_and_anew_when_it_is_back() {
    let cgroup = ProgramCgroup { path: "/g".into(), moved_into: vec![7], ..Default::default() };
    let program = Program { threads: vec![A], cgroup: Some(cgroup), ..Program::default() };
    let moved = |ticks, to: u64| event(ticks, EventKind::CgroupAttach, TOOL, [A as u64, to, 0]);
    let played = |mut events: Vec<KernelEvent>| {
        events.insert(0, switch(MS, IDLE, RUNNABLE, A));
        play_program(&program, 0, &events, &[])
    };
    // On another CPU, which has no event of its own meanwhile.
    let elsewhere = |ticks, to| on(1, moved(ticks, to));
    for (name, events, detours, ran) in [
        (
            "while it runs",
            vec![elsewhere(3 * MS, 9), elsewhere(6 * MS, 7), switch(8 * MS, A, SLEEPS, IDLE)],
            vec![],
            4 * MS,
        ),
        (
            "while it waits",
            vec![
                switch(2 * MS, A, RUNNABLE, OTHER),
                elsewhere(4 * MS, 9),
                elsewhere(6 * MS, 7),
                switch(9 * MS, OTHER, SLEEPS, A),
                switch(10 * MS, A, SLEEPS, IDLE),
            ],
            vec![(0, 2 * MS, 4 * MS)],
            2 * MS,
        ),
        (
            "woken before it left, and back later",
            vec![
                switch(2 * MS, A, SLEEPS, OTHER),
                waking(3 * MS, OTHER, A),
                elsewhere(4 * MS, 9),
                elsewhere(50 * MS, 7),
                switch(60 * MS, OTHER, SLEEPS, A),
                switch(61 * MS, A, SLEEPS, IDLE),
            ],
            vec![],
            2 * MS,
        ),
    ] {
        assert_eq!(played(events), (detours, vec![(0, ran)]), "case: {name}");
    }
}
