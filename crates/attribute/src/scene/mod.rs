//! What happens in one detour: a stack of frames to which time is charged.
//!
//! The loop read the counter just before and just after a detour, so at both ends the victim is current in
//! user mode and nothing is open. Every detour therefore starts afresh, and what was lost or left open in one
//! cannot affect another. The same holds for a sample without recorded gaps, except that the victim may have
//! worked whenever nothing is open.

mod asleep;
mod threads;

pub(crate) use threads::{Causes, ORDINARY};

use crate::frame::{Frame, Sender, Vector, VictimState, What};
use crate::victims::Victims;
use anechoic_recording::Stint;
use std::collections::HashMap;

/// Something that is open, and the frame to which its time goes.
///
/// While the victim is away, everything open has the frame of the absence.
#[derive(Debug, Clone, Copy)]
struct Open {
    what: What,
    frame: u32,
    /// Length of the longest thing inside that explains this one, in ticks.
    longest: Option<u64>,
}

/// The state of one CPU in the open detour.
#[derive(Debug)]
pub(crate) struct Scene {
    /// Whether the victim runs under SCHED_FIFO.
    fifo: bool,
    /// Whether its gaps are recorded, so that the victim did no work in this one.
    watched: bool,
    /// Time up to which everything is charged, in ticks.
    at: u64,
    start: u64,
    end: u64,
    frames: Vec<Frame>,
    stack: Vec<Open>,
    /// Index in the stack of the reason for which the victim was switched out.
    off: Option<usize>,
    state: VictimState,
    current: (i32, i32),
    /// Whether the CPU did not execute the program when the detour began.
    woken: bool,
    /// The frame of the thread that had the CPU then, while it has it.
    bystander: Option<u32>,
    /// The thread of a program that was preempted.
    preempted: Option<i32>,
    /// How much of the bystander's time was spent in the interrupt in which the victim was woken.
    waking_ticks: u64,
    /// The CPU takes at most this long to switch to a woken thread, if nothing delays it, in ticks.
    switch_ticks: u64,
    /// What threads had open when they were switched out.
    suspended: HashMap<i32, Vec<(What, Option<Sender>)>>,
    /// The last page fault of the victim: whether it came from user mode.
    fault: Option<bool>,
    /// Times of the first and the last event.
    seen: Option<(u64, u64)>,
    /// The timer whose expiry was last seen in the open interrupt.
    expiring: u64,
    /// Whether the victim slept when the sample began, which is its wake-up.
    asleep: bool,
    /// The idle state in which the CPU is, also between samples.
    idle: Option<u8>,
}

impl Scene {
    pub(crate) fn new(switch_ticks: u64) -> Self {
        Self {
            fifo: false,
            watched: true,
            at: 0,
            start: 0,
            end: 0,
            frames: Vec::new(),
            stack: Vec::new(),
            off: None,
            state: VictimState::Running,
            current: (0, 0),
            woken: false,
            bystander: None,
            preempted: None,
            waking_ticks: 0,
            switch_ticks,
            suspended: HashMap::new(),
            fault: None,
            seen: None,
            expiring: 0,
            asleep: false,
            idle: None,
        }
    }

    /// Begins a detour or sample of a stint; `start` is not after `end`. Thread and priority of `current` had the CPU before it,
    /// which is a victim unless a program was recorded.
    pub(crate) fn begin(
        &mut self,
        (start, end): (u64, u64),
        stint: &Stint,
        current: (i32, i32),
        victims: Victims<'_>,
    ) {
        (self.start, self.end) = (start, end);
        (self.fifo, self.watched) = (stint.fifo, stint.watched);
        self.current = current;
        self.restart();
        if !victims.has(current.0) {
            self.begin_woken(current);
        }
    }

    fn restart(&mut self) {
        self.at = self.start;
        self.frames.clear();
        self.stack.clear();
        self.suspended.clear();
        self.off = None;
        self.state = VictimState::Running;
        self.woken = false;
        self.bystander = None;
        self.preempted = None;
        self.waking_ticks = 0;
        self.fault = None;
        self.seen = None;
        self.expiring = 0;
        self.asleep = false;
    }

    /// Records the time of an event, before the event is applied.
    pub(crate) fn see(&mut self, ticks: u64) {
        let ticks = self.clip(ticks);
        let first = self.seen.map_or(ticks, |(first, _)| first);
        self.seen = Some((first, ticks));
    }

