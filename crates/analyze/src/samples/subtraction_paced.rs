//! Samples with slow changes of the core's speed removed.

use crate::samples::subtraction::{FEWEST_SAMPLES, Ground, Paced};
use crate::samples::subtraction_left::{Spread, accounted, undisturbed};
use crate::samples::subtraction_values::Values;
use anechoic_recording::Clock;
use std::collections::VecDeque;

/// A sample with two neighbours on either side.
const WINDOW: usize = 5;

/// One sample, in ticks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PacedSample {
    pub(crate) raw: u64,
    /// What remains after subtracting direct costs and known gaps.
    pub(crate) left: u64,
    /// What remains after subtracting everything recorded.
    pub(crate) rest: u64,
    pub(crate) judged: bool,
    pub(crate) undisturbed: bool,
}

/// Processes samples in time order and relates each used one to the speed of its neighbours.
#[derive(Debug, Default)]
pub(crate) struct PacedBuilder {
    window: VecDeque<PacedSample>,
    /// Speed to which all samples are scaled: that of the first.
    level: Option<u64>,
    raw: Values,
    left: Values,
    undisturbed: Values,
}

impl PacedBuilder {
    /// Adds a sample; `follows` is whether it began when the previous one ended.
    pub(crate) fn add(&mut self, seen: PacedSample, follows: bool) {
        if !follows {
            self.window.clear();
        }
        self.window.push_back(seen);
        if self.window.len() == WINDOW {
            self.take_middle();
            self.window.pop_front();
        }
    }

    fn take_middle(&mut self) {
        let seen = self.window[WINDOW / 2];
        if !seen.judged {
            return;
        }
        let mut neighbours = [0, 1, 3, 4].map(|place| self.window[place].rest);
        neighbours.sort_unstable();
        let pace = neighbours[1].midpoint(neighbours[2]);
        let level = *self.level.get_or_insert(pace);
        let at_level = |ticks: u64| ticks.saturating_add(level).saturating_sub(pace);
        if seen.undisturbed {
            self.undisturbed.add(at_level(seen.raw));
        } else {
            self.raw.add(at_level(seen.raw));
            self.left.add(at_level(seen.left));
        }
    }

    /// Returns how much is accounted for; absent for too few samples.
    pub(crate) fn finish(mut self, clock: &Clock) -> Option<Paced> {
        self.raw.merge(&mut self.undisturbed);
        self.left.merge(&mut self.undisturbed);
        let (raw, left) =
            (Spread::from_values(&mut self.raw)?, Spread::from_values(&mut self.left)?);
        let floor = undisturbed(&mut self.undisturbed);
        let accounted_by = |pick: fn(&Spread) -> u64| {
            accounted(pick(&raw), pick(&left), floor.as_ref().map(pick), clock)
        };
        let (iqr, p99_p1) =
            (accounted_by(|spread| spread.iqr_ticks), accounted_by(|spread| spread.p99_p1_ticks));
        (self.raw.count() >= FEWEST_SAMPLES).then(|| Paced {
            samples: self.raw.count(),
            accounted: Ground::least_accounted(Some(iqr), Some(p99_p1)).map(|ground| ground.share),
            iqr,
            p99_p1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of 103, 106, … ticks, of which everything but 100 is subtracted: each but the first two and the last two has two
    /// neighbours of that speed on either side.
    #[test]
    fn the_sample_in_the_middle_is_related_to_its_neighbours() {
        let mut paced = PacedBuilder::default();
        for at in 1..=6 {
            let raw = 100 + 3 * at;
            paced.add(
                PacedSample { raw, left: raw - 1, rest: 100, judged: true, undisturbed: false },
                true,
            );
        }
        assert_eq!(paced.raw.quantiles(&[0.0, 1.0]), Some(vec![109, 112]));
        assert_eq!(paced.left.quantiles(&[0.0, 1.0]), Some(vec![108, 111]));
    }
}
