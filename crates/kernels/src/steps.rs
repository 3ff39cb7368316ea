//! The steps of a sample: the work between two counter reads, and those that were detours.

use crate::detour::Gap;

/// How long the steps of a series took together, and those among them that were detours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StepTimes {
    /// Time of all steps, in ticks.
    pub ticks: u64,
    /// Number of all steps.
    pub steps: u64,
    /// Time of the steps that were detours, in ticks.
    pub detour_ticks: u64,
    /// Number of steps that were detours.
    pub detours: u64,
}

impl StepTimes {
    /// Returns the mean duration of a step that was no detour. If most were, it is the mean of all: the threshold was
    /// too low then, because something slows every step down.
    #[must_use]
    pub fn undisturbed_ticks(&self) -> Option<u64> {
        let mean = |ticks: u64, steps: u64| (ticks + steps / 2).checked_div(steps);
        match self.detours > self.steps / 2 {
            true => mean(self.ticks, self.steps),
            false => mean(
                self.ticks.saturating_sub(self.detour_ticks),
                self.steps.saturating_sub(self.detours),
            ),
        }
    }

    /// Counts the step that ended at `end`; returns it if it was a detour, which is longer than the threshold.
    #[inline(always)]
    pub fn detour(&mut self, start: u64, end: u64, threshold_ticks: u64) -> Option<Gap> {
        let gap = end.wrapping_sub(start);
        (gap > threshold_ticks).then(|| {
            self.detour_ticks += gap;
            self.detours += 1;
            Gap { start, end }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_of_a_series_is_that_of_its_undisturbed_steps() {
        let cases = [
            ("as calibrated", (100_000, 100, 0, 0), Some(1_000)),
            ("a tick of 20,000 in between", (119_000, 100, 20_000, 1), Some(1_000)),
            ("a slower core", (120_000, 100, 0, 0), Some(1_200)),
            (
                "a busy sibling: every step is over the threshold",
                (170_000, 100, 170_000, 100),
                Some(1_700),
            ),
            ("most steps", (160_000, 100, 110_000, 60), Some(1_600)),
            ("none", (0, 0, 0, 0), None),
        ];
        for (name, (ticks, steps, detour_ticks, detours), expected) in cases {
            let times = StepTimes { ticks, steps, detour_ticks, detours };
            assert_eq!(times.undisturbed_ticks(), expected, "case: {name}");
        }
    }

    #[test]
    fn a_detour_is_a_step_over_the_threshold() {
        let mut times = StepTimes::default();
        assert_eq!(times.detour(100, 200, 100), None);
        assert_eq!(times.detour(200, 301, 100), Some(Gap { start: 200, end: 301 }));
        assert_eq!((times.detour_ticks, times.detours), (101, 1));
    }
}
