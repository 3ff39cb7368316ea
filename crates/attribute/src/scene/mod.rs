//! What goes on in one detour: a stack of frames to which time is charged.
//!
//! The loop read the counter just before and just after a detour, so at both ends the victim
//! is current in user mode and nothing is open: every detour starts anew, and whatever was
//! lost or left open in one cannot spoil another. The same holds for a sample inside which nobody
//! watched; only there the victim may have gone on with its work at any time that nothing is open.

mod threads;

pub(crate) use threads::Causes;

use crate::frame::{Frame, Sender, Vector, VictimState, What};
use anechoic_recording::Stint;
use std::collections::HashMap;

/// Something open, and the frame that its time goes to.
///
/// While the victim is away, all that is open has the frame of its being away.
#[derive(Debug, Clone, Copy)]
struct Open {
    what: What,
    frame: u32,
    /// Length of the longest thing inside that explains this one, in ticks.
    longest: Option<u64>,
}

/// The state of one CPU in the detour that is open.
#[derive(Debug)]
pub(crate) struct Scene {
    victim: i32,
    /// Whether the victim runs under SCHED_FIFO.
    fifo: bool,
    /// Whether its gaps are watched, so that it did nothing for itself in this one.
    watched: bool,
    /// Time before this is charged; in ticks.
    at: u64,
    start: u64,
    end: u64,
    frames: Vec<Frame>,
    stack: Vec<Open>,
    /// Place in the stack of what the victim was switched out for.
    off: Option<usize>,
    state: VictimState,
    current: (i32, i32),
    /// What threads left open when they were switched out.
    suspended: HashMap<i32, Vec<(What, Option<Sender>)>>,
    /// The last page fault of the victim: whether in user mode.
    fault: Option<bool>,
    /// First and last event.
    seen: Option<(u64, u64)>,
    /// The timer whose expiry was seen last in the interrupt that is open.
    expiring: u64,
}

impl Scene {
    pub(crate) fn new(victim: i32) -> Self {
        Self {
            victim,
            fifo: false,
            watched: true,
            at: 0,
            start: 0,
            end: 0,
            frames: Vec::new(),
            stack: Vec::new(),
            off: None,
            state: VictimState::Running,
            current: (victim, 0),
            suspended: HashMap::new(),
            fault: None,
            seen: None,
            expiring: 0,
        }
    }

    /// Begins a detour or sample of a stint; `start` is not after `end`.
    pub(crate) fn begin(&mut self, start: u64, end: u64, stint: &Stint) {
        (self.start, self.end) = (start, end);
        (self.fifo, self.watched) = (stint.fifo, stint.watched);
        self.restart();
    }

    fn restart(&mut self) {
        self.at = self.start;
        self.frames.clear();
        self.stack.clear();
        self.suspended.clear();
        self.off = None;
        self.state = VictimState::Running;
        self.current = (self.victim, 0);
        self.fault = None;
        self.seen = None;
        self.expiring = 0;
    }

    /// Tells of an event, before anything it does.
    pub(crate) fn see(&mut self, ticks: u64) {
        let ticks = self.clip(ticks);
        let first = self.seen.map_or(ticks, |(first, _)| first);
        self.seen = Some((first, ticks));
    }

    fn clip(&self, ticks: u64) -> u64 {
        ticks.max(self.at).min(self.end)
    }

    /// Charges the time up to `ticks` to the innermost thing that is open.
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

    /// Whether the victim is away, so that all time is the reason's.
    fn muted(&self) -> Option<u32> {
        let base = self.stack.get(self.off?)?;
        matches!(base.what, What::Away(_)).then_some(base.frame)
    }

    /// Something begins inside what is open.
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

    /// The innermost open thing that `is` what ended; with it end those that were left open inside.
    ///
    /// An end without a beginning that comes first in a detour tells at least what ran: `alone`
    /// is taken as something without length, so that the time before is charged to it.
    pub(crate) fn close(&mut self, ticks: u64, is: impl Fn(What) -> bool, alone: Option<What>) {
        let floor = self.off.map_or(0, |base| base + 1);
        if let Some(place) = self.stack[floor..].iter().rposition(|open| is(open.what)) {
            self.unwind(ticks, floor + place);
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

    /// Ends all from `place` in the stack on.
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

    /// Gives the function and sender of a request or work item to the interrupt or stay around it,
    /// if none inside was longer.
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

    /// A timer's function expires in the interrupt that is open: the tick's, if it is one, explains it best.
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

    /// The interrupt that begins at the top carries this function.
    pub(crate) fn asked_for(&mut self, function: u64) {
        if self.muted().is_none()
            && let Some(top) = self.stack.last()
        {
            self.frames[top.frame as usize].function = function;
        }
    }

    /// A non-maskable interrupt that ended now and lasted `length` ticks.
    ///
    /// It is carved from what was open, back to the last boundary at most.
    pub(crate) fn nmi(&mut self, ticks: u64, length: u64, what: What) {
        let end = self.clip(ticks);
        self.open(end.saturating_sub(length), what, None);
        self.unwind(end, self.stack.len() - 1);
    }

    /// The victim touched a page. The fault has no end event: it lasts until what is around it ends,
    /// and where the victim may have gone on unwatched, nobody knows how long.
    pub(crate) fn page_fault(&mut self, ticks: u64, user: bool) {
        if self.off.is_some() {
            return; // another thread's
        }
        if user {
            self.unwind(ticks, 0); // back in user mode in between
        }
        self.fault = Some(user);
        self.open(ticks, What::PageFault { user }, None);
        if !self.watched {
            self.unwind(ticks, self.stack.len() - 1);
        }
    }

    /// The interrupt vector that is open.
    pub(crate) fn vector(&self) -> Option<Vector> {
        self.stack.iter().rev().find_map(|open| match open.what {
            What::Vector(vector) => Some(vector),
            _ => None,
        })
    }

    /// The innermost interrupt context, with who caused it.
    pub(crate) fn interrupt(&self) -> Option<(What, Option<Sender>)> {
        let open = self.stack.last().filter(|open| open.what.is_interrupt())?;
        let sender = match self.muted() {
            Some(_) => None,
            None => self.frames[open.frame as usize].sender,
        };
        Some((open.what, sender))
    }

    /// Whether this timer is being run, or was just run, by the interrupt that is open.
    pub(crate) fn is_expiring(&self, timer: u64) -> bool {
        timer != 0 && self.expiring == timer
    }

    /// Whether an event was seen.
    pub(crate) fn is_eventful(&self) -> bool {
        self.seen.is_some()
    }

    /// Ends the detour and gives its frames: times add up to it, and parents come before children.
    pub(crate) fn finish(&mut self) -> &mut Vec<Frame> {
        let Some((first, last)) = self.seen else { return self.whole(What::NoEvent) };
        if self.frames.iter().all(|frame| frame.what == What::Gap) {
            // Events, but nothing that begins and ends: the victim itself was in the kernel.
            // Unwatched, it may have been at work between them.
            self.restart();
            self.open(first, What::Kernel, None);
            self.unwind(if self.watched { last } else { first }, 0);
        }
        self.unwind(if self.watched { self.end } else { last }, 0);
        self.advance(self.end);
        &mut self.frames
    }

    /// Gives the detour as one frame.
    pub(crate) fn whole(&mut self, what: What) -> &mut Vec<Frame> {
        self.restart();
        self.open(self.start, what, None);
        self.unwind(self.end, 0);
        &mut self.frames
    }
}
