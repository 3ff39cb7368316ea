//! Benchmarks for services that follow them over time.

use super::text;
use serde_json::Value;

fn near(found: &Value, expected: f64) {
    let found = found.as_f64().expect("a number");
    assert!((found - expected).abs() <= 1e-9 * expected, "{found} {expected}");
}

/// Lost time of all CPUs, in percent.
const NOISE: f64 = 100.0 * (5_000.0 + 200_000.0 + 300.0 + 7_000.0 + 1_234_567.0 + 90.0) / 6e9;

#[test]
fn bencher_has_measures_by_benchmark() {
    let found: Value = serde_json::from_str(&text("bencher")).expect("JSON");
    near(&found["all CPUs"]["noise-percent"]["value"], NOISE);
    near(&found["CPU 1"]["detours-per-second"]["value"], 1.0);
    near(&found["CPU 0"]["detour-max-ns"]["value"], 200_000.0);
    near(&found["softirq RCU"]["noise-percent"]["value"], 100.0 * 1_000.0 / 6e9);
    for (name, measures) in found.as_object().expect("benchmarks") {
        for (measure, metric) in measures.as_object().expect("measures") {
            let metric = metric.as_object().expect("a metric");
            assert!(metric["value"].is_f64(), "{name}: {measure}");
            let known = |key: &String| ["value", "lower_value", "upper_value"].contains(&&**key);
            assert!(metric.keys().all(known), "{name}: {measure}");
        }
    }
}

#[test]
fn github_has_a_list_of_the_same_measures() {
    let found: Value = serde_json::from_str(&text("github-benchmark")).expect("JSON");
    let entries = found.as_array().expect("a list");
    let named = |name: &str| entries.iter().find(|entry| entry["name"] == name).expect("an entry");
    near(&named("all CPUs: noise-percent")["value"], NOISE);
    assert_eq!(named("CPU 0: detour-max-ns")["unit"], "ns");
    for entry in entries {
        let keys: Vec<&String> = entry.as_object().expect("an entry").keys().collect();
        let known = |key: &&String| ["name", "unit", "value", "range"].contains(&key.as_str());
        assert!(keys.iter().all(known) && entry["value"].is_f64(), "{entry}");
    }
}
