//! Sums over blocks of phases, and the spread of results over blocks.

use super::outcome::Estimate;
use anechoic_analyze::blocks::CARRIERS_OF_BLOCKS;
use anechoic_analyze::stats::{Bounds, Interval, Spread};

/// Sums over the phases of one block of one job.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sums {
    pub phases: f64,
    pub took_ns: f64,
    pub delay_ns: f64,
    /// The sum of the recursion that was played continuously.
    pub through: f64,
    pub through_delay_ns: f64,
    /// Number and sum of the values that the undisturbed phase is the mean of.
    pub base: f64,
    pub base_ns: f64,
    /// Phases with a detour in their work: number, time, and what the recursion adds to them.
    pub disturbed: f64,
    pub disturbed_took_ns: f64,
    pub disturbed_delay_ns: f64,
}

/// The results of the sums; losses are slowdowns minus 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Values {
    pub undisturbed_ns: f64,
    pub measured: f64,
    /// Loss by the recursion, restarted at every phase.
    pub anew: f64,
    /// Loss by the recursion, played continuously; not a number if it was not.
    pub through: f64,
    /// Time of a disturbed phase beyond the recursion; not a number without disturbed phases.
    pub extra_ns: f64,
}

impl std::ops::AddAssign<&Sums> for Sums {
    fn add_assign(&mut self, other: &Sums) {
        self.phases += other.phases;
        self.took_ns += other.took_ns;
        self.delay_ns += other.delay_ns;
        self.through += other.through;
        self.through_delay_ns += other.through_delay_ns;
        self.base += other.base;
        self.base_ns += other.base_ns;
        self.disturbed += other.disturbed;
        self.disturbed_took_ns += other.disturbed_took_ns;
        self.disturbed_delay_ns += other.disturbed_delay_ns;
    }
}

/// The blocks of each job: one job if ranks synchronise, one for each rank if not. All jobs have the same number of
/// blocks.
#[derive(Debug, Clone)]
pub(super) struct Blocks(pub Vec<Vec<Sums>>);

impl Blocks {
    /// Returns the mean over jobs of the results of some blocks.
    fn values(&self, chosen: impl Iterator<Item = usize> + Clone) -> Values {
        let mut mean =
            Values { undisturbed_ns: 0.0, measured: 0.0, anew: 0.0, through: 0.0, extra_ns: 0.0 };
        let (mut extra_ns, mut disturbed) = (0.0, 0.0);
        let jobs = self.0.len().max(1) as f64;
        for job in &self.0 {
            let mut sums = Sums::default();
            chosen.clone().for_each(|block| sums += &job[block]);
            let undisturbed = sums.base_ns / sums.base;
            mean.undisturbed_ns += undisturbed / jobs;
            mean.measured += (sums.took_ns / sums.phases / undisturbed - 1.0) / jobs;
            mean.anew += sums.delay_ns / sums.phases / undisturbed / jobs;
            mean.through += sums.through_delay_ns / sums.through / undisturbed / jobs;
            extra_ns += sums.disturbed_took_ns - sums.disturbed_delay_ns;
            extra_ns -= sums.disturbed * undisturbed;
            disturbed += sums.disturbed;
        }
        mean.extra_ns = extra_ns / disturbed;
        mean
    }

    fn count(&self) -> usize {
        self.0.iter().map(Vec::len).min().unwrap_or(0)
    }

    /// Returns the results of all blocks.
    pub(super) fn whole(&self) -> Values {
        self.values(0..self.count())
    }

    /// Returns the results without each of the blocks in turn (jackknife, Tukey 1958); nothing for a single block.
    ///
    /// Measured and predicted come from the same blocks, and so does the undisturbed phase that divides both, so common
    /// variation does not widen the interval of their ratio.
    pub(super) fn without_each(&self) -> Vec<Values> {
        let blocks = self.count();
        let without = |left_out| self.values((0..blocks).filter(move |&block| block != left_out));
        (0..blocks).filter(|_| blocks > 1).map(without).collect()
    }
}

/// Returns a value with its bounds from the values without each block; absent if the value is not a number, without
/// bounds if any of these is not, and without an interval if few blocks make up the spread.
///
/// A value that may be below 0 has a symmetric interval.
pub(super) fn estimate(
    whole: &Values,
    without_each: &[Values],
    statistic: impl Fn(&Values) -> f64,
) -> Option<Estimate> {
    let value = Some(statistic(whole)).filter(|value| value.is_finite())?;
    let values: Vec<f64> = without_each.iter().map(statistic).collect();
    let carriers = CARRIERS_OF_BLOCKS * values.len() as f64;
    let bounds = Spread::left_out(value, &values).map(|spread| match spread.around(value) {
        around if around.low > 0.0 => spread.bounds(value, carriers),
        around => Bounds {
            interval: Some(around).filter(|_| spread.carriers >= carriers),
            at_least: Some(around.low),
        },
    });
    let Bounds { interval, at_least } = bounds.unwrap_or_default();
    Some(Estimate { value, interval, at_least })
}

