//! Looks for the detour that ends a run before its time.

use anechoic_recording::stop::{StopCondition, StoppedBy};
use anechoic_recording::{Clock, Detour};
use std::collections::VecDeque;
use std::time::Duration;

/// Time around the housekeeper's work that waking it and switching to it and back may take.
const SWITCHES: Duration = Duration::from_micros(100);
/// Number of times at which the housekeeper ran that are remembered. Each look sees what ended before it.
const REMEMBERED: usize = 8;

/// Looks for the detour that ends a run before its time.
#[derive(Debug)]
pub(super) struct StopWatch {
    condition: StopCondition,
    /// A longer detour ends the run.
    longer_ticks: u64,
    switch_ticks: u64,
    /// Number of detours so far.
    detours: u64,
    own: VecDeque<OwnWork>,
    met: Option<StoppedBy>,
}

/// A time at which the tool itself ran on a measured CPU.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnWork {
    pub(super) cpu: u32,
    pub(super) from_ticks: u64,
    pub(super) until_ticks: u64,
}

impl StopWatch {
    pub(super) fn new(condition: StopCondition, clock: &Clock) -> Self {
        let longer_ticks = match condition {
            StopCondition::Longer(ns) => clock.ticks(ns),
            StopCondition::Count(_) => u64::MAX,
        };
        let switch_ticks = clock.ticks_of(SWITCHES);
        Self { condition, longer_ticks, switch_ticks, detours: 0, own: VecDeque::new(), met: None }
    }

    /// Returns the detour that met the condition, once there is one.
    pub(super) fn met(&self) -> Option<StoppedBy> {
        self.met
    }

    /// Remembers when the tool itself ran on a measured CPU: a detour of that time alone ends nothing.
    pub(super) fn ran(&mut self, work: OwnWork) {
        self.own.truncate(REMEMBERED - 1);
        self.own.push_front(work);
    }

    /// Looks at the next detours of a CPU.
    pub(super) fn look(&mut self, detours: &[Detour]) {
        for detour in detours {
            self.detours += 1;
            let met = match self.condition {
                StopCondition::Count(count) => self.detours >= count && self.met.is_none(),
                StopCondition::Longer(_) => {
                    let earlier = self.met.is_none_or(|met| detour.start_ticks < met.start_ticks);
                    earlier && self.of_others(detour) > self.longer_ticks
                }
            };
            if met {
                let Detour { cpu, start_ticks, end_ticks } = *detour;
                self.met = Some(StoppedBy { cpu, start_ticks, end_ticks });
            }
        }
    }

    /// Returns how much of a detour others than the tool took.
    fn of_others(&self, detour: &Detour) -> u64 {
        let length = detour.end_ticks.saturating_sub(detour.start_ticks);
        if length <= self.longer_ticks {
            return length; // nearly always
        }
        let own = |work: &OwnWork| {
            let from = work.from_ticks.max(detour.start_ticks);
            let both = work.until_ticks.min(detour.end_ticks).checked_sub(from)?;
            Some(both.saturating_add(self.switch_ticks))
        };
        let here = self.own.iter().filter(|work| work.cpu == detour.cpu);
        here.filter_map(own).fold(length, u64::saturating_sub)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::builders;

    /// A watch on a counter of 1 GHz.
    fn watch(condition: &str) -> StopWatch {
        let condition = condition.parse().expect("a condition");
        StopWatch::new(condition, &builders::clock(1_000_000_000))
    }

    fn detour(cpu: u32, start_us: u64, length_us: u64) -> Detour {
        let start_ticks = start_us * 1_000;
        Detour { cpu, start_ticks, end_ticks: start_ticks + length_us * 1_000 }
    }

    fn start_us(watch: &StopWatch) -> Option<(u32, u64)> {
        watch.met().map(|met| (met.cpu, met.start_ticks / 1_000))
    }

    #[test]
    fn the_first_detour_over_the_length_ends_the_run() {
        let mut watch = watch("detour>500us");
        watch.look(&[detour(0, 10, 499), detour(0, 1_000, 500)]);
        assert_eq!(start_us(&watch), None, "500 us are not more than 500 us");
        watch.look(&[detour(0, 7_000, 501), detour(0, 9_000, 900)]);
        assert_eq!(start_us(&watch), Some((0, 7_000)));
        watch.look(&[detour(1, 6_500, 800), detour(1, 7_500, 800)]);
        assert_eq!(start_us(&watch), Some((1, 6_500)), "of all CPUs");
    }

    #[test]
    fn the_number_of_detours_ends_the_run() {
        let mut watch = watch("detours>=3");
        watch.look(&[detour(0, 10, 1), detour(0, 20, 1)]);
        assert_eq!(start_us(&watch), None);
        watch.look(&[detour(1, 5, 1), detour(1, 30, 1)]);
        watch.look(&[detour(0, 2, 1)]);
        assert_eq!(start_us(&watch), Some((1, 5)), "the third that was seen");
    }

    #[test]
    fn the_time_of_the_tool_itself_ends_nothing() {
        let mut watch = watch("detour>500us");
        let ran = |cpu, from_us: u64, until_us: u64| OwnWork {
            cpu,
            from_ticks: from_us * 1_000,
            until_ticks: until_us * 1_000,
        };
        watch.ran(ran(0, 1_020, 1_780));
        (0..3).for_each(|cpu| watch.ran(ran(cpu + 5, 0, u64::MAX / 1_000)));
        watch.look(&[detour(0, 1_000, 800)]);
        assert_eq!(start_us(&watch), None, "waking, working and going back");
        watch.look(&[detour(0, 1_000, 1_400)]);
        assert_eq!(start_us(&watch), Some((0, 1_000)), "another 540 us, of others");
        let mut elsewhere = self::watch("detour>500us");
        elsewhere.ran(ran(0, 1_020, 1_780));
        elsewhere.look(&[detour(1, 1_000, 800)]);
        assert_eq!(start_us(&elsewhere), Some((1, 1_000)));
    }
}