    fn clip(&self, ticks: u64) -> u64 {
        ticks.max(self.at).min(self.end)
    }

    /// Charges the time up to `ticks` to the innermost open thing.
    fn advance(&mut self, ticks: u64) {
        let now = self.clip(ticks);
        let time = now - self.at;
        if let Some(top) = self.stack.last() {
            self.frames[top.frame as usize].self_ticks += time;
        } else if time > 0 {
            self.push_frame(What::Gap, self.at, None);
            let gap = self.frames.len() - 1;
            (self.frames[gap].end, self.frames[gap].self_ticks) = (now, time);
        }
        self.at = now;
    }

    fn push_frame(&mut self, what: What, start: u64, sender: Option<Sender>) -> u32 {
        let parent = self.stack.last().map(|open| open.frame);
        let (state, index) = (self.state, self.frames.len() as u32);
        self.frames.push(Frame {
            what,
            state,
            fifo: self.fifo,
            start,
            end: start,
            self_ticks: 0,
            parent,
            function: 0,
            sender,
        });
        index
    }

    /// Returns the frame of the victim's absence, to which all time then goes.
    fn muted(&self) -> Option<u32> {
        let base = self.stack.get(self.off?)?;
        matches!(base.what, What::Away(_)).then_some(base.frame)
    }

    /// Opens something inside what is open.
    pub(crate) fn open(&mut self, ticks: u64, what: What, sender: Option<Sender>) {
        self.advance(ticks);
        let frame = match self.muted() {
            Some(away) => away,
            None => self.push_frame(what, self.at, sender),
        };
        self.stack.push(Open { what, frame, longest: None });
        if let What::Hrtimer { timer, .. } | What::Timer { timer, .. } = what {
            self.expiring = timer;
        }
    }

    /// Closes the innermost open thing for which `is` holds, and with it everything left open inside.
    ///
    /// An exit event that comes first in a detour shows at least what ran: `alone` is then opened without
    /// length, so that the time before it is charged to it.
    pub(crate) fn close(&mut self, ticks: u64, is: impl Fn(What) -> bool, alone: Option<What>) {
        let floor = self.off.map_or(0, |base| base + 1);
        if let Some(place) = self.stack[floor..].iter().rposition(|open| is(open.what)) {
            self.unwind(ticks, floor + place);
        } else if let (Some(bystander), Some(What::Softirq(_) | What::Vector(_) | What::Irq(_))) =
            (self.bystander, alone)
        {
            self.end_of_waking(ticks, bystander, alone);
        } else if let Some(what) = alone
            && self.frames.is_empty()
        {
            self.open(ticks, what, None);
            self.unwind(ticks, 0);
        }
        if self.stack.len() == floor {
            self.expiring = 0;
        }
    }

    /// Ends an interrupt that began before the detour, in which the victim may have been woken. It is charged for what it took
    /// since then, unless that is no more than what each waking takes.
    fn end_of_waking(&mut self, ticks: u64, bystander: u32, what: Option<What>) {
        self.advance(ticks);
        let spent = self.frames[bystander as usize].self_ticks - self.waking_ticks;
        if let Some(what) = what.filter(|_| spent > self.switch_ticks) {
            self.frames[bystander as usize].self_ticks -= spent;
            let frame = self.push_frame(what, self.start, None) as usize;
            (self.frames[frame].end, self.frames[frame].self_ticks) = (self.at, spent);
        } else {
            self.waking_ticks += spent;
        }
    }

    /// Closes everything from index `place` of the stack on.
    fn unwind(&mut self, ticks: u64, place: usize) {
        self.advance(ticks);
        while self.stack.len() > place {
            let Some(open) = self.stack.pop() else { return };
            let away = self.muted().is_some_and(|frame| frame == open.frame);
            if !away {
                self.frames[open.frame as usize].end = self.at;
                self.explain_outer(open);
            }
        }
        if self.off.is_some_and(|base| base >= place) {
            self.off = None;
        }
    }

