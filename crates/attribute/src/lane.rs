//! One measured CPU: its detours beside its events.

use crate::alignment::Aligning;
use crate::apply::apply;
use crate::causes::Causes;
use crate::frame::{Sender, What};
use crate::intervals::Intervals;
use crate::label::{Labels, Place as RowPlace};
use crate::scene::Scene;
use crate::steal::StealStage;
use crate::track::{Place, Track};
use crate::{AttributeError, CpuInput};
use anechoic_recording::run::CpuRun;
use anechoic_recording::{Activity, Clock, EventKind, KernelEvent};

/// The detour that is open.
#[derive(Debug, Clone, Copy)]
struct Current {
    index: u64,
    /// Nothing can be said of it: events were lost or not recorded.
    dark: bool,
}

/// One measured CPU.
pub(crate) struct Lane<'a> {
    cpu: CpuRun,
    track: Track<'a>,
    dark: Intervals,
    /// Where detours were lost: events there say nothing of alignment.
    blind: Intervals,
    scene: Scene,
    current: Option<Current>,
    /// Detours opened so far.
    detours: u64,
    /// Rows of the last detour.
    rows: Vec<Activity>,
    pub(crate) steal: StealStage<'a>,
}

impl<'a> Lane<'a> {
    pub(crate) fn new(
        cpu: &CpuRun,
        input: CpuInput<'a>,
        clock: &Clock,
        tolerance: u64,
        steal_read: bool,
    ) -> Result<Self, AttributeError> {
        let lost = |kinds: &[&str]| {
            let of_kind = input.losses.iter().filter(|loss| kinds.contains(&loss.what.as_str()));
            Intervals::new(of_kind.map(|loss| (loss.start_ticks, loss.end_ticks)))
        };
        Ok(Self {
            dark: lost(&["events", "untraced"]),
            blind: lost(&["detours"]),
            steal: StealStage::new(input.steal, lost(&["steal"]), clock.clone(), steal_read),
            track: Track::new(input.detours, tolerance)?,
            scene: Scene::new(cpu.tid),
            cpu: cpu.clone(),
            current: None,
            detours: 0,
            rows: Vec::new(),
        })
    }

    /// Takes the next event of this CPU.
    pub(crate) fn event(
        &mut self,
        event: &KernelEvent,
        causes: &mut Causes,
        labels: &Labels,
        clock: &Clock,
        aligning: &mut Aligning,
    ) -> Result<(), AttributeError> {
        let outside = self.settle(event.ticks, labels)?;
        if (self.cpu.first_ticks..=self.cpu.last_ticks).contains(&event.ticks)
            && !(outside.is_some() && self.blind.touch(event.ticks, event.ticks))
        {
            aligning.event(event, outside);
        }
        if Causes::wants(event.kind)
            && !self.rearms(event)
            && let Some(sender) = self.sender(event)
        {
            causes.note(event, sender);
        }
        if outside.is_none() && self.current.is_some_and(|detour| !detour.dark) {
            apply(&mut self.scene, event, causes, labels.names(), clock);
        }
        Ok(())
    }

    /// Opens and finishes detours until the one at `ticks` is open; gives the distance if none is.
    fn settle(&mut self, ticks: u64, labels: &Labels) -> Result<Option<u64>, AttributeError> {
        loop {
            match self.track.place(ticks) {
                Place::Inside => return Ok(None),
                Place::Finish => self.finish_detour(labels)?,
                Place::Open => self.open_detour()?,
                Place::Outside(distance) => return Ok(Some(distance)),
            }
        }
    }

    fn open_detour(&mut self) -> Result<(), AttributeError> {
        if let Some(detour) = self.track.open()? {
            let (start, end) = (detour.start_ticks, detour.end_ticks);
            self.scene.begin(start.saturating_add(self.cpu.shortest_gap_ticks).min(end), end);
            self.current = Some(Current { index: self.detours, dark: self.dark.touch(start, end) });
            self.detours += 1;
        }
        Ok(())
    }

    fn finish_detour(&mut self, labels: &Labels) -> Result<(), AttributeError> {
        self.track.finish();
        let Some(current) = self.current.take() else { return Ok(()) };
        let frames = if current.dark { self.scene.whole(What::Dark) } else { self.scene.finish() };
        labels.rows(frames, RowPlace { cpu: self.cpu.cpu, detour: current.index }, &mut self.rows);
        self.steal.take(&mut self.rows)
    }

    /// Finishes the detour that is open and all after it; `each` may take rows in between.
    pub(crate) fn finish(
        &mut self,
        labels: &Labels,
        mut each: impl FnMut(&mut Self) -> Result<(), AttributeError>,
    ) -> Result<(), AttributeError> {
        loop {
            if self.track.is_open() {
                self.finish_detour(labels)?;
                each(self)?;
            }
            self.open_detour()?;
            if !self.track.is_open() {
                return self.steal.finish();
            }
        }
    }

    /// The victim of this CPU was woken, here or elsewhere.
    pub(crate) fn wake(&mut self, ticks: u64) {
        self.scene.wake(ticks);
    }

    /// Whether the event is a timer arming itself again from its own interrupt.
    fn rearms(&self, event: &KernelEvent) -> bool {
        matches!(event.kind, EventKind::HrtimerStart | EventKind::TimerStart)
            && self.scene.is_expiring(event.args[0])
    }

    /// Who really did what the event tells of: the thread, the interrupt that it is in,
    /// or whoever armed the timer that runs.
    ///
    /// The victim only reads its counter, so what it seems to do is done by an interrupt that was
    /// not followed (before the loop began, where events were lost): nobody is named then.
    fn sender(&self, event: &KernelEvent) -> Option<Sender> {
        let thread = Sender { cpu: event.cpu, pid: event.pid, ticks: event.ticks, within: None };
        match self.scene.interrupt() {
            None if event.pid == self.cpu.tid => None,
            None => Some(thread),
            Some((What::Timer { .. } | What::Hrtimer { .. }, Some(armer))) => Some(armer),
            Some((what, _)) => Some(Sender { within: Some(what), ..thread }),
        }
    }
}
