//! Reads detours and activities of each CPU once, side by side.

use super::cells::Cells;
use super::durations::Durations;
use super::stories::{Stories, rows};
use super::{Budget, CpuTimeline, FEWEST_CELLS, MOST_NAMES, SourceName, Story, Timeline};
use crate::detours::shortest_gap;
use crate::error::AnalyzeError;
use crate::loops::{Loops, wall_ticks};
use crate::places::Places;
use crate::stream::Stream;
use anechoic_recording::run::CpuRun;
use anechoic_recording::{Activity, Clock, Detour, Recording, Run, Stint};
use std::sync::Arc;

/// What is added up over all CPUs.
struct Pass<'a> {
    run: &'a Run,
    sources: Sources,
    lengths: Durations,
    charged: Vec<Durations>,
    stories: Stories,
    /// End of the last detour or loop, in ticks.
    end_ticks: u64,
}

/// Numbers of sources; 0 is that of detours without activities.
struct Sources {
    places: Places,
    none: Arc<str>,
}

impl Sources {
    fn new() -> Self {
        let none: Arc<str> = "".into();
        let mut places = Places::default();
        places.place(&none, &none);
        Self { places, none }
    }

    fn number(&mut self, activity: &Activity) -> u32 {
        let full = self.places.names().len() >= MOST_NAMES;
        let known = self.places.known(&activity.source, &activity.name);
        let place = match known {
            Some(place) => place,
            None if full => self.places.place(&activity.source, &self.none),
            None => self.places.place(&activity.source, &activity.name),
        };
        place as u32
    }
}

/// What is said of one detour.
struct Seen<'a> {
    cpu: u32,
    start_ticks: u64,
    lost_ticks: u64,
    activities: &'a [Activity],
}

pub(super) fn run(recording: &Recording, budget: Budget) -> Result<Timeline, AnalyzeError> {
    let run = recording.run();
    let loops = Loops::of(recording)?;
    let mut pass = Pass {
        run,
        sources: Sources::new(),
        lengths: Durations::default(),
        charged: vec![],
        stories: Stories::new(budget.stories),
        end_ticks: run.end_ticks.max(run.start_ticks),
    };
    let most_cells = (budget.cells / run.cpus.len().max(1)).max(FEWEST_CELLS);
    let mut cpus = vec![];
    for (cpu, stints) in loops.by_cpu(run) {
        cpus.push(pass.cpu(recording, cpu, stints, most_cells)?);
    }
    let names = pass.sources.places.names().iter();
    let sources: Vec<SourceName> = names
        .map(|(source, name)| SourceName { source: source.clone(), name: name.clone() })
        .collect();
    pass.charged.resize(sources.len(), Durations::default());
    Ok(Timeline {
        span_ns: run.clock.ns(pass.end_ticks - run.start_ticks),
        sources,
        cpus,
        lengths: pass.lengths,
        charged: pass.charged,
        stories: pass.stories.finish(),
    })
}

