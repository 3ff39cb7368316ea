//! What each thread of a program did: for how long it executed, and for how long it waited behind whom.
//!
//! A thread waits from when it could execute (it was woken, preempted, or begun) to when it has a CPU. That differs from the
//! detours of a CPU: while one thread of the program executes there, the CPU loses nothing, and the others wait.

use super::cpu_state::Counts;
use super::holders::{Holder, Holders};
use crate::frame::What;
use anechoic_recording::DelayKind;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem;

/// Number of its last waits that a thread is known by when it wakes another one.
const RECENT: usize = 8;

/// A delay of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) cpu: u32,
    pub(super) start: u64,
    pub(super) end: u64,
    /// The number of the thread, and its id.
    pub(super) thread: u32,
    pub(super) tid: i32,
    pub(super) kind: DelayKind,
    /// The part in which threads of the program executed on the CPU.
    pub(super) own_ticks: u64,
    /// Who had it for most of the time, and for how long.
    pub(super) holder: Holder,
    pub(super) held_ticks: u64,
    /// The number of the thread of the program that woke it.
    pub(super) waker: Option<u32>,
    /// What woke it, and when; absent if nothing did, or if that is not followed.
    pub(super) woken_by: Option<(What, u64)>,
    pub(super) slept_ticks: Option<u64>,
    /// The priority of the thread, and of the one of the program that had the CPU, or that woke it after it had waited itself.
    pub(super) priority: Option<i32>,
    pub(super) other_priority: Option<i32>,
}

/// A thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) number: u32,
    pub(super) tid: i32,
    pub(super) priority: Option<i32>,
    /// The CPUs on which it executed, in order.
    pub(super) cpus: Vec<u32>,
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) counts: Counts,
    state: State,
    /// Its last long waits.
    recent: VecDeque<Waited>,
}

/// A wait that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Waited {
    cpu: u32,
    start: u64,
    end: u64,
    /// As in [`Wait`].
    own_ticks: u64,
    holder: Holder,
    held_ticks: u64,
    /// The priority at which the thread was then switched in.
    priority: Option<i32>,
}

impl Waited {
    /// Returns the part of it from one time to another, if that takes `least` ticks or more.
    fn part(self, (from, to): (u64, u64), least: u64, holders: &Holders) -> Option<Self> {
        let (start, end) = (self.start.max(from), self.end.min(to));
        let length = end.saturating_sub(start);
        if length < least {
            return None;
        }
        if (start, end) == (self.start, self.end) {
            return Some(self); // the holders may have forgotten a time long ago
        }
        let own_ticks = holders.own_until(end).saturating_sub(holders.own_until(start)).min(length);
        let (holder, held_ticks) = holders.longest(start, end);
        Some(Self { start, end, own_ticks, holder, held_ticks, ..self })
    }
}

/// What a thread does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Unknown,
    /// It has this CPU, which had counted so much when it got it. It was woken at a time if it was about to sleep.
    On {
        cpu: u32,
        counts: Counts,
        woken: Option<Waking>,
    },
    Waits(Waiting),
    /// It sleeps since this time; it was woken before if the kernel was about to switch it out.
    Asleep {
        since: u64,
        woken: Option<Waking>,
    },
}

/// Since when and why a thread waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Waiting {
    since: u64,
    kind: DelayKind,
    /// The CPU for which it waits as far as that is known, and for how long threads of the program had it until then.
    cpu: u32,
    own_until: u64,
    waker: Option<u32>,
    slept_ticks: Option<u64>,
}

/// Who woke a thread, and the CPU that it had before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Waking {
    pub(super) cpu: u32,
    /// The thread that woke it; absent for an interrupt.
    pub(super) by: Option<i32>,
}

/// How a thread left a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    Preempted,
    Asleep,
    Ended,
}

