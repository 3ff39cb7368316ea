//! Decides when there are enough repetitions: the accumulated mean has become steady (FAME, Vera 2007).

use anechoic_recording::run::Ended;

/// The smallest number of repetitions.
const FEWEST: u64 = 5;

/// Follows the accumulated mean of a series.
///
/// The mean of `n` repetitions is steady if over the last half of them no accumulated mean differed from it
/// by more than the maximum allowable variation (MAIV). This is checked after 5, 10, 20, 40, ... repetitions
/// and at the end, when all of the last half is known without storing it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steady {
    maiv: f64,
    /// The largest number of repetitions.
    most: u64,
    n: u64,
    sum: f64,
    /// The number of repetitions at the next check.
    next: u64,
    /// Range of the accumulated means over the last half of `next` repetitions.
    half: Range,
    /// Range of the accumulated means over the last half of all repetitions.
    last_half: Range,
}

/// The lowest and the highest of some means.
#[derive(Debug, Clone, Copy)]
struct Range(f64, f64);

impl Range {
    const EMPTY: Range = Range(f64::INFINITY, f64::NEG_INFINITY);

    fn with(self, mean: f64) -> Self {
        Range(self.0.min(mean), self.1.max(mean))
    }

    /// Returns the largest relative distance from `mean`.
    fn distance(self, mean: f64) -> f64 {
        (self.1 - mean).max(mean - self.0) / mean
    }
}

impl Steady {
    /// Follows a series of at most `most` repetitions.
    pub(crate) fn new(maiv_ppm: u32, most: u64) -> Self {
        let maiv = f64::from(maiv_ppm) / 1e6;
        let (half, last_half) = (Range::EMPTY, Range::EMPTY);
        Steady { maiv, most, n: 0, sum: 0.0, next: FEWEST, half, last_half }
    }

    /// Adds the duration of a repetition; returns whether the mean is now steady.
    pub(crate) fn add(&mut self, ticks: u64) -> bool {
        self.n += 1;
        self.sum += ticks as f64;
        let mean = self.mean();
        if self.n == self.next.div_ceil(2) {
            self.half = Range::EMPTY; // the last half begins here
        }
        self.half = self.half.with(mean);
        if self.n >= self.most.div_ceil(2) {
            self.last_half = self.last_half.with(mean);
        }
        if self.n < self.next {
            return false;
        }
        let rests = self.half.distance(mean) <= self.maiv;
        self.next *= 2;
        self.half = Range::EMPTY.with(mean);
        rests
    }

    /// Returns how the series ended after all repetitions.
    pub(crate) fn verdict(&self) -> Ended {
        let rests = self.n >= FEWEST && self.last_half.distance(self.mean()) <= self.maiv;
        if rests { Ended::Steady } else { Ended::Unsteady }
    }

    fn mean(&self) -> f64 {
        self.sum / self.n as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns after how many of these repetitions, continued with the last one, the series ends.
    fn ends_after(durations: &[u64], most: usize) -> Option<usize> {
        let mut steady = Steady::new(10_000, 10_000);
        let last = durations.last().copied();
        let all = durations.iter().copied().chain(last.into_iter().cycle()).take(most);
        all.enumerate().find_map(|(i, ticks)| steady.add(ticks).then_some(i + 1))
    }

    #[test]
    fn ends_when_the_mean_has_come_to_rest() {
        let cases: &[(&str, &[u64], Option<usize>)] = &[
            ("all alike: five are enough", &[100], Some(5)),
            ("a slow first one is outside of the last half", &[100, 103, 100, 100, 100], Some(5)),
            // The means are 200, 150, 133, 125, 120; then 110 at 10, and 105 at 20 (111.1 at 10 of 20: 5 %).
            ("a first one twice as long", &[200, 100], Some(160)),
            ("one long one in the last half", &[100, 100, 100, 100, 200, 100], Some(160)),
        ];
        for (name, durations, expected) in cases {
            assert_eq!(ends_after(durations, 1_000), *expected, "case: {name}");
        }
    }

    #[test]
    fn the_end_judges_once_more() {
        // The durations are 200 and then 100: from about repetition 98 on, the mean moves by at most 1.0 %
        // over the last half.
        for (most, expected) in [
            (4, Ended::Unsteady),
            (90, Ended::Unsteady),
            (100, Ended::Steady),
            (159, Ended::Steady),
        ] {
            let mut steady = Steady::new(10_000, most);
            let durations = std::iter::once(200).chain(std::iter::repeat(100));
            let early = durations.take(most as usize).any(|ticks| steady.add(ticks));
            assert_eq!((early, steady.verdict()), (false, expected), "{most}");
        }
    }

    #[test]
    fn a_mean_that_grows_without_end_never_rests() {
        let mut steady = Steady::new(10_000, 10_000);
        assert!(!(1..10_000_u64).any(|i| steady.add(i * i)));
    }
}
