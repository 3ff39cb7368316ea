use super::*;
use crate::names::Names;
use anechoic_lab::builders;
use anechoic_recording::run::Program;
use anechoic_recording::{Name, NameKind};
use std::sync::Arc;

/// Threads of the program, and another one.
const A: i32 = 10;
const B: i32 = 11;
const HOG: i32 = 50;
const OTHER: i32 = 51;
/// The thread that runs the functions of timers of ordinary threads, with PREEMPT_RT.
const KTIMERS: i32 = 60;
const IDLE: i32 = 0;
const SLEEPS: u64 = 1;
/// A time is in µs, at 1 GHz; the clock of the timers is this much ahead of the counter.
const US: u64 = 1_000;
/// When the recording ends.
const END_US: u64 = 9_000;
const AHEAD_US: u64 = 1_000_000;

fn event(us: u64, cpu: u32, kind: EventKind, pid: i32, args: [u64; 3]) -> KernelEvent {
    KernelEvent { cpu, ticks: us * US, kind, pid, args }
}

fn switch(us: u64, cpu: u32, prev: i32, state: u64, next: i32) -> KernelEvent {
    event(us, cpu, EventKind::Switch, prev, [next as u64, state, 120])
}

fn waking(us: u64, cpu: u32, by: i32, tid: i32) -> KernelEvent {
    event(us, cpu, EventKind::Waking, by, [tid as u64, 0, 0])
}

/// Sets timer 7 to this time.
fn set(us: u64, cpu: u32, by: i32, due: u64) -> KernelEvent {
    event(us, cpu, EventKind::HrtimerStart, by, [7, 0, (due + AHEAD_US) * US])
}

/// The interrupt of a timer on top of a thread: its entry at a time, expiry and waking of a thread each 1 µs later, and its exit.
fn expiry(us: u64, cpu: u32, on: i32, wakes: i32) -> Vec<KernelEvent> {
    use EventKind::{HrtimerEntry, HrtimerExit, LocalTimerEntry, LocalTimerExit};
    vec![
        event(us, cpu, LocalTimerEntry, on, [0; 3]),
        event(us + 1, cpu, HrtimerEntry, on, [7, 0, (us + 1 + AHEAD_US) * US]),
        waking(us + 2, cpu, on, wakes),
        event(us + 3, cpu, HrtimerExit, on, [7, 0, 0]),
        event(us + 4, cpu, LocalTimerExit, on, [0; 3]),
    ]
}

fn play(events: &[KernelEvent], start_us: u64, losses: &[Loss]) -> Vec<Release> {
    played(events, start_us, losses).0
}

/// Returns the releases, and how many are left out.
fn played(events: &[KernelEvent], start_us: u64, losses: &[Loss]) -> (Vec<Release>, u64) {
    let program = Program { threads: vec![A, B], ..Program::default() };
    let mut run = builders::run("record", builders::clock(1_000_000_000), vec![]);
    run.program = Some(program.clone());
    let name = |(tid, name): (i32, &str)| {
        let (kind, key) = (NameKind::Task, u64::from(tid.cast_unsigned()));
        Name { kind, key, ticks: 0, name: name.into() }
    };
    let names = [(HOG, "hog"), (OTHER, "other"), (KTIMERS, "ktimers/0")].map(name);
    let labels = Labels::new(&run, Arc::new(Names::new(names)));
    let mut releases = Releases::new(&labels, &run.clock, start_us * US, None, losses.to_vec());
    let members = Members::new(&program);
    let number = |tid: i32| Some((tid - A) as u32);
    let mut contexts = Contexts::new(&run.clock, losses.to_vec());
    let mut found = vec![];
    for event in events {
        contexts.event(event);
        found.extend(releases.event(event, &members, number, &contexts).map(|(_, row)| row));
    }
    found.extend(releases.finish(END_US * US));
    (found, releases.left_out())
}

/// CPU, due, armed, expired, woken, end, unseen; in µs.
type Row = (u32, [u64; 6]);

fn rows(releases: &[Release]) -> Vec<Row> {
    let row = |row: &Release| {
        let ticks =
            [row.due_ticks, row.armed_ticks, row.expired_ticks, row.woken_ticks, row.end_ticks];
        let [due, armed, expired, woken, end] = ticks.map(|ticks| ticks / US);
        (row.cpu, [due, armed, expired, woken, end, row.unseen_ticks / US])
    };
    releases.iter().map(row).collect()
}

