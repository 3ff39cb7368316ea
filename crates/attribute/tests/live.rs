//! Attribution window by window gives the same result as attribution of the whole.

use crate::stage::*;
use anechoic_attribute::Live;
use anechoic_recording::{Detour, EventKind::*, KernelEvent, Name, NameKind, News, Run};

/// Time from one detour to the next.
const PERIOD: u64 = 1_000;

/// Detours alternate between a timer tick, a tick with a softirq, and another thread; one has no events.
fn busy() -> (Vec<Detour>, Vec<KernelEvent>) {
    let (mut detours, mut events) = (Vec::new(), Vec::new());
    for number in 0..40 {
        let start = 100 + number * PERIOD;
        let tick = [
            ev(start + 40, LocalTimerEntry, [236, 0, 0]),
            ev(start + 45, HrtimerEntry, [0xa, TICK, 0]),
            ev(start + 65, HrtimerExit, [0xa, 0, 0]),
            ev(start + 70, LocalTimerExit, [236, 0, 0]),
        ];
        let softirq =
            [ev(start + 75, SoftirqEntry, [9, 0, 0]), ev(start + 95, SoftirqExit, [9, 0, 0])];
        let thread =
            [switch(start + 80, VICTIM, 0, 42, 120), switch(start + 400, 42, 1, VICTIM, 120)];
        match number % 4 {
            0 => events.extend(tick),
            1 => events.extend(tick.into_iter().chain(softirq)),
            2 => events.extend(tick.into_iter().chain(thread)),
            _ => {}
        }
        events.push(far(start + 500, 43, LocalTimerEntry, [236, 0, 0]));
        events.push(far(start + 520, 43, LocalTimerExit, [236, 0, 0]));
        detours.push(detour(start, start + if number % 4 == 2 { 450 } else { 120 }));
    }
    (detours, events)
}

/// Rows of the table of names; one is repeated, as after each lookup of the symbols.
fn all_names() -> Vec<Name> {
    let name = |kind, key, name: &str| Name { kind, key, ticks: 0, name: name.into() };
    vec![
        name(NameKind::Task, 42, "bash"),
        name(NameKind::Symbol, TICK, "tick_nohz_handler"),
        name(NameKind::Symbol, TICK, "tick_nohz_handler"),
    ]
}

/// What is new between two calls: detours that have ended, and every event.
fn between(from: u64, to: u64, detours: &[Detour], events: &[KernelEvent]) -> News {
    let new = |ticks: u64| (from..to).contains(&ticks);
    News {
        until_ticks: to,
        detours: detours.iter().filter(|detour| new(detour.end_ticks)).copied().collect(),
        events: events.iter().filter(|event| new(event.ticks)).copied().collect(),
        names: if from == 0 { all_names() } else { vec![] },
        ..News::default()
    }
}

#[test]
fn windows_of_any_length_say_what_the_whole_says() {
    let (detours, events) = busy();
    let (_, rows) = Play::new(detours.clone(), events.clone()).attribute();
    let expected: Vec<String> = rows.iter().map(words).collect();
    assert!(expected.iter().any(|row| row.contains("bash")), "{expected:?}");
    let end = 41 * PERIOD;
    // Some calls come within a detour, some between two; some windows contain none, some many.
    for every in [90, 333, 1_000, 4_321, 2 * end] {
        let mut live = Live::new(run("other", vec![cpu_run(1, VICTIM)]));
        let mut found = Vec::new();
        let mut from = 0;
        while from < end {
            for explained in live.explain(between(from, from + every, &detours, &events)).unwrap() {
                let taken: u64 = explained.rows.iter().map(|row| row.self_ticks).sum();
                let Detour { start_ticks, end_ticks, .. } = explained.detour;
                assert_eq!(taken, end_ticks - start_ticks - SHORTEST, "every {every}");
                found.extend(explained.rows.iter().map(words));
            }
            from += every;
        }
        assert_eq!(found, expected, "every {every}");
    }
}

#[test]
fn what_a_cpu_without_a_loop_sent_is_known_in_the_same_window() {
    let events = vec![
        far(90, 42, IpiSendCpu, [1, 0xe, 0]),
        ev(120, RescheduleEntry, [253, 0, 0]),
        ev(130, RescheduleExit, [253, 0, 0]),
    ];
    let mut live = Live::new(run("other", vec![cpu_run(1, VICTIM)]));
    let explained = live.explain(between(0, PERIOD, &[detour(100, 200)], &events)).unwrap();
    let found: Vec<String> = explained[0].rows.iter().map(words).collect();
    let expected = [
        "entry gap: ipi reschedule | 100..120 = 18",
        "ipi reschedule | 120..130 = 10 | by 0 bash",
        "exit gap: ipi reschedule | 130..200 = 62",
    ];
    assert_eq!(found, expected);
}

#[test]
fn without_events_detours_come_bare() {
    let (detours, _) = busy();
    let mut live = Live::new(Run { trace: None, ..run("other", vec![cpu_run(1, VICTIM)]) });
    let explained = live.explain(between(0, 41 * PERIOD, &detours, &[])).unwrap();
    assert_eq!(explained.len(), detours.len());
    assert!(explained.iter().all(|detour| detour.rows.is_empty()));
}
