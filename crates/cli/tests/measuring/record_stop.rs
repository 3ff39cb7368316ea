//! `anechoic record --stop-on`, against programs that know themselves when they were held up.

use crate::tool::{self, Done, anechoic, arg, noisy, start, wait};
use anechoic_lab::attempt::{ensure, one_of};
use anechoic_recording::Recording;
use anechoic_recording::run::{Run, RunState};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Builds `held.c` in a directory.
fn held(dir: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/measuring/held.c");
    let out = dir.join("held");
    let done =
        Command::new("cc").args(["-O2", "-Wall", "-Werror", "-o"]).arg(&out).arg(source).output();
    let done = done.expect("a C compiler");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    out
}

/// What a program that knew when it was held up was recorded with, and what it printed.
struct Held {
    done: Done,
    took: Duration,
    run: Run,
    summary: Value,
    /// The longest wait of a thread, as the gate judges it, in ns.
    longest_wait: f64,
}

/// Records `held` on a CPU with these options, while a real-time thread spins there for 25 ms once, after this time.
fn recorded(cpu: &str, options: &[&str], words: &[&str], hog_after: &str) -> Held {
    let place = tempfile::tempdir().expect("a directory");
    let (program, dir) = (held(place.path()), place.path().join("recording"));
    let hog = "sleep $0; exec timeout 5 chrt -f 50 taskset -c $1 $2 0.025 1000000 0";
    let mut hog = Command::new("sh")
        .args(["-c", hog, hog_after, cpu, arg(&program)])
        .spawn()
        .expect("a shell");
    let begun = Instant::now();
    let frame = ["record", "--json", "-o", arg(&dir)];
    let command = ["--", "timeout", "20", "taskset", "-c", cpu, arg(&program)];
    let done = anechoic(&[&frame[..], options, &command, words].concat());
    let took = begun.elapsed();
    hog.wait().expect("the shell ends");
    let run =
        Recording::open(&dir).unwrap_or_else(|error| panic!("{error}: {}", done.err)).run().clone();
    let summary = serde_json::from_str(&done.err);
    let summary = summary.unwrap_or_else(|error| panic!("{error}: {}", done.err));
    let gate = anechoic(&["gate", "--json", arg(&dir), "--max-wait", "1ns"]);
    let gate: Value = serde_json::from_str(&gate.out).unwrap_or_else(|_| panic!("{}", gate.err));
    let found = gate["rules"][0]["findings"].as_array().expect("CPUs");
    let waits = found.iter().filter_map(|found| found["value"].as_f64());
    let longest_wait = waits.fold(0.0, f64::max);
    Held { done, took, run, summary, longest_wait }
}

impl Held {
    /// Returns when the program began to spin, in ns since 1970.
    fn begun(&self) -> i64 {
        let begun = self.done.out.lines().find_map(|line| line.strip_prefix("b "));
        begun.and_then(|at| at.parse().ok()).expect("it states when it began")
    }

    /// Returns the times at which the program was held up, in ns since 1970 and in ns.
    fn times(&self) -> Vec<(i64, i64)> {
        let pair = |line: &str| {
            let (at, took) = line.split_once(' ')?;
            Some((at.parse().ok()?, took.parse().ok()?))
        };
        self.done.out.lines().filter_map(pair).collect()
    }

    /// Returns what the kernel had counted at times in ns since 1970: for how long the program ran and waited, in ns.
    fn schedstat(&self) -> Vec<[i64; 3]> {
        let numbers = |line: &str| {
            let mut words = line.strip_prefix("s ")?.split(' ').map(|word| word.parse().ok());
            Some([words.next()??, words.next()??, words.next()??])
        };
        self.done.out.lines().filter_map(numbers).collect()
    }

    /// Returns when this counter value was, in ns since 1970.
    fn at_ns(&self, ticks: u64) -> i64 {
        let start: jiff::Timestamp = self.run.start_utc.parse().expect("a time");
        let since = self.run.clock.ns(ticks.saturating_sub(self.run.start_ticks));
        i64::try_from(start.as_nanosecond()).expect("this century") + since.cast_signed()
    }
}

