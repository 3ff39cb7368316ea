//! Counts how many of a periodic injection were due, and how many of those were skipped.

use anechoic_recording::Clock;

/// Counts the periods between the first delivery and the last.
///
/// The kernel sets the timer to the next multiple of the period that lies in the future. So the times that it was set
/// to give the exact number due, however late each delivery was; if they were not recorded, the delivery times give the
/// rounded number.
#[derive(Debug)]
pub(super) struct Due {
    window: (u64, u64),
    period_ns: u64,
    period_ticks: u64,
    /// Last delivery before the window, or the start.
    before: At,
    first: Option<At>,
    last: Option<At>,
    came: u64,
}

/// Time of a delivery, and time to which its timer had been set.
#[derive(Debug, Clone, Copy)]
struct At {
    ticks: u64,
    due_ns: Option<u64>,
}

impl Due {
    /// Returns a counter for noise that was switched on at `on_ticks`; deliveries in `window` count.
    pub(super) fn new(period_ns: u64, on_ticks: u64, window: (u64, u64), clock: &Clock) -> Self {
        Self {
            window,
            period_ns: period_ns.max(1),
            period_ticks: clock.ticks(period_ns).max(1),
            before: At { ticks: on_ticks, due_ns: None },
            first: None,
            last: None,
            came: 0,
        }
    }

    /// Adds the next delivery; those after the window are ignored.
    pub(super) fn came(&mut self, ticks: u64, due_ns: Option<u64>) {
        let this = At { ticks, due_ns };
        if ticks < self.window.0 {
            self.before = this;
        } else if ticks <= self.window.1 {
            self.first.get_or_insert(this);
            self.last = Some(this);
            self.came += 1;
        }
    }

    /// Returns the number skipped in the window.
    pub(super) fn overruns(&self) -> u64 {
        let (start, end) = self.window;
        let (Some(first), Some(last)) = (self.first, self.last) else {
            return end.saturating_sub(start) / self.period_ticks;
        };
        // What was skipped before the window does not count.
        let room = (first.ticks - start) / self.period_ticks;
        let before = self.steps(self.before, first).saturating_sub(1).min(room);
        let within = (self.steps(first, last) + 1).saturating_sub(self.came);
        let silent = At { ticks: end, due_ns: None };
        let after = self.steps(last, silent).saturating_sub(1);
        before.saturating_add(within).saturating_add(after)
    }

    /// Returns the rounded number of periods between two times.
    fn steps(&self, from: At, to: At) -> u64 {
        let (distance, period) = match (from.due_ns, to.due_ns) {
            (Some(from), Some(to)) => (to.saturating_sub(from), self.period_ns),
            _ => (to.ticks.saturating_sub(from.ticks), self.period_ticks),
        };
        // One less than there can be: a caller adds one.
        let steps = (u128::from(distance) + u128::from(period / 2)) / u128::from(period);
        u64::try_from(steps).map_or(u64::MAX - 1, |steps| steps.min(u64::MAX - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::clock_ns;

    /// Noise every 100 from 1,000 on, in the window from 2,000 to 3,000; each as (delivered, due).
    fn overruns(all: &[(u64, Option<u64>)]) -> u64 {
        let mut due = Due::new(100, 1_000, (2_000, 3_000), &clock_ns());
        all.iter().for_each(|&(ticks, due_ns)| due.came(ticks, due_ns));
        due.overruns()
    }

    #[test]
    fn what_was_left_out() {
        let all = |late: u64| (11..=31).map(move |n| (n * 100 + late, Some(n * 100 + 7_000)));
        let at = |ticks: u64| (ticks, None);
        let without = |left_out: &[u64], late| {
            let kept = |&(_, due): &(u64, Option<u64>)| {
                !left_out.contains(&((due.unwrap_or(0) - 7_000) / 100))
            };
            all(late).filter(kept).collect::<Vec<_>>()
        };
        // Each came late by as much as the text says; 2,200, 2,400 and 2,600 to 2,800 were skipped.
        let late = [(2_050, 2_000), (2_190, 2_100), (2_480, 2_300), (2_850, 2_500), (2_990, 2_900)];
        let late = late.map(|(came, due)| (came, Some(due)));
        // Stopped and started again by the kernel: a new phase each time, nothing left out.
        let phases = [2_010, 2_110, 2_270, 2_310, 2_470, 2_510, 2_670, 2_710, 2_870, 2_910];
        let cases = [
            ("all in time", all(3).collect(), 0),
            ("all late", all(60).collect(), 0),
            ("two in the middle", without(&[24, 25], 3), 2),
            ("before the window", without(&[15, 16], 3), 0),
            ("the first three of the window", without(&[20, 21, 22], 3), 3),
            ("the last two of the window", without(&[28, 29, 30, 31], 3), 2),
            ("late by more than a period", late.to_vec(), 5),
            ("other phases", phases.map(|ticks| (ticks, Some(ticks))).to_vec(), 0),
            ("unknown times", vec![at(2_010), at(2_110), at(2_410), at(2_990)], 2 + 5),
            ("none at all", vec![], 10),
        ];
        for (name, came, expected) in cases {
            assert_eq!(overruns(&came), expected, "case: {name}");
        }
    }

    #[test]
    fn times_that_make_no_sense_do_not_overflow() {
        let mut due = Due::new(0, u64::MAX, (u64::MAX - 1, 5), &clock_ns());
        due.came(3, Some(u64::MAX));
        due.came(u64::MAX, Some(0));
        assert_eq!(due.overruns(), 0);
        let mut due = Due::new(u64::MAX, 0, (0, u64::MAX), &clock_ns());
        due.came(u64::MAX, Some(0));
        due.came(u64::MAX, Some(u64::MAX));
        assert!(due.overruns() <= 1);
        let mut due = Due::new(0, 0, (0, u64::MAX), &clock_ns());
        due.came(0, Some(0));
        due.came(1, Some(u64::MAX));
        assert!(due.overruns() > 0);
    }
}
