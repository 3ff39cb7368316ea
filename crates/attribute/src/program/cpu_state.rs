//! What one CPU does for the recorded program, and the detours that follow from that.

use anechoic_recording::event::Handler;
use anechoic_recording::run::RanOn;

/// What a CPU does for the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Status {
    /// No thread of the program wants it.
    #[default]
    Unwanted,
    /// It executes a thread of the program.
    Executes,
    /// A thread of the program wants it, and it executes something else.
    Lost,
}

/// A start and an end, in ticks.
pub(super) type Span = (u64, u64);

/// For how long a CPU executed the program, and what belongs to it in the kernel's account of its CPU time. In ticks, but for the
/// events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Executed {
    /// A thread of the program executed, and no interrupt did.
    pub(super) ran: u64,
    /// Interrupts ran on top of a thread of the program.
    pub(super) interrupted: u64,
    /// From the waking of a thread to its switch, where no other switch came between.
    pub(super) waking: u64,
    /// The part of `ran` that may have been before the switch to the thread, which has no event.
    pub(super) unseen: u64,
    /// Events that were recorded meanwhile.
    pub(super) events: u64,
    /// Switches among them.
    pub(super) switches: u64,
}

impl Executed {
    /// Returns it as a row of the run.
    pub(super) fn on(self, cpu: u32) -> RanOn {
        RanOn {
            cpu,
            ticks: self.ran,
            unseen_ticks: self.unseen,
            interrupted_ticks: self.interrupted,
            waking_ticks: self.waking,
            events: self.events,
            switches: self.switches,
        }
    }
}

/// What a CPU has counted for the program up to a time, or a thread of it. In ticks.
///
/// What counted as executed may count as interrupted later, so that the difference of two may be below 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) executed: i64,
    pub(super) interrupted: i64,
}

impl Counts {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            executed: self.executed + other.executed,
            interrupted: self.interrupted + other.interrupted,
        }
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self {
            executed: self.executed - other.executed,
            interrupted: self.interrupted - other.interrupted,
        }
    }
}

/// One CPU.
#[derive(Debug, Default)]
pub(super) struct CpuState {
    /// The thread that has it, if known.
    pub(super) current: Option<i32>,
    /// The interrupts that are open on top of that thread, the innermost last.
    open: Vec<Handler>,
    /// What the program runs itself in its own system calls: softirqs that it raised, and what is inside them.
    own: Vec<Handler>,
    /// When the last interrupt on top of the program ended, with what follows from it.
    interrupt_end: Option<InterruptEnd>,
    /// Number of threads of the program that were preempted here and wait.
    pub(super) waiting: u32,
    status: Status,
    /// Since when it has this status.
    since: u64,
    /// Since when the program had not executed here when the lost time began.
    unused_since: u64,
    /// The last detour, which what follows may extend.
    held: Option<Span>,
    /// Since when an interrupt is open on top of a thread of the program.
    interrupted_since: Option<u64>,
    /// What was before this time does not count.
    pub(super) counted_from: u64,
    /// When the kernel read its clock at the last timer tick.
    pub(super) clock_read: u64,
    /// When threads were switched here last, as far as events show it.
    pub(super) switched: u64,
    /// When the last event came from here.
    pub(super) seen: u64,
    pub(super) executed: Executed,
    /// Whether the program ever wanted it.
    pub(super) used: bool,
}

/// The end of an interrupt.
#[derive(Debug, Clone, Copy)]
struct InterruptEnd {
    ticks: u64,
    /// Whether a softirq ended, which the interrupt led to.
    by_softirq: bool,
}

/// What an interrupt leads to begins within these times after its exit event, in ticks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pauses {
    /// A softirq, or the switch to another thread.
    pub(super) after_interrupt: u64,
    /// A further softirq after one that the interrupt led to: the kernel runs them in one loop.
    pub(super) after_softirq: u64,
}

impl CpuState {
    /// Returns a CPU that the program has not wanted so far, of which nothing counts before `ticks`.
    pub(super) fn since(ticks: u64) -> Self {
        Self { since: ticks, counted_from: ticks, ..Self::default() }
    }

    /// Lets time count from now on: what was before is forgotten, except what the CPU does.
    pub(super) fn begin(&mut self, ticks: u64) {
        (self.since, self.unused_since, self.held) = (ticks, ticks, None);
        self.interrupted_since = self.interrupted_since.map(|_| ticks);
        self.counted_from = ticks;
        self.executed = Executed::default();
        self.used = self.status != Status::Unwanted;
    }

