//! Noise of the first CPUs of a host, for increasing numbers of them, and the time in which at least one was
//! interrupted.

use crate::detours::DetoursBuilder;
use anechoic_recording::run::RunState;
use anechoic_recording::{Clock, JoinedDetours, Loops, Problem, Recording, methods};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The first CPUs of a host by number, over the time in which all of its measured CPUs ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FirstCpus {
    /// Number of CPUs.
    pub cpus: u64,
    /// Sum of their wall times.
    pub wall_ns: u64,
    /// Lost time.
    pub lost_ns: u64,
    /// Noise of the worst of them.
    pub worst: f64,
    /// Time in which at least one was in a detour; absent if they never ran at the same time.
    pub any: Option<AnyAway>,
}

/// Time in which at least one of some CPUs was in a detour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnyAway {
    /// Time in which all CPUs of the host were measured.
    pub window_ns: u64,
    /// Part of it in which at least one was in a detour.
    pub away_ns: u64,
}

/// Returns 1, 2, 4, … and `count` itself.
pub(super) fn sizes(count: usize) -> Vec<usize> {
    let doubled = std::iter::successors(Some(1_usize), |size| size.checked_mul(2));
    doubled.take_while(|&size| size < count).chain((count > 0).then_some(count)).collect()
}

/// Returns the rows of a recording; `detours` has its CPUs in the order of the run.
pub(super) fn first_cpus(
    recording: &Recording,
    loops: &Loops,
    detours: &[DetoursBuilder],
) -> Result<Vec<FirstCpus>, Problem> {
    let clock = &recording.run().clock;
    let mut ordered: Vec<&DetoursBuilder> = detours.iter().collect();
    ordered.sort_by_key(|sums| sums.cpu());
    let sizes = sizes(ordered.len());
    let away = any_away(recording, loops, &sizes)?;
    let any = |place: usize| {
        let (window, away) =
            away.as_ref().map(|union| (union.window_ticks(), union.away[place]))?;
        Some(AnyAway { window_ns: clock.ns(window), away_ns: clock.ns(away) })
    };
    let rows = sizes.iter().enumerate();
    Ok(rows.map(|(place, &size)| sum_of_first(&ordered[..size], any(place), clock)).collect())
}

/// Returns the row of these CPUs, of which at least one was in a detour for `any`.
fn sum_of_first(first: &[&DetoursBuilder], any: Option<AnyAway>, clock: &Clock) -> FirstCpus {
    let times = || first.iter().map(|cpu| (cpu.lengths.sum_ticks(), cpu.wall_ticks()));
    FirstCpus {
        cpus: first.len() as u64,
        wall_ns: clock.ns(times().map(|(_, wall)| wall).fold(0, u64::saturating_add)),
        lost_ns: clock.ns(times().map(|(lost, _)| lost).fold(0, u64::saturating_add)),
        worst: times().map(|(lost, wall)| crate::share(lost, wall)).fold(0.0, f64::max),
        any,
    }
}

/// Reads the detours of all CPUs in time order, one row group of each CPU at a time.
fn any_away(
    recording: &Recording,
    loops: &Loops,
    sizes: &[usize],
) -> Result<Option<Union>, Problem> {
    let run = recording.run();
    // Loops of several series have pauses of their own; a run that was cut off does not know its loops' ends.
    if run.method != methods::DETOURS || run.state == RunState::Running {
        return Ok(None);
    }
    let first = run.cpus.iter().map(|cpu| cpu.first_ticks).max().unwrap_or(0);
    let last = run.cpus.iter().map(|cpu| cpu.last_ticks).min().unwrap_or(0);
    if last <= first {
        return Ok(None);
    }
    let mut union = Union::new(sizes, (first, last));
    let mut ordered: Vec<_> = loops.by_cpu(run).collect();
    ordered.sort_by_key(|(cpu, _)| cpu.cpu);
    let lanes = ordered.into_iter();
    let mut lanes: Vec<JoinedDetours<'_>> =
        lanes.map(|(cpu, stints)| recording.bare_detours_of(cpu.cpu, stints)).collect();
    let mut next = BinaryHeap::new();
    for (place, lane) in lanes.iter_mut().enumerate() {
        next.extend(next_of(lane)?.map(|(start, end)| Reverse((start, place, end))));
    }
    while let Some(Reverse((start, place, end))) = next.pop() {
        union.add(place, start, end);
        next.extend(next_of(&mut lanes[place])?.map(|(start, end)| Reverse((start, place, end))));
    }
    Ok(Some(union))
}

/// Returns start and end of the next detour, minus the loop's own iteration.
fn next_of(lane: &mut JoinedDetours<'_>) -> Result<Option<(u64, u64)>, Problem> {
    let next = lane.next_detour()?;
    Ok(next.map(|detour| (detour.lost_from_ticks(), detour.end_ticks)))
}

/// Adds up the time in which at least one of the first CPUs was in a detour, for several numbers of CPUs.
struct Union {
    sizes: Vec<usize>,
    window: (u64, u64),
    /// Time up to which each is accounted for.
    until: Vec<u64>,
    away: Vec<u64>,
}

impl Union {
    fn new(sizes: &[usize], window: (u64, u64)) -> Self {
        let count = sizes.len();
        Self { sizes: sizes.to_vec(), window, until: vec![window.0; count], away: vec![0; count] }
    }

    fn window_ticks(&self) -> u64 {
        self.window.1 - self.window.0
    }

    /// Adds a detour of the CPU at `place`; detours come in the order of their starts.
    fn add(&mut self, place: usize, start: u64, end: u64) {
        let end = end.min(self.window.1);
        let smallest = self.sizes.partition_point(|&size| size <= place);
        for (until, away) in self.until.iter_mut().zip(&mut self.away).skip(smallest) {
            let from = start.max(*until);
            if end > from {
                *away += end - from;
                *until = end;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_cpus() {
        let cases: [(usize, &[usize]); 6] = [
            (0, &[]),
            (1, &[1]),
            (2, &[1, 2]),
            (3, &[1, 2, 3]),
            (8, &[1, 2, 4, 8]),
            (9, &[1, 2, 4, 8, 9]),
        ];
        for (count, expected) in cases {
            assert_eq!(sizes(count), expected, "{count}");
        }
    }

    #[test]
    fn time_in_which_any_was_away_counts_once() {
        // Three CPUs from 100 to 200; the first alone, the first two, all three.
        type Case = (&'static str, &'static [(usize, u64, u64)], [u64; 3]);
        let cases: [Case; 6] = [
            ("nobody", &[], [0, 0, 0]),
            ("the last alone", &[(2, 110, 120)], [0, 0, 10]),
            ("at different times", &[(0, 110, 120), (1, 130, 140), (2, 150, 160)], [10, 20, 30]),
            ("at the same time", &[(0, 110, 120), (1, 110, 120), (2, 110, 120)], [10, 10, 10]),
            ("one within another", &[(1, 110, 150), (0, 120, 130), (2, 145, 155)], [10, 40, 45]),
            ("over the edges", &[(0, 90, 105), (0, 195, 230), (1, 250, 260)], [10, 10, 10]),
        ];
        for (name, detours, expected) in cases {
            let mut union = Union::new(&[1, 2, 3], (100, 200));
            detours.iter().for_each(|&(place, start, end)| union.add(place, start, end));
            assert_eq!(union.away, expected, "case: {name}");
        }
    }
}
