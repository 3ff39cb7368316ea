//! Measurements of wake-ups that end by `--stop-on`. The truth is the log of the thread that keeps the CPU, and cyclictest's
//! `-b` beside it.

use crate::tool::{self, anechoic, arg};
use anechoic_kernels::counter;
use anechoic_lab::attempt::{ensure, one_of};
use anechoic_lab::note;
use anechoic_recording::run::{Ended, RunState};
use anechoic_recording::{KernelEvent, Recording, Sample};
use anechoic_system::cpus;
use serde_json::Value;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long the hog keeps the CPU each time, in ns: much longer than anything else on a busy host.
const SPIN_NS: u64 = 20_000_000;

/// A thread that keeps a CPU for 20 ms twice a second, after some time, and the counter when it began and ended each time.
pub(super) struct Hog {
    stop: Arc<AtomicBool>,
    handle: JoinHandle<Vec<(u64, u64)>>,
}

impl Hog {
    pub(super) fn begin(cpu: u32, after: Duration) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("busy-hog".to_owned());
        let handle = thread.spawn(move || spin(cpu, after, &seen)).expect("a thread");
        Self { stop, handle }
    }

    pub(super) fn end(self) -> Vec<(u64, u64)> {
        self.stop.store(true, Ordering::Release);
        self.handle.join().expect("it ends")
    }
}

fn spin(cpu: u32, after: Duration, stop: &AtomicBool) -> Vec<(u64, u64)> {
    let clock = anechoic_system::clock::calibrate(&[], true).expect("a clock");
    cpus::pin(&[cpu]).expect("pinned");
    cpus::set_policy(libc::SCHED_FIFO, 90).expect("real-time priority");
    let (length, mut ran) = (clock.ticks(SPIN_NS), vec![]);
    std::thread::sleep(after);
    // It ends by itself if nobody asks for that.
    while !stop.load(Ordering::Acquire) && ran.len() < 60 {
        let start = counter::ordered();
        let end = loop {
            let now = counter::ordered();
            if now - start > length {
                break now;
            }
        };
        ran.push((start, end));
        std::thread::sleep(Duration::from_millis(480));
    }
    ran
}

pub(super) fn may_measure() -> Option<u32> {
    if !tool::may_be_real_time() || !tool::may_trace() || cpus::allowed().len() < 2 {
        note::skipped("it needs real-time priority, kernel events and two CPUs");
        return None;
    }
    cpus::allowed().last().copied()
}

