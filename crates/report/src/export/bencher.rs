//! Results as benchmarks, in Bencher Metric Format.

use super::{Export, Format, Holds, Recorded};
use anechoic_analyze::lengths::Lengths;
use anechoic_analyze::noise::TotalNoise;
use anechoic_analyze::program::ProgramFacts;
use anechoic_analyze::stats::Interval;
use anechoic_analyze::{Breakdown, Summary};
use anechoic_recording::Problem;
use serde_json::{Map, Value, json};
use std::io::Write;

/// The row of the format.
pub(super) static FORMAT: Format = Format {
    id: "bencher",
    title: "benchmarks in Bencher Metric Format (JSON)",
    details: "`bencher run --adapter json --file FILE` reads it. The benchmarks are all CPUs together, each CPU, and each source of \
              noise. Their measures are noise-percent, of all CPUs with its 95 % interval as lower and upper value; and \
              detours-per-second, detour-p99-ns and detour-max-ns. A recorded program has wall-seconds, cpu-seconds, lost-percent, \
              detour-p99-ns and detour-max-ns, and lost-percent of each source. Smaller is better for each.",
    extension: "json",
    binary: false,
    holds: Holds::Summary,
    takes: &[Recorded::Loops, Recorded::Program],
    options: &[],
    examples: "  anechoic export bencher before -o bmf.json\n  bencher run --adapter json --file bmf.json",
    write,
};

/// One measure of one benchmark. Smaller values are better.
pub(super) struct Measure {
    pub(super) benchmark: String,
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) value: f64,
    pub(super) interval: Option<Interval>,
}

/// Returns the measures of a recording, benchmark by benchmark.
pub(super) fn measures(export: &Export<'_>) -> Result<Vec<Measure>, Problem> {
    let Summary { run, total, cpus, sources, .. } = export.summary()?.into_owned();
    if let Some(program) = &run.program {
        return Ok(program_measures(program, run.wall_ns, &total, sources.as_ref()));
    }
    let mut measures = detour_measures(
        "all CPUs",
        (total.noise, total.interval),
        total.rate_per_s,
        total.lengths.as_ref(),
    );
    for cpu in cpus {
        let name = format!("CPU {}", cpu.cpu);
        measures.extend(detour_measures(
            &name,
            (cpu.noise, cpu.interval),
            cpu.rate_per_s,
            cpu.lengths.as_ref(),
        ));
    }
    for row in sources.iter().flat_map(|breakdown| &breakdown.rows) {
        let name = format!("{} {}", row.source, row.name);
        measures.push(noise(name.trim(), row.noise, None));
    }
    Ok(measures)
}

fn measure(benchmark: &str, name: &'static str, unit: &'static str, value: f64) -> Measure {
    Measure { benchmark: benchmark.trim().to_owned(), name, unit, value, interval: None }
}

/// Returns the measures of a recorded program. There are none for single CPUs. `recorded_ns` is for how long it was recorded.
fn program_measures(
    program: &ProgramFacts,
    recorded_ns: u64,
    total: &TotalNoise,
    sources: Option<&Breakdown>,
) -> Vec<Measure> {
    let seconds = |name, ns: u64| measure(&program.name, name, "s", ns as f64 / 1e9);
    let wall = program.wall_ns(recorded_ns).map(|ns| seconds("wall-seconds", ns));
    let cpu = program.account.map(|account| seconds("cpu-seconds", account.kernel_ns));
    let mut measures: Vec<Measure> = wall.into_iter().chain(cpu).collect();
    measures.push(measure(&program.name, "lost-percent", "%", 100.0 * total.noise));
    let lengths = total.lengths.iter().flat_map(|known| {
        [("detour-p99-ns", known.p99_ns), ("detour-max-ns", known.max_ns)]
            .map(|(name, ns)| measure(&program.name, name, "ns", ns as f64))
    });
    measures.extend(lengths);
    let rows = sources.into_iter().flat_map(|breakdown| &breakdown.rows);
    measures.extend(rows.map(|row| {
        let name = format!("{}: {} {}", program.name, row.source, row.name);
        measure(&name, "lost-percent", "%", 100.0 * row.noise)
    }));
    measures
}

/// Returns noise, rate and lengths of the detours of a benchmark.
fn detour_measures(
    benchmark: &str,
    (share, interval): (f64, Option<Interval>),
    rate_per_s: f64,
    lengths: Option<&Lengths>,
) -> Vec<Measure> {
    let measure = |name, unit, value| Measure {
        benchmark: benchmark.to_owned(),
        name,
        unit,
        value,
        interval: None,
    };
    let rate = measure("detours-per-second", "1/s", rate_per_s);
    let lengths = lengths.into_iter().flat_map(|known| {
        [("detour-p99-ns", known.p99_ns), ("detour-max-ns", known.max_ns)]
            .map(|(name, ns)| measure(name, "ns", ns as f64))
    });
    [noise(benchmark, share, interval), rate].into_iter().chain(lengths).collect()
}

fn noise(benchmark: &str, share: f64, interval: Option<Interval>) -> Measure {
    let percent =
        |bounds: Interval| Interval { low: 100.0 * bounds.low, high: 100.0 * bounds.high };
    let (benchmark, interval) = (benchmark.to_owned(), interval.map(percent));
    Measure { benchmark, name: "noise-percent", unit: "%", value: 100.0 * share, interval }
}

/// Writes `{benchmark: {measure: {value, lower_value, upper_value}}}`.
fn write(export: &Export<'_>, out: &mut dyn Write) -> Result<(), Problem> {
    let mut benchmarks: Map<String, Value> = Map::new();
    for Measure { benchmark, name, value, interval, .. } in measures(export)? {
        let mut metric = json!({ "value": value });
        if let Some(Interval { low, high }) = interval {
            (metric["lower_value"], metric["upper_value"]) = (low.into(), high.into());
        }
        benchmarks.entry(benchmark).or_insert_with(|| json!({}))[name] = metric;
    }
    Ok(crate::json(&benchmarks, out)?)
}
