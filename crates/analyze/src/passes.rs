//! One pass over each table of a recording, part by part.

use crate::coverage::Readings;
use crate::detours::DetoursOf;
use crate::error::AnalyzeError;
use crate::longest::{LongestOf, PartsOf};
use crate::loops::Loops;
use crate::sources::SourcesOf;
use crate::ticks::{Seen, TicksOf};
use crate::tracer::{self, TracerCost};
use anechoic_recording::run::{CpuRun, NotAvailable};
use anechoic_recording::{
    Activity, ActivityKind, Counter, Detour, Loss, Recording, Run, Stint, sources,
};
use std::collections::BTreeMap;

/// What one pass over the activities gives.
pub(crate) struct Attributed {
    pub(crate) sources: SourcesOf,
    pub(crate) parts: PartsOf,
    /// When each tick's handler began, by CPU; kept only where the tracer's cost was measured.
    ticks: BTreeMap<u32, Vec<u64>>,
}

pub(crate) fn read_detours(
    recording: &Recording,
    loops: &Loops,
) -> Result<Vec<DetoursOf>, AnalyzeError> {
    let run = recording.run();
    let read = |(cpu, stints): (&CpuRun, &[Stint])| {
        let mut detours = DetoursOf::new(run, cpu, stints, loops);
        for rows in recording.rows_of_cpu::<Detour>(cpu.cpu) {
            rows?.iter().for_each(|detour| detours.add(detour));
        }
        Ok(detours)
    };
    loops.by_cpu(run).map(read).collect()
}

pub(crate) fn read_activities(
    recording: &Recording,
    longest: &LongestOf,
) -> Result<Attributed, AnalyzeError> {
    let mut sources = SourcesOf::default();
    let mut parts = PartsOf::new(longest);
    let mut ticks = BTreeMap::<u32, Vec<u64>>::new();
    let alternates = alternates(recording.run());
    let mut last_tick = None;
    for cpu in &recording.run().cpus {
        for rows in recording.rows_of_cpu::<Activity>(cpu.cpu) {
            for activity in &rows? {
                sources.add(activity);
                parts.add(activity);
                let detour = Some((activity.cpu, activity.detour));
                // The interrupt and the timer that expires in it are both the tick's: the first counts.
                if alternates && is_tick(activity) && last_tick != detour {
                    last_tick = detour;
                    ticks.entry(cpu.cpu).or_default().push(activity.start_ticks);
                }
            }
        }
        sources.close();
    }
    Ok(Attributed { sources, parts, ticks })
}

fn is_tick(activity: &Activity) -> bool {
    activity.kind == ActivityKind::Activity && sources::TIMER_TICK.is(&activity.source)
}

pub(crate) fn alternates(run: &Run) -> bool {
    run.trace.as_ref().is_some_and(|trace| trace.alternate_ns.is_some())
}

pub(crate) fn read_losses(recording: &Recording) -> Result<Vec<Loss>, AnalyzeError> {
    let mut losses = vec![];
    for rows in recording.rows::<Loss>() {
        losses.extend(rows?);
    }
    Ok(losses)
}

pub(crate) fn read_counters(recording: &Recording) -> Result<Readings, AnalyzeError> {
    let mut readings = Readings::default();
    for rows in recording.rows::<Counter>() {
        rows?.iter().for_each(|counter| readings.add(counter));
    }
    Ok(readings)
}

/// Compares ticks with and without events, in a second pass over the detours.
pub(crate) fn tracer_cost(
    recording: &Recording,
    loops: &Loops,
    attributed: &Attributed,
    losses: &[Loss],
    not_available: &mut Vec<NotAvailable>,
) -> Result<Option<TracerCost>, AnalyzeError> {
    let run = recording.run();
    if !alternates(run) {
        return Ok(None);
    }
    let mut cpus = vec![];
    for (cpu, stints) in loops.by_cpu(run) {
        let Some(seen) = attributed.ticks.get(&cpu.cpu) else { continue };
        let (Some(first), Some(last)) = (stints.first(), stints.last()) else { continue };
        let untraced: Vec<(u64, u64)> = losses
            .iter()
            .filter(|loss| loss.what == "untraced" && loss.cpu == cpu.cpu)
            .map(|loss| (loss.start_ticks, loss.end_ticks))
            .collect();
        let seen = Seen {
            bounds: (first.first_ticks, last.last_ticks),
            untraced: &untraced,
            ticks: seen,
            tick_hz: run.machine.tick_hz,
        };
        let Some(mut ticks) = TicksOf::predict(&seen, &run.clock) else { continue };
        for rows in recording.rows_of_cpu::<Detour>(cpu.cpu) {
            for detour in rows? {
                let (start, end) = (detour.start_ticks, detour.end_ticks);
                let Some(place) = Stint::around(stints, start, end) else { continue };
                let gap = end.saturating_sub(start);
                ticks.show(start, end, gap.saturating_sub(stints[place].shortest_gap_ticks));
            }
        }
        cpus.push(ticks);
    }
    let cost = tracer::cost(&cpus, &run.clock);
    if cost.is_none() {
        not_available.push(NotAvailable {
            what: "cost of recording events".into(),
            why: format!("fewer than {} pairs of windows with ticks in both", tracer::FEWEST_PAIRS),
            remedy: "measure for longer".into(),
        });
    }
    Ok(cost)
}
