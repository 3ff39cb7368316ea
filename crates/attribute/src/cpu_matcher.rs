//! One measured CPU: matches its events to its detours.

use crate::apply::apply;
use crate::causes::Causes;
use crate::frame::{Sender, What};
use crate::input::CpuInput;
use crate::label::{DetourRef, Labels};
use crate::own_time::{drop_gaps, take_off};
use crate::scene::{ORDINARY, Scene};
use crate::steal::StealStage;
use crate::track::{Position, Track};
use crate::victims::Victims;
use anechoic_recording::Problem;
use anechoic_recording::attribution::{Alignment, Outside};
use anechoic_recording::event::Role;
use anechoic_recording::run::CpuRun;
use anechoic_recording::{
    Activity, Clock, EventKind, Intervals, KernelEvent, LossKind, Members, Stint,
};

/// The open detour, or the open sample if gaps were not recorded.
#[derive(Debug, Clone, Copy)]
struct Current {
    index: u64,
    /// The stint of its loop.
    stint: Stint,
    /// Where it ends.
    end: u64,
    /// Whether nothing is known about it, because events were lost or not recorded.
    dark: bool,
}

/// One measured CPU.
pub(crate) struct CpuMatcher<'a> {
    cpu: u32,
    /// The thread of its loops; 0 for a program, which has threads of its own.
    victim: i32,
    /// The thread that has the CPU, with its priority, as far as events show it; that of the loop, unless a program was
    /// recorded.
    running: (i32, i32),
    /// Which loops ran and when, in time order.
    stints: Vec<Stint>,
    track: Track<'a>,
    dark: Intervals,
    /// Intervals in which detours were lost, so that events there do not count for the alignment.
    blind: Intervals,
    scene: Scene,
    current: Option<Current>,
    /// Since when the events between two wake-ups are followed; absent if its thread does not sleep between samples.
    between: Option<u64>,
    /// Number of detours opened so far.
    detours: u64,
    /// Rows of the last detour.
    rows: Vec<Activity>,
    pub(crate) steal: StealStage<'a>,
}

/// From the end of an interrupt that woke a thread to the switch to it, if nothing delays it: 5 to 10 µs in a guest, and
/// more with an exit to the hypervisor.
pub(crate) const SWITCH_NS: u64 = 20_000;

impl<'a> CpuMatcher<'a> {
    pub(crate) fn new(
        cpu: &CpuRun,
        input: CpuInput<'a>,
        clock: &Clock,
        tolerance: u64,
        steal_read: bool,
    ) -> Result<Self, Problem> {
        let lost = |kinds: &[LossKind]| {
            let of_kind = input.losses.iter().filter(|loss| kinds.contains(&loss.what));
            Intervals::merge(of_kind.map(|loss| (loss.start_ticks, loss.end_ticks)))
        };
        let mut scene = Scene::new(clock.ticks(SWITCH_NS));
        let between = input.stints.iter().find(|stint| stint.sleeps).map(|stint| stint.first_ticks);
        between.iter().for_each(|start| scene.begin_between(*start, cpu.tid));
        Ok(Self {
            dark: lost(&[LossKind::Events, LossKind::Untraced]),
            blind: lost(&[LossKind::Detours]),
            steal: StealStage::new(
                input.steal,
                lost(&[LossKind::Steal]),
                clock.clone(),
                steal_read,
            ),
            track: Track::new(input.detours, tolerance)?,
            scene,
            between,
            cpu: cpu.cpu,
            victim: cpu.tid,
            running: (cpu.tid, 0),
            stints: input.stints,
            current: None,
            detours: 0,
            rows: Vec::new(),
        })
    }

