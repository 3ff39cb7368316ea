//! `anechoic gate` as a health check: one line and the exit codes of the program that watches, the newest recording and its
//! age.

use crate::tool::{ANECHOIC, anechoic, arg, command};
use jiff::{SignedDuration, Timestamp};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples").join(name)
}

/// Copies an example that started and ended at these times.
fn copy(name: &str, to: &Path, start: Timestamp, end: Timestamp) {
    let copied = command("cp", &["-r", arg(&example(name)), arg(to)]);
    assert_eq!(copied.code, Some(0), "{}", copied.err);
    fs::remove_file(to.join("SHA256SUMS")).expect("it has checksums");
    let text = fs::read_to_string(to.join("run.json")).expect("it has one");
    let mut run: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    (run["start_utc"], run["end_utc"]) = (start.to_string().into(), end.to_string().into());
    fs::write(to.join("run.json"), run.to_string()).expect("written");
}

/// Copies an example, with an end that lies this many hours back.
fn copy_from(name: &str, to: &Path, hours_ago: i64) {
    let end = Timestamp::now() - SignedDuration::from_hours(hours_ago);
    copy(name, to, end - SignedDuration::from_secs(5), end);
}

/// Runs a gate in both styles: it prints one line and nothing else. Returns both codes and lines.
fn both(recordings: &Path, rest: &[&str]) -> [(i32, String); 2] {
    ["nagios", "npd"].map(|style| {
        let done = anechoic(&[&["gate", arg(recordings), "--style", style], rest].concat());
        assert_eq!(done.err, "", "{style} {rest:?}");
        let line = done.out.strip_suffix('\n').expect("a line").to_owned();
        assert!(!line.contains('\n'), "{style} {rest:?}: {line}");
        assert!(style == "nagios" || line.len() <= 80, "{rest:?}: {line}");
        (done.code.expect("an exit code"), line)
    })
}

/// The codes are those of the Nagios plugin API and of node-problem-detector (pkg/custompluginmonitor/types).
#[test]
fn a_verdict_and_an_error_are_one_line_with_the_codes_of_the_program_that_watches() {
    let before = example("before");
    let cases: [(&[&str], [i32; 2], &str, &str); 10] = [
        (
            &["--max-noise", "6%"],
            [0, 0],
            "ANECHOIC OK - 1 rule holds · 1 recording of 5.0 s · 1 CPU | 'max-noise'=3.8089%;;6;0",
            "1 rule holds · 1 recording of 5.0 s · 1 CPU",
        ),
        (
            &["--max-noise", "1%", "--max-detour", "10ms", "--max-rate", "thread:*>50us=1/s"],
            [2, 1],
            "ANECHOIC CRITICAL - max-noise 1%: CPU 1: 3.81 %, at least 3.57 %",
            "max-noise 1%: CPU 1: 3.81 %; thread telemetryd took 33 % of it; 1 more rule fail",
        ),
        (&["--max-noise", "3.81%"], [3, 3], "ANECHOIC UNKNOWN - max-noise 3.81%: CPU 1", "max-"),
        (&["--max-noise", "6%", "--max-rate", "nmi=1/h"], [3, 3], "ANECHOIC UNKNOWN - max-r", "m"),
        (&[], [3, 3], "ANECHOIC UNKNOWN - no rule is given", "no rule is given"),
        (&["--max-noise", "6"], [3, 3], "ANECHOIC UNKNOWN - --max-noise: '6' is not", "--max-n"),
        (&["--bogus"], [3, 3], "ANECHOIC UNKNOWN - `anechoic gate` has no option", "`anechoic"),
        (&["--config", "/none"], [3, 3], "ANECHOIC UNKNOWN - /none: No such file", "/none: No "),
        (
            &["--max-noise", "6%", "--junit", "/none/x"],
            [3, 3],
            "ANECHOIC UNKNOWN - cannot write",
            "cannot",
        ),
        (&["--max-noise", "6%", "--json"], [3, 3], "ANECHOIC UNKNOWN - --style and", "--style"),
    ];
    for (rest, codes, nagios, npd) in cases {
        let [(nagios_code, nagios_line), (npd_code, npd_line)] = both(&before, rest);
        assert_eq!([nagios_code, npd_code], codes, "{rest:?}: {nagios_line}");
        assert!(nagios_line.starts_with(nagios), "{rest:?}: {nagios_line}");
        assert!(npd_line.starts_with(npd), "{rest:?}: {npd_line}");
    }
    let [(code, line), _] = both(&before, &["--max-detour", "10ms", "--max-rate", "nmi>1us=99/s"]);
    let values = "| 'max-detour'=0.00262756s;;0.01;0 'max-rate nmi >0.000001s'=0;;99;0";
    assert!(code == 0 && line.ends_with(values), "{line}");
    for (code, line) in both(Path::new("/none"), &["--max-noise", "1%"]) {
        assert!(code == 3 && line.contains("/none does not exist"), "{line}");
    }
}

