//! Tests what `anechoic record` shows of threads that timers wake, against what a program measured itself, and a thread of higher
//! priority that wrote down when it had the CPU.

use crate::tool::{
    self, anechoic, arg, command, may_be_real_time, may_trace, spawn, summary, wait,
};
use anechoic_analyze::waits::ReleaseRow;
use anechoic_lab::note;
use anechoic_recording::{ProgramThread, Recording, Release, sources};
use anechoic_system::cpus;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program whose threads sleep on timers, and measure how late they were.
const PROGRAM: &str = include_str!("releases.c");

/// Most by which both may differ, in µs.
const APART_US: f64 = 1.5;

/// A thread, the time for which it had set its timer and the time after it, in ns, and the counter before and after that time was
/// read.
type Measured = (String, [u64; 4]);

/// Releases of one thread in the order in which they ended.
struct Recorded {
    releases: Vec<Release>,
    us: Box<dyn Fn(u64) -> f64>,
}

impl Recorded {
    fn open(dir: &Path, name: &str) -> Self {
        let recording = Recording::open(dir).expect("a recording");
        let threads = recording.rows::<ProgramThread>().flat_map(|rows| rows.expect("rows"));
        let named = threads.filter(|thread| &*thread.name == name).map(|thread| thread.thread);
        let [thread] = named.collect::<Vec<_>>()[..] else { panic!("one thread is {name}") };
        let rows = recording.rows::<Release>().flat_map(|rows| rows.expect("rows"));
        let mut releases: Vec<Release> = rows.filter(|row| row.thread == thread).collect();
        releases.sort_by_key(|row| row.end_ticks);
        let clock = recording.run().clock.clone();
        Self { releases, us: Box::new(move |ticks| clock.seconds(ticks) * 1e6) }
    }

    /// Returns by how much the program's own latencies lie outside the times from when its timers were to expire to the counters
    /// around its reading of the time; only where the switch was reported.
    fn apart(&self, measured: &[[u64; 4]]) -> Vec<f64> {
        let apart = measured.iter().filter_map(|&[due_ns, at_ns, before, after]| {
            let next = self.releases.partition_point(|row| row.end_ticks <= before);
            let row = &self.releases[next.checked_sub(1)?];
            let [least, most] = [before, after].map(|counter| (self.us)(counter - row.due_ticks));
            let theirs = (at_ns - due_ns) as f64 / 1e3;
            let apart = (least - theirs).max(theirs - most).max(0.0);
            (row.unseen_ticks == 0).then_some(apart)
        });
        apart.collect()
    }

    /// Returns how many releases the hog delayed for more than 100 µs and most of their time, how many of them name it, and how
    /// many name it that met less than 20 µs of its spins, interruptions included.
    fn blame(&self, pieces: &[[u64; 3]]) -> [usize; 3] {
        let part = |row: &Release, from: u64, to: u64| {
            row.end_ticks.min(to).saturating_sub(row.due_ticks.max(from))
        };
        let met = |row: &Release| {
            (self.us)(pieces.iter().map(|&[_, from, to]| part(row, from, to)).sum())
        };
        let met_whole = |row: &Release| {
            let spins = pieces.chunk_by(|one, next| one[0] == next[0]);
            (self.us)(spins.map(|spin| part(row, spin[0][1], spin[spin.len() - 1][2])).sum())
        };
        // Where its interrupt was late, it names whom that let go on.
        let names = |row: &Release| {
            let source = &*row.source;
            source == sources::THREAD.id && &*row.name == "hog"
                || source == sources::LATE_TIMER.id && &*row.name == "after hog"
        };
        let most = |row: &Release| 2.0 * met(row) > (self.us)(row.end_ticks - row.due_ticks);
        let hit = self.releases.iter().filter(|row| met(row) > 100.0 && most(row));
        let right = hit.clone().filter(|row| names(row)).count();
        let elsewhere = self.releases.iter().filter(|row| met_whole(row) < 20.0 && names(row));
        for row in hit.clone().filter(|row| !names(row)) {
            println!("the hog took {} µs of {row:?}", met(row));
        }
        [hit.count(), right, elsewhere.count()]
    }
}

