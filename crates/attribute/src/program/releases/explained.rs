//! What took most of a release: the attribution that all methods share, over the last events of its CPUs.

use super::Found;
use super::timers::Expiry;
use crate::apply::apply;
use crate::causes::Causes;
use crate::cpu_matcher::SWITCH_NS;
use crate::label::{DetourRef, Labels};
use crate::scene::Scene;
use crate::victims::Victims;
use anechoic_recording::event::{Handler, Role};
use anechoic_recording::{Activity, Clock, EventKind, KernelEvent, sources};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Number of events of a CPU that are remembered.
const REMEMBERED: usize = 1_024;
/// Number of events before a release that show who had the CPU, and which interrupts were open.
const BEFORE: usize = 64;

/// A source, which instance of it, and for how many ticks.
pub(super) type Taken = (Arc<str>, Arc<str>, u64);

/// The last events of each CPU.
pub(super) struct Explained<'a> {
    labels: &'a Labels,
    clock: &'a Clock,
    cpus: BTreeMap<u32, VecDeque<KernelEvent>>,
}

impl<'a> Explained<'a> {
    pub(super) fn new(labels: &'a Labels, clock: &'a Clock) -> Self {
        Self { labels, clock, cpus: BTreeMap::new() }
    }

    pub(super) fn event(&mut self, event: &KernelEvent) {
        let events = self.cpus.entry(event.cpu).or_default();
        if events.len() == REMEMBERED {
            events.pop_front();
        }
        events.push_back(*event);
    }

    /// Forgets the events of a CPU, some of which were lost.
    pub(super) fn lose(&mut self, cpu: u32) {
        self.cpus.remove(&cpu);
    }

    /// Returns what took most of a release that has just ended, from the time on at which the kernel had to let the timer expire.
    pub(super) fn most(&self, found: &Found) -> Taken {
        let timer = &found.timer;
        let latest = timer.due.saturating_add(timer.slack);
        let from = latest.min(timer.expired).max(timer.armed).min(found.woken);
        let whole = found.end.saturating_sub(from);
        if whole <= self.clock.ticks(SWITCH_NS) {
            return (sources::WAKE_UP.id.into(), "".into(), whole);
        }
        let (mut rows, tid) = (Vec::new(), found.tid);
        let mut parts = vec![];
        let mut begin = from;
        if self.expires_in_thread(found, from) {
            // The interrupt of the timer wakes the thread that runs its function.
            parts.push((timer.pid, timer.cpu, (from, timer.expired)));
            begin = timer.expired;
        }
        match timer.cpu == found.cpu {
            true => parts.push((tid, found.cpu, (begin, found.end))),
            false => parts.extend([
                (tid, timer.cpu, (begin, found.woken)),
                (tid, found.cpu, (found.woken, found.end)),
            ]),
        }
        let known = parts.into_iter().all(|(victim, cpu, part)| {
            let woken = (victim == tid).then_some(found.woken);
            self.replay((victim, woken), cpu, part, &mut rows)
        });
        let mut taken: BTreeMap<(Arc<str>, Arc<str>), u64> = BTreeMap::new();
        for Activity { source, name, self_ticks, .. } in rows.iter().filter(|_| known) {
            *taken.entry((Arc::clone(source), Arc::clone(name))).or_default() += self_ticks;
        }
        let most = taken.into_iter().max_by_key(|(_, ticks)| *ticks);
        match most {
            Some(((source, name), ticks)) => (source, name, ticks),
            None => (sources::NOT_ATTRIBUTABLE.id.into(), "".into(), whole),
        }
    }

    /// Returns whether a thread ran the function of the timer that was switched in for it, as on kernels with PREEMPT_RT: no
    /// interrupt is open on top of it.
    fn expires_in_thread(&self, found: &Found, from: u64) -> bool {
        let Expiry { cpu, expired, pid, .. } = found.timer;
        let Some(events) = self.cpus.get(&cpu).filter(|_| pid != found.tid) else { return false };
        let since = events.range(events.partition_point(|event| event.ticks < from)..);
        let (mut switched_in, mut open) = (false, 0_u32);
        for event in since.take_while(|event| event.ticks < expired) {
            match event.kind.role() {
                Role::Enter(Handler::Vector(_) | Handler::Irq) => open += 1,
                Role::Exit(Handler::Vector(_) | Handler::Irq) => open = open.saturating_sub(1),
                _ if event.kind == EventKind::Switch => {
                    (switched_in, open) = (event.args[0] as i32 == pid, 0);
                }
                _ => {}
            }
        }
        switched_in && open == 0
    }

    /// Adds what went on on a CPU in a part of a release while a thread slept, or waited if it had been woken by then; returns
    /// whether all of its events are remembered.
    fn replay(
        &self,
        (victim, woken): (i32, Option<u64>),
        cpu: u32,
        (from, until): (u64, u64),
        rows: &mut Vec<Activity>,
    ) -> bool {
        if from >= until {
            return true;
        }
        let Some(events) = self.cpus.get(&cpu) else { return false };
        let Some(first) = events.front().filter(|first| first.ticks <= from) else { return false };
        let victims = Victims::Loop(victim);
        let (mut scene, mut causes) =
            (Scene::new(self.clock.ticks(SWITCH_NS)), Causes::new(vec![]));
        let names = self.labels.names();
        let place = events.partition_point(|event| event.ticks < from);
        let before = events.range(place.saturating_sub(BEFORE)..place);
        let begin = before.clone().next().unwrap_or(first).ticks;
        scene.begin_between(begin.min(from), victim);
        for event in before {
            apply(&mut scene, event, victims, &mut causes, names, self.clock);
        }
        scene.begin_asleep((from, until), victim, true, None);
        if woken.is_some_and(|woken| from >= woken) {
            scene.wake(from);
        }
        let then = events.range(place..).take_while(|event| event.ticks <= until);
        for event in then {
            apply(&mut scene, event, victims, &mut causes, names, self.clock);
            if event.kind == EventKind::Waking && event.args[0] as i32 == victim {
                scene.wake(event.ticks);
            }
        }
        self.labels.rows(scene.finish(), DetourRef { cpu, detour: 0 }, rows);
        true
    }
}
