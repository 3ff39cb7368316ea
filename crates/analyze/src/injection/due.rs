//! How many of a periodic injection were due, and how many of those were left out.

use anechoic_recording::Clock;

/// Counts the periods between those that came.
///
/// The kernel sets the timer to the next multiple of the period that is not over yet. So the times that it
/// was set to tell exactly which were skipped, however late each one came; where they were not seen, the times
/// at which they came tell it to the nearest.
#[derive(Debug)]
pub(super) struct Due {
    window: (u64, u64),
    period_ns: u64,
    period_ticks: u64,
    /// The last one, or the start: its counter value, and what its timer had been set to.
    last: (u64, Option<u64>),
    came: u64,
    overruns: u64,
}

impl Due {
    /// Of noise that was switched on at `on_ticks`; those in `window` count.
    pub(super) fn new(period_ns: u64, on_ticks: u64, window: (u64, u64), clock: &Clock) -> Self {
        let period_ns = period_ns.max(1);
        let period_ticks = clock.ticks(period_ns).max(1);
        Self { window, period_ns, period_ticks, last: (on_ticks, None), came: 0, overruns: 0 }
    }

    /// Takes the next one. Those after the window are none of ours.
    pub(super) fn came(&mut self, ticks: u64, due_ns: Option<u64>) {
        if ticks > self.window.1 {
            return;
        }
        let skipped = match (self.last.1, due_ns) {
            (Some(last), Some(due)) => steps(due.saturating_sub(last), self.period_ns),
            _ => steps(ticks.saturating_sub(self.last.0), self.period_ticks),
        };
        if ticks >= self.window.0 {
            self.came += 1;
            // What was skipped before the window is not counted.
            let room = (ticks - self.window.0) / self.period_ticks;
            self.overruns += skipped.saturating_sub(1).min(room);
        }
        self.last = (ticks, due_ns);
    }

    /// How many of those in the window were left out.
    pub(super) fn overruns(&self) -> u64 {
        let (first, last) = self.window;
        if self.came == 0 {
            return last.saturating_sub(first) / self.period_ticks;
        }
        let silent = last.saturating_sub(self.last.0);
        self.overruns + steps(silent, self.period_ticks).saturating_sub(1)
    }
}

/// Periods in a distance, to the nearest.
fn steps(distance: u64, period: u64) -> u64 {
    distance.saturating_add(period / 2) / period
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::clock_ns;

    /// Of noise every 100 from 1,000 on, in the window from 2,000 to 3,000; each as (came, due).
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
        let cases = [
            ("all in time", all(3).collect(), 0),
            ("all late", all(60).collect(), 0),
            ("two in the middle", without(&[24, 25], 3), 2),
            ("before the window", without(&[15, 16], 3), 0),
            ("the first three of the window", without(&[20, 21, 22], 3), 3),
            ("the last two of the window", without(&[28, 29, 30, 31], 3), 2),
            // 180 late, so that the next two were over: by the clock it looks like less.
            (
                "late by more than a period",
                vec![
                    (2_050, Some(2_000)),
                    (2_190, Some(2_100)),
                    (2_480, Some(2_300)),
                    (2_550, Some(2_500)),
                    (2_990, Some(2_900)),
                ],
                5,
            ),
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
    }
}
