//! When threads that pass marks had a CPU or waited for one, from the kernel's events.

use anechoic_recording::{EventKind, KernelEvent};
use std::collections::{BTreeMap, HashMap};

/// The states of `sched_switch` in which a thread has ended: X and Z.
const ENDED: u64 = 0x30;
/// All states in which a thread is not runnable.
const NOT_RUNNABLE: u64 = 0xff;

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    /// It sleeps, or is not known.
    Sleeps,
    /// It has this CPU since then; it was woken meanwhile if it was about to sleep.
    Runs { cpu: u32, since: u64, woken: bool },
    /// It can run since then and has no CPU: it was preempted on this one, or woken.
    Waits { cpu: Option<u32>, since: u64 },
}

/// A stretch of time in which a thread had a CPU, or waited for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) tid: i32,
    pub(super) cpu: u32,
    pub(super) start_ticks: u64,
    pub(super) end_ticks: u64,
    pub(super) ran: bool,
}

/// Follows threads.
#[derive(Debug)]
pub(super) struct Threads {
    doing: BTreeMap<i32, Doing>,
    /// The followed thread that each CPU has.
    on_cpu: HashMap<u32, i32>,
    /// When the last event came from a CPU.
    seen: HashMap<u32, u64>,
    /// A thread that runs for longer is given up to now, so that what it lost needs not be kept.
    longest_ticks: u64,
    over: Vec<Stretch>,
    ended: Vec<i32>,
}

impl Threads {
    /// Follows these threads; none of their stretches is longer than `longest_ticks`, unless nothing happens on its CPU.
    pub(super) fn new(tids: impl IntoIterator<Item = i32>, longest_ticks: u64) -> Self {
        Self {
            doing: tids.into_iter().map(|tid| (tid, Doing::Sleeps)).collect(),
            on_cpu: HashMap::new(),
            seen: HashMap::new(),
            longest_ticks,
            over: vec![],
            ended: vec![],
        }
    }

    /// Returns whether it follows this thread.
    pub(super) fn follows(&self, tid: i32) -> bool {
        self.doing.contains_key(&tid)
    }

    /// Processes the next event of any CPU.
    pub(super) fn event(&mut self, event: &KernelEvent) {
        let (cpu, ticks, [first, second, _]) = (event.cpu, event.ticks, event.args);
        if event.kind.has_current_thread() {
            self.expect(cpu, ticks, event.pid);
        }
        match event.kind {
            EventKind::Switch => {
                self.leave(event.pid, cpu, ticks, second);
                self.arrive(first as i32, cpu, ticks);
            }
            EventKind::Waking => self.wake(first as i32, ticks),
            EventKind::NewTask if self.doing.contains_key(&(first as i32)) => {
                self.ended.push(first as i32); // of a thread that had the number before
                self.doing.insert(first as i32, Doing::Waits { cpu: None, since: ticks });
            }
            _ => {}
        }
        let running = self.on_cpu.get(&cpu).copied();
        if let Some(Doing::Runs { since, woken, .. }) = running.and_then(|tid| self.doing.get(&tid))
            && ticks.saturating_sub(*since) > self.longest_ticks
        {
            let (tid, woken) = (running.unwrap_or_default(), *woken);
            self.set(tid, Doing::Runs { cpu, since: ticks, woken }, ticks);
        }
        self.seen.insert(cpu, ticks);
    }

    /// Ends the stretch of a thread at its mark on this CPU, where it goes on.
    pub(super) fn mark(&mut self, tid: i32, cpu: u32, ticks: u64) {
        self.set(tid, Doing::Runs { cpu, since: ticks, woken: false }, ticks);
    }

