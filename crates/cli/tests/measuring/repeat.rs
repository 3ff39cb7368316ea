//! Tests `anechoic record --repeat`: how much of the variance between runs noise explains.

use crate::tool;
use crate::tool::{anechoic, arg, may_trace, noisy, signal, spawn, wait};
use anechoic_lab::note;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Number of runs.
const RUNS: &str = "12";
/// Works for about 0.2 s.
const FIXED: &str = "for _ in range(5_000_000): pass";
/// Works for 0.1 to 0.5 s, at random.
const RANDOM: &str = "import random\nfor _ in range(random.randrange(2_000_000, 10_000_000)): pass";
/// Takes its CPU for random parts of each half second.
const HOG: &str = "
import random, time
open('/proc/self/comm', 'w').write('own-hog')
while True:
    part = random.random() * 0.012
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        busy = time.monotonic() + part
        while time.monotonic() < busy: pass
        time.sleep(0.008)";

/// Records the program on this CPU; returns the result.
fn repeat(dir: &Path, cpu: &str, program: &str) -> Value {
    let command = ["taskset", "-c", cpu, "python3", "-c", program];
    let record = ["record", "--repeat", RUNS, "-q", "--json", "-o", arg(dir), "--"];
    let done = tool::preferred(&[&record[..], &command].concat());
    // 3: the kernel's account of the CPU time differs, which is not the subject here.
    assert!(matches!(done.code, Some(0 | 3)), "{:?}: {}", done.code, done.err);
    serde_json::from_str(&done.err).unwrap_or_else(|error| panic!("{error}: {}", done.err))
}

fn number(result: &Value, at: &str) -> f64 {
    let found = result.pointer(at).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("{at} of {result:#}"))
}

/// Returns the standard deviation of the CPU times by the kernel's account, which has no time of others.
fn own_deviation_ns(result: &Value) -> f64 {
    let runs = result["runs"].as_array().expect("runs");
    let times: Vec<f64> = runs.iter().map(|run| number(run, "/cpu_ns")).collect();
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
    (squares / (times.len() as f64 - 1.0)).sqrt()
}

#[test]
fn noise_of_a_thread_that_makes_most_of_the_variance_explains_it() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let hog = ["30", "taskset", "-c", &cpu, "chrt", "-f", "20", "python3", "-c", HOG];
    let hog = spawn(Command::new("timeout").args(hog));
    let result = repeat(dir.path(), &cpu, FIXED);
    signal(&hog, "TERM");
    wait(hog);
    assert_eq!(result["runs"].as_array().map(Vec::len), Some(12), "{result:#}");
    let (own, lost) = (own_deviation_ns(&result), number(&result, "/lost_ns/sd"));
    let sources = result["sources"].as_array().expect("sources");
    let hog = sources.iter().find(|row| row["name"] == "own-hog").expect("the thread is named");
    if number(hog, "/lost_ns/sd") < 0.8 * lost {
        note::not_judged("other programs took as much as the test's");
        return;
    }
    if own > lost / 3.0 {
        note::not_judged(format!(
            "the program's own CPU time varies by {own:.0} ns, what it lost by {lost:.0}"
        ));
        return;
    }
    assert_eq!(result["explained"]["decision"], "explained", "{result:#}");
    assert!(number(&result, "/explained/share") >= 0.6, "{result:#}");
    assert_eq!(result["sources"][0]["name"], "own-hog", "{result:#}");
    assert!(number(&result, "/sources/0/share") >= 0.5, "{result:#}");
    let (mean, slope) = (number(&result, "/wall_ns/mean"), number(&result, "/explained/slope"));
    assert!((0.7..1.3).contains(&slope), "one thread is delayed by what it loses: {slope}");
    let without = number(&result, "/explained/without/mean_ns");
    assert!(without < mean - 0.5 * number(&result, "/lost_ns/mean"), "{result:#}");
    // A kept series has the same result.
    let again = anechoic(&["summary", arg(dir.path())]);
    let shown = again.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("; noise explains ") && !shown.contains("at most"), "{shown}");
    let runs = "what took the time"; // of each run
    assert!(shown.contains("shows one run, `--all` each") && !shown.contains(runs), "{shown}");
    let again = anechoic(&["summary", "--json", arg(dir.path())]);
    let documents = serde_json::Deserializer::from_str(&again.out).into_iter::<Value>();
    let kept = documents.last().expect("a document").expect("JSON");
    assert_eq!(kept["explained"], result["explained"]);
}

