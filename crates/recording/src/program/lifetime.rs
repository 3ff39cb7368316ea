//! When a process that the tool started began and ended, as its events show it.

use super::CLONE_THREAD;
use crate::event::EventKind;
use crate::rows::KernelEvent;
use std::collections::HashSet;

/// The states of `sched_switch` in which a thread has ended: X and Z.
const ENDED: u64 = 0x30;

/// The process that a thread started first, from events in time order.
#[derive(Debug, Clone, Default)]
pub struct Lifetime {
    started_by: Option<i32>,
    /// Its threads that have not ended.
    threads: HashSet<i32>,
    begun_ticks: Option<u64>,
    ended_ticks: Option<u64>,
}

impl Lifetime {
    /// Returns an empty one: it will be that of the first process that this thread starts.
    #[must_use]
    pub fn new(started_by: Option<i32>) -> Self {
        Self { started_by, ..Self::default() }
    }

    /// Processes the next event.
    pub fn event(&mut self, event: &KernelEvent) {
        let [first, second, _] = event.args;
        match event.kind {
            EventKind::NewTask => {
                let is_thread = second & CLONE_THREAD != 0;
                let is_first = self.begun_ticks.is_none() && self.started_by == Some(event.pid);
                if is_first && !is_thread {
                    self.begun_ticks = Some(event.ticks);
                    self.threads.insert(first as i32);
                } else if is_thread && self.threads.contains(&event.pid) {
                    self.threads.insert(first as i32);
                }
            }
            EventKind::Switch if second & ENDED != 0 && self.threads.remove(&event.pid) => {
                self.ended_ticks = Some(event.ticks);
            }
            // The thread that executes a program gets the number of its process.
            EventKind::Exec if self.threads.remove(&(second as i32)) => {
                self.threads.insert(first as i32);
            }
            _ => {}
        }
    }

    /// Returns when the process began and when its last thread was switched out for good, in ticks; absent unless events
    /// show both.
    #[must_use]
    pub fn ticks(&self) -> Option<[u64; 2]> {
        let ended = self.ended_ticks.filter(|_| self.threads.is_empty());
        Some([self.begun_ticks?, ended?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_lives_from_its_start_to_the_end_of_its_last_thread() {
        let event = |ticks, pid, kind, args| KernelEvent { cpu: 0, ticks, kind, pid, args };
        let born =
            |ticks, pid, child, flags| event(ticks, pid, EventKind::NewTask, [child, flags, 0]);
        let ends = |ticks, pid| event(ticks, pid, EventKind::Switch, [0, 0x10, 120]);
        let mut lifetime = Lifetime::new(Some(10));
        let steps = [
            ("a thread of the tool", born(1, 10, 11, CLONE_THREAD), None),
            ("the process", born(2, 10, 20, 0), None),
            ("another one of the tool", born(3, 10, 30, 0), None),
            ("a thread of it", born(4, 20, 21, CLONE_THREAD), None),
            ("a child of it", born(5, 20, 40, 0), None),
            ("a pause", event(6, 20, EventKind::Switch, [0, 1, 120]), None),
            ("its thread executes a program", event(7, 21, EventKind::Exec, [20, 21, 0]), None),
            ("the other process ends", ends(8, 30), None),
            ("it ends", ends(9, 20), Some([2, 9])),
            ("its child ends", ends(10, 40), Some([2, 9])),
        ];
        for (name, event, expected) in steps {
            lifetime.event(&event);
            assert_eq!(lifetime.ticks(), expected, "step: {name}");
        }
        assert_eq!(Lifetime::new(None).ticks(), None);
    }
}