/// Follows the threads of a program.
#[derive(Debug, Default)]
pub(super) struct Threads {
    known: HashMap<i32, Known>,
    cpus: BTreeMap<u32, Holders>,
    /// The number of the next thread.
    next: u32,
    /// Waits that are shorter matter to nobody but the thread itself.
    least_ticks: u64,
    waits: Vec<Wait>,
    /// Number of these that [`Threads::new_waits`] has returned.
    seen: usize,
    ended: Vec<Known>,
}

impl Threads {
    pub(super) fn new(least_ticks: u64) -> Self {
        Self { least_ticks, ..Self::default() }
    }

    /// Lets time count from now on: what was before is forgotten, except what each thread does.
    pub(super) fn begin(&mut self, ticks: u64) {
        self.cpus.values_mut().for_each(|cpu| cpu.begin(ticks));
        self.waits.clear();
        self.seen = 0;
        self.ended.clear();
        for known in self.known.values_mut() {
            (known.first, known.last, known.counts) = (ticks, ticks, Counts::default());
            known.cpus.clear();
            known.recent.clear();
            match &mut known.state {
                State::On { cpu, counts, .. } => {
                    *counts = Counts::default();
                    known.cpus.push(*cpu);
                }
                State::Waits(waiting) => (waiting.since, waiting.own_until) = (ticks, 0),
                State::Asleep { since, .. } => *since = ticks,
                State::Unknown => {}
            }
        }
    }

    /// Returns the number of delays and of threads that are over.
    pub(super) fn found(&self) -> usize {
        self.waits.len() + self.ended.len()
    }

    /// Returns since when each thread waits that waits for a CPU now.
    pub(super) fn waiting_since(&self) -> impl Iterator<Item = u64> {
        self.known.values().filter_map(|known| match known.state {
            State::Waits(waiting) => Some(waiting.since),
            _ => None,
        })
    }

    /// Returns the delays that are over since the last call.
    pub(super) fn new_waits(&mut self) -> &mut [Wait] {
        let from = mem::replace(&mut self.seen, self.waits.len());
        &mut self.waits[from..]
    }

    /// Takes the delays that are over.
    pub(super) fn take_waits(&mut self) -> Vec<Wait> {
        self.seen = 0;
        mem::take(&mut self.waits)
    }

    /// Takes the threads that have ended.
    pub(super) fn take_ended(&mut self) -> Vec<Known> {
        mem::take(&mut self.ended)
    }

    /// Notes that a thread begins. One that had its id has ended unseen.
    pub(super) fn born(&mut self, tid: i32, cpu: u32, ticks: u64) {
        self.end(tid, ticks.saturating_sub(1)); // from now on the id has the name of the new one
        self.waits_from(tid, ticks, (DelayKind::Begun, cpu), None, None);
    }

    /// Notes the priority at which a thread is switched in.
    pub(super) fn runs_at(&mut self, tid: i32, priority: i32, ticks: u64) {
        self.known(tid, ticks).priority = Some(priority);
    }

    /// Notes who has a CPU from now on; `own` is the thread of the program that is current there, with interrupts on top of
    /// it or not. If that did not have the CPU before, it has waited until now.
    pub(super) fn settled(
        &mut self,
        (cpu, ticks): (u32, u64),
        holder: Holder,
        own: Option<i32>,
        counts: Counts,
    ) {
        let mut holder = holder;
        if let Some(tid) = own {
            let known = self.known(tid, ticks);
            let number = known.number;
            if !matches!(known.state, State::On { cpu: on, .. } if on == cpu) {
                self.arrive(tid, (cpu, ticks), counts);
            }
            if let Holder::Own(_, own) = &mut holder {
                *own = number;
            }
        }
        self.cpus.entry(cpu).or_default().note(ticks, holder);
    }

