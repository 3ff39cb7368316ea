//! Which recordings there are, and which one is read if none is named. The recordings are the examples of the documents.

use crate::tool::{self, Done, arg};
use std::path::Path;
use std::process::Command;

/// A directory with these examples.
fn examples(names: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for name in names {
        copy(name, &dir.path().join(name));
    }
    dir
}

fn copy(name: &str, to: &Path) {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples").join(name);
    let done = tool::command("cp", &["-a", arg(&example), arg(to)]);
    assert_eq!(done.code, Some(0), "{}", done.err);
}

/// Runs `anechoic` with these words in a directory, in the time zone UTC.
fn within(dir: &Path, line: &str) -> Done {
    let mut command = Command::new(tool::ANECHOIC);
    tool::run(command.args(line.split_whitespace()).current_dir(dir).env("TZ", "UTC"))
}

#[test]
fn the_list_has_the_newest_last_and_what_was_found_in_each() {
    let dir = examples(&["ftq", "before", "after"]);
    let done = within(dir.path(), "list");
    assert_eq!(done.code, Some(0), "{}", done.err);
    let lines: Vec<&str> = done.out.lines().collect();
    let begins = |at: usize, words: &str| lines.get(at).is_some_and(|line| line.starts_with(words));
    assert!(begins(0, "recording  started") && begins(1, "before"), "{}", done.out);
    assert!(
        lines[1].contains("2026-11-22 09:56:01 UTC  detours  5.0 s  1     308 kB"),
        "{}",
        done.out
    );
    assert!(lines[2].contains("└ 1 CPU lost 3.81 %"), "{}", done.out);
    assert!(begins(3, "after") && begins(5, "ftq"), "{}", done.out);
    let done = within(Path::new("/"), &format!("list {} --json", arg(dir.path())));
    let json: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    let last = &json["recordings"][2];
    assert_eq!(last["path"].as_str(), Some(arg(&dir.path().join("ftq"))), "{json}");
    assert!(last["headline"].as_str().is_some_and(|text| text.contains("noise 21.4 %")), "{json}");
}

#[test]
fn a_damaged_recording_is_listed_without_what_was_found() {
    let dir = examples(&["before", "after"]);
    std::fs::write(dir.path().join("before/detours/part-00000.parquet"), "x").expect("written");
    std::fs::create_dir(dir.path().join("another")).expect("a directory");
    let done = within(dir.path(), "list");
    assert_eq!(done.code, Some(65), "{}", done.err);
    assert!(done.err.contains("before/detours") && done.is_one_clear_line(), "{}", done.err);
    let listed = done.out.lines().filter(|line| line.contains("detours")).count();
    assert_eq!((listed, done.out.matches('└').count()), (2, 1), "{}", done.out);
}

#[test]
fn the_newest_recording_is_read_if_none_is_named() {
    let dir = examples(&["ftq", "before", "after"]);
    // Of each command it is the newest that it can read: a prediction of phases needs detours.
    for (command, newest) in
        [("summary", "ftq"), ("sources --json", "ftq"), ("predict phases --json", "after")]
    {
        let done = within(dir.path(), command);
        let said = format!("reading {newest}, the newest recording here");
        assert!(done.err.contains(&said), "{command}: {}", done.err);
        assert_eq!(done.out, within(dir.path(), &format!("{command} {newest}")).out, "{command}");
    }
    let done = within(dir.path(), "report");
    assert!(
        done.out.contains("report.html") && done.err.contains("ftq"),
        "{} {}",
        done.out,
        done.err
    );
    let done = within(dir.path(), "predict ticks");
    assert_eq!(done.code, Some(66), "{}", done.err);
    assert!(done.err.contains("none of `serial` in this directory"), "{}", done.err);
}

