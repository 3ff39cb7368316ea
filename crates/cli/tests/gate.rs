//! `anechoic gate` on the recordings of the documents: exit codes, files, and what it refuses.

use crate::tool::{ANECHOIC, Done, anechoic, arg};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use std::fs;
use std::path::{Path, PathBuf};

/// The example has one CPU, which lost 3.81 % of 5 s.
fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples").join(name)
}

fn gate(recording: &str, rest: &[&str]) -> Done {
    let recording = example(recording);
    anechoic(&[&["gate", arg(&recording)], rest].concat())
}

#[test]
fn the_exit_code_is_the_outcome_and_each_rule_has_a_line() {
    let cases: [(&[&str], i32, &str); 6] = [
        (&["--max-noise", "6%"], 0, "\nPASS       max-noise 6%: CPU 1: 3.81 %, at most "),
        (&["--max-noise", "1%"], 2, "\nFAIL       max-noise 1%: CPU 1: 3.81 %, at least "),
        (&["--max-noise", "3.81%"], 3, "\nUNDECIDED  max-noise 3.81%: CPU 1: 3.81 %, at most "),
        (&["--max-detour", "10us"], 2, " are over 10 µs in all"),
        (
            &["--max-rate", "nmi=1/h"],
            3,
            "none in 5.0 s, at most 0.60/s with 95 % confidence; measure for 180 min",
        ),
        (
            &["--max-noise", "6%", "--min-time", "1m"],
            3,
            "it lasts 5.0 s of 60 s (--min-time); CPU 1: 3.81 %",
        ),
    ];
    for (args, code, line) in cases {
        let done = gate("before", args);
        assert_eq!((done.code, &*done.err), (Some(code), ""), "{args:?}: {}", done.out);
        assert!(done.out.contains(line), "{args:?}: {}", done.out);
    }
    let done = gate("before", &["--max-noise", "6%", "--max-noise", "1%", "--max-rate", "nmi=1/h"]);
    assert_eq!(done.code, Some(2), "one that is exceeded decides: {}", done.out);
    assert!(done.out.contains("Failed: 1 of 3 rules exceeded, 1 undecided."), "{}", done.out);
}

/// The reader of a pipeline may end before the verdict is printed, as `head -1` does; with pipefail the code still counts.
#[test]
fn the_verdict_does_not_depend_on_its_reader() {
    let (before, after) = (example("before"), example("after"));
    let (before, after) = (arg(&before), arg(&after));
    let cases: [(&[&str], i32); 6] = [
        (&["gate", before, "--max-noise", "6%"], 0),
        (&["gate", before, "--max-noise", "1%"], 2),
        (&["gate", before, "--max-noise", "1%", "--json"], 2),
        (&["gate", before, "--max-noise", "3.81%"], 3),
        (&["compare", before, after], 3),
        (&["export", "csv", before], 0),
    ];
    for (args, code) in cases {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = std::process::Command::new(ANECHOIC);
        let done = command.args(args).stdout(writer).output().expect("it runs");
        let err = String::from_utf8_lossy(&done.stderr);
        assert_eq!((done.status.code(), &*err), (Some(code), ""), "{args:?}");
    }
}

