use super::*;
use crate::story::DetourStory;
use anechoic_lab::builders;
use anechoic_recording::run::Program;
use anechoic_recording::{ProgramThread, Recorder};
use std::path::Path;

/// Ticks of a microsecond, at 1 GHz.
const US: u64 = 1_000;

fn thread(number: u32, name: &str, priority: i32, executed_us: u64) -> ProgramThread {
    ProgramThread {
        thread: number,
        tid: 100 + number.cast_signed(),
        name: name.into(),
        priority: Some(priority),
        cpus: "1".into(),
        first_ticks: 0,
        last_ticks: 1_000_000 * US,
        executed_ticks: executed_us * US,
        interrupted_ticks: US,
    }
}

/// A wait from one time to another, in µs, behind a thread: its id, name, number in the program, and for how long.
type Wait<'a> = (u64, u64, i32, &'a str, Option<u32>, u64);

fn delay(thread: u32, kind: DelayKind, (from, to, tid, name, number, held): Wait<'_>) -> Delay {
    Delay {
        cpu: 1,
        start_ticks: from * US,
        end_ticks: to * US,
        thread,
        kind,
        own_ticks: if number.is_some() { held * US } else { 0 },
        holder: Some(tid),
        holder_name: name.into(),
        holder_thread: number,
        held_ticks: held * US,
        waker_thread: None,
        waker: None,
        waker_source: None,
        waker_name: None,
        slept_ticks: None,
        priority: None,
        other_priority: None,
    }
}

fn recorded(dir: &Path, threads: &[ProgramThread], delays: &[Delay]) -> Recording {
    let run = Run {
        program: Some(Program::default()),
        end_ticks: 1_000_000 * US,
        ..builders::run("program", builders::clock(1_000_000_000), vec![])
    };
    Recorder::create(dir, &run).expect("a new directory").finish(&run).expect("there is space");
    let recording = Recording::open(dir).expect("just written");
    let mut table = recording.derive().expect("writable");
    table.append(threads).expect("in order");
    table.finish().expect("there is space");
    let mut table = recording.derive().expect("writable");
    table.append(delays).expect("in order");
    table.finish().expect("there is space");
    Recording::open(dir).expect("just written")
}

/// Kind, name, number of waits and time in µs of what had the CPU.
fn behind(row: &ThreadRow) -> Vec<(HolderKind, String, u64, u64)> {
    let each = row.behind.iter().map(|behind| {
        (behind.holder.kind, behind.holder.name.clone(), behind.waits, behind.held_ns / 1_000)
    });
    each.collect()
}

#[test]
fn each_row_has_what_its_threads_have_together() {
    use DelayKind::{Blocked, Preempted, Woken};
    let all = [
        thread(0, "control", 89, 5_000),
        thread(1, "logger", 120, 9_000),
        thread(2, "pool-1", 120, 100),
        thread(3, "pool-22", 125, 300),
        thread(4, "idler", 120, 0),
    ];
    let blocked =
        Delay { waker_thread: Some(1), ..delay(0, Blocked, (100, 3_100, 50, "hog", None, 3_000)) };
    let delays = [
        delay(0, Woken, (0, 500, 101, "logger", Some(1), 500)),
        delay(0, Woken, (600, 610, 50, "hog", None, 10)),
        delay(0, Woken, (700, 1_000, 50, "hog", None, 200)),
        blocked,
        delay(2, Preempted, (0, 40, 50, "hog", None, 40)),
        delay(3, Preempted, (0, 70, 102, "pool-1", Some(2), 70)),
        delay(3, Woken, (100, 160, 0, "idle", None, 60)),
        delay(9, Woken, (100, 160, 0, "idle", None, 60)), // of a thread that is not there
    ];
    let dir = tempfile::tempdir().expect("a directory");
    let found = threads(&recorded(dir.path(), &all, &delays)).expect("whole").expect("threads");
    let names: Vec<_> = found.iter().map(|row| (row.name.as_str(), row.threads)).collect();
    assert_eq!(names, [("control", 1), ("pool-*", 2), ("logger", 1), ("idler", 1)]);
    let times = |row: &ThreadRow| {
        [row.executed_ns, row.lost_ns, row.own_ns].map(|ns| ns / 1_000).map(|us| us as i64)
    };
    let [control, pool, logger, idler] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(times(control), [5_000, 1 + 310, 500]);
    assert_eq!(times(pool), [400, 2 + 40 + 60, 70]);
    assert_eq!((logger.waits, logger.p99_ns, logger.longest.clone()), (0, None, None));
    assert_eq!((idler.tid, times(idler)), (Some(104), [0, 1, 0]));
    assert_eq!((control.waits, control.policy.as_str()), (3, "real-time 10"));
    assert_eq!((control.p99_ns, pool.policy.as_str()), (Some(500_000), "several"));
    let named = |kind, name: &str, waits, us| (kind, name.to_owned(), waits, us);
    assert_eq!(
        behind(control),
        [
            named(HolderKind::OwnThread, "logger", 1, 500),
            named(HolderKind::OtherThread, "hog", 1, 200),
            named(HolderKind::WakeUp, "", 1, 10),
        ]
    );
    assert_eq!(
        behind(pool),
        [
            named(HolderKind::OwnThread, "pool-*", 1, 70),
            named(HolderKind::Idle, "", 1, 60),
            named(HolderKind::OtherThread, "hog", 1, 40),
        ]
    );
    let found = control.blocked.first().expect("blocked");
    assert_eq!((found.woken_by.as_str(), found.inversion, found.waits), ("logger", true, 1));
    assert_eq!((found.behind.name.as_str(), found.waited_ns), ("hog", 3_000_000));
    let members: Vec<_> = pool.members.iter().map(|m| (m.name.as_str(), m.waits)).collect();
    assert_eq!(members, [("pool-22", 2), ("pool-1", 1)]);
}

