//! Does noise explain why the runs of a program differ?

mod dependence;
mod explained;

pub(crate) use explained::explained_in_order;
pub use explained::{Decision, Explained, FEWEST, FEWEST_IN_ORDER, Without};

use crate::Summary;
use crate::facts::Facts;
use crate::program::ProgramFacts;
use crate::repeat::Spread;
use anechoic_recording::run::RunState;
use explained::{explained, part};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The name of lost time that has no source.
pub const UNATTRIBUTED: &str = "";

/// Repeated runs of a program, and how much of their variance lost time explains.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Variance {
    /// Facts of the first of the runs.
    pub run: Facts,
    /// The runs that count, in their order.
    pub runs: Vec<ProgramRun>,
    /// Numbers of the runs that do not: they failed, or their recording ended early.
    pub left_out: Vec<u32>,
    /// Number of runs that count in which the kernel counted more CPU time than the events show.
    pub lacking_events: u64,
    /// Wall times, in ns.
    pub wall_ns: Spread,
    /// Lost times, in ns.
    pub lost_ns: Spread,
    /// How much of the variance of the wall times lost time explains.
    pub explained: Explained,
    /// What took the lost time, by decreasing share of the variance.
    pub sources: Vec<SourceShare>,
}

/// One run of a program.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ProgramRun {
    /// Its number, from 1.
    pub number: u32,
    /// Time from the start of the program to its end; of all runs for how long they were recorded, if events do not show that of one.
    pub wall_ns: u64,
    /// CPU time of all its threads as the kernel counted it; absent if that is not known.
    pub cpu_ns: Option<u64>,
    /// Time in which its threads executed, on all CPUs.
    pub ran_ns: u64,
    /// Lost time on all CPUs that are shown.
    pub lost_ns: u64,
    /// The source that took most of it; absent if no time was lost.
    pub most: Option<Taken>,
}

/// What a source took in one run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Taken {
    /// Identifier of the source.
    pub source: String,
    /// Name within the source.
    pub name: String,
    /// The time.
    pub ns: u64,
}

/// What a source took in all runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SourceShare {
    /// Identifier of the source; empty for lost time that has none.
    pub source: String,
    /// Name within the source.
    pub name: String,
    /// What it took in a run, in ns.
    pub lost_ns: Spread,
    /// The part of the variance that it explains; all parts together are the share. Below 0 if it took less in longer runs.
    /// Absent unless lost time explains a part of the variance.
    pub share: Option<f64>,
}

/// The lost time of a run or an iteration by source and name, in ns.
pub(crate) type BySource<'a> = BTreeMap<(&'a str, &'a str), f64>;

/// Returns how much of the variance between runs of a program lost time explains; absent without a run that ended well.
#[must_use]
pub fn variance(summaries: &[Summary]) -> Option<Variance> {
    let (counted, left_out): (Vec<&Summary>, Vec<&Summary>) =
        summaries.iter().partition(|summary| ended_well(&summary.run));
    let number = |summary: &Summary| summary.run.repetition.map_or(1, |(number, _)| number);
    let by_source: Vec<BySource<'_>> = counted.iter().copied().map(lost_by_source).collect();
    let all_lived = counted.iter().all(|summary| lived_ns(summary).is_some());
    let wall_ns =
        |summary: &Summary| lived_ns(summary).filter(|_| all_lived).unwrap_or(summary.run.wall_ns);
    let wall: Vec<f64> = counted.iter().map(|summary| wall_ns(summary) as f64).collect();
    let lost: Vec<f64> = by_source.iter().map(|sources| sources.values().sum()).collect();
    let explained = explained(&wall, &lost);
    let runs = counted.iter().zip(&by_source).map(|(summary, sources)| {
        let program = summary.run.program.as_ref();
        ProgramRun {
            number: number(summary),
            wall_ns: wall_ns(summary),
            cpu_ns: program.and_then(|program| Some(program.account?.kernel_ns)),
            ran_ns: program.map_or(0, |program| program.ran_ns),
            lost_ns: sources.values().sum::<f64>().round() as u64,
            most: most(sources),
        }
    });
    Some(Variance {
        run: counted.first()?.run.clone(),
        runs: runs.collect(),
        left_out: left_out.iter().map(|summary| number(summary)).collect(),
        lacking_events: counted.iter().filter(|summary| lacks_events(summary)).count() as u64,
        wall_ns: Spread::from_values(&wall)?,
        lost_ns: Spread::from_values(&lost)?,
        sources: shares(&explained, &wall, &lost, &by_source),
        explained,
    })
}

/// Returns how long it took from the start of the program to its end, if events show it.
fn lived_ns(summary: &Summary) -> Option<u64> {
    summary.run.program.as_ref()?.lived_ns
}

/// Returns whether the kernel counted more CPU time of a run than its events show.
fn lacks_events(summary: &Summary) -> bool {
    summary.run.program.as_ref().is_some_and(ProgramFacts::lacks_events)
}

/// Returns whether the command of a run succeeded and was recorded to its end.
fn ended_well(run: &Facts) -> bool {
    let succeeded = |code: u8| code == 0;
    run.state == RunState::Complete
        && run.program.as_ref().is_some_and(|program| program.exit_code.is_none_or(succeeded))
}

/// Returns the lost time of a run by source, also the part that has none.
fn lost_by_source(summary: &Summary) -> BySource<'_> {
    let lost = summary.total.noise * summary.total.wall_ns as f64;
    let mut by_source = BySource::new();
    let mut left = lost;
    for row in summary.sources.iter().flat_map(|sources| &sources.rows) {
        *by_source.entry((&row.source, &row.name)).or_default() += row.share * lost;
        left -= row.share * lost;
    }
    if left > 0.5 {
        by_source.insert((UNATTRIBUTED, ""), left);
    }
    by_source
}

/// Returns what took most in a run or an iteration.
pub(crate) fn most(sources: &BySource<'_>) -> Option<Taken> {
    let most = sources.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
    let (&(source, name), ns) = most;
    Some(Taken { source: source.to_owned(), name: name.to_owned(), ns: ns.round() as u64 })
}

/// Returns what a source took in each, in ns.
fn taken(name: (&str, &str), by_source: &[BySource<'_>]) -> Vec<f64> {
    by_source.iter().map(|sources| sources.get(&name).copied().unwrap_or(0.0)).collect()
}

/// Returns what each source took and explains, the largest share first.
pub(crate) fn shares(
    explained: &Explained,
    wall: &[f64],
    lost: &[f64],
    by_source: &[BySource<'_>],
) -> Vec<SourceShare> {
    let mut names: Vec<(&str, &str)> = by_source.iter().flat_map(BySource::keys).copied().collect();
    names.sort_unstable();
    names.dedup();
    let rows = names.iter().filter_map(|&(source, name)| {
        let times = taken((source, name), by_source);
        let share = part(explained, wall, lost, &times);
        let lost_ns = Spread::from_values(&times)?;
        Some(SourceShare { source: source.to_owned(), name: name.to_owned(), lost_ns, share })
    });
    let mut rows: Vec<SourceShare> = rows.collect();
    rows.sort_by(|a, b| {
        let key = |row: &SourceShare| (row.share.unwrap_or(0.0), row.lost_ns.mean);
        key(b).partial_cmp(&key(a)).unwrap_or(std::cmp::Ordering::Equal)
    });
    rows
}
