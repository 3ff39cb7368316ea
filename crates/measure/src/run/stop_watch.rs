//! Looks for the detour or the wake-up that ends a run before its time.

use super::artefacts::Artefacts;
use anechoic_recording::stop::{StopCondition, StoppedBy};
use anechoic_recording::{Clock, Detour, KernelEvent, Sample};
use std::collections::VecDeque;
use std::time::Duration;

/// Time around the housekeeper's work that waking it and switching to it and back may take.
const SWITCHES: Duration = Duration::from_micros(100);
/// Number of times at which the housekeeper ran that are remembered. Each look sees what ended before it.
const REMEMBERED: usize = 8;

/// Looks for the detour or the wake-up that ends a run before its time.
#[derive(Debug)]
pub(super) struct StopWatch {
    condition: StopCondition,
    /// A longer detour or a later wake-up ends the run.
    longer_ticks: u64,
    switch_ticks: u64,
    /// Number of detours so far.
    detours: u64,
    own: VecDeque<OwnWork>,
    /// What real-time loops gave way to; absent for ordinary loops, from which every thread takes time.
    artefacts: Option<Artefacts>,
    /// Detours that are too long, with how much of each others than the tool took: whether that is an artefact is known once
    /// the kernel's events up to now are read.
    suspects: Vec<(Detour, u64)>,
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
    /// Returns a watch of loops; `artefacts` are those of real-time loops, and absent for ordinary ones.
    pub(super) fn new(
        condition: StopCondition,
        clock: &Clock,
        artefacts: Option<Artefacts>,
    ) -> Self {
        let longer_ticks = match condition {
            StopCondition::Longer(ns) | StopCondition::Wakeup(ns) => clock.ticks(ns),
            _ => u64::MAX,
        };
        let switch_ticks = clock.ticks_of(SWITCHES);
        Self {
            condition,
            longer_ticks,
            switch_ticks,
            detours: 0,
            own: VecDeque::new(),
            artefacts,
            suspects: vec![],
            met: None,
        }
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
            match self.condition {
                StopCondition::Count(count) if self.detours >= count && self.met.is_none() => {
                    self.meet(detour);
                }
                StopCondition::Longer(_) => self.suspect(detour),
                _ => {}
            }
        }
    }

    /// Looks at the next wake-ups.
    pub(super) fn look_at_wakeups(&mut self, wakeups: &[Sample]) {
        if !matches!(self.condition, StopCondition::Wakeup(_)) {
            return;
        }
        for wakeup in wakeups {
            let Sample { cpu, start_ticks, end_ticks, .. } = *wakeup;
            self.suspect(&Detour { cpu, start_ticks, end_ticks });
        }
    }

    fn suspect(&mut self, detour: &Detour) {
        let left = self.taken_by_others(detour);
        if left > self.longer_ticks {
            self.suspects.push((*detour, left));
        }
    }

    /// Follows the next events of a CPU.
    pub(super) fn follow(&mut self, events: &[KernelEvent]) {
        if let Some(artefacts) = &mut self.artefacts {
            artefacts.follow(events);
        }
    }

    /// Returns whether a detour is too long that [`Self::judge`] has not judged.
    pub(super) fn suspects(&self) -> bool {
        !self.suspects.is_empty()
    }

    /// Decides whether a detour that is too long ends the run, after all events up to now were followed.
    pub(super) fn judge(&mut self) {
        for (detour, left) in std::mem::take(&mut self.suspects) {
            let artefact = self.artefacts.as_ref().map_or(0, |known| known.within(&detour));
            let earlier = self.met.is_none_or(|met| detour.start_ticks < met.start_ticks);
            if earlier && left.saturating_sub(artefact) > self.longer_ticks {
                self.meet(&detour);
            }
        }
    }

    fn meet(&mut self, detour: &Detour) {
        let Detour { cpu, start_ticks, end_ticks } = *detour;
        self.met = Some(StoppedBy { cpu, start_ticks, end_ticks, second: None, thread: None });
    }

    /// Returns how much of a detour others than the tool took.
    fn taken_by_others(&self, detour: &Detour) -> u64 {
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
    use anechoic_recording::EventKind;

    /// A watch on a counter of 1 GHz.
    fn watch(condition: &str) -> StopWatch {
        let condition = condition.parse().expect("a condition");
        StopWatch::new(
            condition,
            &builders::clock(1_000_000_000),
            Some(Artefacts::new([(0, 1)].into_iter())),
        )
    }

    fn detour(cpu: u32, start_us: u64, length_us: u64) -> Detour {
        let start_ticks = start_us * 1_000;
        Detour { cpu, start_ticks, end_ticks: start_ticks + length_us * 1_000 }
    }

    fn start_us(watch: &mut StopWatch) -> Option<(u32, u64)> {
        watch.judge();
        watch.met().map(|met| (met.cpu, met.start_ticks / 1_000))
    }

    #[test]
    fn the_first_detour_over_the_length_ends_the_run() {
        let mut watch = watch("detour>500us");
        watch.look(&[detour(0, 10, 499), detour(0, 1_000, 500)]);
        assert_eq!(start_us(&mut watch), None, "500 us are not more than 500 us");
        watch.look(&[detour(0, 7_000, 501), detour(0, 9_000, 900)]);
        assert_eq!(start_us(&mut watch), Some((0, 7_000)));
        watch.look(&[detour(1, 6_500, 800), detour(1, 7_500, 800)]);
        assert_eq!(start_us(&mut watch), Some((1, 6_500)), "of all CPUs");
    }

    #[test]
    fn the_number_of_detours_ends_the_run() {
        let mut watch = watch("detours>=3");
        watch.look(&[detour(0, 10, 1), detour(0, 20, 1)]);
        assert_eq!(start_us(&mut watch), None);
        watch.look(&[detour(1, 5, 1), detour(1, 30, 1)]);
        watch.look(&[detour(0, 2, 1)]);
        assert_eq!(start_us(&mut watch), Some((1, 5)), "the third that was seen");
    }

    /// A hole of 54 ms in which the fair server let an ordinary thread run is none, with 800 µs of something else it is.
    #[test]
    fn what_a_real_time_loop_gives_way_to_ends_nothing() {
        for (until_us, expected) in [(55_900, None), (55_200, Some((0, 2_000)))] {
            let mut watch = watch("detour>700us");
            let switch = |at_us: u64, next: u64, priority: u64| KernelEvent {
                cpu: 0,
                ticks: at_us * 1_000,
                kind: EventKind::Switch,
                pid: 1,
                args: [next, 0, priority],
            };
            watch.look(&[detour(0, 2_000, 54_000)]);
            assert!(watch.suspects() && watch.met().is_none(), "its events are not known yet");
            watch.follow(&[switch(2_010, 9, 120), switch(until_us, 1, 98)]);
            assert_eq!(start_us(&mut watch), expected, "until {until_us}");
            let mut of_ordinary =
                StopWatch::new(watch.condition, &builders::clock(1_000_000_000), None);
            of_ordinary.look(&[detour(0, 2_000, 54_000)]);
            of_ordinary.follow(&[switch(2_010, 9, 120), switch(until_us, 1, 120)]);
            assert!(
                start_us(&mut of_ordinary).is_some(),
                "ordinary loops lose that time to others"
            );
        }
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
        assert_eq!(start_us(&mut watch), None, "waking, working and going back");
        watch.look(&[detour(0, 1_000, 1_400)]);
        assert_eq!(start_us(&mut watch), Some((0, 1_000)), "another 540 us, of others");
        let mut elsewhere = self::watch("detour>500us");
        elsewhere.ran(ran(0, 1_020, 1_780));
        elsewhere.look(&[detour(1, 1_000, 800)]);
        assert_eq!(start_us(&mut elsewhere), Some((1, 1_000)));
    }
}
