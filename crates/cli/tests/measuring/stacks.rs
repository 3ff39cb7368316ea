//! Tests where `anechoic record --stacks` finds a program in its code against where its source says that it is.

use crate::tool::{self, anechoic, arg, command, may_trace, spawn, summary, wait};
use anechoic_lab::note;
use anechoic_system::cpus;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A program whose functions say what it does.
const PROGRAM: &str = include_str!("stacks.c");

/// A place with the least lost time that is judged, in ns.
const MS: u64 = 1_000_000;

/// Records this program on `cpu`, while the same program with `burn` takes a half of it.
fn recorded(dir: &Path, cpu: &str, target: &[&str]) -> Value {
    let record = dir.join("record");
    let _ = std::fs::remove_dir_all(&record);
    let hog = dir.join("program");
    let hog = spawn(Command::new("timeout").args([
        "20",
        "taskset",
        "-c",
        cpu,
        arg(&hog),
        "19000",
        "hog",
    ]));
    let words = ["record", "--stacks", "-q", "-o", arg(&record)];
    let done = anechoic(&[&words[..], target].concat());
    tool::signal(&hog, "TERM");
    wait(hog);
    assert_eq!(done.code, Some(0), "{done:?}");
    summary(&record)
}

/// The calls in the program at each place: how it waited, its calls, the innermost first, and the lost time.
fn places(summary: &Value) -> Vec<(String, Vec<String>, u64)> {
    let places = summary["places"]["places"].as_array().expect("there are places");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let place = |place: &Value| {
        let calls = place["calls"]["program"].as_array().expect("calls");
        let lost = place["delayed_ns"].as_u64().expect("a time");
        (text(&place["kind"]), calls.iter().map(text).collect(), lost)
    };
    places.iter().map(place).collect()
}

fn has(calls: &[String], function: &str) -> bool {
    calls.iter().any(|call| call == function)
}

#[test]
fn a_program_is_where_its_source_says() {
    let _alone = tool::alone();
    if !may_trace() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let [source, program, stripped] =
        ["stacks.c", "program", "stripped"].map(|name| dir.path().join(name));
    std::fs::write(&source, PROGRAM).expect("a file");
    let options =
        ["-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread", "-o"];
    let built = command("cc", &[&options[..], &[arg(&program), arg(&source)]].concat());
    if built.code != Some(0) {
        return note::skipped("there is no C compiler");
    }
    assert_eq!(command("strip", &["-o", arg(&stripped), arg(&program)]).code, Some(0));
    let cpu = cpus::allowed().last().copied().expect("a CPU").to_string();
    let on_cpu = ["--", "timeout", "20", "taskset", "-c", &cpu];
    let command = |words: &[&str]| recorded(dir.path(), &cpu, &[&on_cpu[..], words].concat());

    let found = command(&[arg(&program), "1200"]);
    two_threads(&found);
    the_other_program(&dir.path().join("record"));

    // It runs already: what it maps was mapped before.
    let running =
        spawn(Command::new("timeout").args(["20", "taskset", "-c", &cpu, arg(&program), "8000"]));
    std::thread::sleep(Duration::from_millis(300));
    let pid = running.id().to_string();
    two_threads(&recorded(dir.path(), &cpu, &["--pid", &pid, "--duration", "1s"]));
    tool::signal(&running, "TERM");
    wait(running);

    // Each process lives for some milliseconds.
    let found = command(&[arg(&program), "800", "parent", "p"]);
    let preempted = places(&found).into_iter().filter(|(kind, ..)| kind == "preempted");
    let (mut brief, mut all) = (0, 0);
    for (_, calls, lost) in preempted {
        all += lost;
        brief += if has(&calls, "brief") { lost } else { 0 };
    }
    // They are also preempted while the kernel and the loader start them.
    assert!(all > MS && brief * 3 > all, "{brief} of {all}: {found:#}");

    // Without names of functions, the file is named.
    let found = command(&[arg(&stripped), "600"]);
    let calls: Vec<Vec<String>> = places(&found).into_iter().map(|(_, calls, _)| calls).collect();
    assert!(calls.iter().any(|calls| has(calls, "[stripped]")), "{found:#}");
    assert!(!calls.iter().any(|calls| has(calls, "work") || has(calls, "doze")), "{found:#}");
}

/// The main thread executes `compute` in `work`, or reads the time there; the other one sleeps in `doze`.
fn two_threads(found: &Value) {
    let (mut working, mut preempted, mut dozing, mut woken) = (0, 0, 0, 0);
    for (kind, calls, lost) in places(found) {
        let main = has(&calls, "compute") || has(&calls, "work") || has(&calls, "main");
        let other = has(&calls, "doze") || has(&calls, "dozer");
        assert!(!(main && other), "no thread is in both: {calls:?}");
        match kind.as_str() {
            "preempted" => {
                preempted += lost;
                working += if main || other { lost } else { 0 };
            }
            _ => {
                woken += lost;
                dozing += if has(&calls, "doze") { lost } else { 0 };
            }
        }
    }
    assert!(
        preempted > MS && working * 100 >= preempted * 80,
        "{working} of {preempted}: {found:#}"
    );
    // What starts it, and its own beginning and end, wait elsewhere.
    assert!(woken > MS && dozing * 100 >= woken * 80, "{dozing} of {woken}: {found:#}");
    // All waits are at a place, at others, or at none that is known.
    let places = &found["places"];
    let ns = |value: &Value| value.as_u64().expect("a time");
    let sum: u64 = places["places"]
        .as_array()
        .expect("places")
        .iter()
        .map(|place| ns(&place["delayed_ns"]))
        .sum();
    let (others, unknown) = (ns(&places["others_ns"]), ns(&places["unknown_ns"]));
    let threads = found["threads"].as_array().expect("threads");
    let delayed: u64 = threads.iter().map(|row| ns(&row["lost_ns"])).sum();
    let interrupted: u64 = threads.iter().map(|row| ns(&row["interrupted_ns"])).sum();
    let waited = delayed - interrupted;
    let all = sum + others + unknown;
    assert!(all.abs_diff(waited) <= 1_000, "{all} of {waited}: {found:#}");
    assert!(unknown * 20 <= all, "{unknown} of {all}: {found:#}");
}

/// What had the CPU executed `burn` when it was preempted, and slept in `rest`.
fn the_other_program(record: &Path) {
    let done = anechoic(&["longest", "--json", "-n", "200", arg(record)]);
    let found: Value = serde_json::from_str(&done.out).expect("JSON");
    let waits = found["waits"].as_array().expect("waits");
    let (mut known, mut right) = (0, 0);
    for wait in waits.iter().filter(|wait| wait["behind"]["name"] == "program") {
        let Some(calls) = wait["behind_calls"]["program"].as_array() else { continue };
        let is_there = |function: &str| calls.iter().any(|call| call == function);
        // Its own other thread may have had the CPU too.
        if wait["behind"]["kind"] == "other_thread" {
            known += 1;
            right += u64::from(is_there("burn") || is_there("rest"));
        }
    }
    if known < 3 {
        return note::not_judged("others than the second program had the CPU");
    }
    assert!(right * 100 >= known * 95, "{right} of {known}: {found:#}");
}
