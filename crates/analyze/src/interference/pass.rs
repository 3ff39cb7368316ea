//! Reads samples, detours and events of all CPUs once, side by side in time.

use super::cursor::Cursor;
use super::series::{Around, SeriesBuilder};
use crate::injection::delivered::Functions;
use crate::samples::figures::Scatter;
use crate::stream::Stream;
use anechoic_recording::run::Outcome;
use anechoic_recording::topology::Proximity;
use anechoic_recording::{
    Detour, Fixed, Intervals, LossKind, Losses, Name, Problem, Recording, Run, Sample, Series,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// Number of marks of one CPU at which those are dropped that no sample needs any more.
const MANY_MARKS: usize = 4096;

/// The state of a pass.
pub(super) struct Pass<'a> {
    known: &'a [(Series, Outcome)],
    /// As long as `known`; absent if no single CPU was interrupted, or if the series was not pinned.
    series: Vec<Option<SeriesBuilder>>,
    cursors: BTreeMap<u32, Cursor<'a>>,
    lanes: BTreeMap<u32, CpuTables<'a>>,
    lost: BTreeMap<u32, Lost>,
}

/// Intervals in which not everything on a CPU was recorded.
#[derive(Debug, Default)]
struct Lost {
    events: Intervals,
    events_or_detours: Intervals,
}

/// Samples and detours of one CPU.
struct CpuTables<'a> {
    samples: Stream<'a, Sample>,
    detours: Stream<'a, Detour>,
    /// Detours of the current sample.
    within: Vec<Detour>,
}

impl<'a> CpuTables<'a> {
    /// Begins at the first sample and the first detour of `cpu`.
    fn new(recording: &'a Recording, cpu: u32) -> Self {
        let (samples, detours) = (Stream::new(recording, cpu), Stream::new(recording, cpu));
        Self { samples, detours, within: vec![] }
    }

    /// Collects the detours that begin in the sample into `within`.
    fn advance(&mut self, sample: &Sample) -> Result<(), Problem> {
        self.within.clear();
        while self.detours.peek()?.is_some_and(|next| next.start_ticks < sample.end_ticks) {
            let next = self.detours.next()?;
            self.within.extend(next.filter(|detour| detour.start_ticks >= sample.start_ticks));
        }
        Ok(())
    }
}

/// Returns the builder of a series; absent for one that has no cost of interrupts.
fn open(series: &Series, run: &Run) -> Option<SeriesBuilder> {
    let fits = series.fixed == Fixed::Work && series.parameters.copies <= 1;
    SeriesBuilder::new(series, run).filter(|_| fits)
}

impl<'a> Pass<'a> {
    /// Begins a pass at the start of all tables.
    ///
    /// # Errors
    ///
    /// A table is damaged.
    pub(super) fn new(
        recording: &'a Recording,
        known: &'a [(Series, Outcome)],
    ) -> Result<Self, Problem> {
        let run = recording.run();
        let mut series: Vec<Option<SeriesBuilder>> =
            known.iter().map(|(series, _)| open(series, run)).collect();
        let mut shown = BTreeSet::new();
        for ((planned, outcome), open) in known.iter().zip(&mut series) {
            let Some((open, cpu)) = open.as_mut().zip(planned.cpu) else { continue };
            // The first series of each kernel at each distance stands for the others.
            if shown.insert((&planned.variant, Proximity::between(&run.machine, open.source, cpu)))
            {
                open.drawn = Some(Scatter::new(outcome.first_ticks, outcome.last_ticks));
            }
        }
        let mut functions = Functions::default();
        for rows in recording.rows::<Name>() {
            rows?.iter().for_each(|name| functions.note(name));
        }
        let followed = known.iter().zip(&series).filter(|(_, open)| open.is_some());
        let measured: BTreeSet<u32> =
            followed.filter_map(|((planned, _), _)| planned.cpu).collect();
        let sources = series.iter().flatten().map(|open| open.source);
        let all: BTreeSet<u32> = measured.iter().copied().chain(sources).collect();
        let losses = recording.losses()?;
        let cursor = |&cpu| (cpu, Cursor::new(recording, cpu, &functions));
        let lane = |&cpu| (cpu, CpuTables::new(recording, cpu));
        Ok(Self {
            known,
            cursors: all.iter().map(cursor).collect(),
            lanes: measured.iter().map(lane).collect(),
            lost: all.iter().map(|&cpu| (cpu, Lost::on_cpu(&losses, cpu))).collect(),
            series,
        })
    }

