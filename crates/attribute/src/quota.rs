//! When the kernel gives a control group with a CPU quota new time: until then its threads may have been held back, whoever
//! else had the CPU.
//!
//! No event shows that threads are held back. The timer that gives them new time is one, and the kernel counts for how long
//! they were held back in the whole run. So a wait in which this timer expired is charged to the quota up to there, if the
//! threads had used their quota since its last expiry, and as long as the sum stays within the kernel's account.

use crate::names::Names;
use anechoic_recording::run::Run;
use anechoic_recording::who::CpuLimits;
use anechoic_recording::{EventKind, KernelEvent};
use std::collections::{HashMap, HashSet};

/// The longest tick, in ns: until then a CPU may go on beyond the quota.
const TICK_NS: u64 = 10_000_000;
/// What the kernel hands out to a CPU at once, in ns: so much of a quota may lie unused there.
const SLICE_NS: u64 = 5_000_000;

/// The expiries of the timers of the run's control groups that have a quota.
#[derive(Debug)]
pub(crate) struct Refills {
    /// How much of the held time is not charged yet, in ticks.
    pub(crate) left_ticks: u64,
    /// What the threads executed at least in a period in which they were held back, in ticks.
    least_ticks: u64,
    /// What they may execute in a period, and what they executed beyond it at most, in ticks.
    quota_ticks: u64,
    most_beyond_ticks: u64,
    /// Number of control groups that held threads back.
    groups: usize,
    /// What they executed since the last expiry, and beyond their quota before it, in ticks.
    ran_ticks: u64,
    /// The CPUs that execute one of them, with the time since when.
    since: HashMap<u32, u64>,
    /// The timers of all groups so far.
    timers: HashSet<u64>,
    /// The one that expired on a CPU last, and arms itself again: just after the end of its function, before any switch.
    expiring: HashMap<u32, u64>,
    /// Those that threads of the run started: of its own groups, unless they also woke threads of another group.
    started: HashSet<u64>,
}

impl Refills {
    pub(crate) fn new(run: &Run) -> Self {
        let limits = run.limits.as_ref().filter(|limits| limits.quota_us.is_some());
        let held_ns = limits.map_or(0, CpuLimits::held_ns);
        let others = limits.map_or(&[][..], |limits| &limits.also_limited);
        let quotas = others.iter().map(|group| group.quota_us);
        let quotas = quotas.chain(limits.and_then(|limits| limits.quota_us));
        let quota_us = quotas.map(|(quota, _)| quota).min().unwrap_or(0);
        let quota_ns = quota_us.saturating_mul(1_000);
        let unused_ns = SLICE_NS.saturating_mul(run.cpus.len() as u64).min(quota_ns / 2);
        Self {
            left_ticks: run.clock.ticks(held_ns),
            least_ticks: run.clock.ticks(quota_ns - unused_ns),
            quota_ticks: run.clock.ticks(quota_ns),
            most_beyond_ticks: run.clock.ticks(TICK_NS.saturating_mul(run.cpus.len() as u64)),
            groups: 1 + others.len(),
            ran_ticks: 0,
            since: HashMap::new(),
            timers: HashSet::new(),
            expiring: HashMap::new(),
            started: HashSet::new(),
        }
    }

    /// Handles an event; `is_victim` tells the threads of the run. Returns whether their group gets new time now, after they had
    /// used up what they had.
    pub(crate) fn event(
        &mut self,
        event: &KernelEvent,
        names: &Names,
        is_victim: impl Fn(i32) -> bool,
    ) -> bool {
        let [timer, function, _] = event.args;
        match event.kind {
            _ if self.left_ticks == 0 => false,
            EventKind::Switch => {
                self.expiring.remove(&event.cpu);
                self.stop(event.cpu, event.ticks);
                if is_victim(event.args[0] as i32) {
                    self.since.insert(event.cpu, event.ticks);
                }
                false
            }
            EventKind::HrtimerEntry if names.is_refill(function) => {
                self.expiring.insert(event.cpu, timer);
                self.timers.insert(timer);
                self.is_own(timer) && self.begin_period(event.ticks)
            }
            EventKind::HrtimerStart if names.is_refill(function) => {
                let rearms = self.expiring.get(&event.cpu) == Some(&timer);
                if rearms {
                    self.expiring.remove(&event.cpu);
                }
                if is_victim(event.pid) && !rearms {
                    self.started.insert(timer);
                }
                self.timers.insert(timer);
                // Of a CPU that is not measured only this is known of an expiry.
                !rearms && self.is_own(timer) && self.begin_period(event.ticks)
            }
            _ => false,
        }
    }

