//! Attribution window by window gives the same result as attribution of the whole.

use crate::stage::*;
use crate::wakeups::{WAKER, asleep, interrupt};
use anechoic_attribute::Live;
use anechoic_recording::run::Program;
use anechoic_recording::{
    Detour, EventKind::*, KernelEvent, Name, NameKind, News, Run, Sample, Stint, methods,
};

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

/// Wake-ups every 200,000 ticks. Each fourth waits for a thread that goes on; the events of some are lost, in the wake-up itself
/// or just before it.
#[test]
fn windows_of_any_length_explain_wake_ups_as_the_whole_does() {
    const EVERY: u64 = 200_000;
    let (mut woken, mut events) = (vec![], vec![]);
    let losses = vec![
        loss("events", 9 * EVERY - 100_000, 9 * EVERY - 90_000),
        loss("events", 20 * EVERY + 1_000, 20 * EVERY + 2_000),
    ];
    let mut slept = 500;
    for (number, due) in (1..40).map(|number| (number, number * EVERY)) {
        let (had_cpu, took) = if number % 4 == 0 { (43, 150_000) } else { (42, 14_000) };
        events.push(asleep(slept, had_cpu));
        events.extend(interrupt(due + 7_000, had_cpu));
        events.push(switch(due + took, had_cpu, 0, VICTIM, 19));
        woken.push(detour(due, due + took + 1_200));
        slept = due + took + 1_700;
    }
    let mut play = Play::new(woken.clone(), events.clone());
    play.stints = Some(vec![Stint { sleeps: true, ..stint(0, 1 << 40, 0, true) }]);
    play.losses.clone_from(&losses);
    let expected: Vec<String> = play.attribute().1.iter().map(words).collect();
    for wanted in ["thread stress", "late-timer on a busy CPU", "dark: "] {
        assert!(expected.iter().any(|row| row.contains(wanted)), "{wanted}: {expected:#?}");
    }
    let name = |kind, key, name: &str| Name { kind, key, ticks: 0, name: name.into() };
    let names = [name(NameKind::Task, 43, "stress"), name(NameKind::Symbol, WAKER, "wb_workfn")];
    let end = 41 * EVERY;
    for every in [6_000, 55_555, EVERY, 1_234_567, 2 * end] {
        let run =
            Run { method: methods::WAKEUP.into(), ..run("fifo 80", vec![cpu_run(1, VICTIM)]) };
        let mut live = Live::new(run);
        let (mut found, mut number, mut from) = (vec![], 0, 0);
        while from < end {
            let mut news = between(from, from + every, &woken, &events);
            let sample = |woken: &Detour| {
                let Detour { cpu, start_ticks, end_ticks } = *woken;
                Sample { series: 0, index: 0, cpu, start_ticks, end_ticks, count: 1 }
            };
            news.samples = news.detours.drain(..).map(|woken| sample(&woken)).collect();
            news.names.extend(names.clone());
            let is_new = |ticks: u64| (from..from + every).contains(&ticks);
            news.losses = losses.iter().filter(|loss| is_new(loss.end_ticks)).cloned().collect();
            for explained in live.explain(news).unwrap() {
                let taken: u64 = explained.rows.iter().map(|row| row.self_ticks).sum();
                let Detour { start_ticks, end_ticks, .. } = explained.detour;
                assert_eq!(taken, end_ticks - start_ticks, "every {every}");
                assert_eq!(start_ticks, woken[number].start_ticks);
                number += 1;
                found.extend(explained.rows.iter().map(words));
            }
            from += every;
        }
        assert_eq!(found, expected, "every {every}");
    }
}

#[test]
fn without_events_detours_come_bare() {
    let (detours, _) = busy();
    let mut live = Live::new(Run { trace: None, ..run("other", vec![cpu_run(1, VICTIM)]) });
    let explained = live.explain(between(0, 41 * PERIOD, &detours, &[])).unwrap();
    assert_eq!(explained.len(), detours.len());
    assert!(explained.iter().all(|detour| detour.rows.is_empty()));
}

/// Threads of a program on CPU 1.
const A: i32 = 300;
const B: i32 = 301;
const MS: u64 = 1_000_000;

/// In each four milliseconds a tick interrupts the program, another thread has its CPU for 200 µs, it sleeps and waits for 100 µs
/// behind that thread when it is woken, and a child of it runs and ends.
fn played_program(rounds: u64) -> Vec<KernelEvent> {
    let mut events = vec![switch(50, 0, 0, A, 120)];
    for round in 0..rounds {
        let at = round * 4 * MS;
        let (other, slept, child) = (at + MS, at + 2 * MS, at + 3 * MS);
        events.extend([
            on(at + 10_000, A, LocalTimerEntry, [236, 0, 0]),
            on(at + 13_000, A, LocalTimerExit, [236, 0, 0]),
            switch(other, A, 0, 42, 120),
            switch(other + 200_000, 42, 0, A, 120),
            switch(slept, A, 1, 42, 120),
            far(slept + 300_000, 43, Waking, [A as u64, 1, 0]),
            switch(slept + 400_000, 42, 0, A, 120),
            on(child, A, NewTask, [B as u64, 0, 0]),
            switch(child + 1_000, A, 1, B, 120),
            switch(child + 500_000, B, 0x20, 42, 120),
            far(child + 600_000, 43, Waking, [A as u64, 1, 0]),
            switch(child + 600_500, 42, 1, A, 120),
        ]);
    }
    events
}