/// The first spin ends the measurement at once. What is kept is the second before it, with the chain of that wake-up; no command
/// takes it for a sample of all the time.
#[test]
fn the_first_late_wake_up_ends_the_measurement_and_is_explained() {
    let Some(cpu) = may_measure() else { return };
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    let hog = Hog::begin(cpu, Duration::from_secs(9));
    let (cpu_text, place) = (cpu.to_string(), arg(dir.path()).to_owned());
    let frame = ["measure", "wakeup", "--cpus", &cpu_text, "--duration", "40s", "-o", &place];
    let stop = ["--policy", "fifo", "--stop-on", "wakeup=8ms", "--keep", "1s"];
    let done = anechoic(&[&frame[..], &stop].concat());
    let spins = hog.end();
    assert_eq!(done.code, Some(2), "{} {}", done.out, done.err);
    let recording = Recording::open(dir.path()).expect("a recording");
    recording.verify().expect("whole");
    let run = recording.run();
    assert_eq!(run.state, RunState::Complete, "it has what it was asked for");
    let ended: Vec<Ended> = run.outcomes.iter().map(|outcome| outcome.ended).collect();
    assert_eq!(ended.last(), Some(&Ended::Stopped), "{ended:?}");
    let stopped = run.stop_on.as_ref().expect("a condition");
    let met = stopped.met.expect("it was met");
    let ns = |from: u64, to: u64| run.clock.ns(to.saturating_sub(from));
    // The first spin, from its first expiry on until it ends.
    let (start, end) = spins[0];
    let late_start = ns(start, met.start_ticks);
    let late_end = ns(end, met.end_ticks);
    println!(
        "wake-up due {late_start} ns after the spin began, woken {late_end} ns after its end; ended {} ms later",
        ns(met.end_ticks, run.end_ticks) / 1_000_000
    );
    // Both may be due at one time.
    let early = ns(met.start_ticks, start);
    assert!(early < 1_000_000 && late_start < 2_000_000, "{met:?} {spins:?}");
    assert!(met.end_ticks > end && late_end < 2_000_000, "{met:?} {spins:?}");
    assert!(ns(met.end_ticks, run.end_ticks) < 400_000_000, "it goes on");
    let kept = stopped.kept.expect("some");
    let before = ns(run.start_ticks, met.start_ticks);
    assert!((900_000_000..1_700_000_000).contains(&before), "{before} ns are kept");
    assert!(kept.dropped_ns > 500_000_000, "{kept:?}");
    // The rows are those of that part, numbered from its start on.
    let mut number = 0;
    for (sample, at) in recording.rows_of_cpu::<Sample>(cpu).each().zip(0..) {
        let sample = sample.expect("readable");
        assert!(sample.start_ticks >= run.start_ticks, "{sample:?}");
        number = at + 1;
    }
    let counted: u64 = run.outcomes.iter().map(|outcome| outcome.samples).sum();
    assert_eq!(number, counted);
    for group in recording.rows::<KernelEvent>() {
        assert!(group.expect("readable").iter().all(|event| event.ticks >= run.start_ticks));
    }
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = words(&done.out);
    for part in
        ["ended the measurement (wakeup>8ms); ", "busy-hog took", "that were watched, the last"]
    {
        assert!(shown.contains(part), "{part}: {}", done.out);
    }
    assert!(done.out.lines().count() <= 40, "{}", done.out);
    let longest = anechoic(&["longest", &place]);
    let at =
        |what: &str| longest.out.find(what).unwrap_or_else(|| panic!("{what}: {}", longest.out));
    assert!(at("the wake-up that ended the measurement: ") < at("\n1. "), "{}", longest.out);
    let json = anechoic(&["summary", &place, "--json"]);
    let found: Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(found["stopped"]["condition"], "wakeup>8ms");
    let parts = found["stopped"]["wakeup"]["story"]["activities"].as_array().expect("a list");
    let longest = parts.iter().max_by_key(|part| part["self_ns"].as_u64()).expect("a part");
    assert_eq!(longest["name"], "busy-hog", "{longest}");
    // A longest wake-up is a fact; a share of this part is that of no other time.
    let gate = |rule: &[&str]| anechoic(&[&["gate", &place], rule].concat());
    assert_eq!(gate(&["--max-wakeup", "8ms"]).code, Some(2));
    assert_eq!(
        gate(&["--max-wakeup", "1s"]).code,
        Some(0),
        "{}",
        gate(&["--max-wakeup", "1s"]).out
    );
    let share = gate(&["--max-late", ">8ms=50%"]);
    assert_eq!(share.code, Some(3), "{}", share.out);
    assert!(words(&share.out).contains("is kept, which is no sample of the run"), "{}", share.out);
    let other = tempfile::tempdir().expect("a directory");
    let other = arg(other.path());
    let short = ["--duration", "1s", "--policy", "fifo", "-q", "-o", other];
    let done = anechoic(&[&frame[..4], &short].concat());
    assert!(matches!(done.code, Some(0 | 1)), "{}", done.err);
    let compared = anechoic(&["compare", &place, other]);
    assert!(
        words(&compared.out).contains("the part before the wake-up that it waited for"),
        "{}",
        compared.out
    );
}

/// Whether the kernel's own trace buffer records. cyclictest's `-b` switches that off; it is as before when this is dropped.
struct KernelTrace(String);

/// Executes a command in a directory where tracefs is mounted for it alone.
fn in_tracefs(command: &str) -> String {
    let script = format!("mount -t tracefs none /mnt && cd /mnt && {command}");
    let done = Command::new("unshare").args(["-m", "sh", "-c", &script]).output();
    String::from_utf8_lossy(&done.expect("unshare").stdout).trim().to_owned()
}

impl KernelTrace {
    fn read() -> Self {
        Self(in_tracefs("cat tracing_on"))
    }
}

