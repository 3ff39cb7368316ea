//! When repetitions are enough: the accumulated mean has come to rest (FAME, Vera 2007).

/// Fewest repetitions.
const FEWEST: u64 = 5;

/// Follows the accumulated mean of one series.
///
/// The mean of `n` repetitions has come to rest when over the last half of them no accumulated mean
/// differed from it by more than the maximum allowable variation (MAIV). That is looked at when there
/// are 5, 10, 20, 40, ... repetitions: each time all of the last half is known, without keeping it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Steady {
    maiv: f64,
    n: u64,
    sum: f64,
    /// The next number of repetitions at which to look.
    next: u64,
    lowest: f64,
    highest: f64,
}

impl Steady {
    pub(super) fn new(maiv_ppm: u32) -> Self {
        let (lowest, highest) = (f64::INFINITY, f64::NEG_INFINITY);
        Steady { maiv: f64::from(maiv_ppm) / 1e6, n: 0, sum: 0.0, next: FEWEST, lowest, highest }
    }

    /// Takes one repetition's duration; whether the mean has come to rest with it.
    pub(super) fn add(&mut self, ticks: u64) -> bool {
        self.n += 1;
        self.sum += ticks as f64;
        let mean = self.sum / self.n as f64;
        if self.n * 2 == self.next + self.next % 2 {
            (self.lowest, self.highest) = (mean, mean); // here the last half begins
        }
        (self.lowest, self.highest) = (self.lowest.min(mean), self.highest.max(mean));
        if self.n < self.next {
            return false;
        }
        self.next *= 2;
        let moved = (self.highest - mean).max(mean - self.lowest) / mean;
        (self.lowest, self.highest) = (mean, mean);
        moved <= self.maiv
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many of these repetitions, repeated at the end with the last, it is enough.
    fn ends_after(durations: &[u64], most: usize) -> Option<usize> {
        let mut steady = Steady::new(10_000);
        let last = durations.last().copied();
        let all = durations.iter().copied().chain(last.into_iter().cycle()).take(most);
        all.enumerate().find_map(|(i, ticks)| steady.add(ticks).then_some(i + 1))
    }

    #[test]
    fn ends_when_the_mean_has_come_to_rest() {
        let cases: &[(&str, &[u64], Option<usize>)] = &[
            ("all alike: five are enough", &[100], Some(5)),
            ("a slow first one is outside of the last half", &[100, 103, 100, 100, 100], Some(5)),
            // Means 200, 150, 133, 125, 120; then 110 at 10, 105 at 20 (111.1 at 10 of 20: 5 %).
            ("a first one twice as long", &[200, 100], Some(160)),
            ("one long one in the last half", &[100, 100, 100, 100, 200, 100], Some(160)),
        ];
        for (name, durations, expected) in cases {
            assert_eq!(ends_after(durations, 1_000), *expected, "case: {name}");
        }
    }

    #[test]
    fn a_mean_that_grows_without_end_never_rests() {
        let mut steady = Steady::new(10_000);
        assert!(!(1..10_000_u64).any(|i| steady.add(i * i)));
    }
}
