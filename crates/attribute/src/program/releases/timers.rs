//! High-resolution timers: when each that expires was to do so, in ticks of the counter.

use crate::causes::Recent;
use anechoic_recording::event::{Handler, Role};
use anechoic_recording::{Clock, EventKind, KernelEvent};
use std::collections::{BTreeMap, VecDeque};

/// The clocks of two timers differ by less than this, in ns, if they are one clock that was read twice in one interrupt.
const ONE_CLOCK_NS: u64 = 1_000_000_000;
/// A reading of a clock is older than this, in ns, only if the end of its interrupt was not reported.
const READ_NS: u64 = 1_000_000;
/// Clocks that show more than this, in ns, are those of the time of day; the others begin with the machine.
const TIME_OF_DAY_NS: u64 = 300_000_000_000_000_000;
/// The time of day was set if it differs by more than this, in ns, and by more than one part in [`SLEWED`] of the time since.
const SET_NS: u64 = 1_000_000;
const SLEWED: u64 = 1_000;
/// Number of clocks of the time of day that are remembered, which differ as the time before and after it was set do.
const CLOCKS: usize = 4;
/// Number of functions of timers that run on a CPU at once, at most.
const NESTED: usize = 8;
/// Number of readings of the clocks of a CPU that are remembered, and how old they may be, in ns: a clock that is slowed by 500
/// parts per million, as `adjtime` does, is 25 µs behind after that time.
const READINGS: usize = 8;
const RECENT_NS: u64 = 50_000_000;
/// How far one clock is ahead of the counter differs by less than this, in ns, between two readings.
const SAME_CLOCK_NS: u64 = 1_000_000;

/// A timer that expires, of which it is known when it was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Expiry {
    /// The CPU on which it expires.
    pub(super) cpu: u32,
    /// When it was to expire, and how much later the kernel could let it.
    pub(super) due: u64,
    pub(super) slack: u64,
    /// When it was set, and when it expired.
    pub(super) armed: u64,
    pub(super) expired: u64,
    /// The thread that had the CPU when it expired.
    pub(super) pid: i32,
    /// Its clock is one of the time of day, which may have been set while the thread slept: then it is not known when it was
    /// to expire.
    pub(super) was_set: bool,
}

/// A clock of the time of day, by how far it is ahead of the counter.
#[derive(Debug, Clone, Copy)]
struct TimeOfDay {
    ahead_ns: i64,
    /// Since when it is known, and when it was read last, in ticks.
    since: u64,
    read: u64,
}

/// Follows the timers of all CPUs.
#[derive(Debug)]
pub(super) struct Timers {
    clock: Clock,
    /// The timers that are set and have not expired, by address.
    armed: Recent<u64, Armed>,
    cpus: BTreeMap<u32, OnCpu>,
    times_of_day: Vec<TimeOfDay>,
}

/// When a timer was set, in ticks, and to what, in ns of its clock.
#[derive(Debug, Clone, Copy)]
struct Armed {
    ticks: u64,
    expires_ns: u64,
    asked_ns: u64,
}

#[derive(Debug, Default)]
struct OnCpu {
    /// A clock of the timers as the kernel read it in this interrupt, and the counter then.
    read: Option<(u64, u64)>,
    /// How far clocks were ahead of the counter by the last readings, in ns, and the counter then.
    readings: VecDeque<(i64, u64)>,
    /// The timers whose functions run, each on top of this thread or in it, the innermost last.
    expiring: Vec<(u64, i32, Option<Expiry>)>,
}

/// Returns how far a clock that shows this is ahead of the counter.
fn ahead_ns(clock: &Clock, ns: u64, ticks: u64) -> i64 {
    ns.wrapping_sub(clock.ns(ticks)).cast_signed()
}

impl OnCpu {
    /// Adds a reading of a clock, and returns by how much later than the clock the counter was read, in ns, as other readings
    /// show: the kernel reads its clock first, and an interrupt of the host or a cold cache may lie in between.
    fn late_ns(&mut self, ahead_ns: i64, ticks: u64, oldest: u64) -> u64 {
        if self.readings.len() == READINGS {
            self.readings.pop_front();
        }
        self.readings.push_back((ahead_ns, ticks));
        let same = |&&(other_ns, read): &&(i64, u64)| {
            read >= oldest && other_ns.abs_diff(ahead_ns) < SAME_CLOCK_NS
        };
        let most_ns = self.readings.iter().filter(same).map(|(other_ns, _)| *other_ns).max();
        most_ns.map_or(0, |most_ns| most_ns.abs_diff(ahead_ns))
    }
}

