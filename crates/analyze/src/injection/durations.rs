//! Medians of durations and their differences.

use crate::rounded;
use crate::samples::subtraction_values::Values;
use crate::samples::tick_overhead::{FEWEST_FOR_MEDIAN, median_bounds};
use crate::stats::Interval;
use anechoic_recording::Clock;
use schemars::JsonSchema;
use serde::Serialize;

/// Quartiles of a set of durations, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Quartiles {
    /// Number of durations.
    pub count: u64,
    /// First quartile.
    pub q1_ns: f64,
    /// Median.
    pub median_ns: f64,
    /// Third quartile.
    pub q3_ns: f64,
}

/// A difference with its 95 % interval, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Deviation {
    /// The difference.
    pub ns: f64,
    /// Its 95 % interval; absent if there are too few durations.
    pub interval: Option<Interval>,
}

/// Collects durations one by one.
#[derive(Debug, Clone, Default)]
pub(super) struct Durations(Values);

impl Durations {
    pub(super) fn add(&mut self, ticks: u64) {
        self.0.add(ticks);
    }

    /// Returns the quartiles; absent without durations.
    pub(super) fn quartiles(&mut self, clock: &Clock) -> Option<Quartiles> {
        let found = self.0.quantiles(&[0.25, 0.5, 0.75])?;
        let ns = |at: usize| crate::samples::ns(found[at], clock);
        Some(Quartiles { count: self.0.count(), q1_ns: ns(0), median_ns: ns(1), q3_ns: ns(2) })
    }

    /// Returns the median and the values that enclose it in 95 % of all cases, in ns.
    fn median(&mut self, clock: &Clock) -> Option<(f64, Option<(f64, f64)>)> {
        let median = self.quartiles(clock)?.median_ns;
        let enough = self.0.count() >= FEWEST_FOR_MEDIAN;
        let bounds = enough.then(|| self.0.quantiles(&median_bounds(self.0.count()))).flatten();
        let ns = |ticks: u64| crate::samples::ns(ticks, clock);
        Some((median, bounds.map(|bounds| (ns(bounds[0]), ns(bounds[1])))))
    }
}

/// Returns median of `these` − median of `bare` − `more_ns`, each in the ticks of its own clock.
///
/// The interval combines those of the two medians, which are order statistics, by their squared distances (method of
/// variance estimates recovery: Zou and Donner 2008; for medians Price and Bonett 2002), and assumes independent sets.
/// It reaches at least one step of the counter, which limits the resolution.
pub(super) fn deviation(
    (these, clock): (&mut Durations, &Clock),
    (bare, bare_clock): (&mut Durations, &Clock),
    more_ns: f64,
) -> Option<Deviation> {
    let (these_median, these_bounds) = these.median(clock)?;
    let (bare_median, bare_bounds) = bare.median(bare_clock)?;
    let ns = rounded(these_median - bare_median - more_ns);
    let step_ns = clock.seconds(clock.step_ticks()) * 1e9;
    let interval = these_bounds.zip(bare_bounds).map(|((low, high), (bare_low, bare_high))| {
        let down = (these_median - low).hypot(bare_high - bare_median).max(step_ns);
        let up = (high - these_median).hypot(bare_median - bare_low).max(step_ns);
        Interval { low: rounded(ns - down), high: rounded(ns + up) }
    });
    Some(Deviation { ns, interval })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::wilson;
    use crate::testing::clock_ns;
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    #[test]
    fn shares_as_in_the_tables() {
        // Wilson's interval as R's prop.test(correct = FALSE) gives it.
        let cases = [
            (0, 0, 0.0, 1.0),
            (0, 10, 0.0, 0.277_533),
            (5, 10, 0.236_593, 0.763_407),
            (10, 10, 0.722_467, 1.0),
            (1_000, 1_000, 0.996_173, 1.0),
        ];
        for (found, total, low, high) in cases {
            let got = wilson(found, total);
            assert!(
                (got.low - low).abs() < 1e-6 && (got.high - high).abs() < 1e-6,
                "{found}/{total}: {got:?}"
            );
        }
    }

    fn durations(values: impl IntoIterator<Item = u64>) -> Durations {
        let mut all = Durations::default();
        values.into_iter().for_each(|ticks| all.add(ticks));
        all
    }

    #[test]
    fn too_few_have_no_interval_and_none_have_no_difference() {
        let clock = clock_ns();
        let mut many = durations([10; 100]);
        let mut few = durations([4; 5]);
        let none = deviation((&mut many, &clock), (&mut Durations::default(), &clock), 1.0);
        assert_eq!(none, None);
        let found = deviation((&mut many, &clock), (&mut few, &clock), 1.0).expect("both");
        assert_eq!(found, Deviation { ns: 5.0, interval: None });
        let equal = deviation((&mut many, &clock), (&mut durations([4; 50]), &clock), 1.0);
        let step = Some(Interval { low: 4.0, high: 6.0 });
        assert_eq!(
            equal.expect("both").interval,
            step,
            "one tick is all that the counter can tell"
        );
    }

    /// Skewed durations with a long tail: the interval of the difference covers the truth.
    #[test]
    fn the_interval_covers_the_true_difference() {
        let clock = clock_ns();
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let mut sample = |n: usize, base: f64| {
            let value = |u: f64| (base - 300.0 * f64::ln_1p(-u)) as u64;
            durations((0..n).map(|_| value(random.random())).collect::<Vec<_>>())
        };
        let runs = 500;
        let covered = (0..runs).filter(|_| {
            let (mut these, mut bare) = (sample(200, 62_000.0), sample(900, 12_000.0));
            let found = deviation((&mut these, &clock), (&mut bare, &clock), 50_000.0);
            let interval = found.and_then(|found| found.interval).expect("enough");
            interval.low <= 0.0 && 0.0 <= interval.high
        });
        let share = covered.count() as f64 / f64::from(runs);
        assert!((0.93..=0.985).contains(&share), "covers {share} of the time");
    }
}
