//! Which thread has the CPU, and what the victim could do in the meantime.

use super::{Open, Scene};
use crate::claims::FAIR_PRIORITY;
use crate::frame::{Away, Frame, Sender, VictimState, What};
use crate::victims::Victims;

/// The context of a switch: who woke the next thread, and who stopped the victim.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Causes {
    pub(crate) waker: Option<Sender>,
    pub(crate) stop: Option<(u8, Sender)>,
}

/// Kernel priority of a thread that was never seen switched in: that of most threads.
pub(crate) const ORDINARY: i32 = 120;

fn thread((pid, priority): (i32, i32)) -> What {
    What::Thread { pid, priority }
}

impl Scene {
    /// Switches threads. `prev_state` are the bits of `sched_switch`.
    pub(crate) fn switch(
        &mut self,
        ticks: u64,
        (prev, prev_state): (i32, u64),
        next: (i32, i32),
        causes: Causes,
        victims: Victims<'_>,
    ) {
        self.expect(ticks, prev, victims);
        if victims.has(prev) && victims.has(next.0) {
            self.unwind(ticks, 0); // the program goes on with another of its threads
            self.current = next;
            return self.come_back(ticks);
        }
        if victims.has(prev) {
            self.fifo |= victims.is_real_time(prev);
            self.preempted = Some(prev);
            // Whatever this thread does, its program wants the CPU in all of the detour.
            let prev_state = if victims.are_of_program() { 0 } else { prev_state };
            return self.leave(ticks, prev_state, next, causes);
        }
        self.suspend(ticks);
        self.current = next;
        if victims.has(next.0) {
            if self.preempted == Some(next.0) && next.1 < FAIR_PRIORITY {
                // It may have become real-time while it ran, which no event shows before this switch.
                self.frames.iter_mut().for_each(|frame| frame.fifo = true);
            }
            self.come_back(ticks);
            return;
        }
        if self.state == VictimState::Runnable
            && let Some(base) = self.off
        {
            self.unwind(ticks, base);
            self.bystander = None;
            self.off_cpu(ticks, self.runs(next), causes.waker);
        }
        self.resume(ticks, next.0);
    }

    /// Handles an event of thread `pid`. If that is not the thread switched in last, a switch was missed.
    ///
    /// The kernel reports losses, but some kernels hide the switches of some threads. The victim may have
    /// come straight back; for another thread, it is unknown whose the time since the previous event was.
    pub(crate) fn expect(&mut self, ticks: u64, pid: i32, victims: Victims<'_>) {
        if pid == self.current.0 {
            return;
        }
        if victims.has(pid) {
            self.current = (pid, 0);
            self.come_back(ticks);
            return;
        }
        if self.waits_for_timer() {
            return self.has_cpu(pid);
        }
        self.bystander = None;
        if let Some(base) = self.off.filter(|base| self.has_left_idle(*base)) {
            return self.ran_since_idle(base, pid);
        }
        let unseen_since = self.seen.map_or(ticks, |(_, last)| last);
        self.suspend(unseen_since);
        self.current = (pid, ORDINARY);
        if self.muted().is_some() {
            return;
        }
        match self.off {
            Some(base) => {
                self.unwind(unseen_since, base);
                self.off_cpu(unseen_since, What::Unseen, None);
                self.unwind(ticks, base);
            }
            None => self.unwind(ticks, 0),
        }
        self.state = VictimState::Runnable;
        self.off_cpu(ticks, thread(self.current), None);
    }

    /// Returns whether the idle thread, whose switches some kernels hide, had the CPU last, and nothing is open in it.
    fn has_left_idle(&self, base: usize) -> bool {
        let alone = self.stack.len() == base + 1 && self.muted().is_none();
        alone && self.current.0 == 0 && self.state == VictimState::Runnable
    }

    /// Charges the time since the last interrupt to thread `pid`: no CPU idles while a thread waits for it, and the switches of
    /// all other threads are seen.
    fn ran_since_idle(&mut self, base: usize, pid: i32) {
        let idle = self.stack[base].frame;
        let inside = self.frames.iter().rev().find(|frame| frame.parent == Some(idle));
        let since = inside.map_or(self.frames[idle as usize].start, |frame| frame.end);
        let moved = self.at.saturating_sub(since);
        let before = &mut self.frames[idle as usize].self_ticks;
        *before = before.saturating_sub(moved);
        self.at = since;
        self.unwind(since, base);
        self.current = (pid, ORDINARY);
        self.off_cpu(since, thread(self.current), None);
    }

    /// Switches the victim in.
    ///
    /// A thread that had the CPU when the victim was woken held it if it went on after the interrupt that woke the victim. If
    /// the CPU switched at once, that is what each waking costs, and nobody's fault.
    pub(super) fn come_back(&mut self, ticks: u64) {
        if let Some(base) = self.off {
            self.unwind(ticks, base);
            if let Some(bystander) = self.bystander.take() {
                let frame = &mut self.frames[bystander as usize];
                if frame.self_ticks - self.waking_ticks <= self.switch_ticks {
                    frame.what = What::WakeUp;
                }
            }
        }
        self.state = VictimState::Running;
        if self.asleep && self.stack.is_empty() && ticks < self.end {
            self.open(ticks, What::WakeUp, None); // it returns to the user
        }
    }

    /// Begins a detour in which the CPU did not execute a victim: `running` had it when a thread of the program was woken.
    pub(super) fn begin_woken(&mut self, running: (i32, i32)) {
        (self.state, self.current) = (VictimState::Runnable, running);
        self.woken = true;
        self.off_cpu(self.start, self.runs(running), None);
        if running.0 != 0 {
            self.bystander = self.stack.last().map(|open| open.frame);
        }
    }