#[test]
fn the_newest_of_repeated_runs_is_read_with_the_others() {
    let dir = examples(&["ftq"]);
    std::fs::create_dir(dir.path().join("set")).expect("a directory");
    for number in [1, 2] {
        let run = dir.path().join(format!("set/run-00{number}"));
        copy("after", &run);
        std::fs::remove_file(run.join("SHA256SUMS")).expect("it has checksums");
        let json = std::fs::read_to_string(run.join("run.json")).expect("it has one");
        let json = json.replace("\"repetition\": null", &format!("\"repetition\": [{number}, 2]"));
        let json = json.replace("\"start_utc\": \"2026", "\"start_utc\": \"2027");
        std::fs::write(run.join("run.json"), json).expect("written");
    }
    let done = within(dir.path(), "summary");
    assert!(done.err.contains("reading set, the newest recording here"), "{}", done.err);
    let shown = |run: &str, text: &str| text.contains(&format!("run {run} of 2"));
    assert!(!shown("1", &done.out) && shown("2", &done.out), "{}", done.out);
    assert!(
        done.out.contains("noise over 2 runs") && done.out.contains("`--all` each"),
        "{}",
        done.out
    );
    let all = within(dir.path(), "summary --all").out;
    assert!(shown("1", &all) && shown("2", &all), "{all}");
    // A run that was cut short is no value of the same kind.
    let last = dir.path().join("set/run-002/run.json");
    let json = std::fs::read_to_string(&last).expect("it has one");
    let cut =
        json.replace("\"state\": \"complete\"", "\"state\": {\"interrupted\": \"by a signal\"}");
    std::fs::write(&last, cut).expect("written");
    let done = within(dir.path(), "summary");
    let common = ["noise over 1 run (", "1 run that ended early is left out"];
    assert!(common.iter().all(|text| done.out.contains(text)), "{} {}", done.out, done.err);
}

#[test]
fn without_any_recording_the_remedy_is_named() {
    let dir = examples(&[]);
    for command in ["summary", "sources", "report", "attribute", "predict phases", "list"] {
        let done = within(dir.path(), command);
        assert_eq!(done.code, Some(66), "{command}: {}", done.err);
        assert!(done.is_one_clear_line() && done.out.is_empty(), "{command}: {}", done.err);
    }
    assert!(within(dir.path(), "summary").err.contains("`anechoic run --help`"));
    assert_eq!(within(dir.path(), "merge").code, Some(64), "it writes, so it needs a directory");
}

#[test]
fn what_is_not_saved_is_shown_and_leaves_nothing_behind() {
    let dir = examples(&[]);
    for (command, quiet) in [
        ("run --no-trace -d 200ms --no-save", 1),
        ("run --no-trace -d 100ms --no-save --repeat 2", 2),
        ("measure fwq --no-trace --repetitions 100 --no-save", 1),
    ] {
        let lines = within(dir.path(), &format!("{command} -q")).out.lines().count();
        assert_eq!(lines, quiet, "{command} -q");
        let done = within(dir.path(), command);
        assert!(done.code.is_some_and(|code| code <= 3), "{command}: {}", done.err);
        assert!(done.out.lines().count() > 5, "{command}: {}", done.out);
        assert!(!done.out.contains("unsaved"), "{command}: {}", done.out);
        let left = std::fs::read_dir(dir.path()).expect("a directory").count();
        assert_eq!(left, 0, "{command}");
    }
    let done = within(dir.path(), "run --no-save -o here");
    assert_eq!(done.code, Some(64), "{}", done.err);
}

