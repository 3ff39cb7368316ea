//! Suites whose sets are missing or strange.

use crate::tool::{anechoic, arg};
use std::fs;
use std::path::Path;

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
    assert!(less.err.contains("1 of 3 sets is missing or not complete: run-02;"), "{}", less.err);
    assert!(
        less.err.contains("run-04 is left out: it was measured with other options"),
        "{}",
        less.err
    );
    assert!(less.err.contains("stranger is left out: it was measured by `"), "{}", less.err);
    let documents = |text: &str| text.lines().filter(|line| *line == "{").count();
    assert_eq!(documents(&less.out) * 3, documents(&whole.out) * 2, "run-01 and run-03");
}
