//! When timers woke the threads of a program, and how long after the time for which these had set them.
//!
//! A thread that is woken while the function of a timer runs was released by it. That is so for all ways to sleep until a
//! time: the kernel's own sleeps and timeouts, timerfd, and timers that send signals.

mod explained;
mod timers;

use super::contexts::Contexts;
use crate::frame::What;
use crate::label::Labels;
use anechoic_recording::event::{Handler, Role};
use anechoic_recording::{Clock, EventKind, KernelEvent, Loss, LossKind, Members, Release, Run};
use explained::Explained;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use timers::{Expiry, Timers};

/// A release that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Found {
    tid: i32,
    /// The number of the thread.
    thread: u32,
    timer: Expiry,
    woken: u64,
    /// The CPU that the thread then had, and since when; up to so much later if the switch to it was not reported.
    cpu: u32,
    end: u64,
    unseen: u64,
}

/// A thread that was released and does not execute yet.
#[derive(Debug, Clone, Copy)]
struct Pending {
    /// The number of the thread.
    thread: u32,
    timer: Expiry,
    woken: u64,
    /// The CPU that it still had when it was woken, because it was only about to sleep.
    on: Option<u32>,
    /// Nothing else executed where it was woken.
    on_idle: bool,
}

/// Finds the releases of a program's threads in the events of all CPUs, which come in time order.
pub(super) struct Releases<'a> {
    start_ticks: u64,
    /// The intervals in which events were lost, the next one last.
    losses: Vec<Loss>,
    /// Those that go on.
    lost: Vec<Loss>,
    timers: Timers,
    pending: HashMap<i32, Pending>,
    /// When the last event of each CPU came.
    seen: BTreeMap<u32, u64>,
    /// For when the timer of the last release of each thread was set, by the number of the thread; absent if something else
    /// has woken it since.
    previous: HashMap<u32, u64>,
    /// Absent while a program is recorded, when nobody asks what took most of a release.
    explained: Option<Explained<'a>>,
    /// Number of releases that are left out, because the clock of their timers was set while their threads slept.
    left_out: u64,
}

impl<'a> Releases<'a> {
    /// Begins to find the releases whose timers were to expire at `start_ticks` or later, when this was the time of day.
    pub(super) fn new(
        labels: &'a Labels,
        clock: &'a Clock,
        start_ticks: u64,
        start_day_ns: Option<u64>,
        mut losses: Vec<Loss>,
    ) -> Self {
        losses.retain(|loss| loss.what == LossKind::Events);
        losses.sort_by_key(|loss| Reverse(loss.start_ticks));
        Self {
            start_ticks,
            losses,
            lost: vec![],
            timers: Timers::new(clock, start_day_ns.map(|ns| (ns, start_ticks))),
            pending: HashMap::new(),
            seen: BTreeMap::new(),
            previous: HashMap::new(),
            explained: Some(Explained::new(labels, clock)),
            left_out: 0,
        }
    }