/// What is left out of the longest detours by choice was recorded all the same, and the result states the choice.
#[test]
fn the_longest_detours_state_what_was_left_out_by_choice() {
    let dir = examples(&["before"]);
    let words = |line: &str| {
        let done = within(dir.path(), line);
        assert_eq!(done.code, Some(0), "{}", done.err);
        done.out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let some = words("longest --without timer-tick -n 1");
    let expected = "The longest of 4,740 detours without timer-tick (1,250 left out) took";
    assert!(some.contains(expected), "{some}");
    let none = words("longest --without *");
    let expected = "All 5,990 detours were left out: each contains one of the sources timer-tick, ";
    assert!(none.contains(expected) && !none.contains("No detour was recorded"), "{none}");
    let on = words("longest --cpus 1 -n 1");
    assert!(
        on.contains("The longest of 5,990 detours on CPU 1 took 2.6 ms; thread cargo took"),
        "{on}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&words("longest --without timer-tick,softirq --cpus 1 --json"))
            .expect("JSON");
    assert_eq!(json["without"], serde_json::json!(["timer-tick", "softirq"]));
    assert_eq!(json["cpus"], serde_json::json!([1]));
    let count = |name: &str| json[name].as_u64().unwrap_or_else(|| panic!("no {name}: {json}"));
    assert_eq!(count("of") + count("left_out"), 5_990);
    let all: serde_json::Value = serde_json::from_str(&words("longest -n 1 --json")).expect("JSON");
    assert!(all.get("without").is_none() && all.get("left_out").is_none(), "{all}");
}

#[test]
fn the_longest_detours_have_their_story() {
    let dir = examples(&["before"]);
    let done = within(dir.path(), "longest -n 2");
    assert_eq!(done.code, Some(0), "{}", done.err);
    let headline =
        "The longest of 5,990 detours took 2.6 ms on CPU 1; thread cargo took 2.6 ms of\nit.";
    assert!(done.out.contains(headline), "{}", done.out);
    assert!(done.out.contains("10 µs  2.6 ms  thread cargo · thread 1121"), "{}", done.out);
    assert!(done.out.contains("2. 2.4 ms on CPU 1 at 3.252 s · no steal"), "{}", done.out);
    assert!(!done.out.contains("3. "), "{}", done.out);
    let done = within(dir.path(), "longest -n 1 --activities 1 --json");
    let json: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    let detour = &json["detours"][0];
    assert_eq!(detour["activities"].as_array().map(Vec::len), Some(1), "{}", done.out);
    assert!(detour["more"].as_u64() > Some(0), "{}", done.out);
    let done = within(dir.path(), "longest before -n 1 --json");
    let json: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    let detour = &json["detours"][0];
    let own: u64 = detour["activities"]
        .as_array()
        .expect("activities")
        .iter()
        .map(|row| row["self_ns"].as_u64().expect("a number"))
        .sum();
    let whole = detour["length_ns"].as_u64().expect("a number");
    assert!(own.abs_diff(whole) < 10, "{own} of {whole}: rounding alone");
    let done = within(dir.path(), "longest before -n 1 --without thread,nmi");
    let headline = "The longest of 5,765 detours without thread, nmi (225 left out) took 1.9 ms on\nCPU 1; VM exit or hardware took";
    assert!(done.out.contains(headline), "{}", done.out);
    let done = within(dir.path(), "longest before --without fair");
    assert_eq!(done.code, Some(64), "{}", done.out);
    assert!(done.err.contains("no name matches 'fair'"), "{}", done.err);
    let done = within(dir.path(), "longest before --cpus 0");
    assert_eq!(done.code, Some(64));
    assert!(
        done.err.contains("CPU 0 was not measured in before; it has the CPUs [1]"),
        "{}",
        done.err
    );
}

#[test]
fn colours_are_used_where_the_user_wants_them() {
    let dir = examples(&["before"]);
    let colored = |line: &str| within(dir.path(), line).out.contains('\x1b');
    assert!(!colored("summary before"), "a pipe");
    assert!(colored("summary before --color always") && colored("--color=always summary before"));
    assert!(!colored("summary before --color never"));
    assert_eq!(within(dir.path(), "summary before --color red").code, Some(64));
}

#[test]
fn what_is_in_the_way_is_named() {
    let dir = examples(&["before"]);
    for (line, says) in [
        ("report before -o before --force", "before is a directory"),
        ("summary before -o .", ". is a directory"),
        ("summary nosuch", "nosuch does not exist"),
        ("inject --kind thread --replay nosuch", "nosuch does not exist"),
    ] {
        let done = within(dir.path(), line);
        assert!(done.code.is_some_and(|code| code >= 64), "{line}: {}", done.out);
        assert!(done.err.contains(says) && done.is_one_clear_line(), "{line}: {}", done.err);
    }
}

#[test]
fn noise_that_is_injected_around_a_run_is_noted() {
    let dir = examples(&[]);
    let mut command = Command::new(tool::ANECHOIC);
    let line = "run -q --no-trace -d 100ms --no-save --json";
    command.args(line.split(' ')).current_dir(dir.path());
    let done = tool::run(command.env("ANECHOIC_INJECTED", "1: interrupts,\n 10/s"));
    let json: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    let notes = json["run"]["notes"].to_string();
    assert!(notes.contains("around this run on CPU 1: interrupts, 10/s"), "{notes}");
}

#[test]
fn another_measurement_of_the_same_cpus_is_noted() {
    let _alone = tool::alone();
    let dir = examples(&[]);
    let other = dir.path().join("other");
    let mut first = tool::start(&["run", "-q", "--no-trace", "-d", "30s", "-o", arg(&other)]);
    tool::until_running(&other);
    let mut command = Command::new(tool::ANECHOIC);
    let line = "run -q --no-trace -d 500ms -o second --json";
    command.args(line.split(' ')).current_dir(dir.path());
    let second = tool::wait(tool::spawn(&mut command));
    first.kill().expect("it runs");
    let _ = first.wait();
    // Half of the time was the other's: no fault of the system, so that the gate that keeps bad nodes out is undecided.
    let gate = within(dir.path(), "gate second --max-noise 1% --max-detour 1ms --min-time 100ms");
    assert_eq!(gate.code, Some(3), "{}{}", gate.out, gate.err);
    assert!(!gate.out.contains("FAIL"), "{}", gate.out);
    let merged = within(dir.path(), "merge second -o merged");
    let words = merged.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("another anechoic measured the same CPUs"), "{}", merged.out);
    let json: serde_json::Value = serde_json::from_str(&second.out).expect("JSON");
    let notes = json["run"]["notes"].to_string();
    assert!(notes.contains(&format!("another anechoic (process {})", first.id())), "{notes}");
}

#[test]
fn a_redacted_report_names_no_host_user_or_program() {
    let dir = examples(&["before"]);
    let secrets = ["telemetryd", "cargo", "console=ttyS0", "before1", "OS noise on vm"];
    let report = |line: &str| {
        let done = within(dir.path(), line);
        assert_eq!(done.code, Some(0), "{}", done.err);
        done.out
    };
    let open = report("report before -o -");
    let missing: Vec<_> = secrets.iter().filter(|secret| !open.contains(**secret)).collect();
    assert!(missing.is_empty(), "this test looks for what is not there: {missing:?}");
    let redacted = report("report before --redact -o -");
    let found: Vec<_> = secrets.iter().filter(|secret| redacted.contains(**secret)).collect();
    assert!(found.is_empty(), "{found:?}");
    for stays in ["user-1", "host-1", "migration/0", "3.81 %", "AMD EPYC"] {
        assert!(redacted.contains(stays), "{stays}");
    }
    let left = std::fs::read_dir(dir.path()).expect("a directory").count();
    assert_eq!(left, 1, "the copy is removed");
}

#[test]
fn a_redacted_report_counts_hosts_that_are_left_out_and_names_none() {
    let dir = examples(&[]);
    copy("before", &dir.path().join("host=acme-a"));
    copy("before", &dir.path().join("host=acme-b"));
    std::fs::write(dir.path().join("host=acme-b/run.json"), "{").expect("written");
    std::fs::create_dir(dir.path().join("host=acme-c")).expect("a directory");
    let done = within(dir.path(), "report . --redact -o -");
    assert_eq!(done.code, Some(66), "{}", done.err);
    for host in ["host=acme-b", "host=acme-c"] {
        assert_eq!(done.err.matches(host).count(), 1, "once for the owner: {}", done.err);
    }
    for shown in [
        "host=host-2 is left out: the recording is damaged or cannot be read",
        "host=host-3 is left out: there is no recording",
        "recording-001",
    ] {
        assert!(done.out.contains(shown), "{shown}");
    }
    let here = dir.path().file_name().expect("it has a name").to_string_lossy();
    for secret in ["acme", &*here] {
        assert!(!done.out.contains(secret), "{secret}");
    }
}

#[test]
fn configurations_are_ranked_or_the_error_says_why_not() {
    let dir = examples(&["ftq", "before", "after"]);
    copy("ftq", &dir.path().join("again"));
    let done = within(dir.path(), "rank ftq again");
    assert_eq!(done.code, Some(0), "{}", done.err);
    let found = "No configuration is clearly the quietest: none is lower than all others";
    assert!(done.out.contains(found) && done.out.contains("none differ"), "{}", done.out);
    for (words, error) in [
        ("rank ftq", "there is only one configuration"),
        ("rank ftq after", "the methods of the recordings differ"),
        ("rank before after", "the method detours has no samples that compare"),
        ("rank ftq,ftq again", "ftq,ftq: a recording is named twice"),
        ("rank ftq nowhere", "nowhere"),
        ("rank ftq ftq", "ftq is named twice"),
    ] {
        let done = within(dir.path(), words);
        assert!(done.is_one_clear_line() && done.err.contains(error), "{words}: {}", done.err);
    }
}

#[test]
fn measurements_of_several_sizes_are_joined_or_the_error_says_why_not() {
    let dir = examples(&["ftq", "bsp", "before", "after"]);
    for name in ["ftq", "bsp"] {
        copy(name, &dir.path().join(format!("{name}-again")));
        copy(name, &dir.path().join(format!("{name}-more")));
    }
    let line = "sweep ftq ftq-again ftq-more --at 250,250,1000 --figures drawn";
    let done = within(dir.path(), line);
    assert!(matches!(done.code, Some(0 | 1)), "{}", done.err);
    let row = |rate: &str, runs: &str| {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let has = |line: &str| {
            let line = words(line);
            line.windows(3)
                .any(|window| window[0] == rate && window[1] == "Hz" && window[2] == runs)
        };
        done.out.lines().any(has)
    };
    // The two of one rate are repeated measurements; the third stands alone.
    assert!(row("250", "2") && row("1,000", "1"), "{}", done.out);
    let captions = std::fs::read_to_string(dir.path().join("drawn/captions.txt")).expect("written");
    assert!(captions.contains("lost at most this much, by tick rate"), "{captions}");
    let done = within(dir.path(), "sweep bsp bsp-again bsp-more --at 2,2,4 --json");
    let joined: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    assert_eq!((&joined["by"], &joined["quantity"]), (&"ranks".into(), &"delay".into()));
    let points = joined["lines"][0]["points"].as_array().expect("points");
    assert_eq!((points[0]["at"].as_f64(), points[1]["at"].as_f64()), (Some(2.0), Some(4.0)));
    // Copies of one recording do not deviate from each other.
    assert_eq!(points[0]["spread"]["sd"].as_f64(), Some(0.0), "{points:?}");
    for (words, error) in [
        ("sweep ftq", "there is only one measurement"),
        ("sweep ftq bsp", "is of the method ftq"),
        ("sweep ftq ftq-again --at 1", "--at has 1 numbers"),
        ("sweep before after --by ranks", "the recording has no ranks"),
        ("sweep ftq ftq", "ftq is named twice"),
        ("sweep ftq nowhere", "nowhere"),
    ] {
        let done = within(dir.path(), words);
        assert!(done.is_one_clear_line() && done.err.contains(error), "{words}: {}", done.err);
    }
}

/// Cache misses at several tick rates (Tsafrir 2007, Figure 12).
#[test]
fn counted_events_are_joined_with_the_noise() {
    let dir = examples(&["ftq"]);
    copy("ftq", &dir.path().join("ftq-more"));
    let none = within(dir.path(), "sweep ftq ftq-more --at 100,1000");
    assert!(!none.out.contains("cache misses"), "{}", none.out);
    // The series of the example has 8,000 samples.
    for (name, misses) in [("ftq", 16_000), ("ftq-more", 168_000)] {
        let path = dir.path().join(name).join("run.json");
        let text = std::fs::read_to_string(&path).expect("copied");
        let mut run: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        run["outcomes"][0]["counts"] = serde_json::json!({
            "l1d_misses_user": 4_000, "l1d_misses_kernel": misses, "page_faults_user": 0
        });
        std::fs::write(&path, run.to_string()).expect("written");
        std::fs::remove_file(path.with_file_name("SHA256SUMS")).expect("it has checksums");
    }
    let done = within(dir.path(), "sweep ftq ftq-more --at 100,1000 --figures drawn");
    let words = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("tick rate L1, user L1, kernel"), "faults that never came: {words}");
    assert!(words.contains("100 Hz 0.50 2.00") && words.contains("1,000 Hz 0.50 21.0"), "{words}");
    let captions = std::fs::read_to_string(dir.path().join("drawn/captions.txt")).expect("written");
    assert!(captions.contains("L1, kernel, in each sample, by tick rate"), "{captions}");
}

