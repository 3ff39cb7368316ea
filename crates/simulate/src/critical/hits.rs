//! The recorded detours that a critical path met.

use super::PathSource;
use super::path::Path;
use crate::engine::log::BusyTime;
use crate::noise::Noise;
use crate::parameters::{PS, Parameters};
use crate::schedule::{Kind, Schedule};
use anechoic_predict::phases::SourceName;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A detour on the path.
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
    /// Its start in the simulation, in ps; negative if it was in progress at the start.
    pub(super) simulated_ps: i64,
    /// By how much it lengthened the path, in ps.
    pub(super) lost_ps: u64,
}

/// What took the time of recorded detours, by recording and start.
pub(crate) type Sources = BTreeMap<(u32, u64), Vec<(SourceName, u64)>>;

/// Returns the recorded detours on a path, those that lengthened it most first; none for noise that was not recorded.
pub(super) fn find(
    path: &Path,
    schedule: &Schedule,
    parameters: &Parameters,
    noise: &Noise,
) -> Option<Vec<Hit>> {
    let Noise::Recorded { traces, places } = noise else { return None };
    let mut hits: BTreeMap<(usize, i64), Hit> = BTreeMap::new();
    for busy in &path.interrupted {
        let stream = stream(busy, schedule);
        let (number, phase_ps) = places[stream];
        let trace = &traces[number as usize];
        let from_ps = undisturbed_from(busy, schedule, parameters);
        trace.each_between(from_ps, busy.end_ps, phase_ps, |detour, span, lost_ps| {
            let recorded = trace.detour(detour);
            let hit = Hit {
                stream,
                trace: number,
                detour,
                start_ns: recorded.start / PS,
                length_ns: (recorded.end - recorded.start) / PS,
                simulated_ps: span,
                lost_ps: 0,
            };
            hits.entry((stream, span)).or_insert(hit).lost_ps += lost_ps;
        });
    }
    let mut hits: Vec<Hit> = hits.into_values().collect();
    hits.sort_by_key(|hit| (Reverse(hit.lost_ps), hit.stream, hit.simulated_ps));
    Some(hits)
}

/// Returns the CPU of all ranks that was busy.
fn stream(busy: &BusyTime, schedule: &Schedule) -> usize {
    let operation = schedule.operation(busy.owner, busy.operation);
    busy.rank as usize * schedule.cpus() + usize::from(schedule.whole_shape(operation).cpu)
}

/// Returns from when on noise counts: a message that the network still brings is not delayed by it.
fn undisturbed_from(busy: &BusyTime, schedule: &Schedule, parameters: &Parameters) -> u64 {
    let shape = schedule.whole_shape(schedule.operation(busy.owner, busy.operation));
    let is_wire = parameters.gap_per_byte_ps > parameters.overhead_per_byte_ps;
    match busy.receives && is_wire && shape.kind != Kind::Compute {
        true => busy.start_ps + shape.size.saturating_sub(1) * parameters.gap_per_byte_ps,
        false => busy.start_ps,
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
    let source = |((source, name), taken_ns): (SourceName, u64)| PathSource {
        source: source.to_string(),
        name: name.to_string(),
        taken_ns,
    };
    taken.into_iter().map(source).collect()
}
