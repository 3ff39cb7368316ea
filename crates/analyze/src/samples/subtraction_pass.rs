//! Joins activities to samples while these are read: subtraction and tick overhead of every series in one pass.

use crate::places::Places;
use crate::samples::subtraction::Subtraction;
use crate::samples::subtraction_of::{SeriesTraits, SubtractionBuilder};
use crate::samples::subtraction_parts::{Class, Joined, Piece};
use crate::samples::tick_overhead::{TickOverhead, TickOverheadOf};
use anechoic_recording::run::Outcome;
use anechoic_recording::{
    Activity, Clock, Detour, Fixed, Intervals, LossKind, Losses, Problem, Recording, Rows, Sample,
    Series,
};
use std::collections::BTreeMap;

/// Time of the kernel in the samples of one series.
#[derive(Debug, Default)]
pub(crate) struct Direct {
    pub(crate) subtraction: Option<Subtraction>,
    pub(crate) ticks: Option<TickOverhead>,
}

/// Processes the samples of a recording and joins each CPU's activities to them.
pub(crate) struct DirectBuilder<'a> {
    recording: &'a Recording,
    attributed: bool,
    lanes: BTreeMap<u32, CpuPass<'a>>,
    /// As long as the list of series; absent if nothing can be subtracted from their samples, or once complete.
    series: Vec<Option<SeriesBuilder>>,
    done: Vec<Direct>,
    failed: Option<Problem>,
}

/// State of one CPU.
struct CpuPass<'a> {
    joined: Joined<Pieces<'a>>,
    /// Intervals in which not everything was recorded.
    unknown: Intervals,
    next_unknown: usize,
    /// Series of the last sample, and its end.
    last: Option<(usize, u64)>,
}

/// State of one series.
struct SeriesBuilder {
    cpu: u32,
    subtraction: SubtractionBuilder,
    ticks: TickOverheadOf,
}

impl SeriesBuilder {
    /// Returns empty sums; absent if it is not known what was inside the samples of the series.
    fn new(series: &Series, attributed: bool, any_watched: bool, clock: &Clock) -> Option<Self> {
        // Without attribution only the detours of a watched series are known, and beside
        // such series others are not attributed. Copies on one CPU share its activities.
        let watched = series.parameters.step_ticks.is_some();
        let possible = (watched || attributed && !any_watched) && series.parameters.copies <= 1;
        let cpu = series.cpu.filter(|_| possible && series.fixed == Fixed::Work)?;
        Some(Self {
            cpu,
            subtraction: SubtractionBuilder::new(SeriesTraits::new(series, attributed), clock),
            ticks: TickOverheadOf::new(watched),
        })
    }
}

impl<'a> DirectBuilder<'a> {
    /// Begins a pass over a recording with these series.
    ///
    /// # Errors
    ///
    /// A table is damaged.
    pub(crate) fn new(
        recording: &'a Recording,
        known: &[(Series, Outcome)],
    ) -> Result<Self, Problem> {
        let attributed = recording.attribution()?.is_some();
        let clock = &recording.run().clock;
        let any_watched = known.iter().any(|(series, _)| series.parameters.step_ticks.is_some());
        let series: Vec<Option<SeriesBuilder>> = known
            .iter()
            .map(|(series, _)| SeriesBuilder::new(series, attributed, any_watched, clock))
            .collect();
        let losses = recording.losses()?;
        let mut lanes = BTreeMap::new();
        for cpu in series.iter().flatten().map(|series| series.cpu) {
            lanes.entry(cpu).or_insert_with(|| CpuPass {
                joined: Joined::new(Pieces::new(recording, cpu, attributed)),
                unknown: unknown(&losses, cpu, attributed),
                next_unknown: 0,
                last: None,
            });
        }
        let done = known.iter().map(|_| Direct::default()).collect();
        Ok(Self { recording, attributed, lanes, series, done, failed: None })
    }

    /// Adds the next samples of this series. Those of one CPU come in time order, one series after the other: the first
    /// sample of the next series completes a series, and later samples are ignored.
    pub(crate) fn add(&mut self, at: usize, samples: &[Sample]) {
        let Some(series) = self.series.get(at).and_then(Option::as_ref) else { return };
        let cpu = series.cpu;
        let before = self.lanes.get(&cpu).and_then(|lane| lane.last).map(|(before, _)| before);
        if let Some(before) = before.filter(|&before| before != at) {
            self.complete(before);
        }
        let Some(series) = &mut self.series[at] else { return };
        let Some(lane) = self.lanes.get_mut(&cpu).filter(|_| self.failed.is_none()) else { return };
        for sample in samples {
            if lane.last.is_some_and(|(_, end)| sample.start_ticks < end) {
                let why = format!("samples of CPU {cpu} overlap although they are not from copies");
                let file = self.recording.dir().join("samples");
                self.failed = Some(Problem::damaged(&file, why));
                return;
            }
            if let Err(error) = series.add(at, sample, lane) {
                self.failed = Some(error);
                return;
            }
        }
    }