#[test]
fn a_release_is_from_the_time_asked_for_to_the_switch() {
    let asleep = |due| vec![set(10, 0, A, due), switch(12, 0, A, SLEEPS, IDLE)];
    let whole = |parts: [Vec<KernelEvent>; 3]| parts.concat();
    let fires = expiry(105, 0, IDLE, A);
    let late = [100, 10, 106, 107, 120, 0];
    let cases: [(&str, Vec<KernelEvent>, Vec<Row>); 15] = [
        (
            "on time",
            whole([asleep(100), fires.clone(), vec![switch(120, 0, IDLE, 0, A)]]),
            vec![(0, late)],
        ),
        (
            "it was released before, and went on and slept unseen",
            whole([
                asleep(100),
                fires.clone(),
                [
                    vec![set(200, 1, HOG, 300)],
                    expiry(305, 1, IDLE, A),
                    vec![switch(320, 1, IDLE, 0, A)],
                ]
                .concat(),
            ]),
            vec![(1, [300, 200, 306, 307, 320, 0])],
        ),
        (
            "on another CPU",
            whole([asleep(100), fires.clone(), vec![switch(120, 1, IDLE, 0, A)]]),
            vec![(1, late)],
        ),
        (
            "the switch is not reported",
            whole([
                asleep(100),
                fires.clone(),
                vec![event(130, 0, EventKind::PageFaultUser, A, [0; 3])],
            ]),
            vec![(0, [100, 10, 106, 107, 109, 21])],
        ),
        (
            "the time had passed, and it still has the CPU",
            whole([vec![set(100, 0, A, 40)], expiry(105, 0, A, A), vec![]]),
            vec![(0, [40, 100, 106, 107, 109, 0])],
        ),
        (
            "and it is preempted before it goes on",
            whole([
                vec![set(100, 0, A, 40)],
                expiry(105, 0, A, A)[..4].to_vec(),
                vec![switch(108, 0, A, 0, HOG), switch(150, 0, HOG, 0, A)],
            ]),
            vec![(0, [40, 100, 106, 107, 150, 0])],
        ),
        (
            "another thread wakes it before",
            whole([asleep(100), vec![waking(50, 1, B, A)], vec![switch(60, 0, IDLE, 0, A)]]),
            vec![],
        ),
        (
            "it wakes no thread of the program",
            whole([asleep(100), expiry(105, 0, IDLE, HOG), vec![switch(120, 0, IDLE, 0, HOG)]]),
            vec![],
        ),
        (
            "a device wakes it while the function of the timer of another thread runs",
            whole([
                vec![set(10, 0, B, 100), switch(12, 0, B, SLEEPS, IDLE)],
                vec![
                    event(106, 0, EventKind::HrtimerEntry, IDLE, [7, 0, (106 + AHEAD_US) * US]),
                    event(107, 0, EventKind::IrqEntry, IDLE, [30, 0, 0]),
                    waking(108, 0, IDLE, A),
                    event(109, 0, EventKind::IrqExit, IDLE, [30, 1, 0]),
                    waking(110, 0, IDLE, B),
                    event(111, 0, EventKind::HrtimerExit, IDLE, [7, 0, 0]),
                ],
                vec![switch(120, 0, IDLE, 0, B)],
            ]),
            vec![(0, [100, 10, 106, 110, 120, 0])],
        ),
        (
            "nobody knows when it was set",
            whole([vec![], fires.clone(), vec![switch(120, 0, IDLE, 0, A)]]),
            vec![],
        ),
        (
            "it does not get a CPU that is idle, or that is not reported",
            whole([asleep(100), fires, vec![]]),
            vec![(0, [100, 10, 106, 107, 109, END_US - 109])],
        ),
        (
            "it does not get a CPU that another thread has",
            whole([asleep(100), expiry(105, 0, HOG, A), vec![]]),
            vec![(0, [100, 10, 106, 107, END_US, 0])],
        ),
        (
            "the function of the timer runs in a softirq",
            whole([
                vec![set(100, 0, A, 40)],
                expiry(105, 0, A, A)[..4].to_vec(),
                vec![event(110, 0, EventKind::SoftirqExit, A, [1, 0, 0])],
            ]),
            vec![(0, [40, 100, 106, 107, 110, 0])],
        ),
        (
            "the end of its interrupt is not reported",
            whole([
                vec![set(100, 0, A, 40)],
                expiry(105, 0, A, A)[..4].to_vec(),
                vec![switch(150, 0, A, SLEEPS, HOG)],
            ]),
            vec![(0, [40, 100, 106, 107, 107, 43])],
        ),
        (
            "the slack has no end",
            whole([
                vec![
                    event(10, 0, EventKind::HrtimerStart, A, [7, 0, u64::MAX]),
                    event(10, 0, EventKind::HrtimerSoft, A, [7, US, 0]),
                    event(106, 0, EventKind::HrtimerEntry, IDLE, [7, 0, 5 * US]),
                ],
                vec![waking(107, 0, IDLE, A)],
                vec![switch(120, 0, IDLE, 0, A)],
            ]),
            vec![(0, [102, 10, 106, 107, 120, 0])],
        ),
    ];
    for (name, events, expected) in cases {
        assert_eq!(rows(&play(&events, 0, &[])), expected, "case: {name}");
    }
}