/// The detour that ends a recording is the first that the program itself saw of that length; the recording ends soon after it,
/// and the program goes on to its end.
#[test]
fn the_detour_that_ends_a_recording_is_what_the_program_saw() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    // Kept is less than the detour takes: it is kept whole, with the time that the program lost in it.
    for (condition, keep, own_code, code) in [
        ("detour>15ms", None, "0", 2),
        ("detour>15ms", None, "7", 7),
        ("detour>15ms", Some("10ms"), "0", 2),
        ("wait>15ms", None, "0", 2),
        ("wait>15ms", Some("10ms"), "0", 2),
    ] {
        one_of(4, || {
            let stop = ["--stop-on", condition, "--keep", keep.unwrap_or_default()];
            let stop = &stop[..if keep.is_some() { 4 } else { 2 }];
            let held = recorded(&cpu, stop, &["3.5", "13000", own_code], "1.5");
            assert_eq!(held.done.code, Some(code), "{}", held.done.err);
            assert_eq!(held.run.state, RunState::Complete, "it has what it was asked for");
            assert!(held.took >= Duration::from_millis(3_500), "{:?}", held.took);
            let met = held.run.stop_on.as_ref().and_then(|stop| stop.met).expect("it was met");
            let (start, took) =
                (held.at_ns(met.start_ticks), held.run.clock.ns(met.end_ticks - met.start_ticks));
            let late = held.run.clock.ns(held.run.end_ticks - met.end_ticks);
            let times = held.times();
            let first = times.iter().find(|(_, took)| *took > 15_000_000).copied();
            let first = first.unwrap_or_default(); // nothing, if it was held up before it began to spin
            println!("{took} ns, {first:?} by the program, {late} ns before the end");
            let agrees =
                (start - first.0).abs() < 500_000 && (took.cast_signed() - first.1).abs() < 500_000;
            let stopped = &held.summary["stopped"];
            if condition == "wait>15ms" {
                assert_eq!(stopped["wait"]["length_ns"], took, "{stopped:#}");
                assert_eq!(stopped["wait"]["name"], "held", "{stopped:#}");
                assert_eq!(stopped["wait"]["tid"], met.thread.expect("a thread"));
            } else {
                assert_eq!(stopped["detour"]["length_ns"], took, "{stopped:#}");
            }
            assert!(held.longest_wait >= 0.99 * took as f64, "the gate: {}", held.longest_wait);
            let total = &held.summary["total"];
            let lost = ["noise", "wall_ns"].map(|key| total[key].as_f64().expect("a number"));
            assert!(lost[0] * lost[1] > 0.99 * took as f64, "it is in the lost time: {total:#}");
            // On a busy host something may take as long before the program begins to spin.
            let calm = start >= held.begun();
            ensure(agrees && late < 300_000_000, calm, || {
                format!("at {start} for {took} ns, {late} ns late: {times:?}")
            })
        });
    }
}

#[test]
fn a_recording_without_such_a_detour_is_that_of_the_whole_program() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    for (condition, own_code) in
        [("detour>10s", "0"), ("lost>100%", "7"), ("detours>=10000000", "0")]
    {
        let held = recorded(&cpu, &["--stop-on", condition], &["1.2", "13000", own_code], "0");
        assert_eq!(held.done.code, own_code.parse().ok(), "{condition}: {}", held.done.err);
        assert!(held.summary["stopped"]["after_ns"].is_null(), "{}", held.summary["stopped"]);
        assert_eq!(held.summary["stopped"]["condition"], condition);
        let program = held.run.program.expect("a program");
        assert_eq!(program.exit_code, own_code.parse().ok());
    }
    let short = anechoic(&[
        "record",
        "--no-save",
        "-q",
        "--stop-on",
        "lost>5%",
        "--keep",
        "1s",
        "--",
        "true",
    ]);
    assert_eq!(short.code, Some(0), "{}", short.err);
    assert!(short.is_one_clear_line(), "{}", short.err);
}

