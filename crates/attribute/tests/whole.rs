//! Whole inputs: losses, alignment, steal, the audit, and the same bytes each time.

use crate::stage::*;
use anechoic_recording::EventKind::*;
use anechoic_recording::attribution::{Audit, Outside};
use anechoic_recording::{ActivityKind, Counter, KernelEvent};

fn irq(from: u64, to: u64) -> [KernelEvent; 2] {
    [ev(from, IrqEntry, [24, 0, 0]), ev(to, IrqExit, [24, 1, 0])]
}

fn counter(name: &str, cpu: u32, ticks: u64, value: u64) -> Counter {
    Counter { name: name.into(), cpu, ticks, value }
}

#[test]
fn detours_in_a_loss_are_not_attributable() {
    let cases = [
        ("lost before", loss("events", 0, 99), false),
        ("lost up to its start", loss("events", 0, 100), true),
        ("lost inside", loss("events", 130, 131), true),
        ("lost from its end on", loss("events", 200, 300), true),
        ("lost after", loss("events", 201, 300), false),
        ("switched off", loss("untraced", 150, 160), true),
        ("detours lost", loss("detours", 100, 200), false),
        ("steal lost", loss("steal", 100, 200), false),
    ];
    for (name, loss, dark) in cases {
        let mut play = Play::new(vec![detour(100, 200)], irq(120, 140).to_vec());
        play.losses = vec![loss];
        let (_, rows) = play.attribute();
        let expected = ["dark: not-attributable | 100..200 = 90"];
        let found: Vec<String> = rows.iter().map(words).collect();
        assert_eq!(found == expected, dark, "case: {name}: {found:?}");
    }
}

#[test]
fn a_step_that_took_less_than_twice_as_long_was_slow() {
    // A loop whose steps take 100 ticks, and one whose steps take 10.
    let cases = [
        ("a slow step", 100, 299, vec![], "slower"),
        ("an interruption", 100, 300, vec![], "vm-or-hardware"),
        ("a short step", 10, 299, vec![], "vm-or-hardware"),
        ("an event", 100, 299, irq(150, 190).to_vec(), "device-irq"),
    ];
    for (name, step, end, events, expected) in cases {
        let mut play = Play::new(vec![detour(100, end)], events);
        play.run.cpus[0].shortest_gap_ticks = step;
        play.run.threshold_ticks = step;
        let (_, rows) = play.attribute();
        let found: Vec<&str> = rows.iter().map(|row| &*row.source).collect();
        assert!(found.iter().all(|source| *source == expected), "case: {name}: {found:?}");
        let lost: u64 = rows.iter().map(|row| row.self_ticks).sum();
        assert_eq!(lost, end - 100 - step, "case: {name}");
    }
}

#[test]
fn a_detour_cannot_spoil_the_next() {
    let events = vec![
        ev(120, IrqEntry, [24, 0, 0]),   // never ends
        switch(130, VICTIM, 4, 43, 120), // never comes back
        ev(320, SoftirqEntry, [9, 0, 0]),
        ev(330, SoftirqExit, [9, 0, 0]),
    ];
    let (_, rows) =
        Play::new(vec![detour(100, 200), detour(300, 400), detour(500, 600)], events).attribute();
    let found: Vec<String> = rows.iter().filter(|row| row.detour > 0).map(words).collect();
    let expected = [
        "entry gap: softirq RCU | 300..320 = 18",
        "softirq RCU | 320..330 = 10",
        "exit gap: softirq RCU | 330..400 = 62",
        "unexplained: vm-or-hardware | 500..600 = 90",
    ];
    assert_eq!(found, expected);
    assert_eq!(rows.iter().map(|row| row.detour).max(), Some(2));
}

#[test]
fn a_frame_over_two_detours_is_cut() {
    // Two adjacent gaps: the loop read the counter once in between, so nothing can be open there.
    let (_, rows) =
        Play::new(vec![detour(100, 200), detour(200, 300)], irq(150, 250).to_vec()).attribute();
    let found: Vec<String> = rows.iter().map(words).collect();
    let expected = [
        "entry gap: device-irq virtio0 | 100..150 = 40",
        "device-irq virtio0 | 150..200 = 50",
        "entry gap: device-irq virtio0 | 200..250 = 45",
        "device-irq virtio0 | 250..250 = 0",
        "exit gap: device-irq virtio0 | 250..300 = 45",
    ];
    assert_eq!(found, expected);
}