#[test]
fn a_wait_that_blocks_several_of_a_pool_counts_once() {
    let all = [thread(0, "pool-1", 120, 1), thread(1, "pool-2", 100, 1), thread(2, "main", 120, 1)];
    let blocked = |thread, from, to| Delay {
        waker_thread: Some(2),
        ..delay(thread, DelayKind::Blocked, (from, to, 50, "hog", None, to - from))
    };
    // Both sleep in each of twelve waits of 100 µs; one goes to sleep in the middle of every second one.
    let each = (0..12).flat_map(|turn: u64| {
        let start = 1_000 * turn;
        let late = start + 50 * (turn % 2);
        [blocked(0, late, start + 100), blocked(1, start, start + 100)]
    });
    let dir = tempfile::tempdir().expect("a directory");
    let recording = recorded(dir.path(), &all, &each.collect::<Vec<_>>());
    let found = threads(&recording).expect("whole").expect("threads");
    let pool = found.iter().find(|row| row.name == "pool-*").expect("a pool");
    let rows: Vec<_> = pool.blocked.iter().map(|row| (row.waits, row.waited_ns)).collect();
    assert_eq!(rows, [(12, 1_200_000)], "{:?}", pool.blocked);
    assert!(pool.blocked[0].inversion && pool.blocked[0].longest_ns == 100_000);
}

#[test]
fn the_longest_waits_are_in_order_with_who_had_the_cpu() {
    use DelayKind::{Blocked, Woken};
    let all = [thread(0, "control", 89, 5), thread(1, "logger", 120, 9)];
    let delays = [
        delay(0, Woken, (0, 500, 101, "logger", Some(1), 500)),
        delay(1, Woken, (0, 900, 50, "hog", None, 800)),
        Delay { waker_thread: Some(1), ..delay(0, Blocked, (100, 800, 50, "hog", None, 700)) },
        delay(1, Woken, (950, 951, 50, "hog", None, 1)),
    ];
    let dir = tempfile::tempdir().expect("a directory");
    let recording = recorded(dir.path(), &all, &delays);
    let found = longest_waits(&recording, 3, None, &mut []).expect("whole");
    let rows: Vec<_> = found
        .iter()
        .map(|wait| {
            let by = wait.behind.name.as_str();
            (wait.name.as_str(), wait.length_ns / 1_000, by, wait.behind_tid, wait.inversion)
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("logger", 900, "hog", Some(50), false),
            ("control", 700, "hog", Some(50), true),
            ("control", 500, "logger", Some(101), true),
        ]
    );
    // At the time of the wait both had other priorities than at their end.
    let then = Delay { priority: Some(120), other_priority: Some(89), ..delays[0].clone() };
    let dir = tempfile::tempdir().expect("a directory");
    let equal = recorded(dir.path(), &all, &[then]);
    assert!(!longest_waits(&equal, 1, None, &mut []).expect("whole")[0].inversion);
    let elsewhere = longest_waits(&recording, 3, Some(&[0]), &mut []).expect("whole");
    assert!(elsewhere.is_empty());
}