    /// Returns the result for each series.
    ///
    /// # Errors
    ///
    /// A table was damaged.
    pub(crate) fn finish(mut self) -> Result<Vec<Direct>, Problem> {
        (0..self.series.len()).for_each(|at| self.complete(at));
        match self.failed {
            Some(error) => Err(error),
            None => Ok(self.done),
        }
    }

    /// Computes a result from a series' sums, whose memory is then reused.
    fn complete(&mut self, at: usize) {
        let Some(series) = self.series[at].take() else { return };
        let Some(lane) = self.lanes.get(&series.cpu) else { return };
        let (names, clock) = (lane.joined.pieces.places.names(), &self.recording.run().clock);
        self.done[at] = Direct {
            subtraction: Some(series.subtraction.finish(names, clock)),
            ticks: self.attributed.then(|| series.ticks.finish(clock)),
        };
    }
}

impl CpuPass<'_> {
    /// Returns whether part of a sample was not recorded.
    fn is_unknown(&mut self, start_ticks: u64, end_ticks: u64) -> bool {
        while self
            .unknown
            .as_slice()
            .get(self.next_unknown)
            .is_some_and(|&(_, end)| end <= start_ticks)
        {
            self.next_unknown += 1;
        }
        self.unknown.as_slice().get(self.next_unknown).is_some_and(|&(start, _)| start < end_ticks)
    }
}

impl SeriesBuilder {
    fn add(&mut self, at: usize, sample: &Sample, lane: &mut CpuPass) -> Result<(), Problem> {
        let (start, end) = (sample.start_ticks, sample.end_ticks);
        let unknown = lane.is_unknown(start, end);
        // What lies between the stints of two series belongs to neither.
        let same = lane.last.replace((at, end)).filter(|&(last, _)| last == at);
        let since = same.map_or(start, |(_, end)| end);
        let (parts, outside) = lane.joined.sample(since, (start, end))?;
        let length = end.saturating_sub(start);
        let follows = same.is_some_and(|(_, end)| end == start);
        self.subtraction.add(length, parts, unknown, follows);
        self.subtraction.add_outside(outside);
        self.ticks.add(length, parts, unknown, follows);
        Ok(())
    }
}

/// Returns the intervals in which not everything on `cpu` was recorded.
fn unknown(losses: &Losses, cpu: u32, attributed: bool) -> Intervals {
    let kinds = [LossKind::Detours, LossKind::Events, LossKind::Untraced];
    losses.on_cpu(cpu, if attributed { &kinds } else { &kinds[..1] })
}

/// The activities of one CPU one by one; without attribution its detours.
struct Pieces<'a> {
    rows: PieceRows<'a>,
    places: Places,
}

enum PieceRows<'a> {
    Activities(Rows<'a, Activity>, std::vec::IntoIter<Activity>),
    Detours(Rows<'a, Detour>, std::vec::IntoIter<Detour>),
}

impl<'a> Pieces<'a> {
    fn new(recording: &'a Recording, cpu: u32, attributed: bool) -> Self {
        let rows = if attributed {
            PieceRows::Activities(recording.rows_of_cpu(cpu), vec![].into_iter())
        } else {
            PieceRows::Detours(recording.rows_of_cpu(cpu), vec![].into_iter())
        };
        Self { rows, places: Places::default() }
    }
}

impl Iterator for Pieces<'_> {
    type Item = Result<Piece, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        let piece = match &mut self.rows {
            PieceRows::Activities(rows, group) => next_of(rows, group)?.map(|activity| {
                let place = self.places.place(&activity.source, &activity.name);
                Piece::new(&activity, place)
            }),
            PieceRows::Detours(rows, group) => next_of(rows, group)?.map(|detour| Piece {
                start_ticks: detour.start_ticks,
                self_ticks: detour.end_ticks.saturating_sub(detour.start_ticks),
                class: Class::Detour,
                place: 0,
                charged_to_tick: false,
                detour: 0,
                parent: None,
            }),
        };
        Some(piece)
    }
}

/// Returns the next row of a table that is read group by group.
fn next_of<R>(
    rows: &mut impl Iterator<Item = Result<Vec<R>, Problem>>,
    group: &mut std::vec::IntoIter<R>,
) -> Option<Result<R, Problem>> {
    loop {
        if let Some(row) = group.next() {
            return Some(Ok(row));
        }
        match rows.next()? {
            Ok(next) => *group = next.into_iter(),
            Err(error) => return Some(Err(error)),
        }
    }
}
