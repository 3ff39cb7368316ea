//! What ran in a recording that was saved.

use crate::summary::Breakdown;
use crate::waits::{HolderKind, ThreadRow, threads};
use crate::{share, summarize};
use anechoic_recording::sources::{self, Class};
use anechoic_recording::{Problem, Recording};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Number of names that are kept of each list.
const NAMES: usize = 5;

/// A recording of what ran, that was saved.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Saved {
    /// Its directory.
    pub path: String,
    /// Its start, RFC 3339 in UTC.
    pub start_utc: String,
    /// Its length, in s.
    pub length_s: f64,
    /// Which threads had CPUs while others waited for these, with their shares of all such time, largest first; at most five.
    pub had_cpus: Vec<(String, f64)>,
    /// Interrupts and softirqs: identifier of the source, name and number per second, most first; at most five.
    pub interrupts: Vec<(String, String, f64)>,
    /// Threads with their shares of all CPU time of threads, largest first; at most five.
    pub executed: Vec<(String, f64)>,
    /// Where it begins, in s since the first reading of what was monitored.
    #[serde(skip)]
    pub(super) start_s: f64,
}

impl Saved {
    /// Reads a recording of a program, or of all programs; `path` is where it is.
    ///
    /// # Errors
    /// The recording is damaged.
    pub fn read(path: String, recording: &Recording) -> Result<Self, Problem> {
        let run = recording.run();
        let summary = summarize(recording)?;
        let rows = threads(recording)?.unwrap_or_default();
        let length_s = run.clock.seconds(run.end_ticks.saturating_sub(run.start_ticks));
        Ok(Self {
            path,
            start_utc: run.start_utc.clone(),
            length_s,
            had_cpus: largest(holders(&rows)),
            interrupts: interrupts(summary.sources.as_ref(), length_s),
            executed: largest(rows.iter().map(|row| (row.name.clone(), row.executed_ns))),
            start_s: 0.0,
        })
    }
}

fn holders(rows: &[ThreadRow]) -> impl Iterator<Item = (String, u64)> {
    let behind = rows.iter().flat_map(|row| &row.behind);
    let of_threads = behind.filter(|behind| {
        matches!(behind.holder.kind, HolderKind::OwnThread | HolderKind::OtherThread)
    });
    of_threads.map(|behind| (behind.holder.name.clone(), behind.held_ns))
}

/// Returns the names with the largest sums, and their shares of all.
fn largest(parts: impl Iterator<Item = (String, u64)>) -> Vec<(String, f64)> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (name, ns) in parts {
        let sum = sums.entry(name).or_default();
        *sum = sum.saturating_add(ns);
    }
    let all: u64 = sums.values().sum();
    let mut sums: Vec<(String, u64)> = sums.into_iter().filter(|(_, ns)| *ns > 0).collect();
    sums.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    sums.truncate(NAMES);
    sums.into_iter().map(|(name, ns)| (name, share(ns, all))).collect()
}

/// Returns the interrupts and softirqs that came most often.
fn interrupts(breakdown: Option<&Breakdown>, length_s: f64) -> Vec<(String, String, f64)> {
    let rows = breakdown.iter().flat_map(|breakdown| &breakdown.rows);
    let of_kernel = rows.filter(|row| {
        sources::find(&row.source).is_some_and(|source| source.class == Class::Interrupt)
    });
    let mut all: Vec<(String, String, f64)> = of_kernel
        .map(|row| {
            let per_s = row.activities as f64 / length_s.max(f64::MIN_POSITIVE);
            (row.source.clone(), row.name.clone(), per_s)
        })
        .collect();
    all.sort_by(|a, b| b.2.total_cmp(&a.2));
    all.truncate(NAMES);
    all
}