#[test]
fn json_has_the_findings_of_every_cpu() {
    let done = gate("before", &["--max-noise", "thread:*=6%", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
    assert_eq!((&json["outcome"], &json["rules"][0]["unit"]), (&"pass".into(), &"share".into()));
    assert_eq!(json["rules"][0]["source"], "thread:*");
    assert_eq!(json["rules"][0]["findings"][0]["cpu"], 1);
}

#[test]
fn results_go_to_files_for_continuous_integration() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    fs::write(at("summary.md"), "before\n").expect("written");
    let (markdown, junit) = (at("summary.md"), at("gate.xml"));
    let files = ["--markdown", arg(&markdown), "--junit", arg(&junit)];
    let rules = ["--max-noise", "1%", "--max-detour", "1s", "--max-rate", "nmi>1us=1/h"];
    let done = gate("before", &[&rules[..], &files].concat());
    assert_eq!(done.code, Some(2), "{}", done.err);
    let text = fs::read_to_string(&markdown).expect("written");
    assert!(text.starts_with("before\n### anechoic gate\n\n**Failed: 1 of 3 rules"), "{text}");
    assert!(text.contains("\n| ❌ FAIL | <code>max-noise 1%</code> | CPU 1: 3.81 %"), "{text}");
    let xml = fs::read_to_string(&junit).expect("written");
    for part in [
        "<testsuites name=\"anechoic gate\" tests=\"3\" failures=\"1\" errors=\"1\"",
        "name=\"max-noise 1%\" time=\"0\"><failure type=\"exceeded\" message=\"CPU 1",
        "name=\"max-rate nmi&gt;1us=1/h\" time=\"0\"><error type=\"undecided\"",
        "name=\"max-detour 1s\" time=\"0\"><system-out>CPU 1",
    ] {
        assert!(xml.contains(part), "{part}: {xml}");
    }
    let again = gate("before", &[&rules[..], &files].concat());
    assert_eq!(again.code, Some(73), "{}", again.out);
    assert!(again.err.contains("gate.xml already exists; use --force"), "{}", again.err);
    let forced = gate("before", &[&rules[..], &files, &["--force"]].concat());
    assert_eq!(forced.code, Some(2), "{}", forced.err);
    let text = fs::read_to_string(&markdown).expect("written");
    assert_eq!(text.matches("### anechoic gate").count(), 2, "a summary of two steps: {text}");
}

#[test]
fn a_file_of_rules_is_read_and_the_command_line_replaces_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("gate.toml");
    let text = "# limits\nmax-noise = \"1%\"\nmax-rate = [\"nmi=10/s\", \">100ms=10/s\"]\nmin-time = \"5s\"\n";
    fs::write(&path, text).expect("written");
    let config = ["--config", arg(&path)];
    let done = gate("before", &config);
    assert_eq!(done.code, Some(2), "{}", done.out);
    assert!(done.out.contains("PASS       max-rate >100ms=10/s"), "{}", done.out);
    let done = gate("before", &[&config[..], &["--max-noise", "6%"]].concat());
    assert_eq!(done.code, Some(0), "another limit of the same: {}", done.out);
    assert_eq!(done.out.matches("max-noise").count(), 1, "{}", done.out);
    let done = gate("before", &[&config[..], &["--max-noise", "thread:*=6%"]].concat());
    assert_eq!(done.code, Some(2), "a limit of something else: {}", done.out);
}

#[test]
fn what_is_wrong_in_a_file_of_rules_is_named_with_its_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("gate.toml");
    let cases: [(&[u8], &str); 10] = [
        (
            b"\nmax-nose = \"1%\"\n",
            "gate.toml, line 2: there is no rule 'max-nose'; the keys are max-noise",
        ),
        (
            b"max-noise = \"1%\"\nmax-rate = [\n\"1/s\",\n\"tread=1/s\",\n]",
            "line 4: max-rate: there is no source 'tread'; did you mean thread?",
        ),
        (b"max-noise = 0.01", "line 1: max-noise: it is not a text; write it in quotes"),
        (b"max-noise = \"1\"", "line 1: max-noise: '1' is not a percentage"),
        (b"a = 1\nmax-noise = \"1%\"\nmax-noise = \"2%\"\n", "line 3: duplicate key"),
        (b"max-noise = \"1%\"\nmax-noise", "line 2: "),
        (b"[max-rate]\n\"thread:*\" = \"1/s\"", "line 1: max-rate: it is not a text"),
        (b"# \n\nmin-time = \"3\"", "line 3: min-time: '3' is not a duration"),
        (b"# ok\n\xff", "line 2: it is not UTF-8"),
        (b"baseline = 3", "line 1: baseline: it is not a text"),
    ];
    for (text, expected) in cases {
        fs::write(&path, text).expect("written");
        let done = gate("before", &["--config", arg(&path)]);
        let shown = String::from_utf8_lossy(text);
        assert_eq!(done.code, Some(64), "{shown}: {}", done.err);
        assert!(done.err.contains(expected) && done.is_one_clear_line(), "{shown}: {}", done.err);
    }
    let absent = gate("before", &["--config", arg(&dir.path().join("none.toml"))]);
    assert_eq!(absent.code, Some(66), "{}", absent.err);
}

