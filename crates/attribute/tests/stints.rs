//! Several loops one after the other on one CPU; each has its own steps, bounds and policy.

use crate::stage::*;
use anechoic_recording::EventKind::*;
use anechoic_recording::{Detour, KernelEvent, Stint};

fn irq(from: u64, to: u64) -> [KernelEvent; 2] {
    [ev(from, IrqEntry, [24, 0, 0]), ev(to, IrqExit, [24, 1, 0])]
}

/// Plays it and returns the rows in words, each after the number of its detour.
fn rows(stints: Vec<Stint>, detours: Vec<Detour>, events: Vec<KernelEvent>) -> Vec<String> {
    let mut play = Play::new(detours, events);
    play.stints = Some(stints);
    let (_, rows) = play.attribute();
    rows.iter().map(|row| format!("{}: {}", row.detour, words(row))).collect()
}

#[test]
fn each_stint_has_its_own_step() {
    let stints = vec![stint(0, 400, 10, false), stint(1_000, 2_000, 60, false)];
    let detours =
        vec![detour(100, 200), detour(500, 600), detour(1_100, 1_250), detour(1_950, 2_080)];
    let events = [irq(140, 170), irq(520, 530), irq(1_130, 1_160), irq(1_970, 2_030)].concat();
    let expected = [
        "0: entry gap: device-irq virtio0 | 100..140 = 35",
        "0: device-irq virtio0 | 140..170 = 30",
        "0: exit gap: device-irq virtio0 | 170..200 = 25",
        // The second detour lies in no stint. In the third, 60 ticks are the loop's own: a quarter before it.
        "2: entry gap: device-irq virtio0 | 1100..1130 = 15",
        "2: device-irq virtio0 | 1130..1160 = 30",
        "2: exit gap: device-irq virtio0 | 1160..1250 = 45",
        // The last unit of a fixed-time series ends after its last window.
        "3: entry gap: device-irq virtio0 | 1950..1970 = 3",
        "3: device-irq virtio0 | 1970..2030 = 60",
        "3: exit gap: device-irq virtio0 | 2030..2080 = 7",
    ];
    assert_eq!(rows(stints, detours, events), expected);
}

#[test]
fn the_policy_is_that_of_the_stint() {
    let stints = vec![stint(0, 400, 10, false), stint(1_000, 2_000, 10, true)];
    let detours = vec![detour(100, 200), detour(1_100, 1_200), detour(1_300, 1_400)];
    let events = vec![
        switch(150, VICTIM, 0, 43, 120),
        switch(160, 43, 0, VICTIM, 120),
        switch(1_150, VICTIM, 0, 43, 120),
        switch(1_160, 43, 0, VICTIM, 49),
        switch(1_350, VICTIM, 0, 0, 120),
        switch(1_360, 0, 0, VICTIM, 49),
    ];
    let found = rows(stints, detours, events);
    let off: Vec<&String> = found.iter().filter(|row| row.contains("off:")).collect();
    let expected = [
        "0: off: thread stress | 150..160 = 10 | runnable",
        "1: off: fair-server stress | 1150..1160 = 10 | runnable",
        "2: off: rt-throttling | 1350..1360 = 10 | runnable",
    ];
    assert_eq!(off, expected);
}

#[test]
fn alignment_is_of_events_while_a_watched_loop_ran() {
    let stray = |ticks| ev(ticks, Waking, [1, 0, 0]);
    let events =
        || vec![stray(110), stray(250), stray(500), stray(1_150), stray(1_900), stray(2_001)];
    let detours = || vec![detour(100, 200), detour(1_100, 1_200)];
    let watched = vec![stint(0, 400, 10, false), stint(1_000, 2_000, 60, false)];
    let pure = vec![stint(0, 400, 0, false), stint(1_000, 2_000, 0, false)];
    let cases = [
        ("those at 500 and 2001 belong to no loop", watched, (4, 2)),
        ("where nobody watched they tell nothing", pure, (0, 0)),
        ("no loop", vec![], (0, 0)),
    ];
    for (name, stints, expected) in cases {
        let mut play = Play::new(detours(), events());
        play.stints = Some(stints);
        let found = play.attribute().0.alignment;
        assert_eq!((found.events, found.outside), expected, "case: {name}");
    }
}

/// Back to back from 0 on, each 1,000 ticks long.
fn samples(count: u64) -> Vec<Detour> {
    (0..count).map(|index| detour(index * 1_000, (index + 1) * 1_000)).collect()
}