#[test]
fn events_outside_of_detours_are_counted_and_shown() {
    let mut events = irq(120, 140).to_vec();
    events.extend([ev(195, Waking, [1, 0, 0]), ev(210, Waking, [1, 0, 0])]); // inside, a step after the end
    events.extend([ev(230, Waking, [1, 0, 0]), ev(460, Waking, [1, 0, 0])]); // outside
    events.extend([ev(10_001, Waking, [1, 0, 0])]); // after the loop's end
    events.extend([ev(700, Waking, [1, 0, 0])]); // where detours were lost
    events.sort_by_key(|event| event.ticks);
    let mut play = Play::new(vec![detour(100, 200), detour(500, 600)], events);
    play.run.cpus[0].last_ticks = 10_000;
    play.losses = vec![loss("detours", 650, 750)];
    let alignment = play.attribute().0.alignment;
    assert_eq!((alignment.events, alignment.outside, alignment.tolerance_ticks), (6, 2, 10));
    let outside = |ticks, distance_ticks| Outside {
        cpu: 1,
        ticks,
        event: "sched:sched_waking".into(),
        distance_ticks,
    };
    assert_eq!(alignment.examples, [outside(230, 30), outside(460, 40)]);
}

#[test]
fn steal_goes_to_the_longest_gaps_of_its_interval() {
    // Gaps in the interval up to 560: 42 and 8 around the interrupt, 90 without event, 54 before the next.
    let events = [irq(150, 190), irq(560, 570)].concat();
    let detours = vec![detour(100, 200), detour(300, 400), detour(500, 600), detour(700, 800)];
    let steal =
        |ns: u64| vec![counter("steal_ns", 1, 90, 1_000), counter("steal_ns", 1, 560, 1_000 + ns)];
    let cases = [
        ("less than the longest", 30, [0, 0, 30, 0, 0, 0], 30),
        ("more than the longest", 100, [0, 0, 90, 10, 0, 0], 100),
        ("more than all", 1_000, [42, 8, 90, 54, 0, 0], 194),
    ];
    for (name, ns, expected, placed) in cases {
        let mut play = Play::new(detours.clone(), events.clone());
        play.run.steal_readings = true;
        play.steal = steal(ns);
        let (attribution, rows) = play.attribute();
        let found: Vec<u64> = rows.iter().filter_map(|row| row.steal_ns).collect();
        assert_eq!(found, expected, "case: {name}");
        for row in
            rows.iter().filter(|row| row.kind != anechoic_recording::ActivityKind::Unexplained)
        {
            let stolen = row.steal_ns.unwrap_or(0);
            let of_the_host = stolen > 0 && 2 * stolen >= row.self_ticks; // a tick is a nanosecond
            assert_eq!(&*row.source == "vm-or-hardware", of_the_host, "case: {name}: {row:?}");
        }
        assert_eq!(attribution.steal_read_ns, Some(ns), "case: {name}");
        assert_eq!(attribution.steal_placed_ns, Some(placed), "case: {name}");
    }
    let mut lost = Play::new(detours.clone(), events.clone());
    lost.run.steal_readings = true;
    lost.steal = steal(30);
    lost.losses = vec![loss("steal", 350, 360)];
    let found: Vec<_> = lost.attribute().1.iter().map(|row| row.steal_ns).collect();
    assert_eq!(found[3], None, "the detour in which readings were lost");
    assert_eq!(found[4], Some(30), "the longest of the others");
    let unread = Play::new(detours, events).attribute();
    assert!(unread.1.iter().all(|row| row.steal_ns.is_none()));
    assert_eq!(unread.0.steal_read_ns, None);
}

#[test]
fn the_audit_counts_between_the_readings() {
    let mut events = [irq(120, 130), irq(1_000, 1_010)].concat(); // the second after the last reading
    events.insert(2, ev(140, Nmi, [PERF, 5, 1]));
    events.insert(2, ev(139, Nmi, [PERF, 5, 0])); // handled nothing
    events.insert(4, ev(150, SoftirqEntry, [9, 0, 0]));
    events.insert(5, ev(160, SoftirqExit, [9, 0, 0]));
    let mut play = Play::new(vec![detour(100, 200), detour(990, 1_100)], events);
    let counts = [
        ("interrupts/24", 1),
        ("interrupts/HYP", 5),
        ("interrupts/LOC", 0),
        ("interrupts/NMI", 1),
        ("interrupts/THR", 4),
        ("interrupts/TLB", 3),
        ("softirqs/RCU", 2),
    ];
    for (name, count) in counts {
        play.counters.push(counter(name, 1, 10, 100));
        play.counters.push(counter(name, 1, 900, 100 + count));
        play.counters.push(counter(name, 0, 900, 100)); // not measured
    }
    play.counters.push(counter("faults/minor", 1, 10, 100));
    let trace = play.run.trace.as_mut().unwrap();
    trace.events.retain(|event| event.number != ThresholdEntry as u16); // not on this kernel
    let attribution = play.attribute().0;
    let row =
        |counter: &str, counted, seen| Audit { counter: counter.into(), cpu: 1, counted, seen };
    let expected = [
        row("interrupts/24", 1, Some(1)),
        row("interrupts/HYP", 5, None),
        row("interrupts/LOC", 0, Some(0)),
        row("interrupts/NMI", 1, Some(1)),
        row("interrupts/THR", 4, None),
        row("interrupts/TLB", 3, None),
        row("softirqs/RCU", 2, Some(1)),
    ];
    assert_eq!(attribution.audit, expected);
    let untraced = [
        "interrupts/HYP: 5 counted, but there is no kernel event for them",
        "interrupts/THR: 4 counted, but there is no kernel event for them",
    ];
    assert_eq!(attribution.untraced, untraced);
}

