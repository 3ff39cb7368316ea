//! Runs that end by `--stop-on`.

use crate::tool::{self, anechoic, arg, ensure, may_trace, noisy, one_of, start, wait};
use anechoic_recording::run::RunState;
use anechoic_recording::{Detour, KernelEvent, Recording};
use serde_json::Value;
use std::thread;
use std::time::Duration;

/// Runs until a condition on one CPU, and returns the exit code, the summary and the recording.
fn until(condition: &str, cpu: &str, more: &[&str]) -> (Option<i32>, Value, Recording) {
    let dir = tempfile::tempdir().expect("a directory");
    let frame = ["run", "--cpus", cpu, "-q", "--json", "-o", arg(dir.path()), "--stop-on"];
    let done = anechoic(&[&frame[..], &[condition], more].concat());
    let summary = serde_json::from_str(&done.out);
    let summary = summary.unwrap_or_else(|error| panic!("{error}: {} {}", done.out, done.err));
    (done.code, summary, Recording::open(dir.path()).expect("a recording"))
}

/// A thread that takes 80 ms ends the run; the summary names it, and the recording ends within a second. Under
/// SCHED_FIFO the threads of a busy host do not count; the kernel takes 50 ms in a second for them.
#[test]
fn a_long_detour_is_found_within_a_second() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    one_of(3, || {
        let noise = ["--kind", "thread", "--period", "400ms", "--length", "80ms", "--for", "6s"];
        let injected = start(&[&["inject", "--cpus", &cpu, "-q"][..], &noise].concat());
        let (code, summary, recording) = until("detour>60ms", &cpu, &["-d", "30s", "--fifo"]);
        assert_eq!(wait(injected).code, Some(0));
        assert_eq!(code, Some(2), "{summary}");
        let run = recording.run();
        assert_eq!(run.state, RunState::Complete, "it has what it was asked for");
        let met = run.stop_on.as_ref().and_then(|stop| stop.met).expect("it was met");
        let ns = |ticks: u64| run.clock.ns(ticks);
        assert!(ns(met.end_ticks - met.start_ticks) > 60_000_000, "{met:?}");
        let late = ns(run.cpus[0].last_ticks - met.end_ticks);
        let stopped = &summary["stopped"];
        let story = &stopped["detour"];
        assert_eq!(stopped["condition"], "detour>60ms");
        assert_eq!(story["cpu"].to_string(), cpu);
        let parts = story["activities"].as_array().expect("a list").iter();
        let longest = parts.max_by_key(|part| part["self_ns"].as_u64()).expect("a part");
        println!("stopped {} ms after the detour: {longest}", late / 1_000_000);
        // Another guest, or another program here, may be the first that takes so long.
        let ours = longest["name"].as_str().is_some_and(|name| name.starts_with("inject"));
        ensure(late < 1_000_000_000 && ours, ours, || format!("{late} ns late: {longest}"))
    });
}

#[test]
fn a_run_without_a_long_detour_ends_at_its_time() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let (code, summary, recording) = until("detour>30s", &cpu, &["-d", "1s"]);
    assert_eq!(code, Some(0), "{summary}");
    assert!(summary["stopped"]["after_ns"].is_null(), "{}", summary["stopped"]);
    assert!(recording.run().stop_on.as_ref().is_some_and(|stop| stop.met.is_none()));
}

