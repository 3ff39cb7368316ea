//! Tests the iterations of `anechoic record --mark`, against a program that times its iterations itself.

use crate::tool::{
    self, anechoic, arg, command, may_be_real_time, may_trace, noisy, signal, start, wait,
};
use anechoic_lab::attempt::{Wrong, ensure, one_of};
use anechoic_lab::note;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const PROGRAM: &str = include_str!("iterations.c");

/// Builds the program; `None`, with a note, if there is no compiler.
fn built(dir: &Path) -> Option<PathBuf> {
    let (source, program) = (dir.join("iterations.c"), dir.join("own-iterations"));
    std::fs::write(&source, PROGRAM).expect("a file");
    if command("cc", &["-O2", "-pthread", "-o", arg(&program), arg(&source)]).code == Some(0) {
        return Some(program);
    }
    note::skipped("there is no C compiler");
    None
}

/// Records the program; returns what it printed, and the result of its iterations.
fn record(
    marks: &[&str],
    begin: &[&str],
    (cpu, program): (&str, &Path),
    args: &[&str],
) -> (Vec<f64>, Value) {
    let dir = tempfile::tempdir().expect("a directory");
    let options = [&["record", "-q", "-o", arg(dir.path())], marks].concat();
    let own = [&["--"], begin, &["taskset", "-c", cpu, arg(program)]].concat();
    let done = tool::preferred(&[&options[..], &own, args].concat());
    assert_eq!(done.code, Some(0), "{}", done.err);
    let own_ns = done.out.lines().map(|line| line.parse().expect("a number")).collect();
    (own_ns, result(dir.path()))
}

/// Returns the result of the iterations, which is the last document.
fn result(dir: &Path) -> Value {
    let shown = anechoic(&["summary", arg(dir), "--json"]);
    let documents = serde_json::Deserializer::from_str(&shown.out).into_iter::<Value>();
    let last = documents.map(|document| document.expect("JSON")).last();
    last.unwrap_or_else(|| panic!("no result: {}", shown.err))
}

fn number(result: &Value, at: &str) -> f64 {
    let found = result.pointer(at).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("{at} of {result:#}"))
}

/// Returns a time of each iteration, all of which are drawn if there are at most 900.
fn times(result: &Value, field: &str) -> Vec<f64> {
    let drawn = result["drawn"].as_array().expect("iterations");
    drawn.iter().map(|iteration| number(iteration, field)).collect()
}

/// How far the recorded lengths are from those that the program saw, the closest first, in ns.
fn distances(own_ns: &[f64], result: &Value) -> Vec<f64> {
    let recorded = times(result, "/wall_ns");
    assert_eq!(recorded.len(), own_ns.len(), "each iteration is there");
    let mut apart: Vec<f64> =
        own_ns.iter().zip(&recorded).map(|(own, recorded)| (own - recorded).abs()).collect();
    apart.sort_by(f64::total_cmp);
    apart
}

#[test]
fn iterations_take_as_long_as_the_program_says_by_each_kind_of_mark() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let Some(program) = built(dir.path()) else { return };
    let kinds: [(&[&str], &str, &str); 4] = [
        (&["--mark", "marked"], "function", ""),
        (&["--mark-fd"], "line", "iteration 7"),
        (&["--mark-fd=11"], "line", "iteration 7"),
        (&["--mark-trace"], "trace", "7"),
    ];
    for (marks, kind, label) in kinds {
        if kind == "trace" && !Path::new("/sys/kernel/tracing/trace_marker").exists() {
            note::skipped("tracefs is not mounted");
            continue;
        }
        let (own_ns, result) = record(marks, &[], (&cpu, &program), &[kind, "300", "same"]);
        let apart = distances(&own_ns, &result);
        // Between the program's look at its clock and the mark lies the way into the kernel; a tick may hit it.
        assert!(apart[285] < 40_000.0, "{kind}: {:?}", &apart[250..]);
        assert_eq!(result["drawn"][7]["label"], label, "{kind}");
        assert_eq!(result["marks"], 301);
        let parts = ["/executed_ns", "/lost_ns", "/waited_ns", "/slept_ns"];
        for at in 0..300 {
            let sum: f64 = parts.iter().map(|part| times(&result, part)[at]).sum();
            let wall = times(&result, "/wall_ns")[at];
            assert!((sum - wall).abs() < 10.0, "{kind}: {sum} of {wall} in {at}");
        }
    }
}

/// A real-time thread takes 2 ms of the program's CPU 20 times a second: the program sees which iterations that hits.
#[test]
fn the_slow_iterations_are_those_that_the_program_saw_hit() {
    let _alone = tool::alone();
    let Some(cpu) = noisy().filter(|_| may_be_real_time()) else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let Some(program) = built(dir.path()) else { return };
    // What the host takes is no event: then the program sees more than is lost.
    one_of(3, || slow_iterations(&cpu, &program));
}