fn numbers<const N: usize>(line: &str) -> [u64; N] {
    let numbers = line.split(' ').map(|word| word.parse().expect("a number"));
    numbers.collect::<Vec<_>>().try_into().expect("as many")
}

fn measured(line: &str) -> Measured {
    let (name, rest) = line.split_once(' ').expect("a name");
    (name.to_owned(), numbers(rest))
}

/// Builds the program; nothing where it cannot be built, run or recorded.
fn program(dir: &Path) -> Option<PathBuf> {
    if !may_trace() || !may_be_real_time() {
        return None;
    }
    if !cfg!(target_arch = "x86_64") {
        note::skipped("the program reads the counter of x86-64");
        return None;
    }
    let (source, program) = (dir.join("releases.c"), dir.join("releases"));
    std::fs::write(&source, PROGRAM).expect("a file");
    let built = command("cc", &["-O2", "-pthread", "-o", arg(&program), arg(&source)]);
    if built.code != Some(0) {
        note::skipped("there is no C compiler");
    }
    Some(program).filter(|_| built.code == Some(0))
}

/// The release that ends a recording is the first that the program itself saw come so late, and the program goes on.
#[test]
fn the_first_late_release_ends_the_recording() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    let Some(program) = program(dir.path()) else { return };
    let (program, record) = (arg(&program), dir.path().join("record"));
    let cpu = cpus::allowed()[0].to_string();
    // It spins from half a second on, for longer than any release waits otherwise.
    let script = format!(
        "sleep 0.5; exec timeout 0.02 taskset -c {cpu} chrt -f 70 sh -c 'while :; do :; done'"
    );
    let hog = spawn(Command::new("sh").args(["-c", &script]));
    let target = ["timeout", "20", "taskset", "-c", &cpu, program, "run"];
    let options = ["record", "-q", "--stop-on", "release>15ms", "--keep", "300ms"];
    let done = anechoic(&[&options[..], &["-o", arg(&record), "--"], &target[..]].concat());
    wait(hog);
    let own: Vec<Measured> = done.out.lines().map(measured).collect();
    // The program sees itself run a little later than the events do: what is near the limit may or may not meet it.
    let late = own.iter().filter(|(_, [due, at, ..])| at - due > 15_300_000);
    if late.clone().next().is_none() {
        return note::skipped("the host let nothing spin for long enough");
    }
    assert_eq!(done.code, Some(2), "{done:?}");
    let recording = Recording::open(&record).expect("a recording");
    let met = recording.run().stop_on.as_ref().and_then(|stop| stop.met).expect("it was met");
    let us = |ticks: u64| recording.run().clock.seconds(ticks) * 1e6;
    let nearest = own.iter().min_by_key(|(_, [_, _, counter, _])| counter.abs_diff(met.end_ticks));
    let (name, [due_ns, at_ns, counter, _]) = nearest.expect("releases");
    let back_us = us(counter.abs_diff(met.end_ticks));
    let apart_us = (us(met.end_ticks - met.start_ticks) - (at_ns - due_ns) as f64 / 1e3).abs();
    assert!(back_us < 300.0 && apart_us < 300.0, "{met:?}: {name} was {} ns late", at_ns - due_ns);
    // Several threads may be as late; the first of them to execute ended it.
    let mut before =
        late.filter(|(_, [_, _, counter, _])| us(met.end_ticks.saturating_sub(*counter)) > 300.0);
    assert!(before.next().is_none(), "{met:?}: others were late before");
    assert!(recording.run().stop_on.as_ref().is_some_and(|stop| stop.kept.is_some()));
    assert!(own.len() > 1_000, "it went on: {}", own.len());
}