    /// Begins to find them while a program is recorded, maybe for days.
    pub(super) fn live(run: &Run) -> Releases<'static> {
        let start = run.start_day_ns().map(|ns| (ns, run.start_ticks));
        Releases {
            start_ticks: run.start_ticks,
            losses: vec![],
            lost: vec![],
            timers: Timers::new(&run.clock, start),
            pending: HashMap::new(),
            seen: BTreeMap::new(),
            previous: HashMap::new(),
            explained: None,
            left_out: 0,
        }
    }

    /// Adds intervals in which events were lost, none of them before the last event.
    pub(super) fn add_losses(&mut self, losses: &[Loss]) {
        let events = losses.iter().filter(|loss| loss.what == LossKind::Events);
        self.losses.extend(events.cloned());
        self.losses.sort_by_key(|loss| Reverse(loss.start_ticks));
    }

    /// Processes the next event, after which these are the threads of the program, and this is what goes on on each CPU; returns a
    /// release that is over, with the id of its thread. `number` returns the number of a thread of the program.
    pub(super) fn event(
        &mut self,
        event: &KernelEvent,
        members: &Members,
        number: impl Fn(i32) -> Option<u32>,
        contexts: &Contexts,
    ) -> Option<(i32, Release)> {
        self.lose(event.ticks);
        self.timers.event(event);
        if let Some(explained) = &mut self.explained {
            explained.event(event);
        }
        let found = self.arrives(event);
        if event.kind == EventKind::Waking {
            self.wakes(event, members, number, contexts);
        }
        self.seen.insert(event.cpu, event.ticks);
        let found = found?;
        Some((found.tid, self.row(&found)?))
    }

    /// Returns the releases that are not over when the recording ends. Where a thread may have had its CPU all the while, this
    /// is unseen.
    pub(super) fn finish(&mut self, end_ticks: u64) -> Vec<Release> {
        self.lose(end_ticks);
        let pending = std::mem::take(&mut self.pending).into_iter();
        let found = pending.map(|(tid, Pending { thread, timer, woken, on, on_idle })| {
            let seen = self.seen.get(&timer.cpu).copied().unwrap_or(woken);
            let end = match on {
                Some(_) => woken,
                None if on_idle => seen.max(woken),
                None => end_ticks,
            };
            Found { tid, thread, timer, woken, cpu: timer.cpu, end, unseen: end_ticks - end }
        });
        let mut found: Vec<Found> = found.collect();
        found.sort_by_key(|found| (found.end, found.tid));
        found.iter().filter_map(|found| self.row(found)).collect()
    }

    /// Returns the number of releases that are left out, because the clock of their timers was set meanwhile.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Forgets what events may have changed that were lost before `ticks`.
    fn lose(&mut self, ticks: u64) {
        while let Some(loss) = self.losses.pop_if(|loss| loss.start_ticks < ticks) {
            self.lost.push(loss);
        }
        if self.lost.is_empty() {
            return;
        }
        self.pending.clear();
        self.previous.clear();
        self.timers.lose();
        if let Some(explained) = &mut self.explained {
            self.lost.iter().for_each(|loss| explained.lose(loss.cpu));
        }
        self.lost.retain(|loss| loss.end_ticks >= ticks);
    }

    /// Notes the thread that is woken, if a timer does it.
    fn wakes(
        &mut self,
        event: &KernelEvent,
        members: &Members,
        number: impl Fn(i32) -> Option<u32>,
        contexts: &Contexts,
    ) {
        let tid = event.args[0] as i32;
        let Some(thread) = number(tid).filter(|_| members.has(tid)) else { return };
        // An interrupt may come while the function of a timer runs.
        let in_timer = matches!(contexts.waker(event.cpu, event.pid), What::Hrtimer { .. });
        let timer = self.timers.expiring(event.cpu, event.pid).filter(|_| in_timer);
        let Some(timer) = timer else {
            self.previous.remove(&thread); // it was no longer busy with that release
            return;
        };
        let on = (event.pid == tid).then_some(event.cpu);
        let pending = Pending { thread, timer, woken: event.ticks, on, on_idle: event.pid == 0 };
        let known = self.pending.entry(tid).or_insert(pending);
        if known.woken < timer.armed {
            *known = pending; // it has executed in between, which no event shows
        }
    }

    /// Returns the release that ends with this event, if one does.
    fn arrives(&mut self, event: &KernelEvent) -> Option<Found> {
        if self.pending.is_empty() {
            return None;
        }
        let (cpu, ticks, next) = (event.cpu, event.ticks, event.args[0] as i32);
        if event.kind == EventKind::Switch
            && let Some(pending) = self.pending.get_mut(&event.pid).filter(|it| it.on == Some(cpu))
        {
            if event.args[1] & 0xff != 0 {
                let woken = pending.woken; // it went on at some time, and sleeps again
                return self.end(event.pid, (cpu, woken), ticks - woken);
            }
            pending.on = None; // preempted when it was about to sleep, or to go on
            return self.end(next, (cpu, ticks), 0);
        }
        if event.kind == EventKind::Switch && self.pending.contains_key(&next) {
            return self.end(next, (cpu, ticks), 0);
        }
        let pending = self.pending.get(&event.pid)?;
        let over = matches!(
            event.kind.role(),
            Role::Exit(Handler::Vector(_) | Handler::Irq | Handler::Softirq)
        );
        match pending.on {
            Some(on) if on == cpu && over => self.end(event.pid, (cpu, ticks), 0),
            Some(_) => None,
            // The switch to it was not reported: it lies between the last event of the CPU and this one.
            None => {
                let seen = self.seen.get(&cpu).copied().unwrap_or(pending.woken);
                let begun = seen.max(pending.woken).min(ticks);
                self.end(event.pid, (cpu, begun), ticks - begun)
            }
        }
    }

    fn end(&mut self, tid: i32, (cpu, end): (u32, u64), unseen: u64) -> Option<Found> {
        let Pending { thread, timer, woken, .. } = self.pending.remove(&tid)?;
        Some(Found { tid, thread, timer, woken, cpu, end, unseen })
    }

    /// Returns a release; none if its timer was to expire before the start, or at a time that is not known.
    fn row(&mut self, found: &Found) -> Option<Release> {
        let timer = &found.timer;
        if timer.was_set {
            self.left_out += u64::from(timer.expired >= self.start_ticks);
            self.previous.remove(&found.thread);
            return None;
        }
        if timer.due < self.start_ticks {
            return None;
        }
        let taken = self.explained.as_ref().map(|explained| explained.most(found));
        let (source, name, source_ticks) = taken.unwrap_or_default();
        Some(Release {
            cpu: found.cpu,
            due_ticks: timer.due,
            end_ticks: found.end,
            thread: found.thread,
            armed_ticks: timer.armed,
            slack_ticks: timer.slack,
            expired_ticks: timer.expired,
            timer_cpu: timer.cpu,
            woken_ticks: found.woken,
            unseen_ticks: found.unseen,
            previous_ticks: match self.explained {
                Some(_) => self.previous.insert(found.thread, timer.due),
                None => None,
            },
            source,
            name,
            source_ticks,
        })
    }
}

#[cfg(test)]
mod tests;