    /// Gives the function and sender of a request or work item to the interrupt or thread around it, if
    /// nothing longer inside has done so.
    fn explain_outer(&mut self, inner: Open) {
        let Some(function) = (match inner.what {
            What::Csd { function, .. } | What::Work { function, .. } => Some(function),
            _ => None,
        }) else {
            return;
        };
        let frame = self.frames[inner.frame as usize];
        let length = frame.end - frame.start;
        let Some(outer) = self.stack.last_mut() else { return };
        let fits = matches!(
            (inner.what, outer.what),
            (What::Csd { .. }, What::Vector(_)) | (What::Work { .. }, What::Thread { .. })
        );
        if !fits || outer.longest.is_some_and(|longest| longest >= length) {
            return;
        }
        outer.longest = Some(length);
        let outer = &mut self.frames[outer.frame as usize];
        outer.function = function;
        outer.sender = frame.sender.or(outer.sender);
    }

    /// Records the function of an expired timer in the open interrupt; the timer tick's function has
    /// precedence.
    pub(crate) fn expires(&mut self, function: u64, is_tick: bool) {
        if self.muted().is_some() {
            return;
        }
        let interrupt = self.stack.iter().rev().find(|open| open.what.is_hard_interrupt());
        if let Some(open) = interrupt {
            let frame = &mut self.frames[open.frame as usize];
            if frame.function == 0 || is_tick {
                frame.function = function;
            }
        }
    }

    /// Sets the function of the interrupt that has just begun.
    pub(crate) fn asked_for(&mut self, function: u64) {
        if self.muted().is_none()
            && let Some(top) = self.stack.last()
        {
            self.frames[top.frame as usize].function = function;
        }
    }

    /// Adds a non-maskable interrupt that ended now and lasted `length` ticks.
    ///
    /// Its time is taken from what was open, at most back to the last boundary.
    pub(crate) fn nmi(&mut self, ticks: u64, length: u64, what: What) {
        let end = self.clip(ticks);
        self.open(end.saturating_sub(length), what, None);
        self.unwind(end, self.stack.len() - 1);
    }

    /// Records that the victim touched a page. A fault has no exit event: it lasts until the frame around it
    /// ends; without recorded gaps its length is unknown.
    pub(crate) fn page_fault(&mut self, ticks: u64, user: bool) {
        if self.off.is_some() {
            return; // a fault of another thread
        }
        if user {
            self.unwind(ticks, 0); // the victim was back in user mode in between
        }
        self.fault = Some(user);
        self.open(ticks, What::PageFault { user }, None);
        if !self.watched {
            self.unwind(ticks, self.stack.len() - 1);
        }
    }

    /// Returns the open interrupt vector.
    pub(crate) fn vector(&self) -> Option<Vector> {
        self.stack.iter().rev().find_map(|open| match open.what {
            What::Vector(vector) => Some(vector),
            _ => None,
        })
    }

    /// Returns the innermost interrupt context, with its sender.
    pub(crate) fn interrupt(&self) -> Option<(What, Option<Sender>)> {
        let open = self.stack.last().filter(|open| open.what.is_interrupt())?;
        let sender = match self.muted() {
            Some(_) => None,
            None => self.frames[open.frame as usize].sender,
        };
        Some((open.what, sender))
    }

    /// Returns whether the open interrupt is running, or has just run, this timer.
    pub(crate) fn is_expiring(&self, timer: u64) -> bool {
        timer != 0 && self.expiring == timer
    }

    /// Returns whether there was an event.
    pub(crate) fn is_eventful(&self) -> bool {
        self.seen.is_some()
    }

    /// Ends the detour and returns its frames: their times add up to it, and parents come before children.
    pub(crate) fn finish(&mut self) -> &mut Vec<Frame> {
        if self.asleep {
            return self.finish_wake_up();
        }
        let Some((first, last)) = self.seen else { return self.whole(What::NoEvent) };
        if self.frames.iter().all(|frame| frame.what == What::Gap) {
            // There were events, but nothing that begins and ends: the victim itself was in the kernel.
            // Without recorded gaps, it may have worked in between.
            self.restart();
            self.open(first, What::Kernel, None);
            self.unwind(if self.watched { last } else { first }, 0);
        }
        self.unwind(if self.watched { self.end } else { last }, 0);
        self.advance(self.end);
        &mut self.frames
    }

    /// Returns the detour as one frame.
    pub(crate) fn whole(&mut self, what: What) -> &mut Vec<Frame> {
        self.restart();
        self.open(self.start, what, None);
        self.unwind(self.end, 0);
        &mut self.frames
    }
}
