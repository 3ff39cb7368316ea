//! Tests what `anechoic record` shows of each thread against the kernel's own account of it (`schedstat`), and against what the
//! threads measured themselves.

use crate::tool::{
    self, anechoic, arg, command, ensure, may_be_real_time, may_trace, one_of, spawn, summary, wait,
};
use anechoic_lab::attempt::Wrong;
use anechoic_lab::note;
use anechoic_recording::{Delay, DelayKind, ProgramThread, Recording};
use anechoic_system::cpus;
use std::path::Path;
use std::process::Command;

/// A program whose threads delay each other, and measure that.
const PROGRAM: &str = include_str!("threads.c");

/// What a thread printed of itself. Times are in ns.
#[derive(Debug)]
struct Printed {
    name: String,
    tid: i32,
    longest: u64,
    late: u64,
    /// The kernel's account: executed, waited, number of waits.
    account: [u64; 3],
}

fn printed(line: &str) -> Printed {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |place: usize| words[place].parse().unwrap_or_else(|_| panic!("{line}"));
    Printed {
        name: words[0].to_owned(),
        tid: words[1].parse().expect("a thread"),
        longest: number(2),
        late: number(3),
        account: [number(4), number(5), number(6)],
    }
}

/// What a recording has of its threads.
struct Recorded {
    recording: Recording,
    threads: Vec<ProgramThread>,
    delays: Vec<Delay>,
}

impl Recorded {
    fn open(dir: &Path) -> Self {
        let recording = Recording::open(dir).expect("a recording");
        let threads = recording.rows::<ProgramThread>().flat_map(|rows| rows.expect("rows"));
        let (threads, delays) = (threads.collect(), recording.rows::<Delay>());
        let delays = delays.flat_map(|rows| rows.expect("rows")).collect();
        Recorded { recording, threads, delays }
    }

    fn thread(&self, tid: i32) -> &ProgramThread {
        let found = self.threads.iter().find(|thread| thread.tid == tid);
        found.unwrap_or_else(|| panic!("thread {tid} is in {:#?}", self.threads))
    }

    fn named(&self, name: &str) -> u32 {
        let found = self.threads.iter().find(|thread| &*thread.name == name);
        found.unwrap_or_else(|| panic!("{name} is in {:#?}", self.threads)).thread
    }

    fn ns(&self, ticks: u64) -> u64 {
        self.recording.run().clock.ns(ticks)
    }

    fn length(&self, delay: &Delay) -> u64 {
        self.ns(delay.end_ticks - delay.start_ticks)
    }

    /// Returns the delays of a thread; those in which it slept, and another one waited that then woke it, or the others.
    fn delays(&self, thread: u32, blocked: bool) -> Vec<&Delay> {
        let is = |delay: &&Delay| {
            delay.thread == thread && (delay.kind == DelayKind::Blocked) == blocked
        };
        self.delays.iter().filter(is).collect()
    }
}

const MS: u64 = 1_000_000;
/// From the waking of a thread to when the kernel begins to count that it waits, and the switch, at most.
const SWITCH: u64 = 30_000;

#[test]
fn each_thread_has_what_the_kernel_counts_and_what_it_measured_itself() {
    let _alone = tool::alone();
    if !may_trace() || !may_be_real_time() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let (source, program) = (dir.path().join("threads.c"), dir.path().join("threads"));
    std::fs::write(&source, PROGRAM).expect("a file");
    if command("cc", &["-O2", "-pthread", "-o", arg(&program), arg(&source)]).code != Some(0) {
        return note::skipped("there is no C compiler");
    }
    one_of(3, || each_as_the_kernel_counts(arg(&program)));
}

/// Records the program once, and returns whether its threads waited no longer than the kernel counts.
fn each_as_the_kernel_counts(program: &str) -> Result<(), Wrong> {
    let dir = tempfile::tempdir().expect("a directory");
    let record = dir.path().join("record");
    let cpu = cpus::allowed().last().copied().expect("a CPU").to_string();
    let now: u64 = command(program, &["0"]).out.trim().parse().expect("a time");
    let start = (now + 3_000 * MS).to_string();
    let hog =
        spawn(Command::new("timeout").args(["20", "taskset", "-c", &cpu, program, "hog", &start]));
    let target = ["timeout", "20", "taskset", "-c", &cpu, program, &start];
    let done = anechoic(&[&["record", "-q", "-o", arg(&record), "--"], &target[..]].concat());
    wait(hog);
    assert_eq!(done.code, Some(0), "{done:?}");
    let threads: Vec<Printed> = done.out.lines().map(printed).collect();
    assert_eq!(threads.len(), 8, "{}", done.out);
    let recorded = Recorded::open(&record);
    for thread in &threads {
        as_the_kernel_counts(&recorded, thread)?;
    }
    let named = |name: &str| threads.iter().find(|thread| thread.name == name).expect(name);
    behind_its_own_thread(&recorded, named("control"));
    behind_a_lock(&recorded, named("high"));
    shown(&record, named("control").tid);
    Ok(())
}

