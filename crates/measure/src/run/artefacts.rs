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

#[derive(Debug, Default)]
struct OfCpu {
    /// Intervals in ticks, in order.
    past: VecDeque<(u64, u64)>,
    /// Since when one goes on.
    since: Option<u64>,
    /// Whether an ordinary thread runs.
    ordinary: bool,
    /// Whether a real-time thread left the CPU by itself: what runs then takes nothing from it.
    left: bool,
}

impl Artefacts {
    /// Follows the switches among the next events of a CPU.
    pub(super) fn follow(&mut self, events: &[KernelEvent]) {
        for event in events.iter().filter(|event| event.kind == EventKind::Switch) {
            self.0.entry(event.cpu).or_default().switch(event);
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
        let ordinary = next_pid == 0 || (next_priority as u32).cast_signed() >= FAIR_PRIORITY;
        if !self.ordinary {
            self.left = prev_state & NOT_RUNNABLE != 0;
        }
        self.ordinary = ordinary;
        match (self.since, ordinary && !self.left) {
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

    /// A switch at this time in ms, from a thread that is left in this state to one of this priority.
    fn switch(at_ms: u64, prev_state: u64, next: u64, priority: i32) -> KernelEvent {
        let args = [next, prev_state, u64::from(priority.cast_unsigned())];
        KernelEvent { cpu: 1, ticks: at_ms * 1_000_000, kind: EventKind::Switch, pid: 7, args }
    }

    #[test]
    fn only_what_a_runnable_real_time_loop_gives_way_to_is_an_artefact() {
        let ([running, sleeps], [loops, fifo, fair, idle]) = ([0, 1], [98, 49, 120, 120]);
        let cases: [(&str, &[KernelEvent], u64); 8] = [
            ("nothing", &[], 0),
            ("the fair server", &[switch(10, running, 5, fair), switch(60, running, 7, loops)], 50),
            ("that goes on", &[switch(10, running, 5, fair)], 90),
            (
                "for two threads",
                &[
                    switch(10, running, 5, fair),
                    switch(30, sleeps, 6, fair),
                    switch(60, 0, 7, loops),
                ],
                50,
            ),
            ("throttling", &[switch(10, running, 0, idle), switch(60, running, 7, loops)], 50),
            ("a real-time hog", &[switch(10, running, 5, fifo), switch(60, running, 7, loops)], 0),
            ("the loop stopped", &[switch(10, 4, 0, idle), switch(60, running, 7, loops)], 0),
            (
                "a hog in the middle",
                &[
                    switch(10, running, 5, fair),
                    switch(20, running, 8, fifo),
                    switch(50, sleeps, 7, loops),
                ],
                10,
            ),
        ];
        for (name, events, expected_ms) in cases {
            let mut artefacts = Artefacts::default();
            artefacts.follow(events);
            let detour = Detour { cpu: 1, start_ticks: 5_000_000, end_ticks: 100_000_000 };
            assert_eq!(artefacts.within(&detour), expected_ms * 1_000_000, "case: {name}");
            assert_eq!(artefacts.within(&Detour { cpu: 0, ..detour }), 0, "case: {name}");
        }
    }
}
