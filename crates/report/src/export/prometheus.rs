//! Metrics of a recording in Prometheus' text format 0.0.4, as node_exporter's textfile collector reads it.

mod monitor;
mod releases;
mod wakeups;

pub use monitor::{MonitorCounts, monitor_metrics};

use super::{Export, Format, Holds, REASONS, Recorded};
use crate::style::plain;
use anechoic_analyze::noise::CpuNoise;
use anechoic_analyze::pace::{CpuPace, Pace};
use anechoic_analyze::program::ProgramFacts;
use anechoic_analyze::{Summary, folded, waits};
use anechoic_recording::Problem;
use anechoic_recording::options::{OptionRow, Value};
use anechoic_recording::sources::SOURCES;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The row of the format.
pub(super) static FORMAT: Format = Format {
    id: "prometheus",
    title: "metrics in Prometheus' text format 0.0.4",
    details: "node_exporter's textfile collector reads it from a file NAME.prom in its directory, which must be replaced as a \
              whole; -o does so. The metrics are the noise of the run with its interval, the number and length of detours, and \
              what each source took; they have no timestamps. What makes the measurement doubtful is a metric for each reason. Sources by \
              name are the 20 that took most, without numbers of CPUs, and all others together. --per-cpu adds a label. \
              Of wake-ups the metrics are their latencies by interval and kind of idle, and what made them late. \
              Metrics of a recorded program are its own times, and the releases of its threads by timers, with its name as a label: none is \
              the noise of a CPU.",
    extension: "prom",
    binary: false,
    holds: Holds::Summary,
    takes: &[Recorded::Loops, Recorded::Program, Recorded::WakeUps],
    options: OPTIONS,
    examples: "  anechoic export prometheus before -o /var/lib/node_exporter/anechoic.prom --force",
    write: |export, out| Ok(text(&families(export)?, out)?),
};

/// The options of both formats for metrics.
pub(super) static OPTIONS: &[OptionRow] = &[OptionRow::new(
    "per-cpu",
    Value::Flag,
    "",
    "Add metrics of each CPU, labelled with its number",
)];

/// Largest number of sources with a metric by name.
pub(super) const NAMED: usize = 20;
/// Stands for all other sources.
pub(super) const OTHER: &str = "other";

/// A metric with its samples.
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) help: &'static str,
    pub(super) samples: Vec<Sample>,
}

/// What kind of metric a family is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Summary,
    Info,
}

