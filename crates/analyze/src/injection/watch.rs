//! One CPU: its deliveries, and the detours of its loop that contain them.

use super::delivered::{Came, Follower};
use super::due::Due;
use super::durations::Durations;
use anechoic_recording::event::{Handler, Role, Vector};
use anechoic_recording::injection::Spell;
use anechoic_recording::{Detour, EventKind, Intervals, KernelEvent};

/// Number of undetected deliveries that are listed.
const MOST_MISSED: usize = 5;

/// What is known of one CPU beforehand. Times are ticks.
#[derive(Debug)]
pub(super) struct WatchSetup {
    /// Time in which the loop ran and noise was on.
    pub(super) window: (u64, u64),
    /// Time in which noise was on.
    pub(super) spell: Spell,
    /// Thread of the loop.
    pub(super) victim: i32,
    /// One iteration, which is not part of a detour.
    pub(super) shortest_gap_ticks: u64,
    /// Requested duration.
    pub(super) asked_ticks: u64,
    /// Intervals in which kernel events were lost or switched off.
    pub(super) events_lost: Intervals,
    /// Intervals in which detours were lost.
    pub(super) detours_lost: Intervals,
}

impl WatchSetup {
    fn holds(&self, ticks: u64) -> bool {
        self.window.0 <= ticks && ticks <= self.window.1
    }
}

/// Sums over one CPU's events and detours.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Deliveries in the window.
    pub(super) delivered: u64,
    /// Deliveries in the whole on-time.
    pub(super) delivered_in_spell: u64,
    /// Deliveries that lie in a detour.
    pub(super) found: u64,
    /// Deliveries that lie in no detour, where none was lost.
    pub(super) missing: u64,
    /// Times of the first of those.
    pub(super) missed: Vec<u64>,
    /// Deliveries while detours were lost.
    pub(super) not_judged: u64,
    /// Detours in the window.
    pub(super) detours: u64,
    /// Detours that contain several.
    pub(super) shared: u64,
    /// Detours that contain none, while no event was lost.
    pub(super) extra: u64,
    /// Detours that contain none, while events were lost.
    pub(super) detours_not_judged: u64,
    /// Durations of the time in which each had the CPU.
    pub(super) own: Durations,
    /// Number that had the CPU for less than half of the requested time.
    pub(super) too_short: u64,
    /// Lengths of detours that contain exactly one and nothing else.
    pub(super) alone: Durations,
}

/// Follows one CPU's detours and events, both in time order, in constant memory.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    place: &'a WatchSetup,
    follower: Follower,
    due: Due,
    /// The detour that may contain the next event.
    open: Option<Open>,
    /// Whether the last delivery was in the window.
    counts: bool,
    tally: Tally,
}

#[derive(Debug)]
struct Open {
    detour: Detour,
    injected: u64,
    interrupts: u64,
    others: u64,
}

impl<'a> Watch<'a> {
    pub(super) fn new(place: &'a WatchSetup, follower: Follower, due: Due) -> Self {
        Self { place, follower, due, open: None, counts: false, tally: Tally::default() }
    }

    /// Merges both streams.
    ///
    /// # Errors
    ///
    /// Those of either stream.
    pub(super) fn run<E>(
        mut self,
        mut detours: impl Iterator<Item = Result<Detour, E>>,
        events: impl Iterator<Item = Result<KernelEvent, E>>,
    ) -> Result<(Tally, Due), E> {
        self.next(&mut detours)?;
        for event in events {
            let event = event?;
            while self.open.as_ref().is_some_and(|open| open.detour.end_ticks < event.ticks) {
                self.next(&mut detours)?;
            }
            self.event(&event);
        }
        while self.open.is_some() {
            self.next(&mut detours)?;
        }
        Ok((self.tally, self.due))
    }

    fn next<E>(&mut self, detours: &mut impl Iterator<Item = Result<Detour, E>>) -> Result<(), E> {
        if let Some(open) = self.open.take() {
            self.close(&open);
        }
        let next = detours.next().transpose()?;
        self.open = next.map(|detour| Open { detour, injected: 0, interrupts: 0, others: 0 });
        Ok(())
    }

    fn event(&mut self, event: &KernelEvent) {
        let ours = self.follower.owns(event, self.place.victim);
        let came = self.follower.take(event);
        let around = self.open.as_mut().filter(|open| open.detour.start_ticks <= event.ticks);
        if let Some(open) = around
            && !ours
        {
            match activity(event.kind) {
                Activity::Interrupt => open.interrupts += 1,
                Activity::Other if came.is_none() => open.others += 1,
                Activity::Other | Activity::None => {}
            }
        }
        match came {
            Some(Came::Expired) => self.count_in_spell(event.ticks),
            Some(Came::Began { due_ns, first }) => {
                if first {
                    self.count_in_spell(event.ticks);
                }
                self.began(event.ticks, due_ns);
            }
            Some(Came::Ended { own_ticks }) if self.counts => {
                self.tally.own.add(own_ticks);
                self.tally.too_short += u64::from(own_ticks < self.place.asked_ticks / 2);
            }
            Some(Came::Ended { .. }) | None => {}
        }
    }

    /// The injector also counts deliveries while no loop runs. A kernel may not record switches from its idle task
    /// then, but it does record timers.
    fn count_in_spell(&mut self, ticks: u64) {
        let spell = &self.place.spell;
        let inside = spell.start_ticks <= ticks && ticks <= spell.end_ticks;
        self.tally.delivered_in_spell += u64::from(inside);
    }

    fn began(&mut self, ticks: u64, due_ns: Option<u64>) {
        self.due.came(ticks, due_ns);
        self.counts = self.place.holds(ticks);
        let around = self.open.as_mut().filter(|open| open.detour.start_ticks <= ticks);
        let seen = around.map(|open| open.injected += 1).is_some();
        if !self.counts {
            return;
        }
        let tally = &mut self.tally;
        tally.delivered += 1;
        if seen {
            tally.found += 1;
        } else if self.place.detours_lost.touch(ticks, ticks) {
            tally.not_judged += 1;
        } else {
            tally.missing += 1;
            if tally.missed.len() < MOST_MISSED {
                tally.missed.push(ticks);
            }
        }
    }

    fn close(&mut self, open: &Open) {
        let Detour { start_ticks, end_ticks, .. } = open.detour;
        if !self.place.holds(start_ticks) || !self.place.holds(end_ticks) {
            return;
        }
        let tally = &mut self.tally;
        tally.detours += 1;
        let events_lost = self.place.events_lost.touch(start_ticks, end_ticks);
        match open.injected {
            0 if events_lost => tally.detours_not_judged += 1,
            0 => tally.extra += 1,
            1 if open.interrupts <= 1 && open.others == 0 && !events_lost => {
                let gap = end_ticks.saturating_sub(start_ticks);
                tally.alone.add(gap.saturating_sub(self.place.shortest_gap_ticks));
            }
            1 => {}
            _ => tally.shared += 1,
        }
    }
}

/// Role of an event in its detour besides the injection.
pub(crate) enum Activity {
    /// It took no time of its own.
    None,
    /// An interrupt in which timers expire; the injected one needs one of these.
    Interrupt,
    /// Something else happened.
    Other,
}

pub(crate) fn activity(kind: EventKind) -> Activity {
    match kind.role() {
        Role::Enter(Handler::Vector(Vector::LocalTimer) | Handler::Irq) => Activity::Interrupt,
        Role::Enter(_) | Role::Instant => Activity::Other,
        Role::Exit(_) | Role::Cause => Activity::None,
    }
}