    /// Takes the stretches that are over.
    pub(super) fn over(&mut self) -> std::vec::Drain<'_, Stretch> {
        self.over.drain(..)
    }

    /// Takes the threads that have ended.
    pub(super) fn ended(&mut self) -> std::vec::Drain<'_, i32> {
        self.ended.drain(..)
    }

    /// Returns when the first stretch began that is not over; `now` if there is none.
    pub(super) fn earliest(&self, now: u64) -> u64 {
        let since = self.doing.values().filter_map(|doing| match *doing {
            Doing::Sleeps => None,
            Doing::Runs { since, .. } | Doing::Waits { since, .. } => Some(since),
        });
        since.min().unwrap_or(now).min(now)
    }

    /// Handles an event of thread `tid`. If another one was switched in last, a switch was not reported: some kernels do not
    /// report those of the idle thread. A thread that was woken then began after the last event of the CPU.
    fn expect(&mut self, cpu: u32, ticks: u64, tid: i32) {
        let before = self.on_cpu.get(&cpu).copied();
        if let Some(before) = before.filter(|&before| before != tid) {
            self.set(before, Doing::Sleeps, ticks);
        }
        let runs = matches!(self.doing.get(&tid), Some(Doing::Runs { cpu: on, .. }) if *on == cpu);
        if !runs && self.doing.contains_key(&tid) {
            let seen = self.seen.get(&cpu).copied().unwrap_or(ticks);
            let since = match self.doing.get(&tid) {
                Some(Doing::Waits { since, .. }) => seen.max(*since).min(ticks),
                _ => ticks,
            };
            self.arrive(tid, cpu, since);
        }
    }

    /// Handles that a thread is switched out in this state.
    fn leave(&mut self, tid: i32, cpu: u32, ticks: u64, state: u64) {
        let Some(doing) = self.doing.get(&tid) else { return };
        let woken = matches!(doing, Doing::Runs { woken: true, .. });
        let next = match state & NOT_RUNNABLE {
            0 => Doing::Waits { cpu: Some(cpu), since: ticks },
            _ if woken => Doing::Waits { cpu: None, since: ticks },
            _ => Doing::Sleeps,
        };
        self.set(tid, next, ticks);
        if state & ENDED != 0 {
            self.ended.push(tid);
        }
    }

    fn arrive(&mut self, tid: i32, cpu: u32, ticks: u64) {
        if self.doing.contains_key(&tid) {
            self.set(tid, Doing::Runs { cpu, since: ticks, woken: false }, ticks);
        }
    }

    fn wake(&mut self, tid: i32, ticks: u64) {
        match self.doing.get_mut(&tid) {
            Some(Doing::Runs { woken, .. }) => *woken = true,
            Some(doing @ Doing::Sleeps) => *doing = Doing::Waits { cpu: None, since: ticks },
            Some(Doing::Waits { .. }) | None => {}
        }
    }

    /// Lets a thread do something else from now on.
    fn set(&mut self, tid: i32, next: Doing, ticks: u64) {
        let Some(doing) = self.doing.get_mut(&tid) else { return };
        let before = std::mem::replace(doing, next);
        let chosen = match next {
            Doing::Runs { cpu, .. } => Some(cpu),
            _ => None,
        };
        let stretch = match before {
            Doing::Sleeps => None,
            Doing::Runs { cpu, since, .. } => Some((cpu, since, true)),
            // Where a woken thread waited is known when it is switched in.
            Doing::Waits { cpu, since } => cpu.or(chosen).map(|cpu| (cpu, since, false)),
        };
        if let Doing::Runs { cpu, .. } = before {
            self.on_cpu.remove(&cpu);
        }
        if let Doing::Runs { cpu, .. } = next {
            self.on_cpu.insert(cpu, tid);
        }
        if let Some((cpu, start_ticks, ran)) = stretch.filter(|&(_, since, _)| since < ticks) {
            self.over.push(Stretch { tid, cpu, start_ticks, end_ticks: ticks, ran });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(cpu: u32, ticks: u64, pid: i32, kind: EventKind, args: [u64; 3]) -> KernelEvent {
        KernelEvent { cpu, ticks, kind, pid, args }
    }

    #[test]
    fn a_thread_runs_waits_and_sleeps() {
        let switch = |cpu, ticks, from, state, to| {
            event(cpu, ticks, from, EventKind::Switch, [to, state, 120])
        };
        let waking = |ticks, tid| event(1, ticks, 9, EventKind::Waking, [tid, 0, 0]);
        let timer = |cpu, ticks, pid| event(cpu, ticks, pid, EventKind::LocalTimerEntry, [0; 3]);
        let mut threads = Threads::new([5], 1_000);
        let mut all: Vec<(u32, u64, u64, bool)> = vec![];
        let mut take = |threads: &mut Threads| {
            all.extend(threads.over().map(|it| (it.cpu, it.start_ticks, it.end_ticks, it.ran)));
        };
        for event in [
            switch(0, 10, 7, 0, 5),
            switch(0, 20, 5, 0, 7), // preempted
            switch(0, 25, 7, 1, 5), // goes on
            switch(0, 30, 5, 1, 0), // sleeps
            waking(40, 5),          // waits, for a CPU that is not known yet
            switch(1, 44, 0, 0, 5), // on the other one
            waking(50, 5),          // woken while it is about to sleep
            switch(1, 52, 5, 1, 7),
            switch(1, 53, 7, 1, 5),
            switch(1, 60, 5, 1, 0),
            waking(70, 5),
            timer(0, 72, 0),    // the last event of CPU 0 without the thread
            timer(0, 80, 5),    // it runs there, which no switch shows
            timer(0, 1_100, 5), // longer than a stretch may be
            timer(0, 1_110, 7), // it is gone, which no switch shows
        ] {
            threads.event(&event);
            take(&mut threads);
        }
        let expected = [
            (0, 10, 20, true),
            (0, 20, 25, false),
            (0, 25, 30, true),
            (1, 40, 44, false),
            (1, 44, 52, true),
            (1, 52, 53, false),
            (1, 53, 60, true),
            (0, 70, 72, false),
            (0, 72, 1_100, true),
            (0, 1_100, 1_110, true),
        ];
        assert_eq!(all, expected);
        assert_eq!(threads.earliest(2_000), 2_000);
        threads.event(&switch(0, 2_100, 5, 0x10, 7));
        assert_eq!(threads.ended().collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn a_mark_divides_a_stretch() {
        let mut threads = Threads::new([5], 1_000);
        threads.mark(5, 3, 10);
        threads.mark(5, 3, 30);
        let over: Vec<Stretch> = threads.over().collect();
        let expected = Stretch { tid: 5, cpu: 3, start_ticks: 10, end_ticks: 30, ran: true };
        assert_eq!(over, [expected]);
        assert_eq!(threads.earliest(99), 30);
        threads.mark(6, 3, 30); // of a thread that is not followed
        assert_eq!(threads.over().count(), 0);
    }
}