/// A detour of CPU 0 begins with a thread that is preempted there and goes on on CPU 1.
#[test]
fn a_preempted_thread_that_goes_on_elsewhere_is_no_interrupted_one() {
    let preempted = DelayKind::Preempted;
    let moves = delay(0, preempted, (100, 300, 50, "hog", None, 200));
    let late = Delay { start_ticks: 900 * US, end_ticks: 950 * US, ..moves.clone() };
    let all = [thread(0, "worker", 120, 5), thread(1, "other", 120, 5)];
    let cases = [
        ("it moves", vec![moves.clone()], Some(preempted)),
        ("it is interrupted", vec![], None),
        ("it moves at another time", vec![late], None),
        ("another one moves", vec![Delay { thread: 1, ..moves }], None),
    ];
    for (name, delays, expected) in cases {
        let dir = tempfile::tempdir().expect("a directory");
        let recording = recorded(dir.path(), &all, &delays);
        let view = crate::testing::detour(100 * US, 400 * US);
        let story = crate::story::story(&view, recording.run(), 9);
        let mut stories = [DetourStory { current: Some(100), ..story }];
        longest_waits(&recording, 3, None, &mut stories).expect("whole");
        let victim = stories[0].victim.as_ref().expect("a thread");
        assert_eq!((&*victim.name, victim.kind), ("worker", expected), "case: {name}");
    }
}

#[test]
fn an_idle_program_has_no_rows_and_differs_from_one_without_tables() {
    let dir = tempfile::tempdir().expect("a directory");
    let recording = recorded(dir.path(), &[], &[]);
    assert_eq!(threads(&recording).expect("whole"), Some(vec![]));
    for table in [THREADS, "delays"] {
        std::fs::remove_dir_all(dir.path().join(table)).expect("a table");
    }
    assert_eq!(threads(&recording).expect("whole"), None);
    assert!(longest_waits(&recording, 3, None, &mut []).expect("whole").is_empty());
}

#[test]
fn priorities_show_policies() {
    for (priority, expected) in [
        (-1, "deadline"),
        (0, "real-time 99"),
        (98, "real-time 1"),
        (120, "other"),
        (139, "nice 19"),
        (100, "nice -20"),
    ] {
        assert_eq!(policy(priority), expected);
    }
}

/// Delays of 1 to 999 µs after wakings by one thread, and fewer after others.
#[test]
fn each_thread_has_what_woke_it_and_how_long_it_then_waited() {
    let all =
        [thread(0, "control", 89, 5_000), thread(1, "pool-1", 120, 1), thread(2, "pool-2", 120, 1)];
    let woken = |us: u64, source: &str, name: &str, by: Option<u32>| Delay {
        waker_thread: by,
        waker_source: Some(source.into()),
        waker_name: Some(name.into()),
        ..delay(0, DelayKind::Woken, (0, us, 50, "hog", None, us))
    };
    let mut delays: Vec<Delay> = (0..1_000)
        .map(|us| woken(us, "thread", &format!("pool-{}", 1 + us % 2), Some(1 + us as u32 % 2)))
        .collect();
    delays.push(woken(30, "timer", "hrtimer_wakeup", None));
    delays.push(woken(20, "thread", "kworker/0:1", None));
    delays.push(woken(21, "thread", "kworker/1:2", None));
    // Nothing woke it, or nothing shows what did.
    delays.push(Delay { kind: DelayKind::Preempted, ..woken(5, "thread", "x", None) });
    delays.push(delay(0, DelayKind::Woken, (0, 9, 50, "hog", None, 9)));
    let dir = tempfile::tempdir().expect("a directory");
    let found = threads(&recorded(dir.path(), &all, &delays)).expect("whole").expect("threads");
    let control = found.iter().find(|row| row.name == "control").expect("it waited");
    let seen: Vec<_> = control
        .woken_by
        .iter()
        .map(|by| {
            let WokenBy { source, name, own, wakings, p50_ns, p99_ns, max_ns, delayed_ns } = by;
            (
                format!("{source} {name}"),
                *own,
                *wakings,
                [*p50_ns, p99_ns.unwrap_or(0), *max_ns, *delayed_ns],
            )
        })
        .collect();
    let near = |found: u64, us: u64| (found as f64 / (us * 1_000) as f64 - 1.0).abs() < 0.02;
    let [first, second, third] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!((&*first.0, first.1, first.2), ("thread pool-*", true, 1_000));
    let [p50, p99, max, delayed] = first.3;
    assert!(near(p50, 499) && near(p99, 989), "{first:?}");
    assert_eq!((max, delayed), (999_000, 499_500_000));
    assert_eq!((&*second.0, second.1, second.2), ("thread kworker/*:*", false, 2));
    assert!(near(second.3[0], 20));
    assert_eq!(second.3[1..], [0, 21_000, 41_000]);
    assert_eq!(
        (&*third.0, third.1, third.2, third.3),
        ("timer hrtimer_wakeup", false, 1, [30_000, 0, 30_000, 30_000])
    );
}