#[test]
fn latencies_are_those_of_the_program_and_the_hog_is_named() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    let Some(program) = program(dir.path()) else { return };
    let (program, record, spun) =
        (arg(&program), dir.path().join("record"), dir.path().join("spins"));
    let cpu = cpus::allowed()[0].to_string();
    let hog = ["20", "taskset", "-c", &cpu, program, "hog", "70", arg(&spun)];
    let hog = spawn(Command::new("timeout").args(hog));
    let target = ["timeout", "20", "taskset", "-c", &cpu, program, "run"];
    let done = anechoic(&[&["record", "-q", "-o", arg(&record), "--"], &target[..]].concat());
    assert_eq!(wait(hog).code, Some(0));
    assert!(matches!(done.code, Some(0 | 3)), "{done:?}");
    let own: Vec<Measured> = done.out.lines().map(measured).collect();
    let spins = std::fs::read_to_string(&spun).expect("the hog's file");
    let pieces: Vec<[u64; 3]> = spins.lines().map(numbers).collect();
    let shown = shown(&record);
    let (mut hit, mut right) = (0, 0);
    for (name, period_ns) in
        [("nanosleep", 1e6), ("ordinary", 2e6), ("timerfd", 1.5e6), ("poll", 0.0)]
    {
        let recorded = Recorded::open(&record, name);
        let of_thread = own.iter().filter(|(thread, _)| thread == name);
        let own: Vec<[u64; 4]> = of_thread.map(|(_, times)| *times).collect();
        let (number, counted) = (own.len(), recorded.releases.len());
        assert!(100 * counted >= 99 * number && counted <= number, "{name}: {counted} of {number}");
        let row = shown.iter().find(|row| row.name == name).expect("a row");
        assert_eq!(row.releases, counted as u64, "{row:?}");
        agrees(name, &recorded.apart(&own), number);
        let found = row.period_ns.unwrap_or(0.0);
        // The program computes the end of a timeout before the kernel does, and each begins when the one before was over.
        let periodic = name != "poll";
        assert!(!periodic || (found / period_ns - 1.0).abs() < 0.001, "{name}: {found} ns");
        let [hits, rights, elsewhere] = recorded.blame(&pieces);
        println!("{name}: {hits} delayed by the hog, {rights} name it, {elsewhere} others do");
        // Before its first reading and after its last one, the hog may be held up too.
        assert!(elsewhere <= 2, "{name}");
        (hit, right) = (hit + hits, right + rights);
    }
    if hit < 10 {
        return note::not_judged(format!("the hog hit {hit} releases only"));
    }
    assert!(100 * right >= 99 * hit, "{right} of {hit}");
}

/// Both agree in 99 % of the releases; of a timeout the program knows the end only roughly.
fn agrees(name: &str, apart: &[f64], number: usize) {
    if apart.len() < number / 2 {
        return note::not_judged(format!("{name}: most switches were not reported"));
    }
    let far = apart.iter().filter(|us| **us > APART_US).count();
    println!("{name}: {far} of {} are more than {APART_US} µs apart", apart.len());
    let most = if name == "poll" { apart.len() / 20 } else { apart.len() / 100 };
    if far > most && far <= apart.len() / 10 {
        return note::not_judged(format!(
            "{name}: {far} of {} are off, on a busy host",
            apart.len()
        ));
    }
    assert!(far <= most, "{name}: {far} of {}", apart.len());
}

/// Returns the rows of the summary, which also has them on its screen.
fn shown(record: &Path) -> Vec<ReleaseRow> {
    let screen = anechoic(&["summary", "--all", arg(record)]).out;
    assert!(screen.contains("nanosleep ") && screen.contains("late by"), "{screen}");
    rows(record)
}

fn rows(record: &Path) -> Vec<ReleaseRow> {
    let rows = summary(record)["releases"]["rows"].take();
    serde_json::from_value(rows).expect("rows of releases")
}

/// What runs without a timer has no releases, and nothing is said of periods after a few sleeps.
#[test]
fn programs_that_do_not_sleep_on_timers_have_no_releases() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    for (script, most) in [
        ("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done", 0),
        (":", 0),
        ("sleep 0.01; sleep 0.02; sleep 0.01", 1),
    ] {
        let dir = tempfile::tempdir().expect("a directory");
        let record = dir.path().join("record");
        let done = anechoic(&[
            "record",
            "-q",
            "-o",
            arg(&record),
            "--",
            "timeout",
            "5",
            "sh",
            "-c",
            script,
        ]);
        assert_eq!(done.code, Some(0), "{done:?}");
        let rows = rows(&record);
        let slept = rows.iter().filter(|row| row.name == "sleep").collect::<Vec<_>>();
        assert_eq!(slept.len(), most, "{script}: {rows:?}");
        for row in slept {
            assert_eq!((row.releases, row.period_ns), (3, None), "{row:?}");
        }
    }
}