#[test]
fn rows_are_handed_on_in_parts() {
    let detours = (0..200_000).map(|index| detour(index * 100, index * 100 + 50)).collect();
    let (mut calls, mut rows) = (0, 0);
    let play = Play::new(detours, vec![]);
    let sum = &mut |batch: &[anechoic_recording::Activity]| {
        calls += 1;
        rows += batch.len();
        Ok(())
    };
    play.attribute_into(sum).unwrap();
    assert_eq!(rows, 200_000);
    assert!(calls > 2, "a table was held as a whole");
}

/// A timer that rearms itself from its own interrupt stays that of the thread that armed it first.
#[test]
fn a_timer_that_rearms_itself_keeps_its_sender() {
    let expiry = |from: u64| {
        [
            ev(from, LocalTimerEntry, [236, 0, 0]),
            ev(from + 5, HrtimerEntry, [0xb, PERF, 0]),
            ev(from + 15, HrtimerExit, [0xb, 0, 0]),
            ev(from + 16, HrtimerStart, [0xb, PERF, 0]),
            ev(from + 20, LocalTimerExit, [236, 0, 0]),
        ]
    };
    let armed = far(50, 42, HrtimerStart, [0xb, PERF, 0]);
    let events = [&[armed][..], &expiry(140), &expiry(340), &expiry(540)].concat();
    let detours = vec![detour(100, 200), detour(300, 400), detour(500, 600)];
    let (_, rows) = Play::new(detours, events).attribute();
    let senders: Vec<_> = rows
        .iter()
        .filter(|row| row.function.is_some())
        .map(|row| (row.detour, row.sent_by_cpu, row.sent_by_task.as_deref()))
        .collect();
    assert_eq!(senders, [0, 1, 2].map(|detour| (detour, Some(0), Some("bash"))));
}

/// A loop whose thread no event of its CPU shows may have another number there: more events than 1,000 prove it.
#[test]
fn sources_are_withheld_where_the_loop_is_not_among_the_events() {
    const OTHER: i32 = 7_000;
    let mut seen_once = vec![OTHER; 501];
    seen_once[250] = VICTIM;
    let cases = [
        ("the loop's thread alone", vec![VICTIM; 501], false),
        ("the loop's thread once", seen_once, false),
        ("1,000 events of another thread", vec![OTHER; 500], false),
        ("1,002 events of another thread", vec![OTHER; 501], true),
    ];
    for (name, threads, withheld) in cases {
        let irq = |(index, pid): (usize, &i32)| {
            let from = 120 + 10 * index as u64;
            [on(from, *pid, IrqEntry, [24, 0, 0]), on(from + 5, *pid, IrqExit, [24, 1, 0])]
        };
        let events = threads.iter().enumerate().flat_map(irq).collect();
        let (attribution, rows) = Play::new(vec![detour(100, 10_000)], events).attribute();
        let named = rows.iter().any(|row| &*row.source == "device-irq");
        assert_eq!(named, !withheld, "case: {name}");
        let stated = attribution.untraced.iter().any(|what| what.contains("the loop of CPU 1"));
        assert_eq!(stated, withheld, "case: {name}");
    }
}

/// The row of a thread has its number; those of interrupts and of the idle thread have none.
#[test]
fn a_thread_has_its_number() {
    let events = vec![
        switch(120, VICTIM, 0, 42, 120),
        on(130, 42, SoftirqEntry, [9, 0, 0]),
        on(140, 42, SoftirqExit, [9, 0, 0]),
        switch(150, 42, 0, 0, 120),
        switch(160, 0, 0, VICTIM, 120),
    ];
    let (_, rows) = Play::new(vec![detour(100, 200)], events).attribute();
    let numbers: Vec<_> = rows
        .iter()
        .filter(|row| matches!(row.kind, ActivityKind::OffCpu | ActivityKind::Activity))
        .map(|row| (row.start_ticks, row.thread))
        .collect();
    assert_eq!(numbers, [(120, Some(42)), (130, None), (150, None)]);
}