#[test]
fn nothing_is_said_where_events_were_lost_or_before_the_start() {
    let mut events = vec![set(10, 0, A, 100), switch(12, 0, A, SLEEPS, IDLE)];
    events.extend(expiry(105, 0, IDLE, A));
    events.push(switch(120, 0, IDLE, 0, A));
    let loss = |us: u64, until: u64, cpu: u32| Loss {
        what: LossKind::Events,
        cpu,
        start_ticks: us * US,
        end_ticks: until * US,
        count: 1,
    };
    for (name, start, losses, expected) in [
        ("before the start", 101, vec![], 0),
        ("lost after the timer was set, on another CPU", 0, vec![loss(50, 51, 1)], 0),
        ("lost after the waking", 0, vec![loss(110, 111, 0)], 0),
        ("lost before", 0, vec![loss(5, 6, 0)], 1),
        ("lost when the timer was set", 0, vec![loss(5, 11, 0)], 0),
        ("and on two CPUs", 0, vec![loss(5, 11, 0), loss(6, 7, 1)], 0),
        ("lost until after the waking", 0, vec![loss(5, 110, 1)], 0),
    ] {
        assert_eq!(play(&events, start, &losses).len(), expected, "case: {name}");
    }
}

/// Nothing is known of the time of day before the timer of this clock expires, so it may have been set meanwhile.
#[test]
fn what_is_left_out_counts_from_the_start_of_the_recording() {
    const DAY: u64 = 1_700_000_000_000_000_000;
    let armed = event(10, 0, EventKind::HrtimerStart, A, [7, 0, DAY + 100 * US]);
    let mut events = vec![armed, switch(12, 0, A, SLEEPS, IDLE)];
    let mut fires = expiry(105, 0, IDLE, A);
    fires[1].args[2] = DAY + 106 * US;
    events.extend(fires);
    events.push(switch(120, 0, IDLE, 0, A));
    for (start_us, expected) in [(0, 1), (106, 1), (107, 0)] {
        let (found, left_out) = played(&events, start_us, &[]);
        assert_eq!((found.len(), left_out), (0, expected), "from {start_us} µs on");
    }
}

/// The truth is who runs in the made-up events.
#[test]
fn what_took_most_of_a_release_is_named() {
    let begin = |on: i32| vec![set(10, 0, A, 100), switch(12, 0, A, SLEEPS, on)];
    let irq = |us, enters| {
        let kind = if enters { EventKind::IrqEntry } else { EventKind::IrqExit };
        event(us, 0, kind, IDLE, [3, 0, 0])
    };
    let cases = [
        (
            "a short one",
            [begin(IDLE), expiry(101, 0, IDLE, A), vec![switch(115, 0, IDLE, 0, A)]],
            ("wake-up", "", 15),
        ),
        (
            "another thread goes on",
            [begin(HOG), expiry(101, 0, HOG, A), vec![switch(900, 0, HOG, 0, A)]],
            ("thread", "hog", 795),
        ),
        (
            "another thread on the CPU where it goes on",
            [
                [vec![switch(5, 1, IDLE, 0, HOG)], begin(IDLE)].concat(),
                expiry(101, 0, IDLE, A),
                vec![switch(900, 1, HOG, 0, A)],
            ],
            ("thread", "hog", 797),
        ),
        (
            "another interrupt before that of the timer",
            [
                [begin(IDLE), vec![irq(90, true), irq(300, false)]].concat(),
                expiry(301, 0, IDLE, A),
                vec![switch(310, 0, IDLE, 0, A)],
            ],
            ("device-irq", "irq 3", 200),
        ),
        (
            "a thread runs the function of the timer, after another one than had the CPU before",
            [
                begin(HOG),
                vec![
                    event(101, 0, EventKind::LocalTimerEntry, HOG, [0; 3]),
                    waking(102, 0, HOG, KTIMERS),
                    event(103, 0, EventKind::LocalTimerExit, HOG, [0; 3]),
                    switch(104, 0, HOG, 0, OTHER),
                    switch(600, 0, OTHER, SLEEPS, KTIMERS),
                    event(601, 0, EventKind::SoftirqEntry, KTIMERS, [8, 0, 0]),
                    event(602, 0, EventKind::HrtimerEntry, KTIMERS, [7, 0, (602 + AHEAD_US) * US]),
                    waking(603, 0, KTIMERS, A),
                    event(604, 0, EventKind::HrtimerExit, KTIMERS, [7, 0, 0]),
                    event(605, 0, EventKind::SoftirqExit, KTIMERS, [8, 0, 0]),
                ],
                vec![switch(610, 0, KTIMERS, SLEEPS, A)],
            ],
            ("thread", "other", 496),
        ),
        (
            "its interrupt comes late, after another thread was switched in",
            [
                begin(HOG),
                [vec![switch(150, 0, HOG, 0, OTHER)], expiry(152, 0, OTHER, A)].concat(),
                vec![switch(160, 0, OTHER, 0, A)],
            ],
            ("late-timer", "after hog", 52),
        ),
    ];
    for (name, events, (source, which, us)) in cases {
        let found = play(&events.concat(), 0, &[]);
        let [release] = &found[..] else { panic!("case: {name}: {found:?}") };
        let most = (&*release.source, &*release.name, release.source_ticks / US);
        assert_eq!(most, (source, which, us), "case: {name}");
    }
}