impl Drop for KernelTrace {
    fn drop(&mut self) {
        in_tracefs(&format!("echo {} > tracing_on", self.0));
    }
}

/// cyclictest ends at the same spin with `-b`, beside us on the same CPU, and has the same latency but for the phase of its expiries.
#[test]
fn cyclictest_ends_at_the_same_spin() {
    let Some(cpu) = may_measure() else { return };
    let _alone = tool::alone();
    let pinned = format!("-a{cpu}");
    let run = ["-q", "-t1", &pinned, "-p80", "-m", "-i1000", "-D20", "-b", "8000", "--laptop"];
    if Command::new("cyclictest").arg("--help").output().is_err() {
        return note::skipped("cyclictest is not installed");
    }
    let _as_before = KernelTrace::read();
    one_of(4, || {
        let dir = tempfile::tempdir().expect("a directory");
        // After our start, which delays others on the CPU.
        let words = run.map(str::to_owned);
        let peer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(4));
            Command::new("cyclictest").args(words).stderr(Stdio::null()).output()
        });
        let hog = Hog::begin(cpu, Duration::from_secs(7));
        let (cpu, place) = (cpu.to_string(), arg(dir.path()).to_owned());
        let frame = ["measure", "wakeup", "--cpus", &cpu, "--duration", "20s", "-q", "-o", &place];
        let stop = ["--policy", "fifo", "--priority", "80", "--stop-on", "wakeup>8ms"];
        let done = anechoic(&[&frame[..], &stop].concat());
        let spins = hog.end();
        let output = peer.join().expect("it ends").expect("it is installed");
        assert_eq!(done.code, Some(2), "{} {}", done.out, done.err);
        let recording = Recording::open(dir.path()).expect("a recording");
        let run = recording.run();
        let met = run.stop_on.as_ref().and_then(|stop| stop.met).expect("it was met");
        let ours_us = run.clock.ns(met.end_ticks - met.start_ticks) as f64 / 1e3;
        let first = spins.iter().position(|(start, end)| (*start..*end).contains(&met.start_ticks));
        // What a host takes before the first spin ends one of the two.
        ensure(first == Some(0), first.is_some(), || format!("{met:?} {spins:?}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        // Its maximum may be of the time in which it ends.
        let theirs_us = text
            .split_once("# Break value:")
            .and_then(|(_, rest)| rest.split_whitespace().next()?.parse::<f64>().ok());
        println!("cyclictest {theirs_us:?} us, ours {ours_us} us");
        let near = theirs_us.is_some_and(|theirs_us| (theirs_us - ours_us).abs() < 1_500.0);
        ensure(near, true, || format!("{theirs_us:?} us, and {ours_us} us: {text}"))
    });
}

#[test]
fn what_ends_no_wake_ups_is_refused() {
    let frame = ["measure", "wakeup", "--no-save", "-q", "--no-trace", "--duration", "1s"];
    let cases: [(&[&str], &str); 7] = [
        (&["--stop-on", "detour>1ms"], "'wakeup>100us'"),
        (&["--stop-on", "wakeup>fast"], "'wakeup>100us'"),
        (&["--stop-on", "wakeup>0us"], "'wakeup>100us'"),
        (&["--stop-on", "wakeup=0us"], "'0us' is zero"),
        (&["--stop-on", "wakeup=-5us"], "'-5us' is negative"),
        (&["--stop-on", "wakeup>5"], "'5' is not a duration"),
        (&["--keep", "1s"], "--stop-on"),
    ];
    for (options, expected) in cases {
        let done = anechoic(&[&frame[..], options].concat());
        assert_eq!(done.code, Some(64), "{options:?}: {} {}", done.out, done.err);
        assert!(done.err.contains(expected), "{options:?}: {}", done.err);
    }
    for other in ["run", "record"] {
        let done = anechoic(&[other, "--stop-on", "wakeup>1ms", "--no-save", "-q"]);
        assert_eq!(done.code, Some(64), "{other}: {}", done.err);
        assert!(done.err.contains("measure wakeup"), "{other}: {}", done.err);
    }
}