/// Returns a duration, a loss or a ratio of losses with its bounds, as [`estimate`] does. None of these is below 0, so no
/// bound is.
pub(super) fn not_negative(
    whole: &Values,
    without_each: &[Values],
    statistic: impl Fn(&Values) -> f64,
) -> Option<Estimate> {
    let found = estimate(whole, without_each, statistic)?;
    let possible = |interval: Interval| Interval { low: interval.low.max(0.0), ..interval };
    Some(Estimate {
        interval: found.interval.filter(|interval| interval.high > 0.0).map(possible),
        at_least: found.at_least.filter(|&least| least > 0.0),
        ..found
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    fn block(took_ns: f64, delay_ns: f64) -> Sums {
        Sums {
            phases: 10.0,
            took_ns,
            delay_ns,
            through: 11.0,
            through_delay_ns: delay_ns * 1.1,
            base: 5.0,
            base_ns: 500.0,
            disturbed: 2.0,
            disturbed_took_ns: 260.0,
            disturbed_delay_ns: 50.0,
        }
    }

    #[test]
    fn what_sums_come_to() {
        let blocks = Blocks(vec![vec![block(1_100.0, 80.0), block(1_200.0, 120.0)]]);
        let whole = blocks.whole();
        assert_eq!(whole.undisturbed_ns, 100.0);
        assert!((whole.measured - 0.15).abs() < 1e-12, "{whole:?}");
        assert!((whole.anew - 0.1).abs() < 1e-12, "{whole:?}");
        assert!((whole.through - 0.1).abs() < 1e-12, "{whole:?}");
        assert!((whole.extra_ns - 5.0).abs() < 1e-12, "{whole:?}");
        // Two jobs count alike, whatever their grain.
        let twice = Blocks(vec![blocks.0[0].clone(), vec![block(1_000.0, 0.0); 2]]);
        assert!((twice.whole().measured - 0.075).abs() < 1e-12);
    }

    /// The interval, or at least the lower bound, holds the loss of a job with delays of random lengths.
    #[test]
    fn intervals_hold_the_loss_or_are_not_given() {
        let jobs = 400;
        // Pareto lengths of this shape; the last are so unequal that few jobs may have an interval.
        for (shape, most_refused) in [(4.0, false), (3.0, false), (1.2, true)] {
            let mut random = Pcg64Mcg::seed_from_u64(5);
            let (mut given, mut held, mut above) = (0, 0, 0);
            for _ in 0..jobs {
                let mut delay = || {
                    let survival: f64 = random.random_range(f64::EPSILON..1.0);
                    if random.random::<f64>() < 0.1 { survival.powf(-1.0 / shape) } else { 0.0 }
                };
                let mut made = || {
                    let delay_ns: f64 = (0..200).map(|_| delay()).sum();
                    Sums { phases: 200.0, ..block(20_000.0 + delay_ns, delay_ns) }
                };
                let blocks = Blocks(vec![(0..50).map(|_| made()).collect()]);
                let truth = 0.1 * shape / (shape - 1.0) / 100.0;
                let found =
                    estimate(&blocks.whole(), &blocks.without_each(), |values| values.measured);
                let found = found.expect("a value");
                above += u32::from(found.at_least.expect("blocks") > truth);
                let Some(interval) = found.interval else { continue };
                given += 1;
                held += u32::from(interval.low <= truth && truth <= interval.high);
            }
            println!("shape {shape}: {given} given, {held} hold, {above} bounds too high");
            assert!(above <= jobs * 45 / 1000, "shape {shape}: {above} bounds are too high");
            if most_refused {
                assert!(given < jobs / 4, "shape {shape}: {given} intervals");
            } else {
                let share = f64::from(held) / f64::from(given);
                assert!(given > jobs * 3 / 4, "shape {shape}: {given} intervals");
                assert!((0.92..=0.985).contains(&share), "shape {shape}: {share} hold");
            }
        }
    }

    /// On a busy machine blocks of one job lose between nothing and the fifty-fold.
    #[test]
    fn no_bound_of_a_loss_is_below_0() {
        let lost = |at: u32| f64::from([0, 0, 1, 0, 4, 0, 0, 50][at as usize % 8]);
        let blocks = |times: f64| {
            let made = |at| block(1_000.0 * (1.0 + times * lost(at)), 0.0);
            Blocks(vec![(0..8).map(made).collect()])
        };
        for times in [0.1, 1.0, 10.0] {
            let blocks = blocks(times);
            let (whole, each) = (blocks.whole(), blocks.without_each());
            let symmetric = estimate(&whole, &each, |values| values.measured).expect("a value");
            assert!(symmetric.at_least.is_some_and(|least| least < 0.0), "{symmetric:?}");
            let found = not_negative(&whole, &each, |values| values.measured).expect("a value");
            assert_eq!(found.at_least, None, "{found:?}");
            assert!(found.interval.is_none_or(|interval| interval.low >= 0.0), "{found:?}");
        }
        // What can be bounded is bounded as before.
        let busy = Blocks(vec![(0..8).map(|at| block(1_500.0 + f64::from(at), 0.0)).collect()]);
        let (whole, each) = (busy.whole(), busy.without_each());
        let found = not_negative(&whole, &each, |values| values.measured);
        assert!(found.is_some_and(|estimate| estimate.interval.is_some()), "{found:?}");
        assert_eq!(found, estimate(&whole, &each, |values| values.measured));
    }

    #[test]
    fn equal_blocks_have_no_spread_and_nothing_has_no_value() {
        let measured = |values: &Values| values.measured;
        let same = Blocks(vec![vec![block(1_100.0, 80.0); 20]]);
        let found = estimate(&same.whole(), &same.without_each(), measured).expect("a value");
        let interval = found.interval.expect("blocks");
        assert!((interval.high - interval.low).abs() < 1e-12 && (found.value - 0.1).abs() < 1e-12);
        let one = Blocks(vec![vec![block(1_100.0, 80.0)]]);
        assert_eq!(
            estimate(&one.whole(), &one.without_each(), measured).expect("a value").interval,
            None
        );
        let none = Blocks(vec![vec![Sums::default(); 20]]);
        assert_eq!(estimate(&none.whole(), &none.without_each(), measured), None);
        assert_eq!(estimate(&Blocks(vec![]).whole(), &[], |v| v.extra_ns), None);
    }
}
