//! One series of a kernel on one CPU while that or another CPU was interrupted.

use super::cost::{All, Alone, Cost, Repetition};
use super::cursor::{Cursor, Marks};
use crate::samples::figures::Scatter;
use anechoic_recording::{Clock, Detour, Intervals, Run, Sample, Series};

/// Time that an interrupt takes before its event (the trap, in a guest the VM exit).
const BEFORE_NS: u64 = 20_000;
/// Time that an interrupt takes after it (the return to the interrupted code, or to sleep), during which neighbours may
/// be affected.
const AFTER_NS: u64 = 30_000;
/// A step that takes up to this many times its duration is slower work; a longer one without an event was taken by host
/// or hardware.
const SLOWER: u64 = 4;
/// An injected interrupt that exceeds its requested duration by this much was delayed by host or hardware.
const HELD_UP_NS: u64 = 50_000;

/// One series in progress. Times are counter ticks.
#[derive(Debug)]
pub(super) struct SeriesBuilder {
    /// The interrupted CPU.
    pub(super) source: u32,
    pub(super) injection: u32,
    /// Time before and after a repetition in which an interrupt may affect it.
    reach: (u64, u64),
    /// Longest detour without an event that is slower work; absent if gaps were not watched.
    slowest: Option<u64>,
    /// Longest detour with an injected interrupt that is not delayed.
    longest: u64,
    all: All,
    alone: Alone,
    pub(super) taken: SeriesInput,
    /// Its repetitions one by one, if a picture shows them.
    pub(super) drawn: Option<Scatter>,
}

/// The content of a series.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SeriesInput {
    /// Number of repetitions for which it is known whether there was an interrupt.
    pub(super) known: u64,
    /// Number of repetitions for which it is unknown, because events or detours were lost or switched off.
    pub(super) unknown: u64,
    /// Number of interrupts in the known ones.
    pub(super) interrupts: u64,
    /// Duration of the known ones.
    pub(super) wall: u64,
}

/// What else is known of the time of a repetition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around<'a> {
    /// Detours that begin in it.
    pub(super) detours: &'a [Detour],
    /// Intervals in which events or detours of its CPU, or events of the source, were lost or switched off.
    pub(super) lost: [&'a Intervals; 2],
}

impl SeriesBuilder {
    /// Returns the state for `series`, if one CPU was interrupted during it.
    pub(super) fn new(series: &Series, run: &Run) -> Option<Self> {
        let injection = series.parameters.injection?;
        let injected = run.injections.get(injection as usize)?;
        let (&[source], Some(cpu)) = (&injected.cpus[..], series.cpu) else { return None };
        let ticks = |ns: u64| run.clock.ticks(ns);
        let duration = ticks(injected.duration_ns);
        let reach = match source == cpu {
            // It lies in a gap of the very repetition.
            true => (0, 0),
            false => (ticks(BEFORE_NS), ticks(AFTER_NS).saturating_add(duration)),
        };
        let step = series.parameters.step_ticks;
        Some(Self {
            source,
            injection,
            reach,
            slowest: step.map(|step| step.saturating_mul(SLOWER)),
            longest: duration.saturating_add(ticks(HELD_UP_NS)),
            all: All::default(),
            alone: Alone::default(),
            taken: SeriesInput::default(),
            drawn: None,
        })
    }

    /// Returns up to when events must have been read to process a sample: on the source, and on its own CPU.
    pub(super) fn needs(&self, sample: &Sample) -> [u64; 2] {
        [sample.end_ticks.saturating_add(self.reach.0), sample.end_ticks.saturating_add(1)]
    }

    /// Returns from when on they must be available.
    pub(super) fn needs_from(&self, sample: &Sample) -> u64 {
        sample.start_ticks.saturating_sub(self.reach.1)
    }

    /// Adds a repetition.
    pub(super) fn add(
        &mut self,
        sample: &Sample,
        source: &Cursor<'_>,
        own: &Cursor<'_>,
        around: Around<'_>,
    ) {
        let (start, end) = (sample.start_ticks, sample.end_ticks);
        let (from, to) = (self.needs_from(sample), end.saturating_add(self.reach.0));
        let lost = around.lost[0].touch(start, end) || around.lost[1].touch(from, to);
        let marks = |cursor: &Cursor<'_>, start, end| cursor.between(start, end, self.injection);
        let (Some(felt), Some(contained), Some(seen), false) =
            (marks(source, from, to), marks(source, start, end), marks(own, start, end), lost)
        else {
            self.taken.unknown += 1;
            return;
        };
        let length = end.saturating_sub(start);
        let repetition = Repetition {
            index: sample.index,
            length,
            interrupts: contained.injected,
            touched: felt.injected > 0,
            alone: seen.others == 0
                && seen.interrupts <= seen.injected
                && around.detours.iter().all(|detour| self.is_no_hole(detour, own)),
        };
        if let Some(drawn) = &mut self.drawn {
            drawn.add(start, length);
        }
        self.taken.known += 1;
        self.taken.interrupts += contained.injected;
        self.taken.wall = self.taken.wall.saturating_add(length);
        self.all.add(&repetition);
        self.alone.add(&repetition);
    }

    /// Returns whether neither host nor hardware took the time of a detour, as far as that can be determined.
    fn is_no_hole(&self, detour: &Detour, own: &Cursor<'_>) -> bool {
        let gap = detour.end_ticks.saturating_sub(detour.start_ticks);
        let end = detour.end_ticks.saturating_add(1);
        let limit = match own.between(detour.start_ticks, end, self.injection) {
            Some(Marks { injected: 1.., .. }) => Some(self.longest),
            _ => self.slowest,
        };
        limit.is_none_or(|limit| gap <= limit)
    }

    /// Returns the cost of one interrupt: over all repetitions, and over undisturbed ones.
    pub(super) fn finish(self, clock: &Clock) -> [Option<Cost>; 2] {
        [self.all.cost(clock), self.alone.cost(clock)]
    }
}
