//! Suites whose sets are missing, strange, or being measured.

use crate::tool::{self, anechoic, arg, signal, start, wait};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Measures a suite of short sets into this directory.
fn measured(dir: &Path, repeat: &str) {
    let done = anechoic(&[
        "suite",
        "selfish",
        "--duration",
        "200ms",
        "--repeat",
        repeat,
        "-q",
        "-o",
        arg(dir),
    ]);
    assert!(matches!(done.code, Some(0 | 1)), "{}", done.err);
}

#[test]
fn what_is_missing_and_what_is_no_set_is_named() {
    let _alone = tool::alone();
    let place = tempfile::tempdir().expect("a directory");
    let (dir, other) = (place.path().join("suite"), place.path().join("other"));
    measured(&dir, "3");
    measured(&other, "1");
    let show = || anechoic(&["suite", "selfish", "--show", arg(&dir), "-q", "--json"]);
    let whole = show();
    assert_eq!((whole.err.as_str(), whole.out.lines().count() > 2), ("", true));
    fs::rename(dir.join("run-02"), place.path().join("gone")).expect("moved");
    fs::rename(other.join("run-01"), dir.join("run-04")).expect("moved");
    let alone = anechoic(&["run", "-d", "200ms", "-q", "-o", arg(&dir.join("stranger"))]);
    assert!(matches!(alone.code, Some(0 | 1)), "{}", alone.err);
    let less = show();
    assert_eq!(less.code, Some(1), "{}", less.err);
    assert!(less.err.contains("1 of 3 sets is missing: run-02."), "{}", less.err);
    assert!(
        less.err.contains("run-04 is left out: it was measured with other options"),
        "{}",
        less.err
    );
    assert!(less.err.contains("stranger is left out: it was measured by `"), "{}", less.err);
    let sets = |text: &str| -> Vec<String> {
        let document: Value = serde_json::from_str(text).expect("one document");
        let sets = document["sets"].as_array().expect("sets").iter();
        sets.map(|set| set["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(sets(&whole.out), ["run-01", "run-02", "run-03"]);
    assert_eq!(sets(&less.out), ["run-01", "run-03"]);
}

/// The page of a suite begins with the paper, also when it is written later or without names; that of a set does not.
#[test]
fn the_page_of_a_suite_begins_with_its_paper() {
    let _alone = tool::alone();
    let place = tempfile::tempdir().expect("a directory");
    let (dir, page) = (place.path().join("suite"), place.path().join("page.html"));
    measured(&dir, "2");
    let shown = ["suite", "selfish", "--show", arg(&dir), "-q", "--html", arg(&page)];
    let again = anechoic(&shown);
    assert!(matches!(again.code, Some(0 | 1)), "{}", again.err);
    assert!(again.err.contains("page.html"), "{}", again.err);
    let text = fs::read_to_string(&page).expect("a page");
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what}"));
    assert!(at("id=\"paper\"") < at("id=\"r1\"") && at("id=\"r1\"") < at("id=\"r2\""));
    assert!(text.contains("Figure 1. </b>Noise of detours over 1 µs"), "the figure of the paper");
    let refused = anechoic(&shown);
    assert_eq!(refused.code, Some(73), "{}", refused.err);
    assert_eq!(anechoic(&[&shown[..], &["--force"]].concat()).code, again.code);
    let report = |from: &Path, more: &[&str]| {
        let page = place.path().join("later.html");
        let done = anechoic(&[&["report", arg(from), "--force", "-o", arg(&page)], more].concat());
        assert!(matches!(done.code, Some(0 | 1)), "{}", done.err);
        fs::read_to_string(page).expect("a page")
    };
    assert_eq!(report(&dir, &[]), text, "the same page later");
    let public = report(&dir, &["--redact"]);
    assert!(public.contains("id=\"paper\"") && public.contains("Table II"));
    assert!(!public.contains(arg(&dir)), "no path");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let named = format!("{} ·", host.trim());
    assert!(text.contains(&named) && !public.contains(&named), "no host");
    assert!(!report(&dir.join("run-01"), &[]).contains("id=\"paper\""), "one set by itself");
}

#[test]
fn a_set_that_another_process_measures_is_not_removed() {
    let _alone = tool::alone();
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path().join("suite");
    let long = ["suite", "selfish", "--duration", "30s", "--repeat", "1", "-q", "-o", arg(&dir)];
    let mut first = start(&long);
    let (run, begun) = (dir.join("run-01/run.json"), Instant::now());
    while !run.exists() {
        assert!(
            begun.elapsed() < Duration::from_secs(20)
                && first.try_wait().is_ok_and(|end| end.is_none())
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let second = anechoic(&[&long[..], &["--resume"]].concat());
    assert!(run.exists(), "the set of a living process is still there");
    assert_eq!(second.code, Some(64), "{}", second.err);
    assert!(
        second.is_one_clear_line() && second.err.contains("another suite is being measured into")
    );
    signal(&first, "INT");
    assert!(matches!(wait(first).code, Some(0 | 1)));
}
