//! What one CPU does for the recorded program, and the detours that follow from that.

use anechoic_recording::event::Handler;

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

/// One CPU.
#[derive(Debug, Default)]
pub(super) struct CpuState {
    /// The thread that has it, if known.
    pub(super) current: Option<i32>,
    /// The interrupts that are open on top of that thread, the innermost last.
    pub(super) open: Vec<Handler>,
    /// Number of threads of the program that were preempted here and wait.
    pub(super) waiting: u32,
    status: Status,
    /// Since when it has this status.
    since: u64,
    /// Since when the program had not executed here when the lost time began.
    unused_since: u64,
    /// The last detour, which what follows may extend.
    held: Option<Span>,
    /// For how long it executed the program.
    pub(super) ran_ticks: u64,
    /// Whether the program ever wanted it.
    pub(super) used: bool,
}

impl CpuState {
    /// Returns a CPU that the program has not wanted so far, of which nothing counts before `ticks`.
    pub(super) fn since(ticks: u64) -> Self {
        Self { since: ticks, unused_since: ticks, ..Self::default() }
    }

    /// Lets time count from now on: what was before is forgotten, except what the CPU does.
    pub(super) fn begin(&mut self, ticks: u64) {
        (self.since, self.unused_since, self.held, self.ran_ticks) = (ticks, ticks, None, 0);
        self.used = self.status != Status::Unwanted;
    }

    /// Begins a handler. One that is open already had ended unseen.
    pub(super) fn enter(&mut self, handler: Handler) {
        if let Some(place) = self.open.iter().position(|&open| open == handler) {
            self.open.truncate(place);
        }
        self.open.push(handler);
    }

    /// Ends a handler, and with it everything left open inside.
    pub(super) fn exit(&mut self, handler: Handler) {
        if let Some(place) = self.open.iter().rposition(|&open| open == handler) {
            self.open.truncate(place);
        }
    }

    /// Updates the status. `own` is whether the CPU's thread belongs to the program. Returns a detour that is over.
    ///
    /// Lost time within `pause` ticks after a detour is part of that detour: it follows from the same interrupt. `pause` is 0
    /// where it cannot.
    pub(super) fn settle(&mut self, ticks: u64, own: bool, pause: u64) -> Option<Span> {
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
                    }
                    _ => self.ran_ticks += length,
                }
                None
            }
            (Status::Executes, _) => {
                self.ran_ticks += length;
                None
            }
            (Status::Unwanted, _) => {
                self.unused_since = begun;
                None
            }
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
        if self.status != Status::Executes {
            return None;
        }
        let start = ticks.saturating_sub(length).max(self.since);
        self.ran_ticks += start - self.since;
        self.since = ticks;
        self.hold((start, ticks))
    }

    /// Forgets the state: nothing counts until `ticks`. Returns a detour that is over.
    pub(super) fn forget_until(&mut self, ticks: u64) -> Option<Span> {
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
