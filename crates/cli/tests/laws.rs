//! Tests `anechoic predict laws`, from its options and from recordings.

use crate::tool::{anechoic, arg};
use serde_json::Value;
use std::fs;

/// 1,000 detours of 10 µs, one each millisecond.
#[test]
fn delays_of_a_recording_are_those_of_its_detours() {
    let place = tempfile::tempdir().expect("a directory");
    let (table, dir) = (place.path().join("detours.csv"), place.path().join("r"));
    let rows: Vec<String> = (0..1_000).map(|at| format!("{},10\n", at * 1_000)).collect();
    fs::write(&table, format!("start,duration\n{}", rows.concat())).expect("written");
    let done = anechoic(&["import", "csv", arg(&table), "--unit", "us", "-o", arg(&dir)]);
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    let laws = |grain: &str| {
        anechoic(&["predict", "laws", arg(&dir), "--grain", grain, "--ranks", "10", "--json"])
    };
    let done = laws("100us,5ms");
    let found: Value = serde_json::from_str(&done.out).expect(&done.err);
    let near = |value: &Value, expected: f64| {
        value.as_f64().is_some_and(|value| (value / expected - 1.0).abs() < 0.002)
    };
    assert!(near(&found["delay_ns"], 10_000.0) && near(&found["every_ns"], 0.99e6), "{found}");
    assert!(near(&found["grains"][0]["p"], 0.1 / 0.99), "{found}");
    assert_eq!(found["too_long_ns"][0], 5_000_000, "five delays in a phase");
    assert_eq!(found["observed"]["delays"], 1_000, "{found}");
    assert_eq!(laws("5ms").code, Some(64), "no grain is left");
}

/// D and the time between two are given, or read: not both.
#[test]
fn what_is_given_excludes_a_recording() {
    let done = anechoic(&["predict", "laws", "nowhere", "--delay", "1ms"]);
    assert_eq!(done.code, Some(64), "{}", done.err);
    let done = anechoic(&["predict", "laws", "--delay", "1ms", "--every", "20ms", "--ranks", "10"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.out.contains("every 20 ms"), "{}", done.out);
}