/// A competitor begins in the middle: the first second with too much loss ends the recording, and the kernel counted that the
/// program waited for as long in it.
#[test]
fn the_share_that_ends_a_recording_is_the_kernels() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    one_of(3, || {
        let noise = ["inject", "-q", "--kind", "thread", "--period", "10ms", "--length", "4ms"];
        let noise = start(&[&noise[..], &["--for", "5s", "--cpus", &cpu]].concat());
        let held =
            recorded(&cpu, &["--stop-on", "lost>25%"], &["5", "13000", "0", "schedstat"], "0");
        wait(noise);
        assert_eq!(held.done.code, Some(2), "{}", held.done.err);
        let met = held.run.stop_on.as_ref().and_then(|stop| stop.met).expect("it was met");
        let second = met.second.expect("a second");
        let share = second.lost_ticks as f64 / second.wanted_ticks as f64;
        assert!(share > 0.25, "{second:?}");
        let from = held.at_ns(second.start_ticks);
        let until = from + 1_000_000_000;
        let counted = held.schedstat();
        let first = counted.iter().find(|[at, ..]| *at >= from).expect("it goes on");
        let last = counted.iter().rev().find(|[at, ..]| *at <= until).expect("it was before");
        let [passed, ran, waited] = [0, 1, 2].map(|column| last[column] - first[column]);
        let kernel = waited as f64 / (ran + waited) as f64;
        println!("lost {share:.4}, waited {kernel:.4} of {passed} ns");
        // It waited for whom it calls lost time, but for interrupts, and the kernel was asked within 50 ms of both ends.
        ensure((share - kernel).abs() < 0.05, true, || format!("{share}, not {kernel}"))
    });
}

/// A program that spins wants its CPU all the time. What is kept of its last second has that time, its threads that began
/// before, and the kernel's account of that part.
#[test]
fn the_last_second_before_a_long_detour_is_a_recording_of_its_own() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    one_of(4, || {
        let options = ["--stop-on", "detour>24ms", "--keep", "1s"];
        let held = recorded(&cpu, &options, &["5", "13000", "0"], "4");
        assert_eq!(held.done.code, Some(2), "{}", held.done.err);
        let stop = held.run.stop_on.as_ref().expect("a condition");
        let (kept, met) = (stop.kept.expect("some"), stop.met.expect("it was met"));
        let early = kept.dropped_ns < 1_000_000_000; // another thread was first
        let ns = |from: u64, to: u64| held.run.clock.ns(to.saturating_sub(from));
        let before = ns(held.run.start_ticks, met.start_ticks);
        let passed = ns(held.run.start_ticks, held.run.end_ticks);
        let (program, wanted) =
            (&held.summary["run"]["program"], &held.summary["total"]["wall_ns"]);
        let part = wanted.as_f64().expect("a time") / passed as f64;
        let account = &program["account"];
        println!(
            "{part:.4} of {passed} ns wanted, {} ms dropped: {account}",
            kept.dropped_ns / 1_000_000
        );
        let is_whole = (0.99..1.01).contains(&part) && account["outside_ns"] == 0;
        let kernel = account["kernel_ns"].as_u64().unwrap_or(0);
        let right = is_whole
            && kernel > passed / 5
            && kernel <= passed + 50_000_000
            && (900_000_000..1_700_000_000).contains(&before);
        ensure(right && !early, !early, || format!("{before} ns before: {}", held.done.err))
    });
}

