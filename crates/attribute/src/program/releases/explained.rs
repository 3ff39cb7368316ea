//! What took most of a release: the attribution that all methods share, over the last events of its CPUs.

use super::Found;
use crate::apply::apply;
use crate::causes::Causes;
use crate::cpu_matcher::SWITCH_NS;
use crate::label::{DetourRef, Labels};
use crate::scene::Scene;
use crate::victims::Victims;
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
        let mut rows = Vec::new();
        let known = match timer.cpu == found.cpu {
            true => self.replay(found, found.cpu, (from, found.end), &mut rows),
            false => {
                self.replay(found, timer.cpu, (from, found.woken), &mut rows)
                    && self.replay(found, found.cpu, (found.woken, found.end), &mut rows)
            }
        };
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

    /// Adds what went on on a CPU in a part of a release; returns whether all of its events are remembered.
    fn replay(
        &self,
        found: &Found,
        cpu: u32,
        (from, until): (u64, u64),
        rows: &mut Vec<Activity>,
    ) -> bool {
        if from >= until {
            return true;
        }
        let Some(events) = self.cpus.get(&cpu) else { return false };
        let Some(first) = events.front().filter(|first| first.ticks <= from) else { return false };
        let victims = Victims::Loop(found.tid);
        let (mut scene, mut causes) =
            (Scene::new(self.clock.ticks(SWITCH_NS)), Causes::new(vec![]));
        let names = self.labels.names();
        let place = events.partition_point(|event| event.ticks < from);
        let before = events.range(place.saturating_sub(BEFORE)..place);
        let begin = before.clone().next().unwrap_or(first).ticks;
        scene.begin_between(begin.min(from), found.tid);
        for event in before {
            apply(&mut scene, event, victims, &mut causes, names, self.clock);
        }
        scene.begin_asleep((from, until), found.tid, true, None);
        if from >= found.woken {
            scene.wake(from);
        }
        let then = events.range(place..).take_while(|event| event.ticks <= until);
        for event in then {
            apply(&mut scene, event, victims, &mut causes, names, self.clock);
            if event.kind == EventKind::Waking && event.args[0] as i32 == found.tid {
                scene.wake(event.ticks);
            }
        }
        self.labels.rows(scene.finish(), DetourRef { cpu, detour: 0 }, rows);
        true
    }
}