    /// Begins a handler. One that is open already had ended unseen.
    ///
    /// A softirq on top of a thread of the program is lost time where an interrupt led to it. Otherwise the program raised it
    /// in a system call of its own, where it then runs: that is the program's own work, with all that runs inside it but
    /// interrupts. Returns whether it follows from an interrupt that is over.
    pub(super) fn enter(&mut self, handler: Handler, ticks: u64, pauses: Pauses) -> bool {
        let is_interrupt = match handler {
            Handler::Vector(_) | Handler::Irq => true,
            // A timer that expires outside of softirqs: its interrupt has no events of its own.
            Handler::Hrtimer => self.own.is_empty(),
            _ => false,
        };
        let follows = self.open.is_empty() && self.follows(handler, ticks, pauses);
        if self.status == Status::Executes && !is_interrupt && !follows {
            begin(&mut self.own, handler);
        } else {
            begin(&mut self.open, handler);
        }
        follows
    }

    fn follows(&self, handler: Handler, ticks: u64, pauses: Pauses) -> bool {
        let Some(end) = self.interrupt_end.filter(|_| handler == Handler::Softirq) else {
            return false;
        };
        let pause = if end.by_softirq { pauses.after_softirq } else { pauses.after_interrupt };
        self.own.is_empty() && ticks.saturating_sub(end.ticks) < pause
    }

    /// Ends a handler, and with it everything left open inside.
    pub(super) fn exit(&mut self, handler: Handler, ticks: u64) {
        if end(&mut self.open, handler) {
            let by_softirq = handler == Handler::Softirq;
            let is_over = self.open.is_empty() && self.own.is_empty();
            self.interrupt_end = is_over.then_some(InterruptEnd { ticks, by_softirq });
        } else if end(&mut self.own, handler) {
            self.open.clear(); // whose end was not seen
        }
    }

    /// Returns since when the lost time goes on that may still become a detour, or a part of one.
    pub(super) fn lost_since(&self) -> Option<u64> {
        let going_on = (self.status == Status::Lost).then_some(self.since);
        self.held.map(|(start, _)| start).into_iter().chain(going_on).min()
    }

    /// Returns since when the program waits for it while it executes something else.
    pub(super) fn going_on(&self) -> Option<u64> {
        (self.status == Status::Lost).then_some(self.since)
    }

    /// Returns what it has counted for the program up to now.
    pub(super) fn counted(&self, ticks: u64) -> Counts {
        let on = if self.status == Status::Executes { ticks.saturating_sub(self.since) } else { 0 };
        let on_top = self.interrupted_since.map_or(0, |since| ticks.saturating_sub(since));
        Counts {
            executed: (self.executed.ran + on).cast_signed(),
            interrupted: (self.executed.interrupted + on_top).cast_signed(),
        }
    }