/// A thread prints its account shortly before it ends.
fn as_the_kernel_counts(recorded: &Recorded, printed: &Printed) -> Result<(), Wrong> {
    let thread = recorded.thread(printed.tid);
    let delays = recorded.delays(thread.thread, false);
    let waited: u64 = delays.iter().map(|delay| recorded.length(delay)).sum();
    let longest = delays.iter().map(|delay| recorded.length(delay)).max().unwrap_or(0);
    let on_cpu = recorded.ns(thread.executed_ticks + thread.interrupted_ticks);
    let [executed, delayed, count] = printed.account;
    let found = format!("{printed:?}: {} waits of {waited} ns, executed {on_cpu}", delays.len());
    let waits = delays.len() as u64;
    assert!((count..=count + 3).contains(&waits), "{found}");
    let switches = waits * SWITCH;
    let later = (waits - count) * longest;
    let tolerance = delayed / 100 + MS / 5;
    assert!(delayed <= waited + tolerance, "{found}");
    // Where a CPU comes late out of idle, the kernel counts the thread as executing from its waking on.
    let counted_as_executed = executed.saturating_sub(on_cpu);
    let most = delayed + tolerance + switches + later + counted_as_executed;
    // Another guest may have the CPU between a waking and when the kernel begins to count.
    let is_counted = ensure(waited <= most, true, || found.clone());
    let tolerance = executed / 100 + MS;
    assert!(executed <= on_cpu + tolerance + switches, "{found}");
    // What it does after it has printed its account counts here only.
    assert!(on_cpu <= executed + tolerance + MS, "{found}");
    is_counted
}

/// The logger delays `control` each time. Where the logger itself came late, the test does not know the culprit.
fn behind_its_own_thread(recorded: &Recorded, control: &Printed) {
    let (thread, logger) = (recorded.thread(control.tid).thread, recorded.named("logger"));
    let delays = recorded.delays(thread, false);
    let is_late =
        |delay: &&&Delay| delay.kind == DelayKind::Woken && recorded.length(delay) > 50_000;
    let late: Vec<&Delay> = delays.iter().filter(is_late).copied().collect();
    // It counts from when its timer was due, which is some µs before it is woken.
    let count = late.len() as u64;
    assert!(count <= control.late + 1 && control.late <= count + 1, "{count}: {control:?}");
    let of_logger = recorded.delays(logger, false);
    let delayed = |late: &&&Delay| {
        let mut same = of_logger.iter().filter(|delay| recorded.length(delay) > 50_000);
        same.any(|delay| delay.start_ticks < late.end_ticks && late.start_ticks < delay.end_ticks)
    };
    let late: Vec<&Delay> = late.iter().filter(|late| !delayed(late)).copied().collect();
    let right = late.iter().filter(|delay| delay.holder_thread == Some(logger)).count();
    assert!(right >= 40 && 100 * right >= 99 * late.len(), "{right} of {}", late.len());
    let longest = delays.iter().map(|delay| recorded.length(delay)).max().expect("delays");
    assert!(longest <= control.longest && control.longest < longest + MS / 2, "{control:?}");
    let own: u64 = late.iter().map(|delay| delay.own_ticks).sum();
    let all: u64 = late.iter().map(|delay| delay.end_ticks - delay.start_ticks).sum();
    assert!(own * 100 >= all * 90 && own <= all, "the logger executed {own} of {all}");
}

/// `high` sleeps until `low` gives the lock back, which another program preempts meanwhile.
fn behind_a_lock(recorded: &Recorded, high: &Printed) {
    let (thread, low) = (recorded.thread(high.tid).thread, recorded.named("low"));
    let blocked = recorded.delays(thread, true);
    let right = blocked.iter().filter(|delay| {
        let by_hog = &*delay.holder_name == "hog" && delay.holder_thread.is_none();
        by_hog && delay.waker_thread == Some(low) && recorded.length(delay) > 2 * MS
    });
    let (right, late) = (right.count() as u64, high.late);
    assert!(late >= 15 && right.abs_diff(late) <= 1, "{right} of {high:?}: {blocked:#?}");
}

/// The table names the culprit, the inversion, and the pool.
fn shown(dir: &Path, control: i32) {
    let json = summary(dir);
    let rows = json["threads"].as_array().expect("threads");
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).expect(name);
    assert_eq!(row("worker-*")["threads"], 3);
    assert_eq!(row("control")["policy"], "real-time 10");
    assert_eq!(row("control")["behind"][0]["kind"], "own_thread");
    assert_eq!(row("control")["behind"][0]["name"], "logger");
    assert_eq!(row("high")["blocked"][0]["inversion"], true);
    assert_eq!(row("high")["blocked"][0]["woken_by"], "low");
    assert_eq!(row("high")["blocked"][0]["behind"]["name"], "hog");
    let longest = anechoic(&["longest", "-n", "1000", "--all", arg(dir)]).out;
    let victim = format!("control {control}");
    assert!(
        longest.lines().any(|line| line.contains(&victim) && line.contains("logger")),
        "{longest}"
    );
    assert!(longest.lines().any(|line| line.contains("delayed ")), "{longest}");
}

/// A command that ends at once, and one that ticks interrupt. The pauses between an interrupt and what follows it count
/// for the thread, but not for its CPU.
#[test]
fn a_program_of_one_thread_has_one_row() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    const BUSY: &str = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    for (name, command) in [("true", &["true"][..]), ("sh", &["sh", "-c", BUSY])] {
        let dir = tempfile::tempdir().expect("a directory");
        let done = anechoic(&[&["record", "-q", "-o", arg(dir.path()), "--"], command].concat());
        assert_eq!(done.code, Some(0), "{done:?}");
        let json = summary(dir.path());
        let rows = json["threads"].as_array().expect("threads");
        assert_eq!(rows.len(), 1, "{rows:#?}");
        assert_eq!((&rows[0]["name"], &rows[0]["threads"]), (&name.into(), &1.into()));
        let recorded = Recorded::open(dir.path());
        let threads = recorded.threads.iter();
        let on_cpu: u64 =
            threads.map(|thread| thread.executed_ticks + thread.interrupted_ticks).sum();
        let run = recorded.recording.run();
        let ran = run.program.iter().flat_map(|program| &program.ran);
        let counted: u64 = ran.map(|ran| ran.ticks + ran.interrupted_ticks).sum();
        assert_eq!(on_cpu, counted, "{name}: all threads together are the program");
    }
}
