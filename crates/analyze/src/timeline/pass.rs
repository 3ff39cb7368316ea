//! Builds a timeline from the detours of each CPU.

use super::cells::Cells;
use super::durations::Durations;
use super::stories::{Stories, rows};
use super::{
    Budget, CpuTimeline, FEWEST_CELLS, MOST_NAMES, MOST_ROWS, SourceName, Story, Timeline,
};
use crate::fold::{CpuLoops, Fold};
use crate::longest::steal_ns;
use crate::loops::{wall_ticks, watched_ticks};
use crate::split::{Charge, SplitDetour};
use anechoic_recording::{Clock, Run, Stint};
use std::collections::HashMap;
use std::sync::Arc;

/// A timeline in progress.
pub(crate) struct TimelineBuilder<'a> {
    run: &'a Run,
    most_cells: usize,
    sources: Sources,
    lengths: Durations,
    charged: Vec<Durations>,
    stories: Stories,
    /// End of the last detour or loop, in ticks.
    end_ticks: u64,
    /// The current CPU.
    open: Option<OpenCpu>,
    cpus: Vec<CpuTimeline>,
    /// What each source took of the current detour, by local number.
    parts: Vec<(u32, u64)>,
}

/// Sums for one CPU.
struct OpenCpu {
    cells: Cells,
    detours: u64,
    /// End of its last detour.
    last_ticks: u64,
    /// Sums by number of the source.
    lost_ticks: Vec<u64>,
}

/// Numbers of sources; 0 stands for detours without activities.
struct Sources {
    names: Vec<SourceName>,
    known: HashMap<SourceName, u32>,
    /// Local number by global number.
    numbers: Vec<u32>,
}

impl Sources {
    fn new() -> Self {
        let mut sources = Self { names: vec![], known: HashMap::new(), numbers: vec![] };
        sources.number(SourceName { source: "".into(), name: "".into() });
        sources
    }

    /// Adds all new `names`. Beyond the limit, names are merged under their source.
    fn learn(&mut self, names: &[(Arc<str>, Arc<str>)]) {
        for (source, name) in &names[self.numbers.len()..] {
            let mut source_name = SourceName { source: source.clone(), name: name.clone() };
            if self.names.len() >= MOST_NAMES && !self.known.contains_key(&source_name) {
                source_name.name = "".into();
            }
            let number = self.number(source_name);
            self.numbers.push(number);
        }
    }

    fn number(&mut self, source_name: SourceName) -> u32 {
        let next = self.names.len() as u32;
        let number = *self.known.entry(source_name.clone()).or_insert(next);
        if number == next {
            self.names.push(source_name);
        }
        number
    }
}

impl<'a> TimelineBuilder<'a> {
    /// Returns an empty timeline limited by the budget.
    pub(crate) fn new(run: &'a Run, budget: Budget) -> Self {
        Self {
            run,
            most_cells: (budget.cells / run.cpus.len().max(1)).max(FEWEST_CELLS),
            sources: Sources::new(),
            lengths: Durations::default(),
            charged: vec![],
            stories: Stories::new(budget.stories),
            end_ticks: run.end_ticks.max(run.start_ticks),
            open: None,
            cpus: vec![],
            parts: vec![],
        }
    }

    /// Returns the timeline.
    pub(crate) fn finish(mut self) -> Timeline {
        let sources = self.sources.names;
        self.charged.resize(sources.len(), Durations::default());
        Timeline {
            span_ns: self.run.clock.ns(self.end_ticks - self.run.start_ticks),
            sources,
            cpus: self.cpus,
            lengths: self.lengths,
            charged: self.charged,
            stories: self.stories.finish(),
        }
    }

    /// Merges what sources with the same local number took.
    fn split(&mut self, charges: &[Charge], lost_ticks: u64) {
        self.parts.clear();
        for charge in charges {
            let source = self.sources.numbers[charge.place];
            match self.parts.iter_mut().find(|part| part.0 == source) {
                Some(part) => part.1 = part.1.saturating_add(charge.ticks),
                None => self.parts.push((source, charge.ticks)),
            }
        }
        if self.parts.is_empty() {
            self.parts.push((0, lost_ticks));
        }
    }
}

impl Fold for TimelineBuilder<'_> {
    fn begin_cpu(&mut self, _cpu: &CpuLoops<'_>) {
        let span_ns = self.run.clock.ns(self.end_ticks - self.run.start_ticks);
        let cells = Cells::new(self.most_cells, span_ns);
        self.open = Some(OpenCpu { cells, detours: 0, last_ticks: 0, lost_ticks: vec![] });
    }

    fn detour(&mut self, detour: &SplitDetour<'_>) {
        let Some(mut open) = self.open.take() else { return };
        let (view, clock) = (&detour.view, &self.run.clock);
        self.sources.learn(detour.names);
        self.split(detour.charges, view.lost_ticks);
        for &(source, ticks) in &self.parts {
            let at = source as usize;
            if self.charged.len() <= at {
                self.charged.resize(at + 1, Durations::default());
            }
            if open.lost_ticks.len() <= at {
                open.lost_ticks.resize(at + 1, 0);
            }
            self.charged[at].add(clock.ns(ticks));
            open.lost_ticks[at] = open.lost_ticks[at].saturating_add(ticks);
        }
        // The first of equals: max_by_key alone would give the last.
        let most = self.parts.iter().rev().max_by_key(|part| part.1).map_or(0, |part| part.0);
        let length_ns = clock.ns(view.lost_ticks);
        let start_ns = clock.ns(view.start_ticks.saturating_sub(self.run.start_ticks));
        self.lengths.add(length_ns);
        let numbers = &self.sources.numbers;
        let make = || story(detour, numbers, (start_ns, length_ns, most), clock);
        self.stories.offer((view.cpu, start_ns, length_ns, most), make);
        open.cells.add(start_ns, length_ns, most);
        open.detours += 1;
        open.last_ticks = open.last_ticks.max(view.end_ticks);
        self.open = Some(open);
    }

    fn end_cpu(&mut self, here: &CpuLoops<'_>) {
        let Some(open) = self.open.take() else { return };
        let clock = &self.run.clock;
        self.end_ticks = self.end_ticks.max(open.last_ticks);
        let wall = match here.stints {
            [Stint { series: None, .. }] => {
                let lost = open.lost_ticks.iter().copied().fold(0, u64::saturating_add);
                watched_ticks(self.run, here.cpu, open.last_ticks, lost)
            }
            stints => wall_ticks(stints),
        };
        self.cpus.push(CpuTimeline {
            cpu: here.cpu.cpu,
            wall_ns: clock.ns(wall),
            detours: open.detours,
            cells: open.cells.finish(),
            lost_ns: open.lost_ticks.into_iter().map(|ticks| clock.ns(ticks)).collect(),
        });
    }
}

fn story(
    detour: &SplitDetour<'_>,
    numbers: &[u32],
    (start_ns, length_ns, source): (u64, u64, u32),
    clock: &Clock,
) -> Story {
    let view = &detour.view;
    let sources: Vec<u32> = detour.places.iter().map(|&place| numbers[place]).collect();
    let (rows, more, more_ns) = rows(view.activities, &sources, view.start_ticks, clock, MOST_ROWS);
    let steal_ns = steal_ns(view.activities);
    Story { cpu: view.cpu, start_ns, length_ns, source, steal_ns, rows, more, more_ns }
}
