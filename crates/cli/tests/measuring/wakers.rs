//! Tests who woke the threads of a program, as `anechoic record` shows it, against the readings of the counter that the woken and
//! the waking threads made themselves.

use crate::tool::{
    self, anechoic, arg, command, may_be_real_time, may_trace, spawn, summary, wait,
};
use anechoic_analyze::waits::ThreadRow;
use anechoic_lab::note;
use anechoic_recording::{Delay, DelayKind, ProgramThread, Recording, sources};
use anechoic_system::cpus;
use std::path::Path;
use std::process::Command;

/// A program whose threads wake each other, another one that wakes one of them, and one that keeps the CPU from them.
const PROGRAM: &str = include_str!("wakers.c");
/// From the switch to a thread to its reading of the counter, in µs, in the middle of all.
const RETURN_US: f64 = 10.0;
/// From its reading of the counter until a thread sleeps again, at most.
const ASLEEP_NS: u64 = 100_000;

/// Number of wakings of each thread.
const TURNS: usize = 300;

/// A waking: the counter before and after the call, and after the thread was woken.
type Waking = [u64; 3];

fn numbers(line: &str) -> Vec<u64> {
    line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Returns the waits after wakings of the thread with this name, in the order of their wakings, with its id.
fn wakings(recording: &Recording, name: &str) -> Vec<Delay> {
    let threads = recording.rows::<ProgramThread>().flat_map(|rows| rows.expect("rows"));
    let named: Vec<ProgramThread> = threads.filter(|thread| &*thread.name == name).collect();
    let [thread] = &named[..] else { panic!("one thread is {name}: {named:?}") };
    let delays = recording.rows::<Delay>().flat_map(|rows| rows.expect("rows"));
    let is_its = |delay: &Delay| delay.thread == thread.thread && delay.kind == DelayKind::Woken;
    let mut delays: Vec<Delay> = delays.filter(is_its).collect();
    delays.sort_by_key(|delay| delay.start_ticks);
    delays
}

/// Returns the wakings for which the thread had read the counter after the one before, and had this many ticks to fall asleep. The
/// outsider does not wait for the thread.
fn asleep_before(all: &[Waking], ticks: u64) -> Vec<Waking> {
    let before = [0].into_iter().chain(all.iter().map(|waking| waking[2]));
    let slept = all.iter().zip(before).filter(|(waking, before)| waking[0] > before + ticks);
    slept.map(|(waking, _)| *waking).collect()
}

/// How many wakings the recording has right, and how many waits behind the hog name it, of how many.
#[derive(Debug, Default)]
struct Right {
    found: usize,
    hit: usize,
    named: usize,
}

/// Compares the wakings of a thread by another one with what they measured themselves.
fn compare(
    recording: &Recording,
    (name, by): (&str, &str),
    measured: &[Waking],
    spins: &[Vec<u64>],
) -> Right {
    let us = |ticks: u64| recording.run().clock.seconds(ticks) * 1e6;
    let delays = wakings(recording, name);
    let by_it = |delay: &&Delay| delay.waker_name.as_deref() == Some(by);
    let (mut right, mut returns) = (Right::default(), vec![]);
    for &[before, after, woken] in measured {
        let within = |delay: &&Delay| (before..=after).contains(&delay.start_ticks);
        let same: Vec<&Delay> = delays.iter().filter(by_it).filter(within).collect();
        let [delay] = same[..] else { continue };
        if delay.end_ticks > woken {
            continue;
        }
        assert_eq!(delay.waker_source.as_deref(), Some(sources::THREAD.id), "{delay:?}");
        assert_eq!(delay.waker_thread.is_some(), by == "waker", "{delay:?}");
        right.found += 1;
        returns.push(us(woken - delay.end_ticks));
        let spun = |spin: &Vec<u64>| {
            delay.end_ticks.min(spin[1]).saturating_sub(delay.start_ticks.max(spin[0]))
        };
        let spun = us(spins.iter().map(spun).sum());
        if spun > 100.0 && 2.0 * spun > us(delay.end_ticks - delay.start_ticks) {
            right.hit += 1;
            right.named += usize::from(&*delay.holder_name == "hog");
        }
    }
    returns.sort_by(f64::total_cmp);
    let middle = returns.get(returns.len() / 2).copied().unwrap_or(0.0);
    assert!(measured.len() >= 200, "{name}: {} wakings", measured.len());
    println!(
        "{name}: {right:?} of {}, {middle:.1} µs from the switch to the program",
        measured.len()
    );
    assert!(100 * right.found >= 99 * measured.len(), "{name}: {right:?} of {}", measured.len());
    assert!(middle < RETURN_US, "{name}: {middle} µs");
    // It also wakes the thread if that had no time to fall asleep.
    let elsewhere = delays.iter().filter(by_it).count() - right.found;
    assert!(
        elsewhere <= 3 + TURNS - measured.len(),
        "{name}: {elsewhere} wakings that the program knows nothing of"
    );
    right
}

#[test]
fn who_woke_a_thread_is_known_and_how_long_it_then_waited() {
    let _alone = tool::alone();
    if !may_trace() || !may_be_real_time() {
        return;
    }
    if !cfg!(target_arch = "x86_64") {
        return note::skipped("the program reads the counter of x86-64");
    }
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    let (source, program, fifo) = (at("wakers.c"), at("wakers"), at("fifo"));
    std::fs::write(&source, PROGRAM).expect("a file");
    if command("cc", &["-O2", "-pthread", "-o", arg(&program), arg(&source)]).code != Some(0) {
        return note::skipped("there is no C compiler");
    }
    assert_eq!(command("mkfifo", &[arg(&fifo)]).code, Some(0));
    let cpu = cpus::allowed()[0].to_string();
    let start = |rest: &[&str]| {
        let words = [&["20", "taskset", "-c", &cpu, arg(&program)], rest].concat();
        spawn(Command::new("timeout").args(words))
    };
    let (outside, spun, record) = (at("outside"), at("spins"), at("record"));
    let outsider = start(&["outsider", arg(&fifo), arg(&outside)]);
    let hog = start(&["hog", "70", arg(&spun)]);
    let target = ["timeout", "20", "taskset", "-c", &cpu, arg(&program), "run", arg(&fifo), "-"];
    let done = anechoic(&[&["record", "-q", "-o", arg(&record), "--"], &target[..]].concat());
    assert_eq!((wait(outsider).code, wait(hog).code), (Some(0), Some(0)));
    assert!(matches!(done.code, Some(0 | 3)), "{done:?}");
    let lines = |path: &Path| -> Vec<Vec<u64>> {
        std::fs::read_to_string(path).expect("a file").lines().map(numbers).collect()
    };
    let (outside, spins) = (lines(&outside), lines(&spun));
    let recording = Recording::open(&record).expect("a recording");
    let (mut hit, mut named) = (0, 0);
    for way in ["pipe", "futex", "eventfd", "signal", "fifo"] {
        let own = done.out.lines().filter(|line| line.split(' ').next() == Some(way)).map(numbers);
        let own: Vec<Vec<u64>> = own.collect();
        let by = if way == "fifo" { "outsider" } else { "waker" };
        let calls = if way == "fifo" { outside.clone() } else { own.clone() };
        let measured = calls.iter().zip(&own).map(|(call, own)| [call[0], call[1], own[2]]);
        let asleep = recording.run().clock.ticks(ASLEEP_NS);
        let measured = asleep_before(&measured.collect::<Vec<Waking>>(), asleep);
        let right = compare(&recording, (way, by), &measured, &spins);
        (hit, named) = (hit + right.hit, named + right.named);
        shown(&record, way, by, right.found as u64);
    }
    match hit {
        0..10 => note::not_judged(format!("the hog hit {hit} wakings only")),
        _ => assert!(100 * named >= 99 * hit, "{named} of {hit}"),
    }
}

/// The summary has the same, and the screen names it.
fn shown(record: &Path, name: &str, by: &str, least: u64) {
    let rows: Vec<ThreadRow> =
        serde_json::from_value(summary(record)["threads"].take()).expect("rows of threads");
    let row = rows.iter().find(|row| row.name == name).expect("a row");
    let woken = row.woken_by.iter().find(|woken| woken.name == by).expect("its waker");
    assert!((least..=TURNS as u64 + 3).contains(&woken.wakings), "{woken:?} for {least}");
    assert_eq!(woken.own, by == "waker", "{woken:?}");
    assert!(woken.p50_ns <= woken.max_ns && woken.max_ns <= woken.delayed_ns, "{woken:?}");
    let screen = anechoic(&["summary", "--all", arg(record)]).out;
    let named = |line: &str| line.contains(name) && line.contains(by);
    assert!(screen.lines().any(named), "{screen}");
}