impl Pass<'_> {
    fn cpu(
        &mut self,
        recording: &Recording,
        cpu: &CpuRun,
        stints: &[Stint],
        most_cells: usize,
    ) -> Result<CpuTimeline, AnalyzeError> {
        let clock = &self.run.clock;
        let mut cells = Cells::new(most_cells, clock.ns(self.end_ticks - self.run.start_ticks));
        let mut detours = Stream::<Detour>::new(recording, cpu.cpu);
        let mut activities = Stream::<Activity>::new(recording, cpu.cpu);
        let mut within = vec![];
        let (mut index, mut count, mut last) = (0, 0, 0);
        let mut lost_ticks = vec![];
        while let Some(detour) = detours.next()? {
            within.clear();
            while activities.peek()?.is_some_and(|next| next.detour <= index) {
                within.extend(activities.next()?.filter(|activity| activity.detour == index));
            }
            index += 1;
            let (start_ticks, end_ticks) = (detour.start_ticks, detour.end_ticks);
            let Some(place) = Stint::around(stints, start_ticks, end_ticks) else { continue };
            let gap = end_ticks.saturating_sub(start_ticks);
            let lost = gap.saturating_sub(taken_off(&stints[place], cpu, self.run));
            let seen = Seen { cpu: cpu.cpu, start_ticks, lost_ticks: lost, activities: &within };
            let source = self.add(&seen, &mut lost_ticks);
            let start_ns = clock.ns(start_ticks.saturating_sub(self.run.start_ticks));
            cells.add(start_ns, clock.ns(lost), source);
            count += 1;
            last = last.max(end_ticks);
        }
        self.end_ticks = self.end_ticks.max(last);
        let wall = match stints {
            // The end of one that was cut off is not known: it ran until its last detour.
            [stint @ Stint { series: None, .. }] => {
                stint.last_ticks.max(last).saturating_sub(stint.first_ticks)
            }
            stints => wall_ticks(stints),
        };
        Ok(CpuTimeline {
            cpu: cpu.cpu,
            wall_ns: clock.ns(wall),
            detours: count,
            cells: cells.finish(),
            lost_ns: lost_ticks.into_iter().map(|ticks| clock.ns(ticks)).collect(),
        })
    }

    /// Adds a detour to all but its cell; gives the number of the source that took most of it.
    fn add(&mut self, seen: &Seen<'_>, lost_ticks: &mut Vec<u64>) -> u32 {
        let numbers: Vec<u32> =
            seen.activities.iter().map(|activity| self.sources.number(activity)).collect();
        let mut parts: Vec<(u32, u64)> = vec![];
        for (&source, activity) in numbers.iter().zip(seen.activities) {
            match parts.iter_mut().find(|part| part.0 == source) {
                Some(part) => part.1 = part.1.saturating_add(activity.self_ticks),
                None => parts.push((source, activity.self_ticks)),
            }
        }
        if parts.is_empty() {
            parts.push((0, seen.lost_ticks));
        }
        for &(source, ticks) in &parts {
            let at = source as usize;
            if self.charged.len() <= at {
                self.charged.resize(at + 1, Durations::default());
            }
            if lost_ticks.len() <= at {
                lost_ticks.resize(at + 1, 0);
            }
            self.charged[at].add(self.run.clock.ns(ticks));
            lost_ticks[at] = lost_ticks[at].saturating_add(ticks);
        }
        // The first of equals: max_by_key alone would give the last.
        let most = parts.iter().rev().max_by_key(|part| part.1).map_or(0, |part| part.0);
        let length_ns = self.run.clock.ns(seen.lost_ticks);
        self.lengths.add(length_ns);
        let start_ns = self.run.clock.ns(seen.start_ticks.saturating_sub(self.run.start_ticks));
        let clock = &self.run.clock;
        let tell = || story(seen, &numbers, (start_ns, length_ns, most), clock);
        self.stories.offer((seen.cpu, start_ns, length_ns, most), tell);
        most
    }
}

fn story(
    seen: &Seen<'_>,
    numbers: &[u32],
    (start_ns, length_ns, source): (u64, u64, u32),
    clock: &Clock,
) -> Story {
    let (rows, more, more_ns) = rows(seen.activities, numbers, seen.start_ticks, clock);
    let steal = seen.activities.iter().filter_map(|activity| activity.steal_ns);
    let steal_ns = steal.reduce(u64::saturating_add);
    Story { cpu: seen.cpu, start_ns, length_ns, source, steal_ns, rows, more, more_ns }
}

/// What is taken off every gap of a stint.
fn taken_off(stint: &Stint, cpu: &CpuRun, run: &Run) -> u64 {
    match stint.series {
        None => shortest_gap(cpu, &run.clock, run.threshold_ticks),
        Some(_) => stint.shortest_gap_ticks,
    }
}
