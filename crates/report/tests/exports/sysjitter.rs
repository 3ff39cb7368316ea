//! sysjitter's table, read as scripts that plot it do.

use super::{DETOURS, ITERATION, text};
use std::collections::BTreeMap;

/// Reads the table as plot-sysjitter.py does: the label up to the colon, then a number for each CPU.
fn rows(text: &str) -> BTreeMap<&str, Vec<f64>> {
    text.lines().map(row).collect()
}

fn row(line: &str) -> (&str, Vec<f64>) {
    let mut words = line.split_whitespace();
    let label = words.next().and_then(|word| word.split(':').next()).expect("a label");
    (label, words.map(|word| word.parse().expect("a number")).collect())
}

#[test]
fn the_table_has_the_labels_and_the_order_statistics_of_sysjitter() {
    let text = text("sysjitter");
    let labels: Vec<&str> = text.lines().filter_map(|line| line.split(": ").next()).collect();
    let expected = "core_i threshold(ns) cpu_mhz runtime(ns) runtime(s) int_n int_n_per_sec int_min(ns) int_median(ns) \
                    int_mean(ns) int_90(ns) int_99(ns) int_999(ns) int_9999(ns) int_99999(ns) int_max(ns) int_total(ns) \
                    int_total(%)";
    assert_eq!(labels.join(" "), expected, "those of sysjitter 1.4, in its order");
    let rows = rows(&text);
    let cases: [(&str, [f64; 2]); 11] = [
        ("core_i", [0.0, 1.0]),
        ("threshold(ns)", [90.0; 2]),
        ("cpu_mhz", [1_000.0; 2]),
        ("runtime(ns)", [3e9; 2]),
        ("runtime(s)", [3.0; 2]),
        ("int_n", [3.0; 2]),
        ("int_n_per_sec", [1.0; 2]),
        ("int_min(ns)", [310.0, 100.0]),
        ("int_mean(ns)", [68_443.0, 413_895.0]),
        ("int_max(ns)", [200_010.0, 1_234_577.0]),
        ("int_total(%)", [0.007, 0.041]),
    ];
    for (label, expected) in cases {
        assert_eq!(rows[label], expected, "{label}");
    }
    for (cpu, detours) in DETOURS.iter().enumerate() {
        let mut sorted: Vec<u64> = detours.iter().map(|(_, lost)| lost + ITERATION).collect();
        sorted.sort_unstable();
        for (label, share) in [("int_median(ns)", 0.5), ("int_90(ns)", 0.9), ("int_999(ns)", 0.999)]
        {
            let expected = sorted[(sorted.len() as f64 * share) as usize] as f64; // as in sysjitter.c
            let found = rows[label][cpu];
            assert!((found - expected).abs() <= expected / 1e3, "{label}: {found} {expected}");
        }
        assert_eq!(rows["int_total(ns)"][cpu], sorted.iter().sum::<u64>() as f64);
    }
}