    /// Returns whether an interrupt runs on top of its thread.
    pub(super) fn is_interrupted(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns whether what happens now may follow from an interrupt that is over.
    pub(super) fn follows_interrupt(&self, ticks: u64, pauses: Pauses) -> bool {
        let since = self.interrupt_end.map(|end| ticks.saturating_sub(end.ticks));
        since.is_some_and(|since| since < pauses.after_interrupt)
    }

    /// Ends all handlers: the CPU executes a thread.
    pub(super) fn exit_all(&mut self) {
        self.open.clear();
        self.own.clear();
        self.interrupt_end = None;
    }

    /// Records a switch, to a thread of the program that was woken at this time, if it was.
    ///
    /// The kernel's account of a thread begins with its waking where nothing else was switched in meanwhile: it does not read
    /// its clock again for that switch. A timer tick reads it.
    pub(super) fn switch(&mut self, ticks: u64, woken: Option<u64>) {
        if let Some(since) = woken.filter(|&since| self.switched <= since) {
            let begun = since.max(self.counted_from).max(self.clock_read);
            self.executed.waking += ticks.saturating_sub(begun);
        }
        self.switched = ticks;
    }

    /// Updates the status. `own` is whether the CPU's thread belongs to the program. Returns a detour that is over.
    ///
    /// Lost time within `pause` ticks after a detour is part of that detour: it follows from the same interrupt. `pause` is 0
    /// where it cannot.
    pub(super) fn settle(&mut self, ticks: u64, own: bool, pause: u64) -> Option<Span> {
        self.count_interrupts(ticks, own && !self.open.is_empty());
        let status = match (own, self.open.is_empty(), self.waiting) {
            (true, true, _) => Status::Executes,
            (false, _, 0) => Status::Unwanted,
            _ => Status::Lost,
        };
        if status == self.status {
            return None;
        }
        let begun = self.since;
        let (before, length) = (self.status, ticks.saturating_sub(begun));
        (self.status, self.since) = (status, ticks.max(begun)); // nothing counts in a loss
        self.used |= status != Status::Unwanted;
        match (before, status) {
            (Status::Lost, _) => self.hold((begun, ticks)),
            (Status::Executes, Status::Lost) => {
                self.unused_since = ticks;
                match self.held {
                    Some((start, end)) if end == begun && length < pause => {
                        (self.since, self.unused_since, self.held) = (start, start, None);
                        self.executed.interrupted += length;
                    }
                    _ => self.executed.ran += length,
                }
                None
            }
            (Status::Executes, _) => {
                self.executed.ran += length;
                None
            }
            (Status::Unwanted, _) => {
                self.unused_since = begun;
                None
            }
        }
    }

    /// Counts the time in which interrupts ran on top of the program. `on_top` is whether one does from now on.
    fn count_interrupts(&mut self, ticks: u64, on_top: bool) {
        match (self.interrupted_since, on_top) {
            (None, true) => self.interrupted_since = Some(ticks),
            (Some(since), false) => {
                self.executed.interrupted += ticks.saturating_sub(since);
                self.interrupted_since = None;
            }
            _ => {}
        }
    }

    /// Counts that a thread which is now switched in waited here since `since`. Returns a detour that is over.
    pub(super) fn waited(&mut self, since: u64, ticks: u64) -> Option<Span> {
        match self.status {
            Status::Unwanted => {
                let start = since.max(self.since);
                self.since = ticks;
                self.hold((start, ticks))
            }
            Status::Lost => {
                self.since = self.since.min(since.max(self.unused_since));
                None
            }
            Status::Executes => None,
        }
    }

    /// Counts an interrupt that ended now, lasted `length` ticks, and has no event at its start. Returns a detour that is over.
    pub(super) fn interrupted(&mut self, ticks: u64, length: u64) -> Option<Span> {
        if self.status != Status::Executes || ticks <= self.since {
            return None;
        }
        let start = ticks.saturating_sub(length).max(self.since);
        self.executed.ran += start - self.since;
        self.executed.interrupted += ticks - start;
        self.since = ticks;
        self.hold((start, ticks))
    }

    /// Returns for how long it has executed the program up to `ticks`, if no event came since the last one.
    pub(super) fn executed_until(&self, ticks: u64) -> u64 {
        let goes_on = self.status == Status::Executes;
        self.executed.ran + if goes_on { ticks.saturating_sub(self.since) } else { 0 }
    }

    /// Returns the last detour that has ended, which what follows may extend.
    pub(super) fn held(&self) -> Option<Span> {
        self.held
    }

    /// Forgets the state: nothing counts until `ticks`. Returns a detour that is over.
    pub(super) fn forget_until(&mut self, ticks: u64) -> Option<Span> {
        self.interrupted_since = None;
        (self.counted_from, self.switched) = (self.counted_from.max(ticks), ticks);
        self.since = self.since.max(ticks);
        self.held.take()
    }

    /// Keeps a detour until it is known that nothing extends it. Returns the one before.
    fn hold(&mut self, (start, end): Span) -> Option<Span> {
        if start >= end {
            return None;
        }
        match &mut self.held {
            Some(held) if held.1 == start => {
                held.1 = end;
                None
            }
            held => held.replace((start, end)),
        }
    }
}

/// Begins a handler. One that is open already had ended unseen.
fn begin(open: &mut Vec<Handler>, handler: Handler) {
    if let Some(place) = open.iter().position(|&other| other == handler) {
        open.truncate(place);
    }
    open.push(handler);
}

/// Ends a handler, and with it everything left open inside; returns whether it was open.
fn end(open: &mut Vec<Handler>, handler: Handler) -> bool {
    let place = open.iter().rposition(|&other| other == handler);
    place.inspect(|&place| open.truncate(place)).is_some()
}

#[cfg(test)]
mod tests;