#[test]
fn a_program_that_varies_by_itself_is_not_explained_by_noise() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let result = repeat(dir.path(), &cpu, RANDOM);
    let (wall, lost) = (number(&result, "/wall_ns/sd"), number(&result, "/lost_ns/sd"));
    if lost > wall / 4.0 {
        note::not_judged(format!("lost time varies by {lost:.0} ns, wall time by {wall:.0}"));
        return;
    }
    assert!(number(&result, "/explained/share") < 0.5, "{result:#}");
    assert!(number(&result, "/explained/interval/low") < 0.25, "{result:#}");
}

#[test]
fn the_first_run_that_fails_ends_the_series() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let (dir, counter) = (place.path().join("runs"), place.path().join("counter"));
    let script = format!("echo x >>{0}; test $(wc -l <{0}) -lt 3 || exit 7", counter.display());
    let record = ["record", "--repeat", "5", "-o", arg(&dir), "--", "sh", "-c", &script];
    let done = anechoic(&record);
    assert_eq!(done.code, Some(7), "{}", done.err);
    assert!(done.err.contains("run 3 of 5 failed with exit code 7"), "{}", done.err);
    assert!(done.err.contains("in 2 runs"), "{}", done.err);
    assert!(dir.join("run-003").is_dir() && !dir.join("run-004").exists());
    let again = anechoic(&record);
    assert_eq!(again.code, Some(73), "the directory is used: {}", again.err);
    assert!(again.is_one_clear_line(), "{}", again.err);

    let done = anechoic(&["record", "--repeat", "2", "--no-save", "-q", "--", "true"]);
    assert_eq!((done.code, done.is_one_clear_line()), (Some(0), true), "{}", done.err);
    assert!(done.err.contains("true took ") && done.err.contains("undecided"), "{}", done.err);
}

#[test]
fn a_signal_ends_the_series_and_what_was_measured_counts() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let last = dir.path().join("run-003");
    let record = ["record", "--repeat", "50", "-o", arg(dir.path()), "--", "sh", "-c", "sleep 0.9"];
    let series = tool::start(&record);
    tool::until_running(&last);
    signal(&series, "TERM");
    let done = wait(series);
    assert_eq!(done.code, Some(143), "that of the command: {}", done.err);
    assert!(done.err.contains("in 2 runs"), "{}", done.err);
    assert!(fs::read_dir(dir.path()).expect("a directory").count() <= 3);
}

/// Servers and scripts return 0 when a signal stops them. Such a run has no length of its own.
#[test]
fn a_run_that_a_signal_stopped_does_not_count_though_it_succeeded() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let last = dir.path().join("run-003");
    let script = "trap 'exit 0' TERM; sleep 0.9 & wait";
    let series =
        tool::start(&["record", "--repeat", "50", "-o", arg(dir.path()), "--", "sh", "-c", script]);
    tool::until_running(&last);
    signal(&series, "TERM");
    let done = wait(series);
    assert_eq!(done.code, Some(3), "{}", done.err);
    assert!(
        done.err.contains("in 2 runs") && done.err.contains("Run 3 does not count"),
        "{}",
        done.err
    );
    let again = anechoic(&["summary", arg(dir.path())]);
    assert!(again.out.contains("in 2 runs"), "{}", again.out);
}
