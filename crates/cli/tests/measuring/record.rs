//! Tests `anechoic record`: what interrupts a program is found and named, and the program is left alone.

use crate::tool::{self, Done, anechoic, arg, may_trace, noisy, signal, start, summary, wait};
use anechoic_recording::{Activity, Detour, Recording};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A program of the shell that is always busy.
const BUSY: &str = "while :; do :; done";

/// Records a command into `dir`.
fn record(dir: &Path, command: &[&str]) -> Done {
    anechoic(&[&["record", "-q", "-o", arg(dir), "--"], command].concat())
}

fn number(field: &Value) -> f64 {
    field.as_f64().unwrap_or_else(|| panic!("a number: {field}"))
}

/// Returns the row of this source and name.
fn source<'a>(summary: &'a Value, source: &str, name: &str) -> &'a Value {
    let rows = summary["sources"]["rows"].as_array().expect("sources");
    let is = |row: &&Value| row["source"] == source && row["name"] == name;
    rows.iter().find(is).unwrap_or_else(|| panic!("{source} {name} is in {rows:#?}"))
}

/// Detours do not overlap, and their activities add up to them, to the tick.
fn adds_up(dir: &Path) {
    let recording = Recording::open(dir).expect("a recording");
    for cpu in &recording.run().cpus {
        let detours: Vec<Detour> = recording
            .rows_of_cpu::<Detour>(cpu.cpu)
            .flat_map(|rows| rows.expect("readable"))
            .collect();
        assert!(detours.is_sorted_by(|a, b| a.end_ticks <= b.start_ticks), "CPU {}", cpu.cpu);
        let mut sums = vec![0; detours.len()];
        for row in recording.rows_of_cpu::<Activity>(cpu.cpu).flat_map(|rows| rows.expect("rows")) {
            sums[row.detour as usize] += row.self_ticks;
        }
        let lengths: Vec<u64> =
            detours.iter().map(|detour| detour.end_ticks - detour.start_ticks).collect();
        assert_eq!(sums, lengths, "CPU {}", cpu.cpu);
    }
}

/// A real-time thread takes 0.5 ms of a busy program a hundred times a second: it is named, as often and for as long.
#[test]
fn a_thread_that_preempts_the_program_is_named_with_its_time() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let thread = ["inject", "-q", "--kind", "thread", "--rate", "100hz", "--length", "500us"];
    let noise = start(&[&thread[..], &["--for", "6s", "--cpus", &cpu]].concat());
    std::thread::sleep(Duration::from_millis(1_000));
    let done = record(dir.path(), &["taskset", "-c", &cpu, "timeout", "3", "sh", "-c", BUSY]);
    signal(&noise, "TERM");
    wait(noise);
    assert_eq!(done.code, Some(124), "that of the command: {}", done.err);
    let summary = summary(dir.path());
    let row = source(&summary, "thread", &format!("inject {cpu}"));
    // 300 in 3 s, each some microseconds longer than asked. On a busy host several fall into one detour.
    let count = number(&row["activities"]);
    let all_ms = number(&row["detours"]) * number(&row["charged"]["mean_ns"]) / 1e6;
    assert!((270.0..330.0).contains(&count), "{row:#}");
    assert!((0.45..0.65).contains(&(all_ms / count)), "{row:#}");
    assert_eq!(row["cpus"], serde_json::json!([cpu.parse::<u32>().expect("a number")]));
    // The shell wants the CPU all the time, so that its run and lost time is 3 s.
    let wall_s = number(&summary["total"]["wall_ns"]) / 1e9;
    assert!((2.8..3.3).contains(&wall_s), "{:#}", summary["total"]);
    assert_eq!(summary["run"]["program"]["exit_code"], 124);
    source(&summary, "timer-tick", "");
    adds_up(dir.path());
}

#[test]
fn a_program_that_sleeps_loses_nothing_meanwhile() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let done = record(dir.path(), &["sh", "-c", "for i in 1 2 3; do sleep 0.3; done"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let summary = summary(dir.path());
    let [wanted, elapsed] =
        ["/total/wall_ns", "/run/wall_ns"].map(|at| number(summary.pointer(at).expect(at)));
    assert!(elapsed >= 0.9e9, "{elapsed}");
    assert!(wanted < elapsed / 3.0, "it wanted a CPU for {wanted} of {elapsed} ns");
    adds_up(dir.path());
}

/// All processes and threads that a command begins belong to it, and take no time from each other.
#[test]
fn a_program_of_several_processes_is_one() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    // A name that no other program has.
    let place = tempfile::tempdir().expect("a directory");
    let shell = place.path().join("own-shell");
    std::fs::copy("/bin/sh", &shell).expect("a shell");
    let several =
        format!("for i in 1 2 3; do timeout 1 {} -c '{BUSY}' & done; wait", shell.display());
    let done = record(dir.path(), &["taskset", "-c", &cpu, "sh", "-c", &several]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let summary = summary(dir.path());
    assert!(
        number(&summary["run"]["program"]["threads"]) >= 7.0,
        "{:#}",
        summary["run"]["program"]
    );
    let rows = summary["sources"]["rows"].as_array().expect("sources");
    let own = |row: &Value| row["source"] == "thread" && row["name"] == "own-shell";
    assert!(!rows.iter().any(own), "threads of a program take no time from it: {rows:#?}");
    let wall_s = number(&summary["total"]["wall_ns"]) / 1e9;
    assert!((0.9..1.5).contains(&wall_s), "the CPU was wanted for one second: {wall_s}");
    adds_up(dir.path());
}

#[test]
fn exit_codes_and_streams_are_those_of_the_command() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    for (name, command, code) in [
        ("fine", &["true"][..], 0),
        ("its own code", &["sh", "-c", "exit 7"], 7),
        ("killed", &["sh", "-c", "kill -9 $$"], 137),
        ("no such program", &["/no/such/program"], 64),
    ] {
        let done = anechoic(&[&["record", "--no-save", "--"], command].concat());
        assert_eq!(done.code, Some(code), "case: {name}: {}", done.err);
        assert_eq!(done.out, "", "case: {name}: the standard output is the command's");
        assert_eq!(code == 64, done.is_one_clear_line(), "case: {name}: {}", done.err);
    }
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path().join("none");
    assert_eq!(record(&dir, &["/no/such/program"]).code, Some(64));
    assert!(!dir.exists(), "nothing is left of a command that did not run");
    let done = anechoic(&["record", "--no-save", "--json", "--", "echo", "hello"]);
    assert_eq!(done.out, "hello\n");
    let json: Value = serde_json::from_str(&done.err).expect("JSON on stderr");
    assert_eq!(json["run"]["program"]["name"], "echo");
}

