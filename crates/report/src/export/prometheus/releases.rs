//! The metrics of the releases of a program's threads by timers.

use super::{Family, Kind, NAMED, Sample, bare, gauge, seconds};
use anechoic_analyze::waits::{ReleaseRow, Releases};

/// Returns the metrics of the threads with most late releases, each with the names of its program and of itself.
pub(super) fn families(found: &Releases, program: &str) -> [Family; 4] {
    let rows = &found.rows[..found.rows.len().min(NAMED)];
    let each = |value: fn(&ReleaseRow) -> Vec<Sample>| {
        rows.iter().flat_map(|row| labelled(program, row, value(row))).collect()
    };
    let limit =
        Sample { labels: vec![("program", program.to_owned())], ..bare(seconds(found.late_ns)) };
    [
        Family {
            kind: Kind::Summary,
            ..gauge(
                "anechoic_program_release_latency_seconds",
                "From the time for which a thread of the program had set its timer to the switch to the thread: the 20 threads with most late ones.",
                each(latencies),
            )
        },
        gauge(
            "anechoic_program_release_late_limit_seconds",
            "A release that took longer is late.",
            vec![limit],
        ),
        gauge(
            "anechoic_program_late_releases",
            "Number of late releases of a thread.",
            each(|row| vec![bare(row.late as f64)]),
        ),
        gauge(
            "anechoic_program_release_overruns",
            "Number of programmed times that had passed when a thread slept again.",
            each(|row| vec![bare(row.overruns as f64)]),
        ),
    ]
}

fn labelled(program: &str, row: &ReleaseRow, samples: Vec<Sample>) -> Vec<Sample> {
    let labels = vec![("program", program.to_owned()), ("thread", row.name.clone())];
    let with =
        |sample: Sample| Sample { labels: [labels.clone(), sample.labels].concat(), ..sample };
    samples.into_iter().map(with).collect()
}

fn latencies(row: &ReleaseRow) -> Vec<Sample> {
    let known = [("0.5", Some(row.p50_ns)), ("0.99", row.p99_ns), ("1", Some(row.max_ns))];
    let quantile = |(quantile, ns): (&str, Option<u64>)| {
        Some(Sample { labels: vec![("quantile", quantile.into())], ..bare(seconds(ns?)) })
    };
    let number = Sample { suffix: "_count", ..bare(row.releases as f64) };
    known.into_iter().filter_map(quantile).chain([number]).collect()
}