/// After some seconds a thread takes 80 ms and ends a run that keeps one second: the recording is of the last second, its
/// times, counts and sums are those of that second, and every reading command takes it.
#[test]
fn only_the_last_seconds_before_a_long_detour_are_kept() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    one_of(3, || {
        let noise = ["--kind", "thread", "--period", "700ms", "--length", "80ms", "--for", "4s"];
        let later = thread::spawn({
            let cpu = cpu.clone();
            move || {
                thread::sleep(Duration::from_secs(5));
                wait(start(&[&["inject", "--cpus", &cpu, "-q"][..], &noise].concat())).code
            }
        });
        let dir = tempfile::tempdir().expect("a directory");
        let frame = ["run", "--cpus", &cpu, "-q", "--json", "-o", arg(dir.path()), "-d", "30s"];
        let more = ["--fifo", "--stop-on", "detour>60ms", "--keep", "1s"];
        let done = anechoic(&[&frame[..], &more].concat());
        assert_eq!(later.join().expect("a thread"), Some(0));
        assert_eq!(done.code, Some(2), "{} {}", done.out, done.err);
        let summary: Value = serde_json::from_str(&done.out).expect("JSON");
        let recording = Recording::open(dir.path()).expect("a recording");
        recording.verify().expect("whole");
        let run = recording.run();
        let stop = run.stop_on.as_ref().expect("a condition");
        let (kept, met) = (stop.kept.expect("some"), stop.met.expect("it was met"));
        assert_eq!(kept.asked_ns, 1_000_000_000);
        let early = kept.dropped_ns < 1_000_000_000; // another guest was faster than the injection
        let ns = |from: u64, to: u64| run.clock.ns(to.saturating_sub(from));
        let (before, all) =
            (ns(run.start_ticks, met.start_ticks), ns(run.start_ticks, run.end_ticks));
        println!("{} s dropped, {} ms kept", kept.dropped_ns / 1_000_000_000, all / 1_000_000);
        let length_is_right = (900_000_000..1_600_000_000).contains(&before) && all < 3_000_000_000;
        let measured = &run.cpus[0];
        let mut rows = 0;
        for group in recording.rows::<Detour>() {
            for detour in group.expect("readable") {
                rows += 1;
                assert!(detour.start_ticks >= measured.first_ticks, "{detour:?}");
                assert!(detour.end_ticks <= measured.last_ticks, "{detour:?}");
            }
        }
        assert_eq!(rows, measured.detours);
        assert_eq!(summary["total"]["detours"].as_u64(), Some(rows));
        for group in recording.rows::<KernelEvent>() {
            assert!(group.expect("readable").iter().all(|event| event.ticks >= run.start_ticks));
        }
        let story = &summary["stopped"]["detour"];
        assert!(story["activities"].as_array().is_some_and(|parts| !parts.is_empty()), "{story}");
        let sources = &summary["sources"];
        assert_eq!(sources["audit_differences"].as_array().map(Vec::len), Some(0), "{sources}");
        assert_eq!(sources["alignment"]["outside"], 0, "{}", sources["alignment"]);
        let text = anechoic(&["summary", arg(dir.path())]).out;
        assert!(early || text.contains("that were watched, the last"), "{text}");
        for command in ["sources", "longest", "list"] {
            assert_eq!(anechoic(&[command, arg(dir.path())]).code, Some(0), "{command}");
        }
        let file = std::fs::read_to_string(dir.path().join("run.json")).expect("a file");
        assert!(file.contains("dropped_ns"), "{file}");
        ensure(length_is_right && !early, early, || format!("{before} ns of {all} ns: {kept:?}"))
    });
}

#[test]
fn a_number_of_detours_ends_a_run_as_asked() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let (code, summary, recording) = until("detours>=200", &cpu, &["-d", "60s"]);
    assert_eq!(code, Some(0), "{summary}");
    let detours = summary["total"]["detours"].as_u64().expect("a count");
    let seconds = summary["run"]["wall_ns"].as_u64().expect("a time") as f64 / 1e9;
    println!("{detours} detours in {seconds} s");
    assert!(detours >= 200 && seconds < 20.0, "{detours} detours in {seconds} s");
    assert_eq!(recording.run().state, RunState::Complete);
}

/// Where every CPU is measured the tool takes time from its own loops, which must not end the run.
#[test]
fn its_own_time_ends_no_run() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    one_of(5, || {
        let (code, summary, _) = until("detour>2ms", "all", &["-d", "3s"]);
        let story = &summary["stopped"]["detour"];
        let parts = story["activities"].as_array().cloned().unwrap_or_default();
        let own = parts.iter().filter(|part| part["source"] == "anechoic");
        let own_ns: u64 = own.filter_map(|part| part["self_ns"].as_u64()).sum();
        assert!(own_ns <= story["length_ns"].as_u64().unwrap_or(0) / 2, "{story}");
        ensure(code != Some(2), false, || story.to_string())
    });
}

#[test]
fn what_cannot_end_a_run_is_refused() {
    let alone = anechoic(&["run", "--no-save", "-q", "--keep", "10s"]);
    assert!(alone.code == Some(64) && alone.err.contains("--stop-on"), "{}", alone.err);
    let cases: [(&[&str], &str); 3] = [
        (&["detour>1parsec"], "is not a duration"),
        (&["noise>5%"], "for example 'detour>100us'"),
        (&["detour>1us", "--threshold", "5us"], "below the threshold"),
    ];
    for (condition, expected) in cases {
        let frame = ["run", "--no-save", "-q", "--no-trace", "--stop-on"];
        let done = anechoic(&[&frame[..], condition].concat());
        assert_eq!(done.code, Some(64), "{condition:?}: {} {}", done.out, done.err);
        assert!(done.err.contains(expected), "{condition:?}: {}", done.err);
    }
}

/// What ended the run is shown first, whether or not it is one of the longest.
#[test]
fn the_longest_detours_come_after_the_one_that_ended_the_run() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let run = ["run", "--cpus", &cpu, "-q", "--no-trace", "-o", arg(dir.path())];
    let stop = ["--stop-on", "detour>1us", "--keep", "2s", "-d", "20s"];
    let done = anechoic(&[&run[..], &stop].concat());
    assert_eq!(done.code, Some(2), "{}", done.err);
    let longest =
        |more: &[&str]| anechoic(&[&["longest", arg(dir.path()), "-n", "1"], more].concat());
    let text = longest(&[]).out;
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
    assert!(at("the detour that ended the run: ") < at("\n1. "), "{text}");
    let found: Value = serde_json::from_str(&longest(&["--json"]).out).expect("JSON");
    assert_eq!(found["stopped"]["condition"], "detour>1us", "{found}");
    assert!(found["stopped"]["detour"]["length_ns"].as_u64() > Some(1_000), "{found}");
}