impl Timers {
    /// Begins without any timers. `at` is a time of day in ns, and the counter then, if that is known.
    pub(super) fn new(clock: &Clock, at: Option<(u64, u64)>) -> Self {
        let mut timers = Self {
            clock: clock.clone(),
            armed: Recent::new(),
            cpus: BTreeMap::new(),
            times_of_day: vec![],
        };
        if let Some((ns, ticks)) = at {
            let ahead_ns = ahead_ns(clock, ns, ticks);
            timers.times_of_day.push(TimeOfDay { ahead_ns, since: 0, read: ticks });
        }
        timers
    }

    /// Returns whether the clock that shows this may have been set since `armed`: if it is none that was known then.
    fn was_set(&mut self, (now_ns, read): (u64, u64), armed: u64) -> bool {
        if now_ns < TIME_OF_DAY_NS {
            return false;
        }
        let ahead_ns = ahead_ns(&self.clock, now_ns, read);
        let apart = |known: &TimeOfDay| ahead_ns.abs_diff(known.ahead_ns);
        let limit =
            |known: &TimeOfDay| SET_NS + self.clock.ns(read.saturating_sub(known.read)) / SLEWED;
        let same = self.times_of_day.iter().enumerate().min_by_key(|(_, known)| apart(known));
        let same = same.filter(|(_, known)| apart(known) <= limit(known)).map(|(place, _)| place);
        if let Some(place) = same {
            let known = &mut self.times_of_day[place];
            (known.ahead_ns, known.read) = (ahead_ns, read);
            return known.since > armed;
        }
        if self.times_of_day.len() == CLOCKS {
            let oldest = self.times_of_day.iter().enumerate().min_by_key(|(_, known)| known.read);
            let oldest = oldest.map_or(0, |(place, _)| place);
            self.times_of_day.remove(oldest);
        }
        self.times_of_day.push(TimeOfDay { ahead_ns, since: read, read });
        true
    }

    /// Processes the next event.
    pub(super) fn event(&mut self, event: &KernelEvent) {
        let (ticks, [timer, second, third]) = (event.ticks, event.args);
        match (event.kind, event.kind.role()) {
            (EventKind::HrtimerStart, _) => {
                self.armed.set(timer, Armed { ticks, expires_ns: third, asked_ns: third });
            }
            (EventKind::HrtimerSoft, _) => {
                if let Some(armed) = self.armed.get(&timer) {
                    self.armed.set(timer, Armed { asked_ns: second, ..armed });
                }
            }
            (EventKind::HrtimerEntry, _) => self.expires(event, (timer, third)),
            (EventKind::HrtimerExit, _) => {
                let expiring = &mut self.cpus.entry(event.cpu).or_default().expiring;
                let place = expiring.iter().rposition(|(open, ..)| *open == timer);
                expiring.truncate(place.unwrap_or_default());
            }
            (EventKind::Switch, _)
            | (_, Role::Exit(Handler::Vector(_) | Handler::Irq | Handler::Softirq)) => {
                self.cpus.entry(event.cpu).or_default().read = None;
            }
            _ => {}
        }
    }

    /// The kernel reads its clock `now_ns` once for all timers that expire together: just before the function of the first. What
    /// those of earlier ones take lies between the reading and this event, and so does what delays the first event.
    fn expires(&mut self, event: &KernelEvent, (timer, now_ns): (u64, u64)) {
        let (cpu, ticks) = (event.cpu, event.ticks);
        let on_cpu = self.cpus.entry(cpu).or_default();
        let oldest = ticks.saturating_sub(self.clock.ticks(READ_NS));
        let same = |&(ns, read): &(u64, u64)| {
            read >= oldest && (ns == now_ns || ns.abs_diff(now_ns) > ONE_CLOCK_NS)
        };
        let read = on_cpu.read.filter(same).map_or(ticks, |(_, read)| read);
        on_cpu.read = Some((now_ns, read));
        let ahead_ns = ahead_ns(&self.clock, now_ns, read);
        let recent = read.saturating_sub(self.clock.ticks(RECENT_NS));
        let late_ns = on_cpu.late_ns(ahead_ns, read, recent);
        let armed = self.armed.take(&timer);
        let was_set = armed.is_some_and(|armed| self.was_set((now_ns, read), armed.ticks));
        let expiry = armed.map(|armed| Expiry {
            cpu,
            due: read
                .saturating_sub(self.clock.ticks(now_ns.saturating_sub(armed.asked_ns) + late_ns)),
            slack: self.clock.ticks(armed.expires_ns.saturating_sub(armed.asked_ns)),
            armed: armed.ticks,
            expired: ticks,
            pid: event.pid,
            was_set,
        });
        let on_cpu = self.cpus.entry(cpu).or_default();
        on_cpu.expiring.retain(|(open, ..)| *open != timer); // its end was not seen
        if on_cpu.expiring.len() == NESTED {
            on_cpu.expiring.remove(0); // nor was the end of this one
        }
        on_cpu.expiring.push((timer, event.pid, expiry));
    }