    fn arrive(&mut self, tid: i32, (cpu, ticks): (u32, u64), counts: Counts) {
        let known = self.known(tid, ticks);
        if let Err(place) = known.cpus.binary_search(&cpu) {
            known.cpus.insert(place, cpu);
        }
        let before = mem::replace(&mut known.state, State::On { cpu, counts, woken: None });
        match before {
            State::Waits(waiting) => self.close(tid, waiting, cpu, ticks),
            // It cannot go on without being woken: that was just before it was switched out.
            State::Asleep { since, woken: Some(woken) } => {
                let own_until = self.own_until(cpu, since);
                let waker = woken.by.and_then(|by| self.number(by));
                let kind = DelayKind::Woken;
                let slept_ticks = Some(0);
                let waiting = Waiting { since, kind, cpu, own_until, waker, slept_ticks };
                self.close(tid, waiting, cpu, ticks);
            }
            _ => {} // events were lost
        }
    }

    /// Ends a wait for `cpu`.
    fn close(&mut self, tid: i32, waiting: Waiting, cpu: u32, ticks: u64) {
        let Some(holders) = self.cpus.get(&cpu) else { return };
        let start = waiting.since.min(ticks);
        let own_before = match waiting.cpu == cpu {
            true => waiting.own_until,
            false => holders.own_until(start),
        };
        let own_ticks = holders.own_until(ticks).saturating_sub(own_before).min(ticks - start);
        let (holder, held_ticks) = holders.longest(start, ticks);
        let other_priority = match holder {
            Holder::Own(other, number) => {
                self.known.get(&other).filter(|it| it.number == number).and_then(|it| it.priority)
            }
            _ => None,
        };
        let Some(known) = self.known.get_mut(&tid) else { return };
        let priority = known.priority;
        if ticks - start >= self.least_ticks {
            known.recent.truncate(RECENT - 1);
            let end = ticks;
            let waited = Waited { cpu, start, end, own_ticks, holder, held_ticks, priority };
            known.recent.push_front(waited);
        }
        self.waits.push(Wait {
            cpu,
            start,
            end: ticks,
            thread: known.number,
            tid,
            kind: waiting.kind,
            own_ticks,
            holder,
            held_ticks,
            waker: waiting.waker,
            woken_by: None,
            slept_ticks: waiting.slept_ticks,
            priority,
            other_priority,
        });
    }

    /// Notes that a thread is switched out; `counts` is what its CPU has counted.
    pub(super) fn leave(&mut self, tid: i32, (cpu, ticks): (u32, u64), counts: Counts, how: Left) {
        let woken = self.flush(tid, ticks, counts);
        match how {
            Left::Preempted => {
                self.waits_from(tid, ticks, (DelayKind::Preempted, cpu), None, None);
            }
            Left::Asleep => self.known(tid, ticks).state = State::Asleep { since: ticks, woken },
            Left::Ended => self.end(tid, ticks),
        }
    }

    /// Counts what a thread executed on the CPU that it has, which is not known any more; returns who woke it meanwhile.
    fn flush(&mut self, tid: i32, ticks: u64, counts: Counts) -> Option<Waking> {
        let known = self.known(tid, ticks);
        known.last = ticks;
        let before = mem::take(&mut known.state);
        let State::On { counts: since, woken, .. } = before else { return None };
        known.counts = known.counts.plus(counts.minus(since));
        woken
    }

    /// Notes that it is not known any more what a thread does; `counts` is what a CPU has counted. A wait ends.
    pub(super) fn forget(&mut self, tid: i32, ticks: u64, counts: impl Fn(u32) -> Counts) {
        match self.known.get(&tid).map(|known| known.state) {
            Some(State::On { cpu, .. }) => {
                self.flush(tid, ticks, counts(cpu));
            }
            Some(State::Waits(waiting)) => {
                self.known(tid, ticks).state = State::Unknown;
                self.close(tid, waiting, waiting.cpu, ticks);
            }
            Some(_) => self.known(tid, ticks).state = State::Unknown,
            None => {}
        }
    }

    /// Notes that it is not known any more what `cpu` does, which has counted so much.
    pub(super) fn lose(&mut self, cpu: u32, ticks: u64, counts: Counts) {
        let on_it = |known: &&Known| matches!(known.state, State::On { cpu: on, .. } if on == cpu);
        let current = self.known.values().find(on_it).map(|known| known.tid);
        if let Some(tid) = current {
            self.flush(tid, ticks, counts);
        }
    }