    /// Processes the next event of this CPU. `program` has the threads of the recorded program, if one was.
    pub(crate) fn event(
        &mut self,
        event: &KernelEvent,
        program: Option<&Members>,
        causes: &mut Causes,
        labels: &Labels,
        clock: &Clock,
        alignment: &mut Alignment,
    ) -> Result<(), Problem> {
        let victims = program.map_or(Victims::Loop(self.victim), Victims::Program);
        if program.is_some() {
            self.follow(event);
        }
        let outside = self.settle(event.ticks, labels, victims)?;
        if program.is_some() {
            if event.kind == EventKind::Switch {
                self.running = (event.args[0] as i32, event.args[2] as i32);
            }
        } else if self.is_watched(event.ticks)
            && !(outside.is_some() && self.blind.touch(event.ticks, event.ticks))
        {
            align(alignment, event, outside);
        }
        if event.kind.role() == Role::Cause
            && !self.rearms(event)
            && let Some(sender) = self.sender(event, victims)
        {
            causes.note(event, sender);
        }
        let known = match outside {
            None => self.current.is_some_and(|detour| !detour.dark),
            Some(_) => self.between.is_some(),
        };
        if known {
            apply(&mut self.scene, event, victims, causes, labels.names(), clock);
        }
        Ok(())
    }

    /// Follows which thread has the CPU when the event comes.
    fn follow(&mut self, event: &KernelEvent) {
        if event.kind.has_current_thread() && event.pid != self.running.0 {
            self.running = (event.pid, ORDINARY);
        }
    }

    /// Opens and finishes detours until the one at `ticks` is open; returns the distance if there is none.
    fn settle(
        &mut self,
        ticks: u64,
        labels: &Labels,
        victims: Victims<'_>,
    ) -> Result<Option<u64>, Problem> {
        loop {
            match self.track.place(ticks) {
                Position::Inside => return Ok(None),
                Position::Finish => self.finish_detour(labels)?,
                Position::Open => self.open_detour(victims)?,
                Position::Outside(distance) => return Ok(Some(distance)),
            }
        }
    }

    fn open_detour(&mut self, victims: Victims<'_>) -> Result<(), Problem> {
        let Some(detour) = self.track.open()? else { return Ok(()) };
        let (start, end) = (detour.start_ticks, detour.end_ticks);
        let index = self.detours;
        self.detours += 1;
        // A detour outside all stints is not this loop's: it is a sample of an unpinned thread.
        self.current = Stint::around(&self.stints, start, end).map(|place| {
            let stint = self.stints[place];
            match self.between.filter(|_| stint.sleeps) {
                Some(since) => {
                    let known = !self.dark.touch(since.min(start), start);
                    let call = stint.waker_cpu.map(|cpu| cpu != self.cpu);
                    let call = call.map(|elsewhere| What::WakingCall { elsewhere });
                    self.scene.begin_asleep((start, end), self.victim, known, call);
                }
                None => self.scene.begin((start, end), &stint, self.running, victims),
            }
            Current { index, stint, end, dark: self.dark.touch(start, end) }
        });
        Ok(())
    }

    /// Returns whether a loop that records gaps ran at `ticks`, so that an event must lie in a detour.
    fn is_watched(&self, ticks: u64) -> bool {
        let begun = self.stints.partition_point(|stint| stint.first_ticks <= ticks);
        let last = begun.checked_sub(1).map(|last| self.stints[last]);
        last.is_some_and(|stint| stint.watched && ticks <= stint.last_ticks)
    }

    fn finish_detour(&mut self, labels: &Labels) -> Result<(), Problem> {
        self.track.finish();
        let Some(current) = self.current.take() else { return Ok(()) };
        let sleeps = current.stint.sleeps;
        if !current.stint.watched && !sleeps && !current.dark && !self.scene.is_eventful() {
            return Ok(()); // most samples
        }
        let frames = if current.dark { self.scene.whole(What::Dark) } else { self.scene.finish() };
        if current.stint.watched {
            let step = current.stint.shortest_gap_ticks;
            take_off(frames, step);
            // A step of work, which may be hundreds of ns long, need not have been interrupted to take longer.
            if let [frame] = &mut frames[..]
                && frame.what == What::NoEvent
                && frame.self_ticks < step
            {
                frame.what = What::Slower;
            }
        } else if !sleeps {
            drop_gaps(frames);
        }
        labels.rows(frames, DetourRef { cpu: self.cpu, detour: current.index }, &mut self.rows);
        if let Some(since) = &mut self.between {
            *since = current.end;
            self.scene.begin_between(current.end, self.victim);
        }
        self.steal.take(&mut self.rows)
    }