fn program() -> Run {
    let program = Program { threads: vec![A], ..Program::default() };
    Run { program: Some(program), ..run("other", vec![]) }
}

/// Follows the program in windows of this length. Returns the rows of its detours, and for how long it executed on each CPU.
fn followed(events: &[KernelEvent], every: u64) -> (Vec<String>, Vec<(u32, u64)>) {
    let end = events.last().expect("events").ticks + 100;
    let mut live = Live::new(program());
    let (mut found, mut from) = (Vec::new(), 0);
    while from < end {
        for explained in live.explain(between(from, from + every, &[], events)).unwrap() {
            let taken: u64 = explained.rows.iter().map(|row| row.self_ticks).sum();
            let Detour { start_ticks, end_ticks, .. } = explained.detour;
            assert_eq!(taken, end_ticks - start_ticks, "every {every}");
            found.extend(explained.rows.iter().map(words));
        }
        from += every;
    }
    (found, live.executed().collect())
}

#[test]
fn a_program_is_followed_across_windows_of_any_length() {
    let events = played_program(40);
    let (whole, _) = followed(&events, 1_000 * MS);
    // The last one of four a round may still be extended.
    assert_eq!(whole.len(), 4 * 40 - 1, "{whole:#?}");
    let first = [
        "timer nothing expired | 10000..13000 = 3000",
        "off: thread bash | 1000000..1200000 = 200000 | runnable",
    ];
    assert_eq!(whole[..2], first);
    for every in [70_000, 333_333, 5 * MS, 61 * MS] {
        let (found, executed) = followed(&events, every);
        assert_eq!(found, whole, "every {every}");
        let [(1, executed)] = executed[..] else { panic!("CPU 1 only: {executed:?}") };
        // Of 4 ms it sleeps for 300 and 100 µs, and loses 303.5. It begins 50 ns late, and what is played ends 399.4 µs early; the
        // last window ends up to its length later.
        let least = 40 * (4 * MS - 300_000 - 100_000 - 303_500) - 50 - 399_400;
        assert!(
            (least..=least + every).contains(&executed),
            "every {every}: {executed} of {least}"
        );
    }
}

/// A thread waits all the time, so that the events of the whole time are kept. They are not read in each window.
#[test]
fn a_wait_that_goes_on_for_long_delays_what_is_shown_and_changes_nothing() {
    let mut events = played_program(2_400);
    events.insert(1, far(60, 43, Waking, [B as u64 + 1, 1, 0]));
    let waiting = Program { threads: vec![A, B + 1], ..Program::default() };
    let mut live = Live::new(Run { program: Some(waiting), ..program() });
    let (mut found, mut calls, every) = (Vec::new(), 0, 50 * MS);
    for from in (0..9_600 * MS).step_by(every as usize) {
        let explained = live.explain(between(from, from + every, &[], &events)).unwrap();
        calls += usize::from(!explained.is_empty());
        found.extend(explained.iter().flat_map(|explained| &explained.rows).map(words));
    }
    let (whole, _) = followed(&played_program(2_400), 10_000 * MS);
    assert_eq!(found, whole[..found.len()]);
    assert!(found.len() > whole.len() * 2 / 3, "{} of {}", found.len(), whole.len());
    assert!(calls < 192, "in {calls} of 192 windows");
}

/// The program is held back by its quota at 100. Its group has new time at 200, and what shows next that its thread goes on, on an
/// idle CPU whose switches are hidden, is a page fault.
#[test]
fn the_timers_of_quotas_are_known_in_each_window() {
    let events = vec![
        switch(50, 0, 0, A, 120),
        switch(100, A, 0, 0, 120),
        far(200, 0, HrtimerEntry, [7, REFILL, 0]),
        far(210, 0, HrtimerExit, [7, 0, 0]),
        on(300, A, PageFaultUser, [0; 3]),
        on(400_000, A, LocalTimerEntry, [236, 0, 0]),
        on(403_000, A, LocalTimerExit, [236, 0, 0]),
        switch(MS, A, 1, 0, 120),
    ];
    let name =
        |key| Name { kind: NameKind::Symbol, key, ticks: 0, name: "sched_cfs_period_timer".into() };
    for (key, end) in [(REFILL, 210), (TICK, 300)] {
        let mut live = Live::new(program());
        let news = News { names: vec![name(key)], ..between(1, 2 * MS, &[], &events) };
        let explained = live.explain(news).unwrap();
        let found: Vec<_> =
            explained.iter().map(|it| (it.detour.start_ticks, it.detour.end_ticks)).collect();
        assert_eq!(found, [(100, end)]);
    }
}