    /// Notes that a CPU no longer executes a thread of the run.
    fn stop(&mut self, cpu: u32, ticks: u64) {
        if let Some(since) = self.since.remove(&cpu) {
            self.ran_ticks += ticks.saturating_sub(since);
        }
    }

    /// Begins a period of the quota; returns whether the quota of the one before was used up.
    ///
    /// The kernel notices that only at a timer tick. What was executed beyond the quota is taken off the next ones, so that a
    /// quota shorter than a tick is used up for several periods.
    fn begin_period(&mut self, ticks: u64) -> bool {
        let running: u64 = self.since.values().map(|since| ticks.saturating_sub(*since)).sum();
        let ran = self.ran_ticks.saturating_add(running);
        // Which of several groups executed more is not known.
        self.ran_ticks = if self.groups == 1 {
            ran.saturating_sub(self.quota_ticks).min(self.most_beyond_ticks)
        } else {
            0
        };
        self.since.values_mut().for_each(|since| *since = ticks);
        ran >= self.least_ticks
    }

    /// Returns whether a timer is that of a group of the run. Where no thread was seen to start one, there are only as many such
    /// timers as groups so far; where they started more than that, none is.
    fn is_own(&self, timer: u64) -> bool {
        match self.started.len() {
            0 => self.timers.len() <= self.groups,
            started if started <= self.groups => self.started.contains(&timer),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::builders;
    use anechoic_recording::who::CpuLimits;
    use anechoic_recording::{Name, NameKind};

    const MS: u64 = 1_000_000;
    /// The function that gives new time, a thread of the run, and another thread.
    const REFILL: u64 = 0xf9;
    const OWN: i32 = 100;
    const OTHER: i32 = 7;

    /// A quota of 40 ms on two CPUs, of which 10 ms may lie unused: a period in which the threads are held back has 30 ms.
    fn refills(held_ns: u64) -> (Refills, Names) {
        let cpus = [0, 1].map(|cpu| builders::cpu_run(cpu, (0, 1_000 * MS), 1)).to_vec();
        let mut run = builders::run("detours", builders::clock(1_000 * MS), cpus);
        run.limits = Some(CpuLimits {
            quota_us: Some((40_000, 100_000)),
            throttled_ns: Some(held_ns),
            ..CpuLimits::default()
        });
        let name = Name {
            kind: NameKind::Symbol,
            key: REFILL,
            ticks: 0,
            name: "sched_cfs_period_timer".into(),
        };
        (Refills::new(&run), Names::new([name]))
    }

    fn event(cpu: u32, ms: u64, pid: i32, kind: EventKind, args: [u64; 3]) -> KernelEvent {
        KernelEvent { cpu, ticks: ms * MS, kind, pid, args }
    }

    fn to(cpu: u32, ms: u64, next: i32) -> KernelEvent {
        event(cpu, ms, 0, EventKind::Switch, [next as u64, 0, 120])
    }

    fn expires(cpu: u32, ms: u64, timer: u64) -> KernelEvent {
        event(cpu, ms, 0, EventKind::HrtimerEntry, [timer, REFILL, 0])
    }

    fn starts(cpu: u32, ms: u64, pid: i32, timer: u64) -> KernelEvent {
        event(cpu, ms, pid, EventKind::HrtimerStart, [timer, REFILL, 0])
    }

    /// Returns the times in ms at which the threads get new time after they had used up what they had.
    fn played(events: &[KernelEvent], held_ns: u64) -> Vec<u64> {
        let (mut refills, names) = refills(held_ns);
        let refilled = events.iter().filter(|event| refills.event(event, &names, |tid| tid == OWN));
        refilled.map(|event| event.ticks / MS).collect()
    }

    #[test]
    fn new_time_comes_when_the_quota_was_used_up() {
        let cases: [(&str, Vec<KernelEvent>, &[u64]); 10] = [
            ("as much as it takes", vec![to(0, 0, OWN), expires(1, 30, 1)], &[30]),
            ("a little less", vec![to(0, 1, OWN), expires(1, 30, 1)], &[]),
            (
                "in two parts",
                vec![
                    to(0, 0, OWN),
                    to(0, 20, OTHER),
                    to(0, 50, OWN),
                    to(0, 60, OTHER),
                    expires(0, 90, 1),
                ],
                &[90],
            ),
            ("while others ran", vec![to(0, 0, OWN), to(0, 20, OTHER), expires(0, 90, 1)], &[]),
            ("on two CPUs at once", vec![to(0, 0, OWN), to(1, 10, OWN), expires(1, 20, 1)], &[20]),
            (
                "each period begins anew",
                vec![to(0, 0, OWN), expires(1, 40, 1), expires(1, 60, 1), expires(1, 90, 1)],
                &[40, 90],
            ),
            (
                "more than it, which the next period pays, armed again after each expiry",
                vec![
                    to(0, 0, OWN),
                    to(0, 54, OTHER),
                    expires(1, 60, 1),
                    event(1, 60, 0, EventKind::HrtimerExit, [0; 3]),
                    starts(1, 60, 0, 1),
                    to(0, 70, OWN),
                    to(0, 91, OTHER),
                    expires(1, 160, 1),
                    expires(1, 260, 1),
                ],
                &[60, 160],
            ),
            (
                "at most a tick of each CPU beyond it",
                vec![
                    to(0, 0, OWN),
                    to(0, 200, OTHER),
                    expires(1, 210, 1),
                    to(0, 220, OWN),
                    to(0, 229, OTHER),
                    expires(1, 310, 1),
                ],
                &[210],
            ),
            (
                "another function",
                vec![to(0, 0, OWN), event(1, 40, 0, EventKind::HrtimerEntry, [1, 0xf1, 0])],
                &[],
            ),
            (
                "another event",
                vec![to(0, 0, OWN), event(1, 40, 0, EventKind::TimerStart, [1, REFILL, 0])],
                &[],
            ),
        ];
        for (name, events, expected) in cases {
            assert_eq!(played(&events, 1), expected, "case: {name}");
            assert_eq!(played(&events, 0), [0; 0], "case: {name}: never held back");
        }
    }

    /// Which timer is the group's own follows from who starts it.
    #[test]
    fn only_the_timer_of_the_own_group_counts() {
        let exits = |cpu, ms| event(cpu, ms, 0, EventKind::HrtimerExit, [0; 3]);
        let unknown = |ms| event(0, ms, OWN, EventKind::HrtimerStart, [2, 0xf1, 0]);
        let cases: [(&str, Vec<KernelEvent>, &[u64]); 9] = [
            ("another function was", vec![unknown(5), expires(1, 40, 1)], &[40]),
            (
                "another group's was",
                vec![starts(0, 5, OTHER, 2), expires(1, 40, 1), expires(1, 70, 2)],
                &[],
            ),
            (
                "two of unknown groups",
                vec![expires(1, 35, 1), expires(1, 70, 2), expires(1, 95, 1)],
                &[35],
            ),
            (
                "one was started",
                vec![starts(0, 5, OWN, 2), expires(1, 40, 1), expires(1, 70, 2)],
                &[70],
            ),
            ("both were", vec![starts(0, 5, OWN, 1), starts(0, 6, OWN, 2), expires(1, 70, 2)], &[]),
            ("another thread did", vec![starts(0, 5, OTHER, 2), expires(1, 40, 2)], &[40]),
            // It arms itself again while it expires, on top of whichever thread.
            (
                "again by itself",
                vec![
                    expires(0, 35, 1),
                    exits(0, 36),
                    starts(0, 36, OWN, 1),
                    expires(0, 38, 2),
                    expires(0, 80, 1),
                ],
                &[35],
            ),
            ("on a CPU that is not measured", vec![starts(5, 40, OTHER, 1)], &[40]),
            (
                "after it expired",
                vec![expires(0, 35, 1), exits(0, 36), to(0, 36, OWN), starts(0, 70, OTHER, 1)],
                &[35, 70],
            ),
        ];
        for (name, events, expected) in cases {
            let events: Vec<KernelEvent> = std::iter::once(to(9, 0, OWN)).chain(events).collect();
            assert_eq!(played(&events, 1), expected, "case: {name}");
        }
    }

    #[test]
    fn without_a_quota_nothing_is_held_back() {
        let run = builders::run("detours", builders::clock(1_000 * MS), vec![]);
        assert_eq!(Refills::new(&run).left_ticks, 0);
        let (refills, _) = refills(70);
        assert_eq!((refills.left_ticks, refills.least_ticks), (70, 30 * MS));
    }

    /// Of a small quota half may lie unused on the CPUs, however many there are.
    #[test]
    fn at_most_half_of_a_quota_lies_unused() {
        let cpus = (0..8).map(|cpu| builders::cpu_run(cpu, (0, 1), 1)).collect();
        let mut run = builders::run("detours", builders::clock(1_000 * MS), cpus);
        run.limits = Some(CpuLimits { quota_us: Some((4_000, 100_000)), ..CpuLimits::default() });
        assert_eq!(Refills::new(&run).least_ticks, 2 * MS);
    }
}