#[test]
fn what_cannot_be_judged_is_refused_in_one_line() {
    let cases: [(&str, &[&str], i32, &str); 9] = [
        ("before", &[], 64, "no rule is given, so nothing could fail"),
        ("before", &["--max-lost", "5%"], 64, "limit lost time with --max-noise 5%"),
        (
            "before",
            &["--max-increase", "10%"],
            64,
            "needs runs to compare with; name them with --baseline",
        ),
        (
            "before",
            &["--max-noise", "1%", "--baseline", "x"],
            64,
            "nothing is compared with the baseline",
        ),
        ("ftq", &["--max-noise", "1%"], 64, "the gate judges those of `anechoic run`"),
        (
            "before",
            &["--max-noise", "1"],
            64,
            "'1' is not a percentage; write one, for example 0.1%",
        ),
        ("before", &["--max-rate", "tread=1/s"], 64, "did you mean thread?"),
        ("before", &["--max-detour", "50"], 64, "'50' is not a duration"),
        ("nothing", &["--max-noise", "1%"], 66, "nothing"),
    ];
    for (recording, args, code, expected) in cases {
        let done = gate(recording, args);
        assert_eq!(done.code, Some(code), "{args:?}: {} {}", done.out, done.err);
        assert!(done.err.contains(expected) && done.out.is_empty(), "{args:?}: {}", done.err);
    }
    let (before, after) = (example("before"), example("after"));
    let done = gate("before", &["--max-increase", "10%", "--baseline", arg(&before)]);
    assert!(done.code == Some(64) && done.err.contains("is named twice"), "{}", done.err);
    let done = gate("before", &["--max-increase", "10%", "--baseline", arg(&after)]);
    assert_eq!(done.code, Some(3), "{}", done.err);
    assert!(done.out.contains("measure both sides with --repeat 5"), "{}", done.out);
}

#[test]
fn a_damaged_recording_among_others_passes_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    for name in ["before", "after"] {
        let to = dir.path().join(name);
        let done = crate::tool::command("cp", &["-a", arg(&example(name)), arg(&to)]);
        assert_eq!(done.code, Some(0), "{}", done.err);
    }
    fs::write(dir.path().join("before/detours/part-00000.parquet"), "x").expect("written");
    let done = anechoic(&["gate", arg(dir.path()), "--max-noise", "90%"]);
    assert_eq!(done.code, Some(3), "{}", done.err);
    assert!(
        done.out.contains("UNDECIDED  max-noise 90%: a recording could not be read"),
        "{}",
        done.out
    );
    assert!(done.err.contains("before/detours"), "{}", done.err);
}

/// Writes what sysjitter would have measured on one CPU in 10 s: independent interruptions, `expected` of
/// them on average, of Pareto lengths of shape 1.5 from 100 µs on.
fn sysjitter_file(path: &Path, expected: f64, random: &mut Pcg64Mcg) {
    let mut text = "# threshold: 200ns\n# total_runtime: 10.0 seconds\n".to_owned();
    let mut uniform = || 1.0 - random.random::<f64>();
    let mut at_ns = 0.0;
    loop {
        at_ns -= uniform().ln() / expected * 1e10;
        let length_ns = 1e5 * uniform().powf(-1.0 / 1.5);
        if at_ns + length_ns >= 1e10 {
            break;
        }
        at_ns += length_ns;
        text += &format!(" {at_ns:.0} 0 {length_ns:.0} {length_ns:.0}\n");
    }
    fs::write(path, text).expect("written");
}

#[test]
fn verdicts_on_few_events_are_seldom_wrong() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut random = Pcg64Mcg::seed_from_u64(11);
    const RUNS: usize = 12;
    for expected in [0.11, 1.0, 4.0] {
        // The mean length is three times the shortest.
        let (noise, rate) = (expected * 3e5 / 1e10, expected / 10.0);
        // A pass of the first of each pair is wrong, and a failure of the second.
        let limits = [0.999, 1.001].map(|by| {
            [
                format!("--max-noise={:.9}%", noise * by * 100.0),
                format!("--max-rate={}/s", rate * by),
            ]
        });
        let (mut wrong, mut silent) = ([0; 4], 0);
        for run in 0..RUNS {
            let file = dir.path().join(format!("{expected}-{run}.0"));
            let recording = dir.path().join(format!("{expected}-{run}"));
            sysjitter_file(&file, expected, &mut random);
            let done = anechoic(&["import", "sysjitter", arg(&file), "--output", arg(&recording)]);
            assert_eq!(done.code, Some(0), "{}", done.err);
            for (at, wrong_outcome) in ["pass", "fail"].into_iter().enumerate() {
                let [noise, rate] = &limits[at];
                let done = anechoic(&["gate", arg(&recording), noise, rate, "--json"]);
                let json: serde_json::Value = serde_json::from_str(&done.out).expect("JSON");
                for rule in [0, 1] {
                    let found = &json["rules"][rule];
                    wrong[2 * rule + at] += usize::from(found["outcome"] == wrong_outcome);
                    let nothing = rule == 0 && found["findings"][0]["events"] == 0;
                    assert!(!nothing || found["outcome"] == "undecided", "{found}");
                    silent += usize::from(nothing && at == 0);
                }
            }
        }
        // At 5 % each, more than three of 12 come once in 450 times.
        assert!(wrong.iter().all(|wrong| *wrong <= 3), "{expected} expected: {wrong:?}");
        assert!(expected > 1.0 || silent > 0, "{expected} expected: {silent} silent");
    }
}
