//! One series of a kernel on one CPU while another, or the same, was interrupted.

use super::cost::{All, Alone, Cost, Repetition};
use super::cursor::{Cursor, Marks};
use anechoic_recording::{Clock, Detour, Intervals, Run, Sample, Series};

/// An interrupt takes time of a CPU from before its event (the trap, in a guest the VM exit)
const BEFORE_NS: u64 = 20_000;
/// to after it (the return to what ran, or to sleep). Its neighbours may feel it as long.
const AFTER_NS: u64 = 30_000;
/// A step that takes up to so many times its time is work that went slower. What takes longer without an
/// event, the host or the hardware took.
const SLOWER: u64 = 4;
/// An injected interrupt that takes so much longer than asked was held up by the host or the hardware.
const HELD_UP_NS: u64 = 50_000;

/// One series in the making. Times are ticks.
#[derive(Debug)]
pub(super) struct SeriesOf {
    /// The CPU that is interrupted.
    pub(super) source: u32,
    injection: u32,
    /// How long before and after its own time a repetition may feel an interrupt.
    reach: (u64, u64),
    /// A longer detour without an event was not the work's; absent where gaps were not watched.
    slowest: Option<u64>,
    /// Nor was a longer one with an injected interrupt.
    longest: u64,
    all: All,
    alone: Alone,
    pub(super) taken: Taken,
}

/// What was read of a series.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Taken {
    /// Repetitions of which it is known whether there was an interrupt,
    pub(super) known: u64,
    /// and of which not: events or detours were lost or off.
    pub(super) unknown: u64,
    /// Interrupts in the known ones.
    pub(super) interrupts: u64,
    /// How long these took.
    pub(super) wall: u64,
}

/// What else is known of the time of a repetition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around<'a> {
    /// Detours that begin in it.
    pub(super) detours: &'a [Detour],
    /// When events or detours of its CPU, and events of the source, were lost or off.
    pub(super) lost: [&'a Intervals; 2],
}

impl SeriesOf {
    /// Of `series`, if one CPU was interrupted during it.
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
            taken: Taken::default(),
        })
    }

    /// Number of its injection.
    pub(super) fn injection(&self) -> u32 {
        self.injection
    }

    /// Up to when events must have been read to judge a sample: on the source, and on its own CPU.
    pub(super) fn needs(&self, sample: &Sample) -> [u64; 2] {
        [sample.end_ticks.saturating_add(self.reach.0), sample.end_ticks.saturating_add(1)]
    }

    /// From when on they must be there.
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
        self.taken.known += 1;
        self.taken.interrupts += contained.injected;
        self.taken.wall = self.taken.wall.saturating_add(length);
        self.all.add(&repetition);
        self.alone.add(&repetition);
    }

    /// Whether neither the host nor the hardware took the time of a detour, as far as one can tell.
    fn is_no_hole(&self, detour: &Detour, own: &Cursor<'_>) -> bool {
        let gap = detour.end_ticks.saturating_sub(detour.start_ticks);
        let end = detour.end_ticks.saturating_add(1);
        let limit = match own.between(detour.start_ticks, end, self.injection) {
            Some(Marks { injected: 1.., .. }) => Some(self.longest),
            _ => self.slowest,
        };
        limit.is_none_or(|limit| gap <= limit)
    }

    /// What one interrupt costs: of all repetitions, and of those in which nothing else was seen.
    pub(super) fn finish(self, clock: &Clock) -> [Option<Cost>; 2] {
        [self.all.cost(clock), self.alone.cost(clock)]
    }
}
