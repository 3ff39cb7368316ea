//! Tests `anechoic check --self-test`: known noise is made and all of it is detected.

use crate::tool::{ANECHOIC, Done, alone, arg, calm, ensure, noisy, one_of, run, summary};
use anechoic_lab::note;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Runs `anechoic` with its own state directory, so that the user's stays unchanged.
fn anechoic(state: &Path, args: &[&str]) -> Done {
    run(Command::new(ANECHOIC).env("XDG_STATE_HOME", state).args(args))
}

fn json(done: &Done) -> Value {
    serde_json::from_str(&done.out).unwrap_or_else(|e| panic!("{e}: {} {}", done.out, done.err))
}

/// Delivered noise is detected, whatever else this machine does; later recordings include the result.
#[test]
fn all_that_comes_is_found() {
    let _alone = alone();
    if noisy().is_none() {
        return;
    }
    let state = tempfile::tempdir().expect("a directory");
    let mut result = Value::Null;
    one_of(5, || {
        let done = anechoic(state.path(), &["check", "--self-test", "--json"]);
        result = json(&done);
        all_is_seen(&result);
        // A busy host makes all durations longer, which changes the exit code.
        let right = i32::from(result["not_available"] != Value::Array(vec![]));
        let kinds = result["kinds"].as_array().expect("a list");
        let calm = kinds.iter().all(|kind| calm(&kind["cpus"][0]));
        ensure(done.code == Some(right), calm, || format!("code {:?}", done.code))
    });
    let kept = state.path().join("anechoic/self-test.json");
    assert_eq!(result["stored"].as_str(), Some(arg(&kept)));
    carried(state.path(), &kept, &result["self_test"]);
}

fn all_is_seen(result: &Value) {
    let kinds = result["kinds"].as_array().expect("a list");
    assert!(!kinds.is_empty(), "{result}");
    for found in kinds {
        let (cpu, injected) = (&found["cpus"][0], &found["injected"]);
        let seen = &cpu["seen"];
        assert!(cpu["delivered"].as_u64() > Some(0), "{injected}: {cpu}");
        assert_eq!(cpu["delivered"], seen["found"], "{injected}: {cpu}");
        assert_eq!(cpu["recall"]["share"], 1.0, "{injected}: {cpu}");
        let asked = cpu["asked"].as_u64().expect("known");
        let over = cpu["overruns"].as_u64().expect("known");
        assert_eq!(cpu["delivered"].as_u64(), Some(asked - over), "{injected}: {cpu}");
        let expected = found["rate_hz"].as_f64().expect("known")
            * cpu["window_ns"].as_f64().expect("known")
            / 1e9;
        assert!((asked as f64 - expected).abs() <= 2.0, "{injected}: {asked} for {expected}");
        if let Some(own) = cpu["own_count"].as_object() {
            let [ours, kernel] = ["injector", "kernel"].map(|by| own[by].as_u64().expect("known"));
            // The kernel does not run the program in every interrupt.
            assert!(ours <= kernel && kernel - ours <= kernel / 20, "{injected}: {cpu}");
        }
        if injected["kind"] != "interrupt" {
            assert!(cpu["detour_time"]["error"]["ns"].is_f64(), "{injected}: {cpu}");
        }
    }
}

/// Recordings made on the same machine include the stored result, until it is damaged.
fn carried(state: &Path, kept: &Path, expected: &Value) {
    let run = |name: &str| {
        let dir = state.join(name);
        let done = anechoic(state, &["run", "-d", "100ms", "--no-trace", "-o", arg(&dir)]);
        assert_eq!(done.code, Some(0), "{}", done.err);
        let shown = done.out.contains("self-test");
        (summary(&dir)["run"]["self_test"].clone(), shown)
    };
    assert_eq!(run("whole"), (expected.clone(), true));
    std::fs::write(kept, b"{\"utc\": 7").expect("writable");
    // There may be a result for the whole machine.
    assert_ne!(run("damaged").0, *expected);
}

/// Nothing is left in the temporary directory, and a result that cannot be stored is still shown.
#[test]
fn a_result_that_cannot_be_kept_is_shown() {
    let _alone = alone();
    if noisy().is_none() {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("file");
    std::fs::write(&file, b"").expect("writable");
    let scratch = place.path().join("scratch");
    std::fs::create_dir(&scratch).expect("writable");
    let output = Command::new(ANECHOIC)
        .args(["check", "--self-test"])
        .env("XDG_STATE_HOME", &file)
        .env("TMPDIR", &scratch)
        .output()
        .expect("the binary runs");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("stored         no: cannot write"), "{shown}");
    assert!(shown.contains("interrupt"), "{shown}");
    let left = std::fs::read_dir(&scratch).expect("readable").count();
    assert_eq!(left, 0, "recordings of the test are removed");
}

#[test]
fn without_privilege_it_says_what_it_needs() {
    let _alone = alone();
    if noisy().is_none() {
        return;
    }
    let place = tempfile::tempdir_in("/var/tmp").expect("a directory");
    let program = place.path().join("anechoic");
    std::fs::copy(ANECHOIC, &program).expect("there is space");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path(), open).expect("ours");
    let args = ["--reuid=65534", "--regid=65534", "--clear-groups", arg(&program)];
    let args = [&args[..], &["check", "--self-test"]].concat();
    let Ok(output) = Command::new("setpriv").env("XDG_STATE_HOME", "/nowhere").args(args).output()
    else {
        note::skipped("needs setpriv");
        return;
    };
    let shown = String::from_utf8_lossy(&output.stdout);
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    if paranoid.is_ok_and(|level| level.trim().parse::<i32>().is_ok_and(|level| level < 1)) {
        note::skipped("this kernel lets everybody use timer events of CPUs");
        return;
    }
    assert_eq!(output.status.code(), Some(3), "{shown}");
    assert!(shown.contains("run as root"), "{shown}");
    assert!(shown.starts_with("NO VERDICT") && shown.contains("self-test      none"), "{shown}");
}

#[test]
fn wrong_options_are_told_in_a_line() {
    let state = tempfile::tempdir().expect("a directory");
    let cases: [(&[&str], i32); 3] = [
        (&["check", "--self-test", "--cpus", "0,1"], 64),
        (&["check", "--self-test", "--cpus", "4095"], 64),
        (&["check", "--cpus", "0"], 64),
    ];
    for (args, code) in cases {
        let done = anechoic(state.path(), args);
        assert_eq!(done.code, Some(code), "{args:?}: {} {}", done.out, done.err);
        assert!(done.is_one_clear_line() || done.err.contains("--self-test"), "{}", done.err);
    }
}