    /// Returns the timer whose function runs on a CPU while this thread has it, if it is known when that was set. Kernels in
    /// which functions of timers run in threads may preempt these.
    pub(super) fn expiring(&self, cpu: u32, pid: i32) -> Option<Expiry> {
        let (_, on, expiry) = self.cpus.get(&cpu)?.expiring.last()?;
        expiry.filter(|_| *on == pid)
    }

    /// Forgets all timers: events of one CPU were lost, which may have set any of them.
    pub(super) fn lose(&mut self) {
        self.armed = Recent::new();
        self.cpus.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::builders;

    fn event(ticks: u64, kind: EventKind, args: [u64; 3]) -> KernelEvent {
        KernelEvent { cpu: 0, ticks, kind, pid: 7, args }
    }

    /// A tick is a ns. Each case has what happens before timer 5 expires at 1,500, and when it was to do so.
    #[test]
    fn when_a_timer_was_to_expire() {
        use EventKind::{HrtimerEntry, HrtimerExit, HrtimerSoft, HrtimerStart, LocalTimerExit};
        let start = event(100, HrtimerStart, [5, 0, 9_000]);
        let soft = event(100, HrtimerSoft, [5, 8_600, 0]);
        let other = |now| event(1_400, HrtimerEntry, [6, 0, now]);
        let other_exit = event(1_450, HrtimerExit, [6, 0, 0]);
        let irq_exit = event(1_460, LocalTimerExit, [0; 3]);
        let far = 5 * ONE_CLOCK_NS;
        type Case<'a> = (&'a str, &'a [KernelEvent], Option<(u64, u64)>);
        let cases: [Case<'_>; 11] = [
            ("never set", &[], None),
            ("set", &[start], Some((1_400, 0))),
            ("asked for earlier", &[start, soft], Some((1_000, 400))),
            ("only the second event", &[soft], None),
            (
                "behind another timer, read once",
                &[start, other(9_100), other_exit],
                Some((1_300, 0)),
            ),
            (
                "read again, and later by the counter",
                &[start, other(9_050), other_exit],
                Some((1_350, 0)),
            ),
            (
                "read again, and later before",
                &[start, other(8_990), other_exit, irq_exit],
                Some((1_400, 0)),
            ),
            ("another clock", &[start, other(far), other_exit], Some((1_300, 0))),
            ("another interrupt", &[start, other(far), other_exit, irq_exit], Some((1_400, 0))),
            (
                "a switch in between",
                &[start, other(far), other_exit, event(1_460, EventKind::Switch, [1, 0, 0])],
                Some((1_400, 0)),
            ),
            ("it has expired before", &[start, event(900, HrtimerEntry, [5, 0, 9_000])], None),
        ];
        for (name, before, expected) in cases {
            let mut timers = Timers::new(&builders::clock(1_000_000_000), None);
            before.iter().for_each(|event| timers.event(event));
            timers.event(&event(1_500, HrtimerEntry, [5, 0, 9_100]));
            let found = timers.expiring(0, 7);
            assert_eq!(found.map(|it| (it.due, it.slack)), expected, "case: {name}");
            assert_eq!(timers.expiring(0, 8), None, "case: {name}, in another thread");
            timers.event(&event(1_600, HrtimerExit, [5, 0, 0]));
            assert_eq!(timers.expiring(0, 7), None, "case: {name}");
        }
    }

    /// Where the end of an interrupt is not reported, a reading of the clock is not used later; nor do functions add up.
    #[test]
    fn ends_that_are_not_reported() {
        let mut timers = Timers::new(&builders::clock(1_000_000_000), None);
        for turn in 1..100 {
            let at = turn * 2 * READ_NS;
            timers.event(&event(at - 100, EventKind::HrtimerStart, [turn, 0, 9_000]));
            timers.event(&event(at, EventKind::HrtimerEntry, [turn, 0, 9_100]));
            assert_eq!(timers.expiring(0, 7).map(|it| it.due), Some(at - 100));
        }
        assert_eq!(timers.cpus[&0].expiring.len(), NESTED);
    }

    /// The clock is 7,000 ns ahead of the counter, and each reading later than it by so many ns; that of the last one is found from
    /// those before it.
    #[test]
    fn a_late_reading_is_found_by_the_recent_ones_of_its_clock() {
        let late = |readings: &[(u64, i64)]| {
            let mut on_cpu = OnCpu::default();
            let each = readings.iter().map(|&(at, late_ns)| {
                on_cpu.late_ns(7_000 - late_ns, at, at.saturating_sub(RECENT_NS))
            });
            each.last()
        };
        let many = [vec![(0, 100)], vec![(1, 400); READINGS]].concat();
        for (name, readings, expected) in [
            ("the first one", &[(0, 900)][..], 0),
            ("one before it was earlier", &[(0, 100), (1, 900)], 800),
            ("one before it was later", &[(0, 900), (1, 100)], 0),
            ("of some, the earliest counts", &[(0, 300), (1, 200), (2, 900), (3, 900)], 700),
            ("as old as may be", &[(0, 100), (RECENT_NS, 900)], 800),
            ("too old", &[(0, 100), (RECENT_NS + 1, 900)], 0),
            ("too many since", &many, 0),
            ("one of them more is remembered", &many[..READINGS], 300),
            ("another clock", &[(0, 100), (1, 100 + SAME_CLOCK_NS as i64)], 0),
            (
                "nearly another clock",
                &[(0, 100), (1, 99 + SAME_CLOCK_NS as i64)],
                SAME_CLOCK_NS - 1,
            ),
        ] {
            assert_eq!(late(readings), Some(expected), "case: {name}");
        }
    }

    #[test]
    fn nothing_is_known_after_a_loss() {
        let mut timers = Timers::new(&builders::clock(1_000_000_000), None);
        timers.event(&event(100, EventKind::HrtimerStart, [5, 0, 9_000]));
        timers.lose();
        timers.event(&event(1_500, EventKind::HrtimerEntry, [5, 0, 9_100]));
        assert_eq!(timers.expiring(0, 7), None);
    }

    /// A time of day at the start, which is set forward by 1 s at 5,000,000, and back again at 9,000,000. Each timer is set and
    /// expires at these times.
    #[test]
    fn whether_the_time_of_day_was_set_while_a_timer_was() {
        const DAY: u64 = 1_700_000_000_000_000_000;
        let clock = builders::clock(1_000_000_000);
        let set =
            |ticks: u64| if (5_000_000..9_000_000).contains(&ticks) { 1_000_000_000 } else { 0 };
        let mut timers = Timers::new(&clock, Some((DAY + 40_000, 30_000)));
        let cases = [
            ("before", DAY, 1_000_000, 2_000_000, Some(false)),
            ("a clock that begins with the machine", 77, 1_000_000, 6_000_000, Some(false)),
            ("while it is set", DAY, 2_000_000, 6_000_000, Some(true)),
            ("set before that was seen", DAY, 5_500_000, 6_500_000, Some(true)),
            ("after that was seen", DAY, 6_600_000, 7_000_000, Some(false)),
            ("back again, as before", DAY, 9_100_000, 9_500_000, Some(false)),
        ];
        for (name, start, armed, expired, expected) in cases {
            let now = start + expired + if start == DAY { set(expired) } else { 0 };
            timers.event(&event(armed, EventKind::HrtimerStart, [5, 0, now - 10]));
            timers.event(&event(expired, EventKind::HrtimerEntry, [5, 0, now]));
            assert_eq!(timers.expiring(0, 7).map(|it| it.was_set), expected, "case: {name}");
            timers.event(&event(expired + 1, EventKind::HrtimerExit, [5, 0, 0]));
        }
        let slewed = |ppm: u64, elapsed: u64| elapsed + elapsed / 1_000_000 * ppm;
        let mut timers = Timers::new(&clock, Some((DAY, 0)));
        for (ppm, expected) in [(500, false), (3_000, true)] {
            let at = 10_000_000_000;
            timers.event(&event(at - 100, EventKind::HrtimerStart, [5, 0, DAY]));
            timers.event(&event(at, EventKind::HrtimerEntry, [5, 0, DAY + slewed(ppm, at)]));
            assert_eq!(timers.expiring(0, 7).map(|it| it.was_set), Some(expected), "{ppm} ppm");
            timers.event(&event(at + 1, EventKind::HrtimerExit, [5, 0, 0]));
        }
        let mut unknown = Timers::new(&clock, None);
        unknown.event(&event(100, EventKind::HrtimerStart, [5, 0, DAY]));
        unknown.event(&event(200, EventKind::HrtimerEntry, [5, 0, DAY + 1]));
        assert_eq!(unknown.expiring(0, 7).map(|it| it.was_set), Some(true), "its start is unknown");
    }
}