#[test]
fn each_release_knows_the_one_before() {
    let turn = |turn: u64| {
        let at = 1_000 * turn;
        let mut events = vec![set(at - 900, 0, A, at), switch(at - 890, 0, A, SLEEPS, IDLE)];
        events.extend(expiry(at + 1, 0, IDLE, A));
        events.push(switch(at + 10, 0, IDLE, 0, A));
        events
    };
    let blocked = vec![
        switch(1_020, 0, A, SLEEPS, IDLE),
        waking(1_090, 1, B, A),
        switch(1_095, 0, IDLE, 0, A),
    ];
    let other = vec![waking(1_020, 0, A, B)];
    let loss = Loss {
        what: LossKind::Events,
        cpu: 1,
        start_ticks: 1_020 * US,
        end_ticks: 1_021 * US,
        count: 1,
    };
    for (name, between, losses, expected) in [
        ("busy all the time", vec![], vec![], Some(1_000 * US)),
        ("blocked elsewhere in between", blocked, vec![], None),
        ("another thread was", other, vec![], Some(1_000 * US)),
        ("events were lost in between", vec![], vec![loss], None),
    ] {
        let events = [turn(1), between, turn(2), turn(3)].concat();
        let before: Vec<_> =
            play(&events, 0, &losses).iter().map(|row| row.previous_ticks).collect();
        assert_eq!(before, [None, expected, Some(2_000 * US)], "case: {name}");
    }
}

/// The release that ends a recording is a row of the table.
#[test]
fn a_watch_ends_with_the_first_release_that_is_later() {
    use crate::program::Watch;
    let program = Program { threads: vec![A, B], ..Program::default() };
    let mut run = builders::run("record", builders::clock(1_000_000_000), vec![]);
    (run.start_ticks, run.program) = (0, Some(program));
    // Thread A sleeps until 1,000, 2,000 and 3,000 µs; a hog has its CPU for 20, 300 and 500 µs after the timer.
    let mut events = vec![];
    for (due, held) in [(1_000, 20), (2_000, 300), (3_000, 500)] {
        events.push(set(due - 400, 0, A, due));
        events.push(switch(due - 399, 0, A, SLEEPS, HOG));
        events.extend(expiry(due, 0, HOG, A));
        events.push(switch(due + held, 0, HOG, 0, A));
    }
    let met = |condition: &str, number: usize| {
        let condition = condition.parse().expect("a condition");
        let mut watch = Watch::new(condition, &run).expect("a program");
        watch.take(&events[..number], &[]);
        watch.finish(END_US * US, &run);
        watch.met().map(|met| (met.start_ticks / US, met.end_ticks / US, met.thread))
    };
    for (condition, number, expected) in [
        ("release>100us", 0, None),
        ("release>100us", 8, None),
        ("release>100us", events.len(), Some((2_000, 2_300, Some(A)))),
        ("release>300us", events.len(), Some((3_000, 3_500, Some(A)))),
        ("release>10us", events.len(), Some((1_000, 1_020, Some(A)))),
        ("release>600us", events.len(), None),
        ("wait>10s", events.len(), None),
    ] {
        assert_eq!(met(condition, number), expected, "{condition}, {number} events");
    }
    let rows = play(&events, 0, &[]);
    let ends: Vec<u64> = rows.iter().map(|row| row.end_ticks / US).collect();
    assert_eq!(ends, [1_020, 2_300, 3_500], "those of the table");
}
