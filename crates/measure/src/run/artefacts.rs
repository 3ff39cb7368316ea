//! When the scheduler let an ordinary thread, or nothing, run instead of a real-time loop: an artefact of the measurement.
//!
//! The fair server lets ordinary threads run for 50 ms of a second beside a SCHED_FIFO loop, and real-time throttling takes
//! the CPU from it. Nothing else puts a thread of lower priority, or the idle thread, before a loop that could run.

use anechoic_recording::{Detour, EventKind, KernelEvent};
use std::collections::{BTreeMap, VecDeque};

/// From this kernel priority on, a thread is not real-time.
const FAIR_PRIORITY: i32 = 100;
/// The bits of the state of a thread that is switched out and does not want to run on.
const NOT_RUNNABLE: u64 = 0xff;
/// Number of intervals of a CPU that are remembered. There is one a second, or one for each interrupted slice.
const REMEMBERED: usize = 1 << 10;

/// The times in which real-time loops had to give way to ordinary threads.
#[derive(Debug, Default)]
pub(super) struct Artefacts(BTreeMap<u32, OfCpu>);

/// A measured CPU.
#[derive(Debug)]
struct OfCpu {
    /// The thread of its loop, by the number that events have.
    tid: i32,
    /// Intervals in ticks, in order.
    past: VecDeque<(u64, u64)>,
    /// Since when one goes on.
    since: Option<u64>,
    /// Whether the loop left the CPU by itself, or was stopped: what runs then takes nothing from it.
    left: bool,
}

impl Artefacts {
    /// Begins with the thread of the loop of each CPU.
    pub(super) fn new(loops: impl Iterator<Item = (u32, i32)>) -> Self {
        let begin =
            |(cpu, tid)| (cpu, OfCpu { tid, past: VecDeque::new(), since: None, left: false });
        Self(loops.map(begin).collect())
    }

    /// Follows the switches among the next events of a CPU.
    pub(super) fn follow(&mut self, events: &[KernelEvent]) {
        for event in events.iter().filter(|event| event.kind == EventKind::Switch) {
            if let Some(cpu) = self.0.get_mut(&event.cpu) {
                cpu.switch(event);
            }
        }
    }

    /// Returns how much of a detour such intervals take, in ticks.
    pub(super) fn within(&self, detour: &Detour) -> u64 {
        let Some(cpu) = self.0.get(&detour.cpu) else { return 0 };
        let open = cpu.since.map(|since| (since, u64::MAX));
        let both = cpu.past.iter().copied().chain(open).map(|(from, until)| {
            until.min(detour.end_ticks).saturating_sub(from.max(detour.start_ticks))
        });
        both.fold(0, u64::saturating_add)
    }
}

impl OfCpu {
    fn switch(&mut self, event: &KernelEvent) {
        let [next_pid, prev_state, next_priority] = event.args;
        let next_is_loop = next_pid as i32 == self.tid;
        if next_is_loop || event.pid == self.tid {
            self.left = !next_is_loop && prev_state & NOT_RUNNABLE != 0;
        }
        let ordinary = next_pid == 0 || (next_priority as u32).cast_signed() >= FAIR_PRIORITY;
        match (self.since, ordinary && !next_is_loop && !self.left) {
            (None, true) => self.since = Some(event.ticks),
            (Some(since), false) => {
                self.since = None;
                self.past.truncate(REMEMBERED - 1);
                self.past.push_front((since, event.ticks));
            }
            (None, false) | (Some(_), true) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loop.
    const LOOP: u64 = 7;

    /// A switch at this time in ms, from a thread that is left in this state to one of this priority.
    fn switch(at_ms: u64, (from, state): (u64, u64), (next, priority): (u64, u32)) -> KernelEvent {
        let args = [next, state, u64::from(priority)];
        let (kind, pid) = (EventKind::Switch, from as i32);
        KernelEvent { cpu: 1, ticks: at_ms * 1_000_000, kind, pid, args }
    }

    #[test]
    fn only_what_a_runnable_real_time_loop_gives_way_to_is_an_artefact() {
        const RUNNING: u64 = 0;
        const SLEEPS: u64 = 1;
        const STOPPED: u64 = 4;
        let (gives_way, own) = ((LOOP, RUNNING), (LOOP, 98));
        let (program, worker, idle, hog) = ((5, 120), (6, 100), (0, 120), (8, 49));
        let cases: [(&str, &[KernelEvent], u64); 9] = [
            ("nothing", &[], 0),
            (
                "the fair server",
                &[switch(10, gives_way, program), switch(60, (5, RUNNING), own)],
                50,
            ),
            ("that goes on", &[switch(10, gives_way, program)], 90),
            (
                "for two threads",
                &[
                    switch(10, gives_way, worker),
                    switch(30, (6, SLEEPS), program),
                    switch(60, (5, RUNNING), own),
                ],
                50,
            ),
            ("throttling", &[switch(10, gives_way, idle), switch(60, (0, RUNNING), own)], 50),
            ("a real-time hog", &[switch(10, gives_way, hog), switch(60, (8, RUNNING), own)], 0),
            (
                "the loop is stopped",
                &[switch(10, (LOOP, STOPPED), idle), switch(60, (0, RUNNING), own)],
                0,
            ),
            (
                "a hog in the middle",
                &[
                    switch(10, gives_way, program),
                    switch(20, (5, RUNNING), hog),
                    switch(50, (8, SLEEPS), own),
                ],
                10,
            ),
            // The loop sleeps until the start, and becomes real-time while it runs.
            (
                "the start",
                &[
                    switch(1, (LOOP, SLEEPS), idle),
                    switch(7, (0, RUNNING), (LOOP, 120)),
                    switch(10, gives_way, program),
                    switch(60, (5, RUNNING), own),
                ],
                50,
            ),
        ];
        for (name, events, expected_ms) in cases {
            let mut artefacts = Artefacts::new([(1, LOOP as i32)].into_iter());
            artefacts.follow(events);
            let detour = Detour { cpu: 1, start_ticks: 5_000_000, end_ticks: 100_000_000 };
            assert_eq!(artefacts.within(&detour), expected_ms * 1_000_000, "case: {name}");
            assert_eq!(artefacts.within(&Detour { cpu: 0, ..detour }), 0, "case: {name}");
        }
    }
}
