//! Trials find noise that a workload injects, also on a busy host.

use crate::tool::{self, ANECHOIC, anechoic, arg, ensure, noisy, one_of};
use serde_json::Value;
use std::time::Duration;

/// Side A takes a tenth of the CPU, B nothing: the thread is a source that changed clearly, by a tenth.
#[test]
fn injected_noise_of_a_side_is_found() {
    let _alone = tool::alone();
    let Some(cpu) = noisy() else { return };
    let rate = "--kind thread --rate 200hz --length 500us --for 60s -q";
    let injects = format!("exec {ANECHOIC} inject {rate} --cpus {cpu}");
    one_of(3, || {
        let dir = tempfile::tempdir().expect("a directory");
        let commands = ["ab", "--during", &injects, "sleep 60", "--cpus", &cpu];
        let options = ["-d", "700ms", "--settle", "500ms", "--pairs", "5", "-q", "--json", "-o"];
        let done = anechoic(&[&commands[..], &options, &[arg(dir.path())]].concat());
        let found: Value = serde_json::from_str(&done.out)
            .unwrap_or_else(|error| panic!("{error}: {} {}", done.out, done.err));
        let sources = found["sources"].as_array().expect("a list");
        let is_ours = |source: &&Value| {
            source["name"].as_str().is_some_and(|name| name.starts_with("inject"))
        };
        let ours = sources.iter().find(is_ours).map(|source| &source["difference"]);
        println!("{} {ours:?}", found["verdict"]);
        let right = ours.is_some_and(|difference| {
            difference["clear"] == true
                && difference["before"].as_f64() > Some(0.08)
                && difference["after"] == 0.0
        });
        // However busy the host is, it is found; how exactly depends on the host.
        let found = ours.is_some_and(|difference| difference["before"].as_f64() > Some(0.04));
        ensure(right, !found, || format!("{ours:?}"))
    });
}

/// SIGKILL leaves no time to end a workload.
#[test]
fn a_workload_ends_with_the_trials_even_if_they_are_killed() {
    let _alone = tool::alone();
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    // A process below the shell is what works.
    let workload =
        format!("echo $$ >{}; sh -c 'while :; do sleep 1; done'; true", at("pid").display());
    let trials = ["ab", "--during", &workload, &workload, "--settle", "60s", "--cpus", "0", "-q"];
    let output = at("trials");
    let mut child = tool::start(&[&trials[..], &["-o", arg(&output)]].concat());
    let started = || std::fs::read_to_string(at("pid")).is_ok_and(|pid| !pid.is_empty());
    for _ in 0..1_000 {
        if started() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let group = std::fs::read_to_string(at("pid")).expect("it has started");
    std::thread::sleep(Duration::from_millis(200));
    child.kill().expect("it is ours");
    child.wait().expect("it is ours");
    let runs = || tool::command("pgrep", &["-g", group.trim()]).code == Some(0);
    for _ in 0..500 {
        if !runs() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = tool::command("pkill", &["-KILL", "-g", group.trim()]);
    panic!("the workload still runs");
}

/// A sleep takes as long as it says, and computes nothing: B takes 150 ms longer, and no CPU time.
#[test]
fn recorded_commands_are_compared_by_their_own_times() {
    let _alone = tool::alone();
    if !tool::may_trace() {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path().join("trials");
    let trials = |a: &str, b: &str, json: &[&str]| {
        let options = ["ab", "--record", a, b, "--pairs", "4", "--settle", "0s", "-q", "-o"];
        anechoic(&[&options[..], &[arg(&dir)], json].concat())
    };
    let done = trials("sleep 0.2; echo A", "sleep 0.35", &["--json"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let found: Value = serde_json::from_str(&done.out)
        .unwrap_or_else(|error| panic!("{error}: {} {}", done.out, done.err));
    let program = &found["program"];
    let time = |key: &str, side: &str| program[key][side].as_f64().expect("a time") / 1e9;
    let longer = time("wall_ns", "after") - time("wall_ns", "before");
    assert!((0.14..0.2).contains(&longer) && time("wall_ns", "before") > 0.2, "{program:#}");
    assert_eq!(program["wall_ns"]["clear"], true, "{program:#}");
    assert!(time("cpu_ns", "after") < 0.05, "{program:#}");
    let shown = anechoic(&["ab", "--show", arg(&dir)]).out;
    assert!(
        shown.contains("\nFrom start to end it took ") && !shown.contains("different"),
        "{shown}"
    );

    std::fs::remove_dir_all(&dir).expect("it is ours");
    let done = trials("true", "exit 7", &[]);
    assert_eq!(done.code, Some(69), "{}", done.err);
    assert!(
        done.is_one_clear_line() && done.err.contains("`exit 7`") && done.err.contains("status: 7"),
        "{}",
        done.err
    );

    std::fs::remove_dir_all(&dir).expect("it is ours");
    let done = trials("true", "sleep 3 & true", &[]);
    let note = "command B leaves processes running";
    assert_eq!((done.code, done.err.matches(note).count()), (Some(0), 1), "{}", done.err);
    std::fs::remove_dir_all(&dir).expect("it is ours");
    let done = trials("true", "sleep 0.02 & wait", &[]);
    assert!(!done.err.contains("leaves processes"), "{}", done.err);
}
