//! Whose wake-ups are fastest: configurations compared two by two, as [`compare_wakeups`] does.

use crate::compare::Difference;
use crate::compare::wakeups::{
    LateShare, WakeupChange, WakeupComparison, WakeupRun, WakeupVerdict, compare_wakeups, row_of,
};
use crate::stats::mean;
use crate::wakeup::{Kind, Latencies};
use anechoic_recording::{Problem, ProblemKind};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Configurations ranked by how late their threads are woken.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WakeupRanking {
    /// The configurations in the given order.
    pub configurations: Vec<WakeupStanding>,
    /// Whether some differences are tested by the blocks of single runs, which do not show how much runs differ.
    pub by_blocks: bool,
    /// Whether two configurations were measured far apart in time, so that a difference between them proves nothing.
    pub unproven: bool,
    /// A wake-up that took longer counts as late, in nanoseconds.
    pub late_ns: u64,
    /// What is ranked.
    pub rows: Vec<RankedLatency>,
    /// Runs that are not whole, or whose checks failed, and why.
    pub notes: Vec<String>,
}

/// How often a configuration is the lowest.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WakeupStanding {
    /// Its name.
    pub name: String,
    /// Number of runs.
    pub runs: u64,
    /// Number of wake-ups.
    pub wakeups: u64,
    /// Number of rows in which its value is the lowest.
    pub lowest: u64,
    /// Number of rows in which it is lower than every other one beyond chance.
    pub clearly_lowest: u64,
}

/// What is ranked of wake-ups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Latency {
    /// The median of the latencies, in ns.
    Median,
    /// Their 99th percentile, in ns.
    P99,
    /// The share of late ones, from 0 to 1.
    Late,
}

/// A value of every configuration.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RankedLatency {
    /// How the threads slept.
    pub kind: Kind,
    /// What is ranked.
    pub latency: Latency,
    /// The value of each configuration, the mean over its runs; absent if one of its runs has too few wake-ups for it.
    pub values: Vec<Option<f64>>,
    /// The configuration, from 0, with the lowest value; absent if several have it, or if a value is absent.
    pub lowest: Option<usize>,
    /// The configuration, from 0, that is lower than every other one beyond chance.
    pub clearly_lowest: Option<usize>,
    /// The configuration, from 0, that is higher than every other one beyond chance.
    pub clearly_highest: Option<usize>,
    /// Whether no two configurations differ beyond chance.
    pub tied: bool,
}

/// Pairs of configurations that differ beyond chance, the lower one first.
type Differing = BTreeSet<(usize, usize)>;

