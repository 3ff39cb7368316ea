//! The recorded detours that a critical path met.

use super::PathSource;
use super::path::{Path, message};
use crate::engine::Costs;
use crate::engine::log::BusyTime;
use crate::given::Sources;
use crate::noise::Noise;
use crate::noise::trace::Trace;
use crate::parameters::PS;
use crate::schedule::{Kind, Schedule};
use anechoic_predict::phases::SourceName;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A detour on the path, as often as one CPU met it: a recording repeats.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit {
    /// The CPU of all ranks that it hit.
    pub(super) stream: usize,
    /// The recording, by number.
    pub(super) trace: u32,
    /// The detour of the recording, by number.
    pub(super) detour: u32,
    /// Its start in the recording, in ns.
    pub(super) start_ns: u64,
    /// Its length in the recording.
    pub(super) length_ns: u64,
    /// Its first start in the simulation, in ps; negative if it was in progress at the start.
    pub(super) simulated_ps: i64,
    /// How often the path met it.
    pub(super) times: u64,
    /// By how much it lengthened the path in all, in ps.
    pub(super) lost_ps: u64,
}

/// Returns the recorded detours on a path, those that lengthened it most first; none for noise that was not recorded, or
/// not all of it.
pub(super) fn find(
    path: &Path,
    schedule: &Schedule,
    costs: &Costs<'_>,
    noise: &Noise,
) -> Option<Vec<Hit>> {
    let Noise::Recorded { traces, places, delay: None } = noise else { return None };
    let mut hits: BTreeMap<(usize, u32), Hit> = BTreeMap::new();
    for busy in &path.interrupted {
        let stream = stream(busy, schedule);
        let (number, phase_ps) = places[stream];
        let trace = &traces[number as usize];
        let (from_ps, mut slack_ps) = delayed_from(busy, schedule, costs, (trace, phase_ps));
        trace.each_between(from_ps, busy.end_ps, phase_ps, |detour, simulated_ps, part_ps| {
            let recorded = trace.detour(detour);
            let hit = hits.entry((stream, detour)).or_insert(Hit {
                stream,
                trace: number,
                detour,
                start_ns: recorded.start / PS,
                length_ns: (recorded.end - recorded.start) / PS,
                simulated_ps,
                times: 0,
                lost_ps: 0,
            });
            let absorbed_ps = part_ps.min(slack_ps);
            slack_ps -= absorbed_ps;
            hit.simulated_ps = hit.simulated_ps.min(simulated_ps);
            hit.times += 1;
            hit.lost_ps += part_ps - absorbed_ps;
        });
    }
    let mut hits: Vec<Hit> = hits.into_values().filter(|hit| hit.lost_ps > 0).collect();
    hits.sort_by_key(|hit| (Reverse(hit.lost_ps), hit.stream, hit.simulated_ps));
    Some(hits)
}

/// Returns the CPU of all ranks that was busy.
fn stream(busy: &BusyTime, schedule: &Schedule) -> usize {
    let operation = schedule.operation(busy.owner, busy.operation);
    busy.rank as usize * schedule.cpus() + usize::from(schedule.whole_shape(operation).cpu)
}

/// Returns from when on detours delay a busy time, and how much of them does not: while the network brings the bytes of a
/// message, a CPU that copies them faster has time to spare.
fn delayed_from(
    busy: &BusyTime,
    schedule: &Schedule,
    costs: &Costs<'_>,
    (trace, phase_ps): (&Trace, u64),
) -> (u64, u64) {
    let shape = schedule.whole_shape(schedule.operation(busy.owner, busy.operation));
    let message = message(busy, schedule, costs);
    let (wire_ps, copy_ps) = (message.gap_per_byte_ps, message.overhead_per_byte_ps);
    if !busy.receives || shape.kind == Kind::Compute || wire_ps <= copy_ps {
        return (busy.start_ps, 0);
    }
    let bytes = shape.size.saturating_sub(1);
    let (came_ps, mut lost_ps) = (busy.start_ps + bytes * wire_ps, 0);
    trace.each_between(came_ps, busy.end_ps, phase_ps, |_, _, part_ps| lost_ps += part_ps);
    match lost_ps == busy.lost_ps {
        true => (came_ps, 0),
        false => (busy.start_ps, bytes * (wire_ps - copy_ps)),
    }
}

/// Returns the sources of a detour, each with its part of the length, those with most time first.
pub(super) fn sources_of(hit: &Hit, sources: &Sources) -> Vec<PathSource> {
    let taken = sources.get(&(hit.trace, hit.start_ns)).map_or(&[][..], Vec::as_slice);
    in_order(taken.iter().map(|(name, taken_ns)| (name.clone(), *taken_ns)).collect())
}

/// Returns the time of each source in all hits, the most first. What of a detour lengthened the path is divided as the whole
/// detour was.
pub(super) fn sum(hits: &[Hit], sources: &Sources) -> Vec<PathSource> {
    let mut sums: BTreeMap<SourceName, f64> = BTreeMap::new();
    for hit in hits {
        for (name, taken_ns) in sources.get(&(hit.trace, hit.start_ns)).into_iter().flatten() {
            let share = *taken_ns as f64 / hit.length_ns.max(1) as f64;
            *sums.entry(name.clone()).or_default() += share * hit.lost_ps as f64 / PS as f64;
        }
    }
    in_order(sums.into_iter().map(|(name, ns)| (name, ns.round() as u64)).collect())
}

fn in_order(mut taken: Vec<(SourceName, u64)>) -> Vec<PathSource> {
    taken.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    taken
        .into_iter()
        .map(|((source, name), taken_ns)| {
            let (source, name) = (source.to_string(), name.to_string());
            PathSource { source, name, taken_ns }
        })
        .collect()
}
