//! The wake-up of a thread that slept: from the expiry of its timer, or from another thread's call, to its own reading of the
//! counter.
//!
//! The time until the timer's interrupt is nobody's that merely had the CPU. From the waking on, whoever goes on instead of
//! the thread holds it up.

use super::threads::ORDINARY;
use super::{Open, Scene};
use crate::frame::{Away, Frame, Sender, VictimState, What};

impl Scene {
    /// Follows events between two samples of thread `victim`, which runs when the first of them has ended at `start`.
    pub(crate) fn begin_between(&mut self, start: u64, victim: i32) {
        (self.start, self.end) = (start, u64::MAX);
        (self.fifo, self.watched) = (false, true);
        self.current = (victim, 0);
        self.restart();
    }

    /// Begins a wake-up of `victim`. If all events since its last one are known, so are the interrupts that are still open at the
    /// start, and who has the CPU. `call` is the waking call that it waits for, if not for its timer.
    pub(crate) fn begin_asleep(
        &mut self,
        (start, end): (u64, u64),
        victim: i32,
        known: bool,
        call: Option<What>,
    ) {
        let open: Vec<(What, Option<Sender>)> = match known {
            true => self.open_interrupts().map(|open| (open.what, None)).collect(),
            false => Vec::new(),
        };
        // Some kernels hide the switches to the idle thread: then the victim seems to run.
        let hidden = self.current.0 == victim;
        self.idle = self.idle.filter(|_| known);
        let current = match call {
            _ if self.idle.is_some() => (0, ORDINARY),
            _ if known && !hidden => self.current,
            // No interrupt of a timer will show that the CPU is idle.
            Some(What::WakingCall { elsewhere: true }) if known => (0, ORDINARY),
            _ => (What::UNKNOWN, ORDINARY),
        };
        let stopped = self.stopped().filter(|_| known);
        (self.start, self.end) = (start, end);
        (self.fifo, self.watched) = (false, true);
        self.restart();
        (self.asleep, self.woken) = (true, true);
        self.current = current;
        if let Some((what, sender)) = stopped {
            // Its timer is off: it looks at the time when it is continued.
            self.state = VictimState::Stopped;
            return self.off_cpu(start, what, sender);
        }
        self.state = VictimState::Blocked;
        let late = What::LateTimer { pid: current.0, idle: self.idle };
        self.off_cpu(start, call.unwrap_or(late), None);
        for (what, sender) in open {
            self.open(start, what, sender);
            if let What::Hrtimer { function, .. } = what {
                self.expires(function, false);
            }
        }
    }

    /// Returns what stopped the victim, if it is stopped.
    fn stopped(&self) -> Option<(What, Option<Sender>)> {
        let base = self.stack[self.off?];
        let is_stopped = matches!(base.what, What::Away(Away::Stopped { .. } | Away::Traced));
        (is_stopped && self.state == VictimState::Stopped)
            .then(|| (base.what, self.frames[base.frame as usize].sender))
    }

    /// The CPU enters this idle state, or leaves the one in which it is.
    pub(crate) fn idles(&mut self, state: u64) {
        self.idle = u8::try_from(state).ok();
    }

    fn open_interrupts(&self) -> impl Iterator<Item = &Open> {
        let floor = self.off.map_or(0, |base| base + 1);
        self.stack[floor..].iter().filter(|open| open.what.is_interrupt())
    }

    /// Returns whether the timer has expired and the victim was not woken yet.
    pub(super) fn waits_for_timer(&self) -> bool {
        self.asleep && self.state == VictimState::Blocked
    }

    /// Learns which thread has the CPU while the victim sleeps.
    pub(super) fn has_cpu(&mut self, pid: i32) {
        let was_unknown = self.current.0 == What::UNKNOWN;
        self.current = (pid, ORDINARY);
        let late = |base: &usize| matches!(self.stack[*base].what, What::LateTimer { .. });
        if let Some(base) = self.off.filter(late).filter(|_| was_unknown) {
            let frame = self.stack[base].frame as usize;
            let what = What::LateTimer { pid, idle: None };
            (self.stack[base].what, self.frames[frame].what) = (what, what);
        }
    }

    /// Learns from the waking itself which thread has the CPU, if nothing showed it before.
    pub(crate) fn wakes_here(&mut self, pid: i32) {
        if self.waits_for_timer() && self.current.0 == What::UNKNOWN {
            self.has_cpu(pid);
        }
    }

    /// Wakes the victim: what has the CPU from now on holds it up, unless the CPU switches at once.
    pub(super) fn wake_up(&mut self, ticks: u64, base: usize) {
        self.state = VictimState::Runnable;
        let current = self.current;
        let what = if current.0 == What::UNKNOWN { What::Unseen } else { self.runs(current) };
        let late = self.stack[base].frame as usize;
        self.see(ticks);
        self.begin_again(ticks, base, what);
        if self.frames[late].what == (What::WakingCall { elsewhere: true }) {
            self.take_inner(late);
        }
        let late = &mut self.frames[late];
        let timer = matches!(late.what, What::LateTimer { .. });
        if timer && current.0 > 0 && late.self_ticks <= self.switch_ticks {
            late.what = What::LateTimer { pid: What::NOBODY, idle: None };
        }
        self.bystander = self.stack.get(base).map(|open| open.frame);
    }

    /// Charges to this ended frame all that went on inside it.
    fn take_inner(&mut self, outer: usize) {
        let end = self.frames[outer].end;
        let inner = self.frames[outer + 1..].iter_mut().filter(|frame| frame.start < end);
        let taken: u64 = inner.map(|frame| std::mem::take(&mut frame.self_ticks)).sum();
        self.frames[outer].self_ticks += taken;
    }

    /// Ends a wake-up. If its events are not all there, nothing is guessed.
    pub(super) fn finish_wake_up(&mut self) -> &mut Vec<Frame> {
        match (self.seen, self.state) {
            (None, _) => return self.whole(What::Dark),
            (_, VictimState::Blocked | VictimState::Stopped) => return self.whole(What::Unseen),
            // The kernel hides the switch: what follows the waking is one part.
            (_, VictimState::Runnable) => self.come_back(self.end),
            _ => {}
        }
        self.unwind(self.end, 0);
        self.advance(self.end);
        &mut self.frames
    }
}
