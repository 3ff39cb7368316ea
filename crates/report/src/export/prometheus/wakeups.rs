//! The metrics of wake-ups.

use super::{Family, Kind as Metric, NAMED, OTHER, Sample, bare, gauge};
use anechoic_analyze::wakeup::{Causes, Latencies, WakeSource};
use anechoic_analyze::{Wakeup, folded};
use std::collections::BTreeMap;

/// The names of the metrics of a kind of wake-ups.
struct Names {
    latency: &'static str,
    late: &'static str,
    ratio: &'static str,
    bounds: &'static str,
    overruns: &'static str,
    lost: &'static str,
}

const OF_ALL: Names = Names {
    latency: "anechoic_wakeup_latency_seconds",
    late: "anechoic_late_wakeups",
    ratio: "anechoic_late_wakeup_ratio",
    bounds: "anechoic_late_wakeup_interval_ratio",
    overruns: "anechoic_wakeup_overruns",
    lost: "anechoic_lost_wakeups",
};
const OF_CPU: Names = Names {
    latency: "anechoic_cpu_wakeup_latency_seconds",
    late: "anechoic_cpu_late_wakeups",
    ratio: "anechoic_cpu_late_wakeup_ratio",
    bounds: "anechoic_cpu_late_wakeup_interval_ratio",
    overruns: "anechoic_cpu_wakeup_overruns",
    lost: "anechoic_cpu_lost_wakeups",
};

/// Returns the metrics of wake-ups: of all CPUs together, and on request those of each.
pub(super) fn families(found: &Wakeup, per_cpu: bool) -> Vec<Family> {
    let all: Vec<&Latencies> = found.whole().collect();
    let limit = vec![bare(found.late_ns as f64 / 1e9)];
    let mut families = vec![gauge(
        "anechoic_wakeup_late_limit_seconds",
        "A wake-up that took longer is late.",
        limit,
    )];
    families.extend(named_families(&OF_ALL, &all, false));
    if per_cpu {
        let cpus: Vec<&Latencies> = found.rows.iter().filter(|row| row.cpu.is_some()).collect();
        families.extend(named_families(&OF_CPU, &cpus, true));
    }
    families.extend(found.causes.iter().flat_map(by_source));
    families
}

/// Returns the metrics of these rows.
fn named_families(names: &Names, rows: &[&Latencies], per_cpu: bool) -> [Family; 6] {
    let each = |value: fn(&Latencies) -> Vec<Sample>| {
        rows.iter().flat_map(|row| with_kind(row, per_cpu, value(row))).collect()
    };
    [
        Family {
            kind: Metric::Summary,
            ..gauge(
                names.latency,
                "From the programmed expiry of a timer until its thread ran.",
                each(latencies),
            )
        },
        gauge(names.late, "Number of late wake-ups.", each(|row| vec![bare(row.late as f64)])),
        gauge(
            names.ratio,
            "Share of the wake-ups that were late.",
            each(|row| {
                let share = (row.samples > 0).then(|| row.late as f64 / row.samples as f64);
                share.map(bare).into_iter().collect()
            }),
        ),
        gauge(
            names.bounds,
            "Bounds of the share of late wake-ups, each with a probability of 95 %.",
            each(bounds),
        ),
        gauge(
            names.overruns,
            "Number of expiries that passed before a thread could sleep again.",
            each(|row| vec![bare(row.overruns as f64)]),
        ),
        gauge(
            names.lost,
            "Number of wake-ups that were measured and not stored.",
            each(|row| vec![bare(row.lost as f64)]),
        ),
    ]
}

/// Adds the labels of a row.
fn with_kind(row: &Latencies, per_cpu: bool, samples: Vec<Sample>) -> Vec<Sample> {
    let mut labels = vec![
        ("interval_seconds", (row.interval_ns as f64 / 1e9).to_string()),
        ("idle", crate::results::wakeup::idle(row.shallow)),
    ];
    labels.extend(row.call.map(|call| ("woken_by", call.name().to_owned())));
    labels.extend(row.cpu.filter(|_| per_cpu).map(|cpu| ("cpu", cpu.to_string())));
    let with =
        |sample: Sample| Sample { labels: [labels.clone(), sample.labels].concat(), ..sample };
    samples.into_iter().map(with).collect()
}

fn latencies(row: &Latencies) -> Vec<Sample> {
    let known = [
        ("0", row.min_ns),
        ("0.5", row.p50_ns),
        ("0.99", row.p99_ns),
        ("0.999", row.p999_ns),
        ("1", row.max_ns),
    ];
    let quantile = |(quantile, ns): (&str, Option<f64>)| {
        Some(Sample { labels: vec![("quantile", quantile.into())], ..bare(ns? / 1e9) })
    };
    let number = Sample { suffix: "_count", ..bare(row.samples as f64) };
    known.into_iter().filter_map(quantile).chain([number]).collect()
}

fn bounds(row: &Latencies) -> Vec<Sample> {
    let bounds = row.late_share.iter().flat_map(|share| [("low", share.low), ("high", share.high)]);
    bounds
        .map(|(bound, value)| Sample { labels: vec![("bound", bound.into())], ..bare(value) })
        .collect()
}

/// Returns the share of each source in the time of all wake-ups and of the late ones: the sources by name that took most, and
/// all others together.
fn by_source(causes: &Causes) -> [Family; 2] {
    let all = named(causes, |source| Some(source.share));
    let late = named(causes, |source| source.share_late);
    [
        gauge(
            "anechoic_wakeup_source_ratio",
            "Share of the time of all wake-ups that a source took, by name: the 20 that took most, and all others.",
            all,
        ),
        gauge(
            "anechoic_late_wakeup_source_ratio",
            "Share of the time of late wake-ups that a source took, by name: the 20 that took most, and all others.",
            late,
        ),
    ]
}

fn named(causes: &Causes, share: fn(&WakeSource) -> Option<f64>) -> Vec<Sample> {
    let mut sums: BTreeMap<(&str, String), f64> = BTreeMap::new();
    for source in &causes.sources {
        let Some(share) = share(source) else { return vec![] };
        *sums.entry((&source.source, folded(&source.source, &source.name))).or_default() += share;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    let rest: f64 = sums.split_off(sums.len().min(NAMED)).into_iter().map(|(_, share)| share).sum();
    let other = ((OTHER, String::new()), rest);
    let all = sums.into_iter().chain([other]);
    let labels = |source: &str, name| vec![("source", source.to_owned()), ("name", name)];
    all.map(|((source, name), share)| Sample { labels: labels(source, name), ..bare(share) })
        .collect()
}