    /// Returns what goes on while this thread has the CPU: an idle CPU that a woken thread waits for has not begun yet to
    /// run it.
    pub(super) fn runs(&self, running: (i32, i32)) -> What {
        if self.woken && running.0 == 0 { What::Delay } else { thread(running) }
    }

    /// Switches the victim out.
    fn leave(&mut self, ticks: u64, prev_state: u64, next: (i32, i32), causes: Causes) {
        // A thread that is switched out cannot have an open interrupt, so its exit event was lost.
        let lost = self.stack.iter().position(|open| open.what.is_hard_interrupt());
        let floor = lost.into_iter().chain(self.off).min().unwrap_or(self.stack.len());
        self.unwind(ticks, floor);
        self.current = next;
        let away = self.why_away(prev_state, causes.stop);
        self.state = match away {
            None => VictimState::Runnable,
            Some(Away::Stopped { .. } | Away::Traced) => VictimState::Stopped,
            Some(Away::Fault { .. } | Away::Blocked) => VictimState::Blocked,
        };
        match away {
            None => self.off_cpu(ticks, self.runs(next), causes.waker),
            Some(away) => {
                let stopped = matches!(away, Away::Stopped { .. });
                let sender = causes.stop.filter(|_| stopped).map(|(_, sender)| sender);
                self.off_cpu(ticks, What::Away(away), sender);
            }
        }
    }

    /// Interprets the state bits of `sched_switch`: S 1, D 2, T 4, t 8, X 0x10, Z 0x20, P 0x40, I 0x80.
    /// Without any of them, or with 0x100 for preempted, the victim is runnable.
    fn why_away(&self, prev_state: u64, stop: Option<(u8, Sender)>) -> Option<Away> {
        match prev_state & 0xff {
            0 => None,
            bits if bits & 4 != 0 => {
                Some(Away::Stopped { signal: stop.map_or(0, |(signal, _)| signal) })
            }
            bits if bits & 8 != 0 => Some(Away::Traced),
            _ => Some(self.fault.map_or(Away::Blocked, |user| Away::Fault { user })),
        }
    }

    pub(super) fn off_cpu(&mut self, ticks: u64, what: What, sender: Option<Sender>) {
        self.open(ticks, what, sender);
        self.off = Some(self.stack.len() - 1);
    }

    /// Puts aside what a thread that is switched out left open.
    fn suspend(&mut self, ticks: u64) {
        let Some(floor) = self.off.map(|base| base + 1) else { return };
        let muted = self.muted().is_some();
        let sender = |open: &Open| self.frames[open.frame as usize].sender.filter(|_| !muted);
        let left: Vec<_> = self.stack[floor..]
            .iter()
            .take_while(|open| !open.what.is_hard_interrupt())
            .map(|open| (open.what, sender(open)))
            .collect();
        self.unwind(ticks, floor);
        if !left.is_empty() {
            self.suspended.insert(self.current.0, left);
        }
    }

    /// Restores what a thread left open when it was switched out.
    fn resume(&mut self, ticks: u64, pid: i32) {
        for (what, sender) in self.suspended.remove(&pid).unwrap_or_default() {
            self.open(ticks, what, sender);
        }
    }

    /// Charges the wait so far to the CPU quota of the victim's control group, which gets new time now, unless that is longer
    /// than `most` ticks; returns how long it was.
    pub(crate) fn end_of_throttling(&mut self, ticks: u64, most: u64) -> u64 {
        let Some(base) = self.off.filter(|_| self.state == VictimState::Runnable && !self.fifo)
        else {
            return 0;
        };
        self.advance(ticks);
        let waits = |what| matches!(what, What::Thread { .. } | What::Delay);
        let ran = self.stack[base].what;
        let held = self.frames.iter().filter(|frame| frame.parent.is_none() && waits(frame.what));
        let held: u64 = held.map(|frame| frame.self_ticks).sum();
        if held == 0 || held > most || !waits(ran) {
            return 0;
        }
        self.begin_again(ticks, base, ran);
        self.bystander = None;
        let last = self.stack[base].frame as usize;
        let waited = self.frames[..last]
            .iter_mut()
            .filter(|frame| frame.parent.is_none() && waits(frame.what));
        waited.for_each(|frame| frame.what = What::Throttled);
        held
    }

    /// Ends what the CPU does without the victim, and begins it again as `what`, with all that is open inside.
    pub(super) fn begin_again(&mut self, ticks: u64, base: usize, what: What) {
        let muted = self.muted().is_some();
        let inside: Vec<(What, Option<Frame>)> = self.stack[base + 1..]
            .iter()
            .map(|open| (open.what, (!muted).then(|| self.frames[open.frame as usize])))
            .collect();
        self.unwind(ticks, base);
        self.off_cpu(ticks, what, None);
        for (what, before) in inside {
            self.open(ticks, what, before.and_then(|frame| frame.sender));
            let frame = self.stack.last().map(|open| open.frame as usize);
            if let (Some(frame), Some(before)) = (frame, before) {
                self.frames[frame].function = before.function;
            }
        }
    }

    /// Wakes the victim. Its delay is then charged to what runs, or to its own wake-up if nothing does.
    pub(crate) fn wake(&mut self, ticks: u64) {
        if let Some(base) = self.off.filter(|_| self.waits_for_timer()) {
            return self.wake_up(ticks, base);
        }
        if self.muted().is_none() {
            return;
        }
        self.state = VictimState::Runnable;
        if let Some(base) = self.off
            && (self.current.0 != 0 || self.asleep)
        {
            self.begin_again(ticks, base, self.runs(self.current));
        }
    }
}
