//! A first run that took clearly longer than the others, as one with cold caches does.

use super::effect::Effect;
use crate::stats::median;
use schemars::JsonSchema;
use serde::Serialize;

/// Fewest runs of which the first can be compared with the others.
const FEWEST: usize = 5;
/// A first run is slow if it exceeds the slowest of the others by this many of their ranges, divided by the number of runs less
/// three: 25 ranges of 4 others, 7.1 of 9, 1.9 of 29. Of equal runs it then does in less than 1 % of all series, also where their
/// times have a tail so heavy that their variance is infinite (Pareto with a shape of 1.5).
const RANGES: f64 = 50.0;
/// A smaller part of their median is not worth a line.
const LEAST: f64 = 0.01;

/// A first run that took clearly longer than all others, for example because it found files and caches cold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SlowFirst {
    /// How much longer it took than the median of the others, as a part of that: 0.3 is 30 %.
    pub longer: f64,
    /// The smallest effect from the other runs alone, as a part of the time of a run; absent for fewer than five of them.
    pub effect_without: Option<f64>,
}

impl SlowFirst {
    /// Returns how slow the first of these wall times is; nothing if it may be one of the others, or for fewer than five.
    pub(super) fn from_runs(wall: &[f64]) -> Option<Self> {
        let (first, others) = wall.split_first().filter(|_| wall.len() >= FEWEST)?;
        let mut sorted = others.to_vec();
        let middle = median(&mut sorted);
        let (least, most) = (sorted.first()?, sorted.last()?);
        let clear = (most - least) * RANGES / (wall.len() - 3) as f64;
        let is_slow = first - most > clear.max(LEAST * middle) && middle > 0.0;
        is_slow.then(|| Self {
            longer: first / middle - 1.0,
            effect_without: Effect::from_runs(others).map(|effect| effect.smallest),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    /// How the time of a run varies.
    type Law = fn(&mut Pcg64Mcg) -> f64;

    fn normal(random: &mut Pcg64Mcg) -> f64 {
        (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
    }

    fn exponential(random: &mut Pcg64Mcg) -> f64 {
        -(1.0 - random.random::<f64>()).ln()
    }

    fn log_normal(random: &mut Pcg64Mcg) -> f64 {
        normal(random).exp()
    }

    /// Of infinite variance.
    fn pareto(random: &mut Pcg64Mcg) -> f64 {
        (1.0 - random.random::<f64>()).powf(-1.0 / 1.5)
    }

    /// Returns in which part of 20,000 series the first run is called slow; it takes `longer` times what it would.
    fn called_slow(runs: usize, law: Law, longer: f64) -> f64 {
        let random = &mut Pcg64Mcg::seed_from_u64(runs as u64);
        let found = (0..20_000).filter(|_| {
            let mut wall: Vec<f64> = (0..runs).map(|_| 100.0 + law(random)).collect();
            wall[0] *= longer;
            SlowFirst::from_runs(&wall).is_some()
        });
        found.count() as f64 / 20_000.0
    }

    #[test]
    fn equal_runs_are_called_slow_in_less_than_a_hundredth_of_all_series() {
        let laws: [(&str, Law); 4] = [
            ("normal", normal),
            ("exponential", exponential),
            ("log-normal", log_normal),
            ("Pareto", pareto),
        ];
        for (name, law) in laws {
            for runs in [5, 6, 7, 10, 15, 20, 30] {
                let wrong = called_slow(runs, law, 1.0);
                assert!(wrong < 0.01, "{name}, {runs} runs: {wrong}");
            }
        }
    }

    #[test]
    fn a_cold_start_is_found() {
        // Runs that differ by 1 %: (runs, how much longer the first takes, in which part of all series that is found).
        for (runs, longer, least) in
            [(5, 1.6, 0.5), (5, 2.0, 0.9), (10, 1.4, 0.95), (30, 1.15, 0.95)]
        {
            let found = called_slow(runs, normal, longer);
            assert!(found >= least, "{runs} runs, {longer}: {found}");
        }
    }

    #[test]
    fn a_slow_first_run_in_numbers() {
        // (name, wall times, how much longer the first took and whether the others have an effect)
        type Case = (&'static str, &'static [f64], Option<(f64, bool)>);
        let cases: [Case; 9] = [
            ("none", &[], None),
            ("too few", &[9.0, 1.0, 1.0, 1.0], None),
            ("equal", &[2.0; 6], None),
            ("five", &[3.0, 2.0, 2.0, 2.0, 2.0], Some((0.5, false))),
            ("six", &[3.0, 2.0, 2.0, 2.0, 2.0, 2.0], Some((0.5, true))),
            // 0.1 · 50 / 3 = 1.7 longer than the slowest other.
            ("on the limit", &[3.6, 2.0, 2.0, 2.0, 2.0, 2.1], None),
            ("over the limit", &[4.0, 2.0, 2.0, 2.0, 2.0, 2.1], Some((1.0, true))),
            ("not worth a line", &[2.01, 2.0, 2.0, 2.0, 2.0], None),
            ("another was slow", &[3.0, 2.0, 2.0, 2.0, 2.0, 3.0], None),
        ];
        for (name, wall, expected) in cases {
            let found = SlowFirst::from_runs(wall);
            let rounded = |slow: SlowFirst| (slow.longer * 1e9).round() / 1e9;
            let found = found.map(|slow| (rounded(slow), slow.effect_without.is_some()));
            assert_eq!(found, expected, "case: {name}");
        }
    }
}