#[test]
fn one_run_a_side_is_no_verdict_on_a_change() {
    let dir = examples(&["ftq", "before", "after"]);
    let done = within(dir.path(), "compare before after");
    assert_eq!(done.code, Some(3), "{}", done.err);
    let text = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let advice = "anechoic run --repeat 5 -o before";
    for shown in ["One run does not show how much runs differ", advice, "timer tick"] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    let json = within(dir.path(), "compare before after --json");
    let found: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    assert!(["one_run", "one_run_differs"].contains(&found["verdict"].as_str().expect("a word")));
    assert!(found["probability"].is_null() && found["interval"].is_null(), "{found}");
    for (words, error) in [
        ("compare before ftq", "ftq has a recording of `measure ftq`"),
        ("compare before,before after", "before,before: a recording is named twice"),
        ("compare before nowhere", "nowhere"),
        ("compare before after,before", "before is named twice"),
        ("compare before after --ranks 1e9", "1e9"),
        ("compare before after --ranks 1000000", "supports a prediction for at most"),
    ] {
        let done = within(dir.path(), words);
        assert!(!done.err.is_empty() && done.err.contains(error), "{words}: {}", done.err);
        assert!(done.code.is_some_and(|code| code > 1), "{words}: {:?}", done.code);
    }
}

/// Another process may attribute a recording for long.
#[test]
fn who_waits_for_another_attribution_learns_what_for() {
    let dir = examples(&["before"]);
    let held = std::fs::File::open(dir.path().join("before")).expect("a directory");
    held.lock().expect("nobody else has it");
    let child = tool::start(&["attribute", arg(&dir.path().join("before"))]);
    std::thread::sleep(std::time::Duration::from_secs(3));
    held.unlock().expect("it was locked");
    let done = tool::wait(child);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.err.contains("waiting for another anechoic that attributes"), "{}", done.err);
}
