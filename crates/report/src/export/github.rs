//! The same benchmarks, as github-action-benchmark reads them.

use super::bencher::measures;
use super::{Export, Format, Holds, Recorded};
use anechoic_recording::Problem;
use serde_json::{Value, json};
use std::io::Write;

/// The row of the format.
pub(super) static FORMAT: Format = Format {
    id: "github-benchmark",
    title: "benchmarks for github-action-benchmark (JSON)",
    details: "The GitHub action benchmark-action/github-action-benchmark reads it with `tool: customSmallerIsBetter`, draws its history, \
              and fails above a threshold. The benchmarks and measures are those of `anechoic export bencher`.",
    extension: "json",
    binary: false,
    holds: Holds::Summary,
    takes: &[Recorded::Loops, Recorded::Program],
    options: &[],
    examples: "  anechoic export github-benchmark before -o benchmark.json",
    write,
};

/// Writes `[{name, unit, value, range}]`.
fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<(), Problem> {
    let entries = measures(export)?.into_iter().map(|measure| {
        let name = format!("{}: {}", measure.benchmark, measure.name);
        let mut entry = json!({ "name": name, "unit": measure.unit, "value": measure.value });
        if let Some(interval) = measure.interval {
            entry["range"] = format!("{:.4} to {:.4}", interval.low, interval.high).into();
        }
        entry
    });
    Ok(crate::json(&entries.collect::<Vec<Value>>(), out)?)
}