    /// Finishes the open detour and all later ones; `each` may take rows in between.
    pub(crate) fn finish(
        &mut self,
        program: Option<&Members>,
        labels: &Labels,
        mut each: impl FnMut(&mut Self) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let victims = program.map_or(Victims::Loop(self.victim), Victims::Program);
        loop {
            if self.track.is_open() {
                self.finish_detour(labels)?;
                each(self)?;
            }
            self.open_detour(victims)?;
            if !self.track.is_open() {
                return self.steal.finish();
            }
        }
    }

    /// Handles that the victims' control group gets new CPU time; returns how much of a wait is charged to its quota, of `most`
    /// ticks.
    pub(crate) fn refill(
        &mut self,
        ticks: u64,
        program: Option<&Members>,
        labels: &Labels,
        most: u64,
    ) -> Result<u64, Problem> {
        let victims = program.map_or(Victims::Loop(self.victim), Victims::Program);
        let outside = self.settle(ticks, labels, victims)?;
        let is_known = outside.is_none() && self.current.is_some_and(|detour| !detour.dark);
        Ok(if is_known { self.scene.end_of_throttling(ticks, most) } else { 0 })
    }

    /// Records that the victim of this CPU was woken, here or elsewhere.
    pub(crate) fn wake(&mut self, event: &KernelEvent, labels: &Labels) -> Result<(), Problem> {
        // An event elsewhere may be the first of a wake-up.
        self.settle(event.ticks, labels, Victims::Loop(self.victim))?;
        if event.cpu == self.cpu {
            self.scene.wakes_here(event.pid);
        }
        self.scene.wake(event.ticks);
        Ok(())
    }

    /// Returns whether the event is a timer rearming itself from its own interrupt.
    fn rearms(&self, event: &KernelEvent) -> bool {
        matches!(event.kind, EventKind::HrtimerStart | EventKind::TimerStart)
            && self.scene.is_expiring(event.args[0])
    }

    /// Returns who really caused the event: the thread, the interrupt that it is in, or whoever armed the
    /// running timer.
    ///
    /// A loop only reads its counter, so what it seems to do is done by an interrupt that was not
    /// followed (before the loop began, or where events were lost). In that case there is no sender.
    fn sender(&self, event: &KernelEvent, victims: Victims<'_>) -> Option<Sender> {
        let thread = Sender { cpu: event.cpu, pid: event.pid, ticks: event.ticks, within: None };
        match self.scene.interrupt() {
            None if !victims.are_of_program() && victims.has(event.pid) => None,
            None => Some(thread),
            Some((What::Timer { .. } | What::Hrtimer { .. }, Some(armer))) => Some(armer),
            Some((what, _)) => Some(Sender { within: Some(what), ..thread }),
        }
    }
}

/// The largest number of events outside detours that are kept as examples.
const EXAMPLES: usize = 20;

/// Counts an event for the alignment check: every kernel event on a measured CPU must lie inside a detour. `outside` is
/// its distance to the nearest detour in ticks, or `None` if it is inside one.
fn align(alignment: &mut Alignment, event: &KernelEvent, outside: Option<u64>) {
    alignment.events += 1;
    let Some(distance_ticks) = outside else { return };
    alignment.outside += 1;
    if alignment.examples.len() < EXAMPLES {
        let (spec, cpu, ticks) = (event.kind.spec(), event.cpu, event.ticks);
        let event = format!("{}:{}", spec.system, spec.name);
        alignment.examples.push(Outside { cpu, ticks, event, distance_ticks });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_events_outside_detours_are_kept_as_examples() {
        let mut alignment = Alignment::default();
        for ticks in 0..50 {
            let event =
                KernelEvent { cpu: 3, ticks, kind: EventKind::IrqEntry, pid: 1, args: [0; 3] };
            align(&mut alignment, &event, (ticks % 2 == 1).then_some(ticks + 7));
        }
        assert_eq!((alignment.events, alignment.outside), (50, 25));
        assert_eq!(alignment.examples.len(), EXAMPLES);
        let first = &alignment.examples[0];
        assert_eq!((first.cpu, first.ticks, first.distance_ticks), (3, 1, 8));
    }
}