/// Hundreds of short processes begin and end before the part that is kept: it has the kernel's CPU time of that part, and no
/// thread that had ended.
#[test]
fn what_is_kept_of_many_short_processes_has_their_cpu_time() {
    let _alone = tool::alone();
    if noisy().is_none() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let stop =
        ["record", "--json", "-o", arg(dir.path()), "--stop-on", "detour>9s", "--keep", "1s"];
    let storm = ["--", "timeout", "4", "sh", "-c", "while :; do /bin/true; done"];
    let done = anechoic(&[&stop[..], &storm].concat());
    assert_eq!(done.code, Some(124), "that of the command: {}", done.err);
    let recording = Recording::open(dir.path()).expect("a recording");
    let program = recording.run().program.as_ref().expect("a program");
    let kept = recording.run().stop_on.as_ref().and_then(|stop| stop.kept).expect("some");
    assert!(kept.dropped_ns > 1_000_000_000, "{kept:?}");
    let at_start = program.threads.len();
    println!("{at_start} threads at the start, {} seen", program.threads_seen);
    assert!((2..20).contains(&at_start) && program.threads_seen > 50, "{program:?}");
    let summary: Value = serde_json::from_str(&done.err).expect("JSON");
    let account = &summary["run"]["program"]["account"];
    println!("{account}");
    assert_eq!(account["outside_ns"], 0, "{account}");
    assert!(account["executed_ns"].as_u64() > Some(50_000_000), "{account}");
}

#[test]
fn what_runs_already_is_recorded_until_a_long_detour() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let place = tempfile::tempdir().expect("a directory");
    let program = held(place.path());
    let mut spinning = Command::new("timeout")
        .args(["20", "taskset", "-c", &cpu, arg(&program), "4", "1000000", "0"])
        .spawn()
        .expect("it runs");
    let mut hog = Command::new("sh")
        .args(["-c", "sleep 1; exec timeout 5 chrt -f 50 taskset -c $0 $1 0.025 1000000 0", &cpu])
        .arg(&program)
        .spawn()
        .expect("a shell");
    let pid = spinning.id().to_string();
    let begun = Instant::now();
    let stop = ["--no-save", "--json", "--stop-on", "detour>15ms", "--keep", "500ms", "-d", "9s"];
    let done = anechoic(&[&["record", "--pid", &pid][..], &stop].concat());
    let took = begun.elapsed();
    hog.wait().expect("it ends");
    spinning.wait().expect("it ends");
    assert_eq!(done.code, Some(2), "{} {}", done.out, done.err);
    assert!(took < Duration::from_secs(9), "{took:?}");
    let summary: Value = serde_json::from_str(&done.out).expect("JSON");
    let long = summary["stopped"]["detour"]["length_ns"].as_u64();
    assert!(long > Some(15_000_000), "{}", summary["stopped"]);
    let ran = summary["run"]["program"]["ran_ns"].as_u64();
    assert!(ran > Some(0), "{}", summary["run"]["program"]);
}

#[test]
fn conditions_that_do_not_fit_are_refused() {
    for (words, expected) in [
        (&["record", "--stop-on", "detour>1ms", "--repeat", "3", "--", "true"][..], "--repeat"),
        (&["record", "--keep", "1s", "--repeat", "3", "--", "true"], "--repeat"),
        (&["record", "--stop-on", "lost>0%", "--", "true"], "for example 1%"),
        (&["record", "--stop-on", "noise>5%", "--", "true"], "'lost>5%'"),
        (&["run", "--stop-on", "lost>5%"], "a condition of `anechoic record`"),
        (&["top", "--stop-on", "lost>5%"], "a condition of `anechoic record`"),
    ] {
        let done = anechoic(words);
        assert_eq!(done.code, Some(64), "{words:?}: {}", done.err);
        assert!(done.err.contains(expected), "{words:?}: {}", done.err);
    }
}

/// The reader of the output may have ended, as that of `| head -1` does.
#[test]
fn what_was_met_ends_with_its_code_although_nobody_reads() {
    let _alone = tool::alone();
    let Some(cpu) = tool::noisy() else { return };
    let run = ["run", "--no-save", "-d", "20s", "--stop-on", "detour>1us", "--cpus", &cpu];
    let record = ["record", "--no-save", "--stop-on", "detour>1us", "--", "sleep", "3"];
    for args in [&run[..], &record] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let done = std::process::Command::new(tool::ANECHOIC).args(args).stdout(writer).output();
        let done = done.expect("it runs");
        let err = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{args:?}: {err}");
    }
}
