//! Tests `anechoic predict laws` on what loops measured.

use crate::tool::{self, anechoic, arg};
use serde_json::Value;

/// A sample counts as delayed where `summary` counts it as slower than the main body.
#[test]
fn delays_of_loops_are_those_of_their_slow_samples() {
    let _alone = tool::alone();
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path().join("r");
    let args = ["measure", "loops", "--samples", "2000", "--grain", "100us", "-q", "-o", arg(&dir)];
    let done = anechoic(&args);
    assert!(matches!(done.code, Some(0 | 1 | 3)), "{}", done.err);
    let summary = anechoic(&["summary", "--json", arg(&dir)]);
    let summary: Value = serde_json::from_str(&summary.out).expect(&summary.err);
    let series = summary["series"].as_array().expect("series");
    let sum = |key: [&str; 2]| -> f64 {
        series
            .iter()
            .map(|row| &row["distribution"])
            .filter_map(|distribution| {
                if key[1].is_empty() {
                    distribution[key[0]].as_f64()
                } else {
                    distribution[key[0]][key[1]].as_f64()
                }
            })
            .sum()
    };
    let (samples, delays) = (sum(["samples", ""]), sum(["slowies", "count"]));
    let done =
        anechoic(&["predict", "laws", arg(&dir), "--grain", "1us", "--ranks", "10", "--json"]);
    if delays == 0.0 || delays > samples / 2.0 {
        assert_eq!(done.code, Some(3), "{}{}", done.out, done.err);
        return;
    }
    let found: Value = serde_json::from_str(&done.out).expect(&done.err);
    assert_eq!(found["observed"]["samples"].as_f64(), Some(samples));
    assert_eq!(found["observed"]["delays"].as_f64(), Some(delays));
    let every_ns = found["every_ns"].as_f64().expect("a number");
    let p = found["grains"][0]["p"].as_f64().expect("a number");
    assert!((p * every_ns / 1_000.0 - 1.0).abs() < 1e-6, "{found}");
}