    /// Returns whether the events contain the interrupts of a series.
    pub(super) fn follows(&self, series: &SeriesBuilder) -> bool {
        self.cursors.get(&series.source).is_some_and(|cursor| cursor.follows(series.injection))
    }

    /// Returns the series so far.
    pub(super) fn series(&self) -> &[Option<SeriesBuilder>] {
        &self.series
    }

    /// Reads everything, and returns the series in the order of the recording.
    ///
    /// # Errors
    ///
    /// A table is damaged.
    pub(super) fn run(mut self) -> Result<Vec<Option<SeriesBuilder>>, Problem> {
        let mut turns = BinaryHeap::new();
        for (&cpu, lane) in &mut self.lanes {
            turns.extend(lane.samples.peek()?.map(|next| Reverse((next.end_ticks, cpu))));
        }
        // In the order of their ends, so that the events of all CPUs are read forwards.
        while let Some(Reverse((_, cpu))) = turns.pop() {
            self.sample(cpu)?;
            let Some(lane) = self.lanes.get_mut(&cpu) else { continue };
            turns.extend(lane.samples.peek()?.map(|next| Reverse((next.end_ticks, cpu))));
        }
        Ok(self.series)
    }

    /// Processes the next sample of a CPU.
    fn sample(&mut self, cpu: u32) -> Result<(), Problem> {
        let Some(lane) = self.lanes.get_mut(&cpu) else { return Ok(()) };
        let Some(sample) = lane.samples.next()? else { return Ok(()) };
        lane.advance(&sample)?;
        let known = self.known.binary_search_by_key(&sample.series, |(series, _)| series.series);
        // One whose thread was moved to another CPU is evidence about neither.
        let Some(at) = known.ok().filter(|&at| self.known[at].0.cpu == Some(cpu)) else {
            return Ok(());
        };
        let Some(series) = &mut self.series[at] else { return Ok(()) };
        let needed = [series.source, cpu].into_iter().zip(series.needs(&sample));
        for (cpu, until_ticks) in needed {
            let Some(cursor) = self.cursors.get_mut(&cpu) else { return Ok(()) };
            cursor.read_to(until_ticks)?;
        }
        let (Some(source), Some(own)) = (self.cursors.get(&series.source), self.cursors.get(&cpu))
        else {
            return Ok(());
        };
        let (Some(lost), Some(source_lost)) = (self.lost.get(&cpu), self.lost.get(&series.source))
        else {
            return Ok(());
        };
        let lost = [&lost.events_or_detours, &source_lost.events];
        let around = Around { detours: &lane.within, lost };
        series.add(&sample, source, own, around);
        let (many, from) = (source.len().max(own.len()) > MANY_MARKS, series.needs_from(&sample));
        if many { self.forget(from) } else { Ok(()) }
    }

    /// Drops marks before `from_ticks`, except those that the next sample of some CPU needs.
    fn forget(&mut self, from_ticks: u64) -> Result<(), Problem> {
        let mut needed = from_ticks;
        for lane in self.lanes.values_mut() {
            let Some(next) = lane.samples.peek()? else { continue };
            let at = self.known.binary_search_by_key(&next.series, |(series, _)| series.series);
            let series = at.ok().and_then(|at| self.series[at].as_ref());
            needed = needed.min(series.map_or(u64::MAX, |series| series.needs_from(next)));
        }
        self.cursors.values_mut().for_each(|cursor| cursor.forget_before(needed));
        Ok(())
    }
}

impl Lost {
    fn on_cpu(losses: &Losses, cpu: u32) -> Self {
        Self {
            events: losses.on_cpu(cpu, &[LossKind::Events, LossKind::Untraced]),
            events_or_detours: losses
                .on_cpu(cpu, &[LossKind::Events, LossKind::Untraced, LossKind::Detours]),
        }
    }
}
