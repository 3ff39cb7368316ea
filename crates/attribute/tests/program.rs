//! Detours of a recorded program: its threads are the victims, and whoever else has the CPU is charged.

use crate::stage::*;
use anechoic_recording::run::Program;
use anechoic_recording::who::{CpuLimits, HeldBack};
use anechoic_recording::{Detour, EventKind::*, KernelEvent};

/// Threads of the program, from the start.
const A: i32 = 300;
const B: i32 = 301;

fn check(name: &str, detours: Vec<Detour>, events: Vec<KernelEvent>, expected: &[&str]) {
    check_throttled(name, None, 0, detours, events, expected);
}

/// Checks a program whose control group was held back for this long by its CPU quota, if it has one.
fn check_throttled(
    name: &str,
    throttled_ns: Option<u64>,
    quota_us: u64,
    detours: Vec<Detour>,
    events: Vec<KernelEvent>,
    expected: &[&str],
) {
    let limits = throttled_ns.map(|ns| CpuLimits {
        quota_us: Some((quota_us, 100_000)),
        throttled_ns: Some(ns),
        ..CpuLimits::default()
    });
    check_limited(name, limits, detours, events, expected);
}

/// Checks a program whose control groups have these limits.
fn check_limited(
    name: &str,
    limits: Option<CpuLimits>,
    detours: Vec<Detour>,
    events: Vec<KernelEvent>,
    expected: &[&str],
) {
    let lengths: u64 = detours.iter().map(|detour| detour.end_ticks - detour.start_ticks).sum();
    let mut play = Play::new(detours, events);
    play.run.program = Some(Program { threads: vec![A, B], ..Program::default() });
    play.run.limits = limits;
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
        "preempted by a thread that executes another program meanwhile",
        vec![detour(100, 300)],
        vec![switch(100, A, 0, 45, 120), switch(300, 45, 0, A, 120)],
        &["off: thread make | 100..300 = 200 | runnable"],
    );
    check(
        "a fault of its own is no loss",
        vec![detour(100, 200)],
        vec![
            on(100, A, IrqEntry, [24, 0, 0]),
            on(120, A, PageFaultUser, [0x1000, 0x2000, 4]),
            on(140, A, PageFaultKernel, [0x1000, 0x2000, 4]),
            on(200, A, IrqExit, [24, 1, 0]),
        ],
        &["device-irq virtio0 | 100..200 = 100"],
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
        "an interrupt of 15 us that woke it, and 18 us until the switch: neither is longer than a waking takes",
        vec![detour(100, 33_100)],
        vec![
            switch(50, A, 1, 42, 120),
            on(100, 42, Waking, [A as u64, 1, 0]),
            on(15_100, 42, IrqExit, [24, 0, 0]),
            switch(33_100, 42, 0, A, 120),
        ],
        &["off: wake-up | 100..33100 = 33000 | runnable"],
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

/// A neighbour that has the CPU while the kernel holds the program back did not take that time.
#[test]
fn the_quota_is_charged_until_it_gives_new_time() {
    let events = |timers: &[u64]| {
        let mut events = vec![switch(100, A, 0, 42, 120)];
        for (at, &timer) in [200, 260].into_iter().zip(timers) {
            events.push(far(at, 0, HrtimerEntry, [timer, REFILL, 0]));
        }
        events.push(switch(300, 42, 0, A, 120));
        events
    };
    let (held, after) = (
        "off: cpu-quota | 100..200 = 100 | runnable",
        "off: thread bash | 200..300 = 100 | runnable",
    );
    let neighbour = "off: thread bash | 100..300 = 200 | runnable";
    let (first, second) = (0x51, 0x52);
    for (name, throttled_ns, timers, expected) in [
        ("until the timer", Some(1_000), &[first][..], &[held, after][..]),
        (
            "two periods",
            Some(1_000),
            &[first, first],
            &[
                held,
                "off: cpu-quota | 200..260 = 60 | runnable",
                "off: thread bash | 260..300 = 40 | runnable",
            ],
        ),
        ("the timer of another group", Some(1_000), &[first, second], &[held, after]),
        ("no more than the kernel counted", Some(1), &[first], &[neighbour]),
        ("never held back", Some(0), &[first], &[neighbour]),
        ("without a quota", None, &[first], &[neighbour]),
        ("no timer", Some(1_000), &[], &[neighbour]),
    ] {
        check_throttled(name, throttled_ns, 0, vec![detour(100, 300)], events(timers), expected);
    }
    let mut known = events(&[first, second]);
    known.insert(0, on(50, A, HrtimerStart, [second, REFILL, 0]));
    let expected = [
        "off: cpu-quota | 100..260 = 160 | runnable",
        "off: thread bash | 260..300 = 40 | runnable",
    ];
    let mut both = known.clone();
    both.insert(0, on(40, A, HrtimerStart, [first, REFILL, 0]));
    check_throttled(
        "the timer that the program started",
        Some(1_000),
        0,
        vec![detour(100, 300)],
        known,
        &expected,
    );
    let neighbour = [neighbour];
    check_throttled(
        "it also woke another group",
        Some(1_000),
        0,
        vec![detour(100, 300)],
        both,
        &neighbour,
    );
    let idle = events(&[first]);
    let name = "it had not used its quota";
    check_throttled(name, Some(1_000), 20_000, vec![detour(100, 300)], idle, &neighbour);
    // The timer of another group expires on top of a thread of the program before the detour, and arms itself again.
    let mut others = events(&[first]);
    let expiry =
        [HrtimerEntry, HrtimerStart, HrtimerExit].map(|kind| on(40, A, kind, [second, REFILL, 0]));
    others.splice(0..0, expiry);
    check_throttled("two timers", Some(1_000), 0, vec![detour(100, 300)], others, &neighbour);
}

/// The program and a child in a group of its own are held back, each by its own quota.
#[test]
fn each_quota_is_charged_until_it_gives_new_time() {
    let limits = |others| CpuLimits {
        quota_us: Some((0, 100_000)),
        limited: Some("/a".into()),
        throttled_ns: Some(80),
        also_limited: others,
        ..CpuLimits::default()
    };
    let other = HeldBack { cgroup: "/b".into(), quota_us: (0, 100_000), throttled_ns: 80 };
    let events = || {
        vec![
            switch(100, A, 0, 42, 120),
            far(160, 0, HrtimerEntry, [0x51, REFILL, 0]),
            far(230, 0, HrtimerEntry, [0x52, REFILL, 0]),
            switch(300, 42, 0, A, 120),
        ]
    };
    let both = [
        "off: cpu-quota | 100..160 = 60 | runnable",
        "off: cpu-quota | 160..230 = 70 | runnable",
        "off: thread bash | 230..300 = 70 | runnable",
    ];
    let one = [
        "off: cpu-quota | 100..160 = 60 | runnable",
        "off: thread bash | 160..300 = 140 | runnable",
    ];
    let cases = [("two groups", vec![other], &both[..]), ("one group", vec![], &one)];
    for (name, others, expected) in cases {
        check_limited(name, Some(limits(others)), vec![detour(100, 300)], events(), expected);
    }
    let interrupt = [on(100, A, IrqEntry, [24, 0, 0]), on(120, A, IrqExit, [24, 1, 0])];
    let taken = [switch(120, A, 0, 42, 120)];
    let after_interrupt = [&interrupt[..], &taken, &events()[1..]].concat();
    let expected = [
        "device-irq virtio0 | 100..120 = 20",
        "off: cpu-quota | 120..160 = 40 | runnable",
        "off: thread bash | 160..300 = 140 | runnable",
    ];
    let name = "an interrupt first";
    check_limited(name, Some(limits(vec![])), vec![detour(100, 300)], after_interrupt, &expected);
}
