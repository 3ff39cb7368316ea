//! The wake-up of a thread that slept: what each part of its latency is charged to.

use crate::stage::*;
use anechoic_recording::EventKind::*;
use anechoic_recording::wakeup::IdleState;
use anechoic_recording::{Detour, KernelEvent, Loss, Stint};

/// The function of the timer of a sleeping thread.
pub(crate) const WAKER: u64 = SHORT_WORK;

/// The victim goes to sleep, and this thread gets the CPU.
pub(crate) fn asleep(ticks: u64, next: i32) -> KernelEvent {
    switch(ticks, VICTIM, 1, next, 120)
}

/// The timer's interrupt, which wakes the victim: entry, expiry, waking, and the exits.
pub(crate) fn interrupt(from: u64, pid: i32) -> Vec<KernelEvent> {
    vec![
        on(from, pid, LocalTimerEntry, [236, 0, 0]),
        on(from + 300, pid, HrtimerEntry, [0xb, WAKER, 0]),
        on(from + 700, pid, Waking, [VICTIM as u64, 1, 0]),
        on(from + 1_000, pid, HrtimerExit, [0xb, 0, 0]),
        on(from + 1_500, pid, LocalTimerExit, [236, 0, 0]),
    ]
}

/// A timer of something else, from one time to another.
fn spin(from: u64, to: u64, pid: i32) -> Vec<KernelEvent> {
    vec![
        on(from, pid, LocalTimerEntry, [236, 0, 0]),
        on(from + 100, pid, HrtimerEntry, [0xc, PERF, 0]),
        on(to - 100, pid, HrtimerExit, [0xc, 0, 0]),
        on(to, pid, LocalTimerExit, [236, 0, 0]),
    ]
}

fn rows(samples: &[(u64, u64)], events: Vec<KernelEvent>, losses: Vec<Loss>) -> Vec<String> {
    rows_woken(None, samples, events, losses)
}

/// The same where a thread on this CPU wakes the victim.
fn rows_woken(
    waker_cpu: Option<u32>,
    samples: &[(u64, u64)],
    events: Vec<KernelEvent>,
    losses: Vec<Loss>,
) -> Vec<String> {
    let detours: Vec<Detour> = samples.iter().map(|&(start, end)| detour(start, end)).collect();
    let mut play = Play::new(detours, events);
    play.stints = Some(vec![Stint { sleeps: true, waker_cpu, ..stint(0, 1 << 40, 0, true) }]);
    play.losses = losses;
    let (attribution, rows) = play.attribute();
    assert_eq!(attribution.alignment.events, 0, "events between wake-ups need not lie in them");
    for (number, &(start, end)) in (0..).zip(samples) {
        let parts = rows.iter().filter(|row| row.detour == number).map(|row| row.self_ticks);
        assert_eq!(parts.sum::<u64>(), end - start, "the parts add up");
    }
    rows.iter().map(|row| format!("{}: {}", row.detour, words(row))).collect()
}

#[test]
fn the_time_until_the_interrupt_is_not_charged_to_who_had_the_cpu() {
    let mut events = vec![asleep(500, 42)];
    events.extend(interrupt(107_000, 42));
    events.push(switch(114_000, 42, 0, VICTIM, 19));
    let expected = [
        "0: off: late-timer on a busy CPU | 100000..107700 = 7000 | blocked",
        "0: timer wb_workfn | 107000..107700 = 300 | in 0 | blocked",
        "0: timer wb_workfn | 107300..107700 = 400 | in 1 | wb_workfn | blocked",
        "0: off: wake-up | 107700..114000 = 5500 | runnable",
        "0: timer wb_workfn | 107700..108500 = 500 | in 3 | runnable",
        "0: timer wb_workfn | 107700..108000 = 300 | in 4 | wb_workfn | runnable",
        "0: off: wake-up | 114000..115200 = 1200",
    ];
    assert_eq!(rows(&[(100_000, 115_200)], events, vec![]), expected);
}

#[test]
fn a_thread_that_had_the_cpu_while_the_interrupt_was_late_is_named() {
    let mut events = vec![asleep(500, 42)];
    events.extend(interrupt(131_000, 42));
    events.push(switch(140_000, 42, 0, VICTIM, 19));
    let found = rows(&[(100_000, 141_000)], events, vec![]);
    assert_eq!(found[0], "0: off: late-timer after bash | 100000..131700 = 31000 | blocked");
}