#[test]
fn only_what_the_kernel_did_in_a_sample_has_rows() {
    type Case = (&'static str, Vec<KernelEvent>, Vec<&'static str>);
    let tick = [
        ev(2_140, LocalTimerEntry, [236, 0, 0]),
        ev(2_145, HrtimerEntry, [0xa, TICK, 0]),
        ev(2_165, HrtimerExit, [0xa, 0, 0]),
        ev(2_170, LocalTimerExit, [236, 0, 0]),
    ];
    let cases: Vec<Case> = vec![
        ("nothing", vec![], vec![]),
        (
            "a tick, work, an interrupt; parents are counted without the gaps",
            [
                &tick[..],
                &irq(2_600, 2_650),
                &[ev(2_660, SoftirqEntry, [9, 0, 0])],
                &irq(2_670, 2_680),
                &[ev(2_690, SoftirqExit, [9, 0, 0])],
            ]
            .concat(),
            vec![
                "2: timer-tick | 2140..2170 = 10",
                "2: timer-tick | 2145..2165 = 20 | in 0 | tick_nohz_handler",
                "2: device-irq virtio0 | 2600..2650 = 50",
                "2: softirq RCU | 2660..2690 = 20",
                "2: device-irq virtio0 | 2670..2680 = 10 | in 3",
            ],
        ),
        (
            "a page fault has no end: the work goes on, and the tick after it is not its own",
            [&[ev(2_100, PageFaultUser, [1, 2, 4])], &tick[..]].concat(),
            vec![
                "2: page-fault user | 2100..2100 = 0",
                "2: timer-tick | 2140..2170 = 10",
                "2: timer-tick | 2145..2165 = 20 | in 1 | tick_nohz_handler",
            ],
        ),
        (
            "a page fault that is waited for",
            vec![
                ev(2_100, PageFaultUser, [1, 2, 4]),
                switch(2_110, VICTIM, 2, 43, 120),
                on(2_300, 43, Waking, [VICTIM as u64, 1, 0]),
                switch(2_310, 43, 0, VICTIM, 120),
            ],
            vec![
                "2: page-fault user | 2100..2100 = 0",
                "2: off: page-fault user | 2110..2300 = 190 | blocked",
                "2: off: thread stress | 2300..2310 = 10 | runnable",
            ],
        ),
        (
            "events that begin and end nothing: own kernel work of unknown length",
            vec![ev(2_100, Signal, [100, 10, 0]), ev(2_900, Waking, [42, 0, 0])],
            vec!["2: victim-kernel | 2100..2100 = 0"],
        ),
        (
            "a lost end: no longer than to the last event",
            vec![ev(2_100, SoftirqEntry, [9, 0, 0]), ev(2_120, Waking, [42, 0, 0])],
            vec!["2: softirq RCU | 2100..2120 = 20"],
        ),
    ];
    for (name, events, expected) in cases {
        let found = rows(vec![stint(0, 5_000, 0, false)], samples(5), events);
        assert_eq!(found, expected, "case: {name}");
    }
}

#[test]
fn samples_of_a_loss_and_samples_of_another_thread() {
    // The last two samples are those of an unpinned thread, after the stint.
    let mut play =
        Play::new(samples(5), [irq(500, 510), irq(1_500, 1_510), irq(3_500, 3_510)].concat());
    play.stints = Some(vec![stint(0, 3_000, 0, false)]);
    play.losses = vec![loss("events", 1_700, 1_800), loss("events", 4_100, 4_200)];
    let found: Vec<String> = play.attribute().1.iter().map(words).collect();
    let expected =
        ["device-irq virtio0 | 500..510 = 10", "dark: not-attributable | 1000..2000 = 1000"];
    assert_eq!(found, expected);
}

#[test]
fn steal_has_no_place_where_there_are_no_gaps() {
    let mut play = Play::new(samples(3), irq(1_500, 1_510).to_vec());
    play.stints = Some(vec![stint(0, 3_000, 0, false)]);
    play.run.steal_readings = true;
    let reading = |ticks, value| anechoic_recording::Counter {
        name: "steal_ns".into(),
        cpu: 1,
        ticks,
        value,
    };
    play.steal = vec![reading(10, 0), reading(2_900, 400)];
    let (attribution, rows) = play.attribute();
    assert_eq!((attribution.steal_read_ns, attribution.steal_placed_ns), (Some(400), Some(0)));
    assert_eq!(rows.iter().map(|row| row.steal_ns).collect::<Vec<_>>(), [None]);
}

#[test]
fn a_million_quiet_samples_hold_no_memory() {
    let count = 1_000_000;
    let mut play = Play::new(samples(count), irq(999_999_500, 999_999_510).to_vec());
    play.stints = Some(vec![stint(0, count * 1_000, 0, false)]);
    let (_, rows) = play.attribute();
    assert_eq!(rows.iter().map(|row| row.detour).collect::<Vec<_>>(), [count - 1]);
}