/// Records the program beside such a thread, and compares.
fn slow_iterations(cpu: &str, program: &Path) -> Result<(), Wrong> {
    let before = steal_jiffies();
    let thread = ["inject", "-q", "--kind", "thread", "--rate", "20hz", "--length", "2ms"];
    let noise = start(&[&thread[..], &["--for", "10s", "--cpus", cpu]].concat());
    std::thread::sleep(Duration::from_millis(1_000));
    let (own_ns, result) =
        record(&["--mark", "marked"], &[], (cpu, program), &["function", "800", "same"]);
    signal(&noise, "TERM");
    wait(noise);
    // The host's speed changes: an iteration is compared with those around it.
    let usual = |at: usize| {
        let mut around = own_ns[at.saturating_sub(5)..(at + 6).min(own_ns.len())].to_vec();
        around.sort_by(f64::total_cmp);
        around[around.len() / 2]
    };
    let extra = |at: usize| own_ns[at] - usual(at);
    let lost = times(&result, "/lost_ns");
    let hit: Vec<usize> = (0..own_ns.len()).filter(|&at| extra(at) > 1.5e6).collect();
    let found = hit.iter().filter(|&&at| lost[at] > 0.8 * extra(at)).count();
    assert!(hit.len() >= 10, "{} of {} iterations were hit", hit.len(), own_ns.len());
    let calm = steal_jiffies() == before;
    ensure(found * 100 >= hit.len() * 85, calm, || format!("{found} of {}", hit.len()))?;
    let by_hog = |iteration: &&Value| {
        iteration["most"]["name"] == format!("inject {cpu}")
            && number(iteration, "/lost_ns") > 1.8e6
    };
    let drawn = result["drawn"].as_array().expect("iterations");
    let named = drawn.iter().filter(by_hog).count();
    let expected = 20.0 * own_ns.iter().sum::<f64>() / 1e9;
    // What is lost is what the program took longer.
    let (all_extra, all_lost): (f64, f64) =
        (hit.iter().map(|&at| extra(at)).sum(), hit.iter().map(|&at| lost[at]).sum());
    assert!((all_lost / all_extra - 1.0).abs() < 0.15, "{all_lost} of {all_extra}");
    if hit.len() as f64 > 1.2 * expected {
        note::not_judged("culprit and variance, because others hit more iterations");
        return Ok(());
    }
    assert!((named as f64) > 0.7 * expected, "{named} of {expected:.0}, {} hit", hit.len());
    // The share of the variance that the hits make, by the program's own times.
    let without: Vec<f64> = (0..own_ns.len())
        .map(|at| if hit.contains(&at) { usual(at) } else { own_ns[at] })
        .collect();
    let share = 1.0 - variance(&without) / variance(&own_ns);
    let explained = number(&result, "/explained/share");
    assert!(explained > share - 0.15, "{share} by the program, {:#}", result["explained"]);
    Ok(())
}

/// Returns their variance times their number.
fn variance(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
}

/// Returns what the hypervisor took from all CPUs by its own account, in steps of 10 ms.
fn steal_jiffies() -> u64 {
    let stat = std::fs::read_to_string("/proc/stat").expect("counters");
    let all = stat.lines().next().expect("the sum").split_whitespace();
    all.skip(1).nth(7).and_then(|number| number.parse().ok()).expect("a number")
}

#[test]
fn iterations_that_vary_by_themselves_are_not_explained_by_noise() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let Some(program) = built(dir.path()) else { return };
    // Ordinary threads of a busy machine do not take the CPU from it.
    let (_, result) = record(
        &["--mark", "marked"],
        &["chrt", "-f", "1"],
        (&cpu, &program),
        &["function", "400", "random"],
    );
    let lost_sd = number(&result, "/times/lost_ns/sd");
    if lost_sd > 0.1 * number(&result, "/times/wall_ns/sd") {
        return note::not_judged("whether noise explains nothing, because others ran here");
    }
    assert!(number(&result, "/explained/interval/low") < 0.02, "{:#}", result["explained"]);
    assert!(number(&result, "/explained/interval/high") < 0.3, "{:#}", result["explained"]);
}

#[test]
fn threads_have_their_own_iterations_and_few_marks_decide_nothing() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let Some(program) = built(dir.path()) else { return };
    let kept = dir.path().join("two");
    let record = |marks: &str, out: &Path, args: &[&str], threads: bool| {
        let mut command = Command::new(tool::ANECHOIC);
        command.args(["record", "-q", "-o", arg(out), "--mark", marks, "--"]);
        command.arg(&program).args(args).env("ANECHOIC_MARK_FD", "1");
        if threads {
            command.env("THREADS", "2");
        }
        tool::wait(tool::spawn(&mut command))
    };
    let done = record("marked", &kept, &["function", "50", "same"], true);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let found = result(&kept);
    let threads = found["threads"].as_array().expect("threads");
    let counts: Vec<f64> = threads.iter().map(|thread| number(thread, "/iterations")).collect();
    assert_eq!(counts, [50.0, 50.0]);
    assert_eq!((number(&found, "/iterations"), number(&found, "/marks")), (100.0, 102.0));
    for number in [0, 1, 2, 5] {
        let out = dir.path().join(number.to_string());
        let done = record("marked", &out, &["function", &number.to_string(), "same"], false);
        let found = result(&out);
        assert_eq!(found["iterations"], number, "{found:#}");
        let decision = found["explained"]["decision"].as_str().expect("a decision");
        assert!(["too_few", "no_variance"].contains(&decision), "{number}: {decision}");
        assert_eq!(done.code, Some(if number == 0 { 3 } else { 0 }), "{}", done.err);
        assert_eq!(found["explained"]["share"], Value::Null);
    }
    // A function that is never entered.
    let out = dir.path().join("never");
    let done = record("marked", &out, &["line", "3", "same"], false);
    assert_eq!(done.code, Some(3), "{}", done.err);
    assert!(done.err.contains("never entered marked"), "{}", done.err);
}

/// The recording ends long before the program does, which must not notice it.
#[test]
fn marks_are_written_without_an_error_after_the_recording() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let script = "i=0; while [ $i -lt 20 ]; do echo $i >&9 || exit 5; sleep 0.05; i=$((i+1)); done; echo all";
    let stop = ["record", "--no-save", "-q", "--stop-on", "detours>=15", "--mark-fd=9", "--"];
    let done = anechoic(&[&stop[..], &["sh", "-c", script]].concat());
    assert_eq!((done.code, done.out.trim()), (Some(0), "all"), "{}", done.err);
    assert!(done.err.contains("has its 15 detours"), "it ended before: {}", done.err);
}