/// Ranks configurations by the latencies of their wake-ups. Two of them differ beyond chance if [`compare_wakeups`] says so;
/// the lowest is clear only if it differs from every other one.
///
/// # Errors
/// There are fewer than two configurations, or two have nothing in common ([`compare_wakeups`]).
pub fn rank_wakeups(
    configurations: &[(String, Vec<WakeupRun<'_>>)],
) -> Result<WakeupRanking, Problem> {
    let number = configurations.len();
    let pairs = (0..number).flat_map(|a| (a + 1..number).map(move |b| (a, b)));
    let mut rows: BTreeMap<(Kind, Latency), Differing> = BTreeMap::new();
    let mut comparisons = vec![];
    for (a, b) in pairs {
        let [(name_a, runs_a), (name_b, runs_b)] = [&configurations[a], &configurations[b]];
        let names = [name_a.clone(), name_b.clone()];
        let found = compare_wakeups(names, [runs_a, runs_b], None)?;
        let unproven = found.verdict == WakeupVerdict::Unproven;
        for change in found.rows.iter().filter(|row| row.cpu.is_none()) {
            for (latency, values, clear) in measured(change) {
                let pairs = rows.entry((change.kind, latency)).or_default();
                if clear && !unproven && values[0] != values[1] {
                    pairs.insert(if values[0] < values[1] { (a, b) } else { (b, a) });
                }
            }
        }
        comparisons.push(found);
    }
    let Some(first) = comparisons.first() else {
        let why = "there is only one configuration";
        return Err(ProblemKind::Usage.problem(why, "name two or more recordings"));
    };
    // A kind that a pair lacks is no kind of all.
    let rows: Vec<RankedLatency> = rows
        .into_iter()
        .filter(|((kind, _), _)| comparisons.iter().all(|found| has_kind(found, *kind)))
        .map(|((kind, latency), pairs)| {
            let values = configurations.iter().map(|(_, runs)| value(runs, kind, latency));
            RankedLatency::new(kind, latency, values.collect(), &pairs)
        })
        .collect();
    if rows.is_empty() {
        let why = "the configurations have no interval and kind of idle in common";
        return Err(ProblemKind::Usage.problem(why, "measure all with the same options"));
    }
    let notes: BTreeSet<&String> = comparisons.iter().flat_map(|found| &found.notes).collect();
    Ok(WakeupRanking {
        configurations: configurations
            .iter()
            .enumerate()
            .map(|(at, (name, runs))| WakeupStanding::new(name, runs, at, &rows))
            .collect(),
        by_blocks: comparisons.iter().any(|found| found.by_blocks),
        unproven: comparisons.iter().any(|found| found.verdict == WakeupVerdict::Unproven),
        late_ns: first.late_ns,
        notes: notes.into_iter().cloned().collect(),
        rows,
    })
}

/// Returns the value of a configuration: the mean over its runs, of the late ones their share of all wake-ups.
fn value(runs: &[WakeupRun<'_>], kind: Kind, latency: Latency) -> Option<f64> {
    let rows: Vec<&Latencies> =
        runs.iter().map(|run| row_of(run.found, kind, None)).collect::<Option<_>>()?;
    let sum = |value: fn(&Latencies) -> u64| rows.iter().map(|row| value(row)).sum::<u64>();
    let over_runs = |quantile: fn(&Latencies) -> Option<f64>| {
        mean(&rows.iter().map(|row| quantile(row)).collect::<Option<Vec<f64>>>()?)
    };
    match latency {
        Latency::Median => over_runs(|row| row.p50_ns),
        Latency::P99 => over_runs(|row| row.p99_ns),
        Latency::Late => Some(sum(|row| row.late) as f64 / sum(|row| row.samples).max(1) as f64),
    }
}

fn has_kind(found: &WakeupComparison, kind: Kind) -> bool {
    found.rows.iter().any(|row| row.kind == kind)
}

fn share(side: &LateShare) -> Option<f64> {
    (side.wakeups > 0).then(|| side.late as f64 / side.wakeups as f64)
}

/// Returns a quantile of both sides, and whether they differ beyond chance.
fn quantile(difference: Option<Difference>) -> ([Option<f64>; 2], bool) {
    difference
        .map_or(([None; 2], false), |found| ([Some(found.before), Some(found.after)], found.clear))
}

impl WakeupStanding {
    fn new(name: &str, runs: &[WakeupRun<'_>], at: usize, rows: &[RankedLatency]) -> Self {
        Self {
            name: name.to_owned(),
            runs: runs.len() as u64,
            wakeups: runs.iter().map(|run| run.found.samples()).sum(),
            lowest: rows.iter().filter(|row| row.lowest == Some(at)).count() as u64,
            clearly_lowest: rows.iter().filter(|row| row.clearly_lowest == Some(at)).count() as u64,
        }
    }
}

/// Returns the values of both sides that are ranked, and whether they differ beyond chance.
fn measured(change: &WakeupChange) -> [(Latency, [Option<f64>; 2], bool); 3] {
    let [(p50, p50_clear), (p99, p99_clear)] = [change.p50_ns, change.p99_ns].map(quantile);
    let late = [share(&change.late.before), share(&change.late.after)];
    [
        (Latency::Median, p50, p50_clear),
        (Latency::P99, p99, p99_clear),
        (Latency::Late, late, change.late.clear),
    ]
}

impl RankedLatency {
    fn new(kind: Kind, latency: Latency, values: Vec<Option<f64>>, pairs: &Differing) -> Self {
        let number = values.len();
        let is_below = |low: usize, high: usize| low == high || pairs.contains(&(low, high));
        let lowest = (0..number).find(|&at| (0..number).all(|other| is_below(at, other)));
        let highest = (0..number).find(|&at| (0..number).all(|other| is_below(other, at)));
        Self {
            kind,
            latency,
            lowest: only_lowest(&values),
            clearly_lowest: lowest,
            clearly_highest: highest,
            tied: pairs.is_empty(),
            values,
        }
    }
}

/// Returns the place of the lowest value; nothing if several have it, or if one is not known.
fn only_lowest(values: &[Option<f64>]) -> Option<usize> {
    let known: Vec<f64> = values.iter().copied().collect::<Option<_>>()?;
    let least = known.iter().copied().fold(f64::INFINITY, f64::min);
    let mut with_it = known.iter().enumerate().filter(|(_, value)| **value <= least);
    let (at, _) = with_it.next()?;
    with_it.next().is_none().then_some(at)
}