/// A value with what follows the name of its metric: an ending and labels.
pub(super) struct Sample {
    pub(super) suffix: &'static str,
    pub(super) labels: Vec<(&'static str, String)>,
    pub(super) value: f64,
}

/// Returns a gauge.
pub(super) fn gauge(name: &'static str, help: &'static str, samples: Vec<Sample>) -> Family {
    Family { name, kind: Kind::Gauge, help, samples }
}

/// Returns a sample without labels.
pub(super) fn bare(value: f64) -> Sample {
    Sample { suffix: "", labels: vec![], value }
}

/// Returns a sample with one label.
pub(super) fn labelled(label: &'static str, text: impl ToString, value: f64) -> Sample {
    Sample { labels: vec![(label, text.to_string())], ..bare(value) }
}

/// Returns the metrics of a recording.
pub(super) fn families(export: &Export<'_>) -> Result<Vec<Family>, Problem> {
    let mut families = Vec::from(run_families(export));
    if let Some(found) = export.found_wakeups()? {
        families.extend(wakeups::families(&found, export.answers.flag("per-cpu")));
        families.retain(|family| !family.samples.is_empty());
        return Ok(families);
    }
    let summary = export.summary()?;
    match &summary.run.program {
        Some(program) => {
            families.extend(program_families(&summary, program));
            let found = waits::releases(export.recording())?.filter(|found| !found.rows.is_empty());
            families.extend(found.iter().flat_map(|it| releases::families(it, &program.name)));
        }
        None => {
            families.extend(noise_families(&summary));
            families.extend(summary.pace.iter().map(pace_family));
            if export.answers.flag("per-cpu") {
                families.extend(cpu_families(&summary.cpus));
                families.extend(summary.pace.iter().flat_map(pace_families));
            }
        }
    }
    families.retain(|family| !family.samples.is_empty());
    Ok(families)
}

/// Returns the metrics of the run as a whole.
fn run_families(export: &Export<'_>) -> [Family; 4] {
    let run = export.run();
    let mut labels = vec![("method", run.method.clone()), ("version", run.tool_version.clone())];
    labels.extend(run.program.iter().map(|program| ("program", program.name.clone())));
    let info = Sample { suffix: "_info", labels, value: 1.0 };
    let start = run.start_utc.parse::<jiff::Timestamp>().ok();
    let start = start.map(|at| bare(at.as_millisecond() as f64 / 1e3)).into_iter().collect();
    let sound = if export.notes().is_empty() { 1.0 } else { 0.0 };
    let doubts = REASONS.iter().map(|reason| {
        let is_so = export.reasons().contains(reason);
        labelled("reason", reason, if is_so { 1.0 } else { 0.0 })
    });
    [
        Family {
            kind: Kind::Info,
            ..gauge("anechoic_run", "The measurement that these metrics are of.", vec![info])
        },
        gauge("anechoic_run_start_timestamp_seconds", "When the measurement began.", start),
        gauge(
            "anechoic_run_sound",
            "1 if the measurement ended as planned, lost nothing, passed its checks and had its CPUs for itself; 0 otherwise.",
            vec![bare(sound)],
        ),
        gauge(
            "anechoic_run_doubt",
            "1 for each reason why the measurement is not sound.",
            doubts.collect(),
        ),
    ]
}

/// Returns the metrics of the noise of all CPUs together.
fn noise_families(summary: &Summary) -> [Family; 9] {
    let total = &summary.total;
    let one = |value: f64| vec![bare(value)];
    let bounds =
        total.interval.iter().flat_map(|interval| [("low", interval.low), ("high", interval.high)]);
    let bounds = bounds.map(|(bound, value)| labelled("bound", bound, value)).collect();
    let (noise, longest) = by_source(summary);
    [
        gauge("anechoic_measured_cpus", "Number of measured CPUs.", one(summary.cpus.len() as f64)),
        gauge(
            "anechoic_measured_cpu_seconds",
            "Measured time, added up over CPUs.",
            one(seconds(total.wall_ns)),
        ),
        gauge(
            "anechoic_noise_ratio",
            "Share of the measured time that detours took.",
            one(total.noise),
        ),
        gauge("anechoic_noise_interval_ratio", "95 % interval of anechoic_noise_ratio.", bounds),
        Family {
            kind: Kind::Summary,
            ..gauge("anechoic_detour_seconds", "Durations of detours.", lengths(summary))
        },
        gauge(
            "anechoic_lost_detours",
            "Number of detours that were not stored.",
            one(total.lost_detours as f64),
        ),
        gauge(
            "anechoic_source_noise_ratio",
            "Share of the measured time that a source of noise took.",
            noise,
        ),
        gauge(
            "anechoic_source_longest_seconds",
            "Longest time that a source of noise took of one detour.",
            longest,
        ),
        gauge(
            "anechoic_named_source_noise_ratio",
            "Share of the measured time that a source of noise took, by name: the 20 that took most, and all others.",
            by_name(summary),
        ),
    ]
}

/// Returns the metrics of a recorded program, each with its name.
fn program_families(summary: &Summary, program: &ProgramFacts) -> [Family; 8] {
    let total = &summary.total;
    let label = || labelled("program", &program.name, 0.0);
    let one = |value: f64| vec![Sample { value, ..label() }];
    let wanted_s = seconds(total.wall_ns);
    let wall = program.wall_ns(summary.run.wall_ns).map(|ns| one(seconds(ns)));
    let kernel = program.account.map(|account| one(seconds(account.kernel_ns)));
    [
        gauge(
            "anechoic_program_wall_seconds",
            "From the start of the recorded program to its end.",
            wall.unwrap_or_default(),
        ),
        gauge(
            "anechoic_program_cpu_seconds",
            "CPU time of the program by the kernel's own account.",
            kernel.unwrap_or_default(),
        ),
        gauge(
            "anechoic_program_executed_seconds",
            "For how long the threads of the program executed, without interrupts on top of them.",
            one(seconds(program.ran_ns)),
        ),
        gauge(
            "anechoic_program_lost_seconds",
            "For how long the program wanted a CPU and did not execute, added up over CPUs.",
            one(total.noise * wanted_s),
        ),
        gauge(
            "anechoic_program_lost_ratio",
            "Share of the time in which the program wanted a CPU that it lost.",
            one(total.noise),
        ),
        Family {
            kind: Kind::Summary,
            ..gauge(
                "anechoic_program_detour_seconds",
                "Durations of the intervals in which the program wanted a CPU and did not execute.",
                with_program(lengths(summary), &program.name, 1.0),
            )
        },
        gauge(
            "anechoic_program_source_lost_seconds",
            "What a source took from the program.",
            with_program(by_source(summary).0, &program.name, wanted_s),
        ),
        gauge(
            "anechoic_program_named_source_lost_seconds",
            "What a source took from the program, by name: the 20 that took most, and all others.",
            with_program(by_name(summary), &program.name, wanted_s),
        ),
    ]
}

/// Returns these samples with the name of their program as a label, and their values multiplied by `factor`.
fn with_program(mut samples: Vec<Sample>, program: &str, factor: f64) -> Vec<Sample> {
    for sample in &mut samples {
        sample.labels.insert(0, ("program", program.to_owned()));
        sample.value *= factor;
    }
    samples
}

/// Returns the metrics of the pace between detours of all CPUs together.
fn pace_family(pace: &Pace) -> Family {
    gauge(
        "anechoic_slow_ratio",
        "Share of the measured time that a pace slower than calm took between detours; not part of the noise.",
        vec![bare(pace.slow)],
    )
}

/// Returns the metrics of the pace of each CPU.
fn pace_families(pace: &Pace) -> [Family; 2] {
    let each = |value: fn(&CpuPace) -> f64| {
        pace.cpus.iter().map(|cpu| labelled("cpu", cpu.cpu, value(cpu))).collect()
    };
    [
        gauge(
            "anechoic_cpu_slow_ratio",
            "Share of the measured time of a CPU that a slower pace took.",
            each(|cpu| cpu.slow),
        ),
        gauge(
            "anechoic_cpu_calm_iteration_seconds",
            "Time of an iteration of the loop at the calm pace of a CPU.",
            each(|cpu| cpu.calm_ns / 1e9),
        ),
    ]
}

/// Returns the metrics of each CPU.
fn cpu_families(cpus: &[CpuNoise]) -> [Family; 3] {
    let each = |value: fn(&CpuNoise) -> f64| {
        cpus.iter().map(|cpu| labelled("cpu", cpu.cpu, value(cpu))).collect()
    };
    let longest =
        |cpu: &CpuNoise| cpu.lengths.as_ref().map_or(0.0, |lengths| seconds(lengths.max_ns));
    [
        gauge(
            "anechoic_cpu_noise_ratio",
            "Share of the measured time of a CPU that detours took.",
            each(|cpu| cpu.noise),
        ),
        gauge(
            "anechoic_cpu_detours",
            "Number of detours of a CPU.",
            each(|cpu| cpu.detours as f64),
        ),
        gauge("anechoic_cpu_longest_detour_seconds", "Longest detour of a CPU.", each(longest)),
    ]
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Returns quantiles, sum and count of the durations of all detours.
fn lengths(summary: &Summary) -> Vec<Sample> {
    let total = &summary.total;
    let lengths = total.lengths.as_ref();
    let quantiles = lengths.into_iter().flat_map(|known| {
        [("0.5", known.p50_ns), ("0.99", known.p99_ns), ("1", known.max_ns)]
            .map(|(quantile, ns)| labelled("quantile", quantile, seconds(ns)))
    });
    let sum = lengths.map_or(0.0, |known| known.mean_ns * total.detours as f64 / 1e9);
    let ends = [("_sum", sum), ("_count", total.detours as f64)];
    let ends = ends.map(|(suffix, value)| Sample { suffix, ..bare(value) });
    quantiles.chain(ends).collect()
}

/// Returns noise and longest time of each source, of those without any too; nothing if the recording is not attributed.
fn by_source(summary: &Summary) -> (Vec<Sample>, Vec<Sample>) {
    let Some(breakdown) = &summary.sources else { return (vec![], vec![]) };
    let mut sums: BTreeMap<&str, (f64, u64)> =
        SOURCES.iter().map(|source| (source.id, (0.0, 0))).collect();
    for row in &breakdown.rows {
        let (noise, longest) = sums.entry(&row.source).or_default();
        *noise += row.noise;
        *longest = (*longest).max(row.charged.max_ns);
    }
    let sample = |(source, value): (&&str, f64)| labelled("source", source, value);
    let noise = sums.iter().map(|(source, sum)| sample((source, sum.0))).collect();
    let longest = sums.iter().map(|(source, sum)| sample((source, seconds(sum.1)))).collect();
    (noise, longest)
}

/// Returns the noise of the sources by name that took most, and of all others together; nothing if the recording is not
/// attributed. Numbers of CPUs are left out, so that a thread of each CPU is one source.
fn by_name(summary: &Summary) -> Vec<Sample> {
    let Some(breakdown) = &summary.sources else { return vec![] };
    let mut sums: BTreeMap<(&str, String), f64> = BTreeMap::new();
    for row in &breakdown.rows {
        *sums.entry((&row.source, folded(&row.source, &row.name))).or_default() += row.noise;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    let rest: f64 = sums.split_off(sums.len().min(NAMED)).into_iter().map(|(_, noise)| noise).sum();
    let other = std::iter::once(((OTHER, String::new()), rest));
    let all = sums.into_iter().chain(other);
    all.map(|((source, name), noise)| Sample {
        labels: vec![("source", source.to_owned()), ("name", name)],
        ..bare(noise)
    })
    .collect()
}

/// Writes families in the text format 0.0.4, which knows no info: such a metric is a gauge with the name of its sample.
fn text(families: &[Family], out: &mut dyn Write) -> io::Result<()> {
    for family in families {
        let (kind, end) = match family.kind {
            Kind::Counter => ("counter", ""),
            Kind::Gauge => ("gauge", ""),
            Kind::Summary => ("summary", ""),
            Kind::Info => ("gauge", "_info"),
        };
        let name = family.name;
        writeln!(out, "# HELP {name}{end} {}\n# TYPE {name}{end} {kind}", family.help)?;
        samples(family, out)?;
    }
    Ok(())
}

/// Writes the samples of a family, one a line.
pub(super) fn samples(family: &Family, out: &mut dyn Write) -> io::Result<()> {
    for Sample { suffix, labels, value } in &family.samples {
        let labels: Vec<String> =
            labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text))).collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        writeln!(out, "{}{suffix}{labels} {value}", family.name)?;
    }
    Ok(())
}

/// Returns the value of a label as it stands in quotes.
fn escaped(text: &str) -> String {
    plain(text).replace('\\', "\\\\").replace('"', "\\\"")
}