#[test]
fn a_process_that_runs_already_is_recorded() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let mut busy = Command::new("taskset");
    let busy = tool::spawn(busy.args(["-c", &cpu, "timeout", "20", "sh", "-c", BUSY]));
    std::thread::sleep(Duration::from_millis(300));
    let pid = busy.id().to_string();
    let done = anechoic(&["record", "--no-save", "--json", "--pid", &pid, "--duration", "1s"]);
    let unlimited = start(&["record", "--no-save", "--json", "--pid", &pid]);
    std::thread::sleep(Duration::from_millis(2_500));
    signal(&unlimited, "INT");
    let unlimited = wait(unlimited);
    signal(&busy, "TERM");
    wait(busy);
    for done in [done, unlimited] {
        assert_eq!(done.code, Some(0), "{}", done.err);
        let json: Value = serde_json::from_str(&done.out).expect("JSON on stdout");
        assert_eq!(json["run"]["state"], "complete");
        assert!(json["run"]["program"]["exit_code"].is_null());
        let (elapsed, wanted) =
            (number(&json["run"]["wall_ns"]), number(&json["total"]["wall_ns"]));
        assert!(elapsed >= 1e9 && wanted > 0.8 * elapsed, "{wanted} of {elapsed} ns");
    }
    let gone = anechoic(&["record", "--no-save", "--pid", &pid]);
    assert!(gone.code == Some(66) && gone.is_one_clear_line(), "{}", gone.err);
}

/// A signal to the tool reaches the command, and what was recorded until then is shown.
#[test]
fn a_signal_is_passed_on_to_the_command() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let recording = start(&["record", "--no-save", "--", "sleep", "60"]);
    std::thread::sleep(Duration::from_millis(2_500));
    signal(&recording, "TERM");
    let done = wait(recording);
    assert_eq!(done.code, Some(143), "{}", done.err);
    assert!(done.err.contains("sleep"), "{}", done.err);
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    for (name, args, says) in [
        ("nothing to record", &["record"][..], "--pid"),
        ("both", &["record", "--pid", "1", "--", "true"], "--pid"),
        ("a duration of a command", &["record", "-d", "1s", "--", "true"], "--duration"),
        ("process 0", &["record", "--pid", "0"], "1"),
        ("no such CPU", &["record", "--cpus", "60000", "--", "true"], "does not exist"),
    ] {
        let done = anechoic(args);
        assert_eq!(done.code, Some(64), "case: {name}: {}", done.err);
        assert!(done.err.contains(says) && done.out.is_empty(), "case: {name}: {}", done.err);
    }
}

/// After `kill -9`, which leaves no time to derive anything, the result is that up to the last save. A recording that still
/// goes on is not taken for one.
#[test]
fn a_recording_that_is_killed_has_the_result_up_to_its_last_save() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let command = ["taskset", "-c", &cpu, "timeout", "6", "sh", "-c", BUSY];
    let record = ["record", "-q", "--save-every", "1s", "-o", arg(dir.path()), "--"];
    let mut recorder = start(&[&record[..], &command].concat());
    std::thread::sleep(Duration::from_millis(3_500));
    let early = anechoic(&["summary", arg(dir.path())]);
    recorder.kill().expect("it is ours");
    recorder.wait().expect("it was killed");
    assert_eq!(early.code, Some(69), "it is still being recorded: {}", early.err);
    assert!(early.err.contains("still being recorded"), "{}", early.err);
    let summary = summary(dir.path());
    let total = &summary["total"];
    let wall_s = number(&total["wall_ns"]) / 1e9;
    assert!((1.5..5.0).contains(&wall_s), "up to the last of several saves: {total:#}");
    assert!(number(&total["detours"]) > 100.0, "ticks are lost time: {total:#}");
    assert_eq!(summary["run"]["state"], "running");
    let waited = Path::new("/proc/pressure/cpu").exists();
    assert!(
        !waited || summary["run"]["limits"].is_object(),
        "each save has them: {:#}",
        summary["run"]
    );
    source(&summary, "timer-tick", "");
    adds_up(dir.path());
    let shown = anechoic(&["summary", arg(dir.path())]);
    assert!(shown.out.contains("cut off before its end"), "{}", shown.out);
    assert_eq!(tool::summary(dir.path()), summary, "read again");
}
