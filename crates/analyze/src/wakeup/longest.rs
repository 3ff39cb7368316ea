//! The longest wake-ups, each with what happened in it, in order.

use super::long::{LongWakeup, name_all, read};
use super::stopped::{StoppedWakeup, stopped};
use super::{latency, rows};
use crate::facts::Facts;
use crate::readings::not_attributed;
use crate::samples::span;
use anechoic_recording::run::Outcome;
use anechoic_recording::{Problem, ProblemKind, Recording, Series};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;

/// The longest wake-ups of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LongestWakeups {
    /// The run.
    pub run: Facts,
    /// Number of wake-ups among which they are the longest.
    pub total: u64,
    /// The CPUs that were chosen; absent if all count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Vec<u32>>,
    /// Identifiers of the sources without which wake-ups were chosen; empty if all count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// Number of wake-ups of these CPUs that were left out because they contain such a source.
    pub left_out: u64,
    /// Number of wake-ups of these CPUs that were left out because they were measured without kernel events, to show what the
    /// events cost.
    pub without_events: u64,
    /// The wake-ups, sorted by decreasing length.
    pub wakeups: Vec<LongWakeup>,
    /// What was to end the run before its time, and the wake-up that did; absent if nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StoppedWakeup>,
}

/// Which wake-ups are shown.
#[derive(Debug, Clone, Copy)]
pub struct Chosen<'a> {
    /// Number of wake-ups.
    pub most: usize,
    /// Number of activities of each, those that took most.
    pub activities: usize,
    /// Only those on these CPUs; absent if all count.
    pub cpus: Option<&'a [u32]>,
    /// Only those without these sources, by identifier.
    pub without: &'a [&'a str],
}

/// Returns the longest wake-ups of a recording, each with what happened in it.
///
/// # Errors
/// A file is damaged, a CPU was not measured, or sources are to be left out and the recording has no attribution.
pub fn longest_wakeups(
    recording: &Recording,
    chosen: &Chosen<'_>,
) -> Result<LongestWakeups, Problem> {
    let run = recording.run();
    let measured: Vec<u32> = run.cpus.iter().map(|cpu| cpu.cpu).collect();
    if let Some(absent) = chosen.cpus.into_iter().flatten().find(|cpu| !measured.contains(cpu)) {
        let why = format!("CPU {absent} was not measured in {}", recording.dir().display());
        return Err(ProblemKind::Usage.problem(why, format!("it has the CPUs {measured:?}")));
    }
    let known = recording.series()?;
    let facts = Facts::new(run, span(&known));
    if !chosen.without.is_empty() && recording.attribution()?.is_none() {
        return Err(not_attributed(recording, &facts));
    }
    let (mut total, mut left_out) = (0, 0);
    let mut kept: Vec<(Reverse<u64>, u64, LongWakeup)> = vec![];
    rows::each(recording, |woken| {
        if chosen.cpus.is_some_and(|cpus| !cpus.contains(&woken.sample.cpu)) {
            return;
        }
        if woken.rows.iter().any(|row| chosen.without.contains(&&*row.source)) {
            left_out += 1;
            return;
        }
        total += 1;
        let rank = (Reverse(latency(woken.sample)), woken.sample.start_ticks);
        let place = kept.partition_point(|(length, start, _)| (*length, *start) < rank);
        if place < chosen.most {
            kept.insert(place, (rank.0, rank.1, read(woken, run, chosen.activities)));
            kept.truncate(chosen.most);
        }
    })?;
    let mut wakeups: Vec<LongWakeup> = kept.into_iter().map(|(.., long)| long).collect();
    name_all(&mut wakeups, recording)?;
    Ok(LongestWakeups {
        run: facts,
        total,
        cpus: chosen.cpus.map(<[u32]>::to_vec),
        without: chosen.without.iter().map(|id| (*id).to_owned()).collect(),
        left_out,
        without_events: without_events(&known, chosen.cpus),
        wakeups,
        stopped: stopped(recording)?,
    })
}

/// Returns the number of wake-ups of these CPUs that were measured without kernel events between others with them.
fn without_events(known: &[(Series, Outcome)], cpus: Option<&[u32]>) -> u64 {
    let is_chosen =
        |series: &Series| cpus.is_none_or(|cpus| series.cpu.is_some_and(|cpu| cpus.contains(&cpu)));
    let without =
        known.iter().filter(|(series, _)| series.parameters.events_off && is_chosen(series));
    without.map(|(_, outcome)| outcome.samples.saturating_sub(outcome.lost)).sum()
}