/// The kernel hides the switches from and to the idle thread, and nobody is blamed for an idle CPU.
#[test]
fn an_idle_cpu_whose_switches_are_hidden_is_no_culprit() {
    let found = rows(&[(100_000, 125_000)], interrupt(113_000, 0), vec![]);
    let top: Vec<&String> = found.iter().filter(|row| row.contains("off: ")).collect();
    let expected = [
        "0: off: late-timer after idle | 100000..113700 = 13000 | blocked",
        "0: off: wake-up | 113700..125000 = 10500 | runnable",
    ];
    assert_eq!(top, expected);
}

#[test]
fn an_interrupt_that_began_before_the_expiry_is_named_for_its_part() {
    let mut events = vec![asleep(500, 42)];
    events.extend(spin(50_000, 250_000, 42));
    events.extend(interrupt(250_200, 42));
    events.push(switch(256_000, 42, 0, VICTIM, 19));
    let found = rows(&[(100_000, 257_000)], events, vec![]);
    let expected = [
        "0: off: late-timer on a busy CPU | 100000..250900 = 200 | blocked",
        "0: timer perf_swevent_hrtimer | 100000..250000 = 100 | in 0 | blocked",
        "0: timer perf_swevent_hrtimer | 100000..249900 = 149900 | in 1 | perf_swevent_hrtimer | blocked",
    ];
    assert_eq!(found[..3], expected);
}

#[test]
fn a_thread_that_goes_on_after_the_waking_holds_it_up() {
    let mut events = vec![asleep(500, 43)];
    events.extend(interrupt(105_000, 43));
    events.push(switch(305_000, 43, 1, VICTIM, 19));
    let found = rows(&[(100_000, 306_000)], events, vec![]);
    assert!(
        found.contains(&"0: off: thread stress | 105700..305000 = 198500 | runnable".to_owned()),
        "{found:#?}"
    );
    // Another one takes the CPU first, as its priority is higher.
    let mut events = vec![asleep(500, 42)];
    events.extend(interrupt(105_000, 42));
    events.push(switch(108_000, 42, 0, 43, 9));
    events.push(switch(208_000, 43, 1, VICTIM, 19));
    let found = rows(&[(100_000, 209_000)], events, vec![]);
    assert!(
        found.contains(&"0: off: thread stress | 108000..208000 = 100000 | runnable".to_owned()),
        "{found:#?}"
    );
}

#[test]
fn what_events_do_not_show_is_not_guessed() {
    let whole = |source: &str| format!("0: dark: {source} | 100000..120000 = 20000");
    let mut events = vec![asleep(500, 42)];
    events.extend(interrupt(105_000, 42));
    let cases: [(&str, Vec<KernelEvent>, Vec<Loss>, String); 3] = [
        ("lost", events.clone(), vec![loss("events", 110_000, 111_000)], whole("not-attributable")),
        ("none", vec![], vec![], whole("not-attributable")),
        ("no waking", spin(101_000, 103_000, 42), vec![], whole("not-attributable unseen switch")),
    ];
    for (name, events, losses, expected) in cases {
        assert_eq!(rows(&[(100_000, 120_000)], events, losses), [expected], "case: {name}");
    }
    // An interrupt whose exit was lost before the expiry is not carried into the wake-up.
    let mut events = vec![asleep(500, 42), on(50_000, 42, LocalTimerEntry, [236, 0, 0])];
    events.extend(interrupt(105_000, 42));
    events.push(switch(110_000, 42, 0, VICTIM, 19));
    let found = rows(&[(100_000, 111_000)], events, vec![loss("events", 60_000, 61_000)]);
    assert_eq!(found[0], "0: off: late-timer on a busy CPU | 100000..105700 = 5000 | blocked");
}

