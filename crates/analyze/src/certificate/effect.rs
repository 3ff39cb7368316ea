//! The smallest effect that a comparison of as many runs would find.

use crate::stats::{deviation_bounds, mean, student_quantile, student_t};
use schemars::JsonSchema;
use serde::Serialize;

/// Power with which the smallest effect is found.
const POWER: f64 = 0.8;
/// Probability with which the standard deviation is below the one that the smallest effect is computed from. With a value that
/// is too low as often as too high, the effect would be found in half of all cases with less than that power.
const CONFIDENCE: f64 = 0.85;
/// Fewest runs whose standard deviation means something: three of a program that takes one time in 70 % of its runs and another one
/// in the others are all alike in 37 %.
const FEWEST: usize = 5;

/// The smallest effect that a two-sided t test at 5 % finds in at least 80 % of the comparisons with as many runs on each side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Effect {
    /// Number of runs on each side.
    pub runs: u64,
    /// The effect, as a part of the time of a run: 0.02 is a slowdown by 2 %. It is computed from a standard deviation that
    /// exceeds the true one with a probability of 85 %.
    pub smallest: f64,
    /// The same from one that is below the true one with a probability of 97.5 %: no smaller effect is found so often.
    pub at_best: f64,
}

impl Effect {
    /// Returns the smallest effect from the wall times of repeated runs; nothing for fewer than five.
    pub(crate) fn from_runs(wall: &[f64]) -> Option<Self> {
        let runs = wall.len();
        let middle = mean(wall).filter(|middle| runs >= FEWEST && *middle > 0.0)?;
        let squares: f64 = wall.iter().map(|value| (value - middle).powi(2)).sum();
        let deviation = (squares / (runs - 1) as f64).sqrt();
        let [at_best, at_most] = deviation_bounds(deviation, runs, [0.975, 1.0 - CONFIDENCE]);
        let effect = |deviation: f64| standardized(runs) * deviation / middle;
        Some(Self { runs: runs as u64, smallest: effect(at_most), at_best: effect(at_best) })
    }
}

/// Returns the difference of two means, in standard deviations, that is found with this power: the quantiles of Student's t at
/// both probabilities added up, in standard errors. The noncentral distribution, which is exact, differs by less than 0.3 % from
/// 5 runs on.
fn standardized(runs: usize) -> f64 {
    let degrees = 2 * (runs as u64 - 1);
    (student_t(degrees) + student_quantile(POWER, degrees)) * (2.0 / runs as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{standard_error, student_t};
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    /// How the time of a run varies, with a standard deviation of 1.
    type Law = fn(&mut Pcg64Mcg) -> f64;

    fn normal(random: &mut Pcg64Mcg) -> f64 {
        (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
    }

    fn exponential(random: &mut Pcg64Mcg) -> f64 {
        -(1.0 - random.random::<f64>()).ln() - 1.0
    }

    fn two_speeds(random: &mut Pcg64Mcg) -> f64 {
        if random.random::<f64>() < 0.3 { 1.528 } else { -0.655 }
    }

    /// Whether a two-sided t test at 5 % finds the second side slower.
    fn is_found(sides: &[Vec<f64>; 2]) -> bool {
        let [a, b] = sides.each_ref().map(|side| mean(side).expect("runs"));
        let errors = sides.each_ref().map(|side| standard_error(side).expect("runs"));
        let error = (errors[0].powi(2) + errors[1].powi(2)).sqrt();
        b - a > student_t(2 * (sides[0].len() as u64 - 1)) * error
    }

    /// A certificate states an effect; another 50 comparisons, with a slowdown by just that, find it in 80 % of all.
    #[test]
    fn an_effect_of_the_stated_size_is_found() {
        let laws: [(&str, Law); 3] =
            [("normal", normal), ("exponential", exponential), ("two speeds", two_speeds)];
        for (name, law) in laws {
            for (runs, noise) in [(5, 0.01), (7, 0.01), (10, 0.01), (10, 0.1), (30, 0.05)] {
                let random = &mut Pcg64Mcg::seed_from_u64(runs as u64);
                let side = |longer: f64, random: &mut Pcg64Mcg| -> Vec<f64> {
                    (0..runs).map(|_| longer * (100.0 + 100.0 * noise * law(random))).collect()
                };
                let trials = 2_000;
                let found = (0..trials).filter(|_| {
                    let stated = Effect::from_runs(&side(1.0, random)).expect("runs").smallest;
                    is_found(&[side(1.0, random), side(1.0 + stated, random)])
                });
                let found = found.count() as f64 / f64::from(trials);
                assert!(found >= 0.8, "{name}, {runs} runs, {noise}: found in {found}");
                assert!(found < 0.99, "{name}, {runs} runs, {noise}: far too cautious, {found}");
            }
        }
    }

    #[test]
    fn the_true_effect_lies_above_the_best() {
        let random = &mut Pcg64Mcg::seed_from_u64(1);
        for runs in [5, 7, 10] {
            let truth = standardized(runs) * 0.01;
            let wrong = (0..2_000).filter(|_| {
                let wall: Vec<f64> = (0..runs).map(|_| 100.0 + normal(random)).collect();
                Effect::from_runs(&wall).expect("runs").at_best > truth
            });
            let wrong = wrong.count();
            assert!(wrong < 70, "{runs} runs: {wrong} of 2,000, 50 expected");
        }
    }

    /// The roots of the power of the noncentral t distribution (SciPy 1.17, `nct`).
    #[test]
    fn the_sum_of_quantiles_is_close_to_the_exact_difference() {
        for (runs, exact) in [(5, 2.02444), (7, 1.63172), (10, 1.32495), (30, 0.73562)] {
            let found = standardized(runs);
            assert!((found / exact - 1.0).abs() < 0.003, "{runs} runs: {found}, exactly {exact}");
        }
    }

    #[test]
    fn few_runs_show_no_effect() {
        assert_eq!(Effect::from_runs(&[]), None);
        assert_eq!(Effect::from_runs(&[1.0, 2.0, 3.0, 4.0]), None);
        assert_eq!(Effect::from_runs(&[0.0; 5]), None);
        let same = Effect::from_runs(&[5.0; 5]).expect("five runs");
        assert_eq!((same.smallest, same.at_best), (0.0, 0.0));
    }
}