    /// Returns the ids of all threads.
    pub(super) fn ids(&self) -> impl Iterator<Item = i32> {
        self.known.keys().copied()
    }

    /// Ends all that goes on, when no thread has a CPU any more. One that waits has waited up to now.
    pub(super) fn finish(&mut self, ticks: u64) {
        let mut all: Vec<(u32, i32)> = self.known.values().map(|k| (k.number, k.tid)).collect();
        all.sort_unstable();
        for (_, tid) in all {
            self.forget(tid, ticks, |_| Counts::default());
            self.end(tid, ticks);
        }
    }

    fn end(&mut self, tid: i32, ticks: u64) {
        if let Some(known) = self.known.remove(&tid) {
            let last = ticks.max(known.first);
            self.ended.push(Known { last, recent: VecDeque::new(), ..known });
        }
    }

    /// Notes that a thread is woken.
    pub(super) fn woken(&mut self, tid: i32, ticks: u64, waking: Waking) {
        let known = self.known(tid, ticks);
        match &mut known.state {
            State::On { woken, .. } => *woken = Some(waking), // it is about to sleep
            // It was preempted when it was about to sleep, and waits on.
            State::Waits(waiting) if waiting.kind == DelayKind::Preempted => {}
            State::Asleep { since, .. } => {
                let since = *since;
                self.blocked(tid, (since, ticks), waking.by);
                let kind = (DelayKind::Woken, waking.cpu);
                self.waits_from(tid, ticks, kind, waking.by, Some(ticks.saturating_sub(since)));
            }
            State::Waits(_) | State::Unknown => {
                self.waits_from(tid, ticks, (DelayKind::Woken, waking.cpu), waking.by, None);
            }
        }
    }

    /// Notes for how long the thread that wakes another one, which slept in this time, had waited itself.
    fn blocked(&mut self, tid: i32, (since, ticks): (u64, u64), by: Option<i32>) {
        let Some(waker) = by.and_then(|by| self.known.get(&by)) else { return };
        let Some(Known { number, priority, .. }) = self.known.get(&tid) else { return };
        for waited in &waker.recent {
            let Some(holders) = self.cpus.get(&waited.cpu) else { continue };
            let part = waited.part((since, ticks), self.least_ticks, holders);
            let Some(part) = part else { continue };
            let Waited { cpu, start, end, own_ticks, holder, held_ticks, .. } = part;
            self.waits.push(Wait {
                cpu,
                start,
                end,
                thread: *number,
                tid,
                kind: DelayKind::Blocked,
                own_ticks,
                holder,
                held_ticks,
                waker: Some(waker.number),
                woken_by: None,
                slept_ticks: Some(ticks - since),
                priority: *priority,
                other_priority: part.priority,
            });
        }
    }

    fn waits_from(
        &mut self,
        tid: i32,
        ticks: u64,
        (kind, cpu): (DelayKind, u32),
        by: Option<i32>,
        slept_ticks: Option<u64>,
    ) {
        let (own_until, waker) = (self.own_until(cpu, ticks), by.and_then(|by| self.number(by)));
        let waiting = Waiting { since: ticks, kind, cpu, own_until, waker, slept_ticks };
        self.known(tid, ticks).state = State::Waits(waiting);
    }

    fn own_until(&self, cpu: u32, ticks: u64) -> u64 {
        self.cpus.get(&cpu).map_or(0, |holders| holders.own_until(ticks))
    }

    /// Returns the number of a thread of the program.
    pub(super) fn number(&self, tid: i32) -> Option<u32> {
        self.known.get(&tid).map(|known| known.number)
    }

    fn known(&mut self, tid: i32, ticks: u64) -> &mut Known {
        let next = &mut self.next;
        self.known.entry(tid).or_insert_with(|| {
            let number = *next;
            *next += 1;
            Known { number, tid, first: ticks, last: ticks, ..Known::default() }
        })
    }
}

#[cfg(test)]
mod tests;