/// A watcher may end before it has read the line, and a file of its log may be full.
#[test]
fn the_verdict_outlives_its_reader_but_not_its_log() {
    let before = example("before");
    let cases = [("nagios", "6%", 0), ("nagios", "1%", 2), ("npd", "1%", 1), ("npd", "3.81%", 3)];
    for (style, limit, code) in cases {
        let args = ["gate", arg(&before), "--style", style, "--max-noise", limit];
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let closed = Command::new(ANECHOIC).args(args).stdout(writer).output().expect("it runs");
        assert_eq!((closed.status.code(), &*closed.stderr), (Some(code), &b""[..]), "{args:?}");
        let full = fs::File::create("/dev/full").expect("there is one");
        let full = Command::new(ANECHOIC).args(args).stdout(full).output().expect("it runs");
        assert_eq!((full.status.code(), &*full.stderr), (Some(3), &b""[..]), "{args:?}");
    }
}

#[test]
fn a_recording_that_is_too_old_or_later_than_now_is_unknown() {
    let dir = tempfile::tempdir().expect("a directory");
    let now = Timestamp::now();
    let hours = |hours: i64| now + SignedDuration::from_hours(hours);
    let cases = [
        ("new", hours(-1), hours(-1), 0, "ended 60 min ago | 'max-noise'=3.8089%;;6;0 age=36"),
        ("old", hours(-3), hours(-3), 3, "the newest recording ended 3 h ago, more than 2 h"),
        ("later", hours(1), hours(1), 3, "later than this machine's clock, which was set"),
        ("set forward", hours(-1), hours(1), 3, "later than this machine's clock, which was set"),
        ("set back", hours(1), hours(-1), 3, "later than this machine's clock, which was set"),
    ];
    for (name, start, end, code, words) in cases {
        copy("before", &dir.path().join(name), start, end);
        let [nagios, npd] = both(&dir.path().join(name), &["--max-noise", "6%", "--max-age", "2h"]);
        assert_eq!((nagios.0, npd.0), (code, code), "{name}: {}", nagios.1);
        assert!(nagios.1.contains(words), "{name}: {}", nagios.1);
    }
    // A limit that is exceeded long ago shows nothing about now. The screen is refused, too.
    let old = dir.path().join("old");
    let rules = dir.path().join("gate.toml");
    fs::write(&rules, "max-noise = \"1%\"\nmax-age = \"2h\"\n").expect("written");
    assert_eq!(both(&old, &["--config", arg(&rules)]).map(|done| done.0), [3, 3]);
    let screen = anechoic(&["gate", arg(&old), "--config", arg(&rules)]);
    assert_eq!((screen.code, &*screen.out), (Some(3), ""));
    assert!(screen.is_one_clear_line(), "{}", screen.err);
    let longer = anechoic(&["gate", arg(&old), "--config", arg(&rules), "--max-age", "4h"]);
    assert_eq!(longer.code, Some(2), "the command line replaces it: {}", longer.err);
}

/// One example lost 3.81 %, the other much less.
#[test]
fn the_newest_recording_of_a_directory_is_judged() {
    let dir = tempfile::tempdir().expect("a directory");
    let (noisy, quiet) = ("before", "after");
    let judge = || both(dir.path(), &["--max-noise", "3%", "--max-age", "30h"]).map(|done| done.0);
    copy_from(noisy, &dir.path().join("a"), 20);
    assert_eq!(judge(), [2, 1]);
    copy_from(quiet, &dir.path().join("b"), 10);
    fs::write(dir.path().join("notes.txt"), "what else lies here").expect("written");
    assert_eq!(judge(), [0, 0], "the quiet one is newer");
    copy_from(noisy, &dir.path().join(".new"), 0);
    assert_eq!(judge(), [0, 0], "what is still being measured has a hidden name");
    copy_from(noisy, &dir.path().join("0"), 1);
    assert_eq!(judge(), [2, 1], "the name does not count");
    copy_from(quiet, &dir.path().join("damaged"), 0);
    fs::write(dir.path().join("damaged/run.json"), "{").expect("written");
    assert_eq!(judge(), [3, 3], "the newest cannot be read");
    let long_ago = Timestamp::now() - SignedDuration::from_hours(15);
    let touched = fs::File::open(dir.path().join("damaged")).expect("a directory");
    touched.set_modified(long_ago.into()).expect("set");
    assert_eq!(judge(), [2, 1], "an old one that is damaged does not count");
    // Two hosts of a job are one measurement, of which the worst decides.
    copy_from(quiet, &dir.path().join("host=b"), 0);
    assert_eq!(judge(), [0, 0]);
    copy_from(noisy, &dir.path().join("host=a"), 1);
    assert_eq!(judge(), [2, 1]);
}
