//! Detours of a recorded program: its threads are the victims, and whoever else has the CPU is charged.

use crate::stage::*;
use anechoic_recording::run::Program;
use anechoic_recording::{Detour, EventKind::*, KernelEvent};

/// Threads of the program, from the start.
const A: i32 = 300;
const B: i32 = 301;

fn check(name: &str, detours: Vec<Detour>, events: Vec<KernelEvent>, expected: &[&str]) {
    let lengths: u64 = detours.iter().map(|detour| detour.end_ticks - detour.start_ticks).sum();
    let mut play = Play::new(detours, events);
    play.run.program = Some(Program { threads: vec![A, B], ..Program::default() });
    let stint = whole_run(&play.run, &play.run.cpus[0])[0];
    play.stints = Some(vec![anechoic_recording::Stint { shortest_gap_ticks: 0, ..stint }]);
    let (attribution, rows) = play.attribute();
    let found: Vec<String> = rows.iter().map(words).collect();
    assert_eq!(found, expected, "case: {name}");
    assert_eq!(rows.iter().map(|row| row.self_ticks).sum::<u64>(), lengths, "sum of case: {name}");
    assert_eq!(attribution.alignment.events, 0, "nothing outside a detour is wrong: {name}");
}

#[test]
fn who_has_the_cpu_is_charged() {
    let idle = switch(50, A, 1, 0, 120);
    check(
        "preempted by two threads, with an interrupt in one of them",
        vec![detour(100, 300)],
        vec![
            switch(100, A, 0, 42, 120),
            on(150, 42, IrqEntry, [24, 0, 0]),
            on(160, 42, IrqExit, [24, 0, 0]),
            switch(200, 42, 1, 43, 120),
            switch(300, 43, 1, A, 120),
        ],
        &[
            "off: thread bash | 100..200 = 90 | runnable",
            "device-irq virtio0 | 150..160 = 10 | in 0 | runnable",
            "off: thread stress | 200..300 = 100 | runnable",
        ],
    );
    check(
        "an interrupt with its softirq",
        vec![detour(100, 200)],
        vec![
            on(100, A, LocalTimerEntry, [236, 0, 0]),
            on(110, A, HrtimerEntry, [0xa, TICK, 0]),
            on(140, A, HrtimerExit, [0xa, 0, 0]),
            on(150, A, LocalTimerExit, [236, 0, 0]),
            on(160, A, SoftirqEntry, [7, 0, 0]),
            on(200, A, SoftirqExit, [7, 0, 0]),
        ],
        &[
            "timer-tick | 100..150 = 20",
            "timer-tick | 110..140 = 30 | in 0 | tick_nohz_handler",
            "inner gap: timer-tick | 150..160 = 10",
            "softirq SCHED | 160..200 = 40",
        ],
    );
    check(
        "the idle CPU is late, and an interrupt comes first",
        vec![detour(100, 200)],
        vec![
            idle,
            far(100, 42, Waking, [A as u64, 1, 0]),
            on(120, 0, RescheduleEntry, [253, 0, 0]),
            on(130, 0, RescheduleExit, [253, 0, 0]),
            switch(200, 0, 0, A, 120),
        ],
        &[
            "off: scheduling-delay | 100..200 = 90 | runnable",
            "ipi reschedule | 120..130 = 10 | in 0 | runnable",
        ],
    );
    check(
        "woken while a stranger has the CPU",
        vec![detour(100, 200)],
        vec![
            switch(50, A, 1, 42, 120),
            far(100, 43, Waking, [A as u64, 1, 0]),
            switch(200, 42, 0, A, 120),
        ],
        &["off: wake-up | 100..200 = 100 | runnable"],
    );
    check(
        "woken while a stranger has the CPU, who goes on",
        vec![detour(100, 100_200)],
        vec![
            switch(50, A, 1, 42, 120),
            far(100, 43, Waking, [A as u64, 1, 0]),
            switch(100_200, 42, 0, A, 120),
        ],
        &["off: thread bash | 100..100200 = 100100 | runnable"],
    );
    check(
        "a long interrupt wakes it, and the stranger does not go on after that",
        vec![detour(100, 100_200)],
        vec![
            switch(50, A, 1, 42, 120),
            on(100, 42, Waking, [A as u64, 1, 0]),
            on(100_000, 42, IrqExit, [24, 0, 0]),
            switch(100_200, 42, 0, A, 120),
        ],
        &[
            "off: wake-up | 100..100200 = 200 | runnable",
            "device-irq virtio0 | 100..100000 = 99900 | in 0 | runnable",
        ],
    );
    check(
        "a work item wakes it and goes on",
        vec![detour(100, 100_200)],
        vec![
            switch(50, A, 1, 42, 120),
            on(100, 42, Waking, [A as u64, 1, 0]),
            on(100_000, 42, WorkEnd, [1, 0, 0]),
            switch(100_200, 42, 0, A, 120),
        ],
        &["off: thread bash | 100..100200 = 100100 | runnable"],
    );
    check(
        "the stranger goes on until a later interrupt",
        vec![detour(100, 100_200)],
        vec![
            switch(50, A, 1, 42, 120),
            far(100, 43, Waking, [A as u64, 1, 0]),
            on(100_000, 42, IrqEntry, [24, 0, 0]),
            on(100_100, 42, IrqExit, [24, 0, 0]),
            switch(100_200, 42, 0, A, 120),
        ],
        &[
            "off: thread bash | 100..100200 = 100000 | runnable",
            "device-irq virtio0 | 100000..100100 = 100 | in 0 | runnable",
        ],
    );
    check(
        "a real-time thread of the program, which the kernel makes wait",
        vec![detour(100, 300)],
        vec![
            switch(50, 42, 1, A, 49),
            switch(100, A, 0, 43, 120),
            switch(200, 43, 0, 0, 120),
            switch(300, 0, 0, A, 49),
        ],
        &[
            "off: fair-server stress | 100..200 = 100 | runnable",
            "off: rt-throttling | 200..300 = 100 | runnable",
        ],
    );
    check(
        "it became real-time while it ran",
        vec![detour(100, 200)],
        vec![switch(50, 42, 1, A, 120), switch(100, A, 0, 43, 120), switch(200, 43, 0, A, 49)],
        &["off: fair-server stress | 100..200 = 100 | runnable"],
    );
    check(
        "one thread of the program sleeps while another waits: it is not blocked",
        vec![detour(100, 200)],
        vec![switch(50, A, 0, B, 120), switch(100, B, 1, 42, 120), switch(200, 42, 1, A, 120)],
        &["off: thread bash | 100..200 = 100 | runnable"],
    );
    check(
        "another thread of the program goes on between an interrupt and its softirq",
        vec![detour(100, 130)],
        vec![
            on(100, A, IrqEntry, [24, 0, 0]),
            on(110, A, IrqExit, [24, 0, 0]),
            switch(112, A, 0, B, 120),
            on(115, B, SoftirqEntry, [7, 0, 0]),
            on(130, B, SoftirqExit, [7, 0, 0]),
        ],
        &[
            "device-irq virtio0 | 100..110 = 10",
            "inner gap: device-irq virtio0 | 110..112 = 2",
            "inner gap: device-irq virtio0 | 112..115 = 3",
            "softirq SCHED | 115..130 = 15",
        ],
    );
}

#[test]
fn a_thread_that_the_program_begins_is_a_victim_and_no_source() {
    let born = far(60, A, NewTask, [310, 0, 0]);
    check(
        "a child",
        vec![detour(100, 150)],
        vec![
            born,
            switch(70, 0, 0, 310, 120),
            switch(100, 310, 0, 42, 120),
            switch(150, 42, 0, 310, 120),
        ],
        &["off: thread bash | 100..150 = 50 | runnable"],
    );
}