#[test]
fn wake_ups_follow_each_other() {
    let mut events = vec![asleep(500, 42)];
    for at in [100_000, 200_000] {
        events.extend(interrupt(at + 5_000, 42));
        events.push(switch(at + 9_000, 42, 0, VICTIM, 19));
        events.push(asleep(at + 20_000, 42));
    }
    let found = rows(&[(100_000, 110_000), (200_000, 210_000)], events, vec![]);
    let lengths = |number: &str| {
        let own = found.iter().filter_map(|row| row.strip_prefix(number));
        own.map(|row| row.split(" = ").last().map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(lengths("0: "), lengths("1: "), "{found:#?}");
}

/// Both threads are woken in one interrupt, and the kernel hides the switch from the idle thread to the other.
#[test]
fn a_thread_that_took_an_idle_cpu_unseen_is_named_from_the_interrupt_on() {
    let signs: [(&str, KernelEvent); 2] = [
        ("its switch", switch(405_000, 43, 1, VICTIM, 19)),
        ("an interrupt on top of it", on(300_000, 43, LocalTimerEntry, [236, 0, 0])),
    ];
    for (name, sign) in signs {
        let mut events = interrupt(105_000, 0);
        events.push(on(106_100, 0, HrtimerEntry, [0xd, WAKER, 0]));
        events.push(on(106_200, 0, Waking, [43, 1, 0]));
        events.push(on(106_300, 0, HrtimerExit, [0xd, 0, 0]));
        events.sort_by_key(|event| event.ticks);
        events.push(sign);
        if sign.kind == LocalTimerEntry {
            events.push(on(301_000, 43, LocalTimerExit, [236, 0, 0]));
            events.push(on(404_000, 43, HrtimerStart, [0xd, WAKER, 0]));
            events.push(switch(405_000, 43, 1, VICTIM, 19));
        }
        let found = rows(&[(100_000, 406_000)], events, vec![]);
        let hog = |row: &&String| row.contains("thread stress");
        let ran: Vec<&String> = found.iter().filter(hog).collect();
        let expected = match sign.kind {
            Switch => "0: off: thread stress | 106500..405000 = 298500 | runnable",
            _ => "0: off: thread stress | 106500..405000 = 297500 | runnable",
        };
        assert_eq!(ran, [expected], "case: {name}: {found:#?}");
        assert!(!found.iter().any(|row| row.contains("unseen")), "case: {name}: {found:#?}");
    }
}

#[test]
fn a_stopped_thread_is_not_late_because_of_its_timer() {
    let stop = KernelEvent { pid: 43, ..on(20_000, 43, Signal, [VICTIM as u64, 19, 0]) };
    for (name, current) in [("idle", 0), ("busy", 43)] {
        let events = vec![
            asleep(500, 43),
            stop,
            on(20_100, 43, Waking, [VICTIM as u64, 1, 0]),
            switch(21_000, 43, 0, VICTIM, 19),
            switch(22_000, VICTIM, 4, current, 120),
            on(300_000, current, Waking, [VICTIM as u64, 1, 0]),
            switch(304_000, current, 0, VICTIM, 19),
        ];
        let found = rows(&[(100_000, 305_000)], events, vec![]);
        assert!(
            found[0].contains("stop") && found[0].contains("100000..300000 = 200000"),
            "case: {name}: {found:#?}"
        );
        assert!(!found.iter().any(|row| row.contains("late-timer")), "case: {name}: {found:#?}");
    }
}

#[test]
fn the_idle_state_that_the_cpu_left_is_named() {
    let enters = |ticks, state| on(ticks, 0, CpuIdle, [state, 0, 0]);
    let leaves = |ticks| enters(ticks, u64::from(u32::MAX));
    let first = |events: Vec<KernelEvent>, losses| {
        let mut play = Play::new(vec![detour(100_000, 125_000)], events);
        play.stints = Some(vec![Stint { sleeps: true, ..stint(0, 1 << 40, 0, true) }]);
        play.losses = losses;
        let state = |state, name: &str, cpus: &[u32]| IdleState {
            state,
            name: name.into(),
            exit_latency_us: None,
            cpus: cpus.into(),
        };
        play.run.idle_states =
            vec![state(0, "POLL", &[1]), state(2, "C6", &[1]), state(2, "C10", &[0])];
        let (_, rows) = play.attribute();
        (rows[0].name.to_string(), rows[0].function.as_deref().map(str::to_owned))
    };
    let after = |events: Vec<KernelEvent>, losses| {
        let mut all = events;
        all.extend(interrupt(113_000, 0));
        first(all, losses)
    };
    let idle = |state: Option<&str>| ("after idle".to_owned(), state.map(str::to_owned));
    assert_eq!(
        after(vec![enters(600, 0), leaves(900), enters(950, 2), leaves(112_800)], vec![]),
        idle(Some("C6"))
    );
    assert_eq!(after(vec![enters(600, 2), leaves(90_000)], vec![]), idle(None), "it left before");
    assert_eq!(
        after(vec![enters(600, 7), leaves(112_800)], vec![]),
        idle(None),
        "a state without a name"
    );
    let lost = vec![loss("events", 700, 800)];
    assert_eq!(
        after(vec![enters(600, 2), leaves(112_800)], lost),
        idle(None),
        "events in between were lost"
    );
}

/// The sample begins when thread 42 is about to make the call.
#[test]
fn a_call_on_the_same_cpu_lasts_until_the_waking_and_what_interrupts_it_is_named() {
    let waking = on(103_000, 42, Waking, [VICTIM as u64, 1, 0]);
    let mut events = vec![asleep(500, 42)];
    events.extend(spin(100_500, 102_000, 42));
    events.extend([waking, switch(105_000, 42, 0, VICTIM, 19)]);
    let expected = [
        "0: off: waking-call | 100000..103000 = 1500 | blocked",
        "0: timer perf_swevent_hrtimer | 100500..102000 = 200 | in 0 | blocked",
        "0: timer perf_swevent_hrtimer | 100600..101900 = 1300 | in 1 | perf_swevent_hrtimer | blocked",
        "0: off: wake-up | 103000..105000 = 2000 | runnable",
        "0: off: wake-up | 105000..106000 = 1000",
    ];
    assert_eq!(rows_woken(Some(1), &[(100_000, 106_000)], events, vec![]), expected);
    // Where no event came before, the waking itself shows who has the CPU.
    let events = vec![waking, switch(105_000, 42, 0, VICTIM, 19)];
    let found = rows_woken(Some(1), &[(100_000, 106_000)], events, vec![loss("events", 1, 2)]);
    assert_eq!(found[1], "0: off: wake-up | 103000..105000 = 2000 | runnable");
    // The caller goes on: it is not preempted.
    let events = vec![asleep(500, 42), waking, switch(153_000, 42, 1, VICTIM, 19)];
    let found = rows_woken(Some(1), &[(100_000, 154_000)], events, vec![]);
    assert_eq!(found[1], "0: off: thread bash | 103000..153000 = 50000 | runnable");
}

/// What happens on the CPU of the victim before it is woken from another one did not keep it.
#[test]
fn a_call_on_another_cpu_is_charged_whole_and_what_is_open_at_the_waking_delays() {
    let waking = far(103_000, 45, Waking, [VICTIM as u64, 1, 0]);
    let top = |found: Vec<String>| {
        let kept = |row: &String| !row.contains(" = 0 ");
        found.into_iter().filter(kept).collect::<Vec<_>>()
    };
    // The kernel hides the switches of the idle thread: no event at all on the CPU of the victim.
    let expected = [
        "0: off: waking-call | 100000..103000 = 3000 | blocked",
        "0: off: wake-up | 103000..110000 = 7000 | runnable",
    ];
    assert_eq!(rows_woken(Some(0), &[(100_000, 110_000)], vec![waking], vec![]), expected);
    let mut events = vec![asleep(500, 0), waking];
    events.extend(spin(100_500, 102_000, 0));
    events.push(switch(109_000, 0, 0, VICTIM, 19));
    let expected = [
        "0: off: waking-call | 100000..103000 = 3000 | blocked",
        "0: off: wake-up | 103000..109000 = 6000 | runnable",
        "0: off: wake-up | 109000..110000 = 1000",
    ];
    assert_eq!(top(rows_woken(Some(0), &[(100_000, 110_000)], events, vec![])), expected);
    // An interrupt that goes on beyond the waking is named from there on.
    let mut events = vec![asleep(500, 0), waking];
    events.extend(spin(101_000, 203_000, 0));
    events.push(switch(206_000, 0, 0, VICTIM, 19));
    let expected = [
        "0: off: waking-call | 100000..103000 = 3000 | blocked",
        "0: off: wake-up | 103000..206000 = 3000 | runnable",
        "0: timer perf_swevent_hrtimer | 103000..203000 = 100 | in 3 | runnable",
        "0: timer perf_swevent_hrtimer | 103000..202900 = 99900 | in 4 | perf_swevent_hrtimer | runnable",
        "0: off: wake-up | 206000..207000 = 1000",
    ];
    assert_eq!(top(rows_woken(Some(0), &[(100_000, 207_000)], events, vec![])), expected);
    // Without the waking nothing is known.
    let found = rows_woken(Some(0), &[(100_000, 110_000)], spin(101_000, 102_000, 0), vec![]);
    assert_eq!(found, ["0: dark: not-attributable unseen switch | 100000..110000 = 10000"]);
}
