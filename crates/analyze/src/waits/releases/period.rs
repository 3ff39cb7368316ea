//! The period of times that lie on a grid, of which some may be missing and none need lie exactly on it.

use std::f64::consts::TAU;

/// Fewer distances than these show no period.
const FEWEST: usize = 8;
/// How well distances must agree with whole periods: the mean cosine of their phases, of many distances. 1 is exactly, 0 what random
/// ones do. Times that are off the grid by 10 % of the period (standard deviation) reach 0.67.
const LEAST: f64 = 0.65;
/// A distance is taken over this number of times: sleeps that only have similar lengths do not keep to a grid that long.
const FAR: usize = 16;

/// Returns the period of these times, which increase, in their unit. There is none if they do not lie on a grid, or are too few.
pub(super) fn period(times: &[u64]) -> Option<f64> {
    let mut next: Vec<f64> = distances(times, 1).filter(|distance| *distance > 0.0).collect();
    if next.len() < FEWEST {
        return None;
    }
    let far: Vec<f64> = distances(times, FAR.min(next.len() / 2)).collect();
    let least = LEAST + 0.5 / (next.len() as f64).sqrt();
    let middle = next.len() / 2;
    let guesses =
        [middle, middle / 2].map(|place| *next.select_nth_unstable_by(place, f64::total_cmp).1);
    let refined = guesses.map(|guess| refine(refine(guess, &next), &next));
    refined
        .into_iter()
        .find(|&period| agreement(&next, period) >= least && agreement(&far, period) >= least)
}

fn distances(times: &[u64], lag: usize) -> impl Iterator<Item = f64> {
    times.iter().zip(times.iter().skip(lag)).map(|(from, to)| to.saturating_sub(*from) as f64)
}

/// Returns the period that agrees best with the distances that are near a whole number of these.
fn refine(period: f64, distances: &[f64]) -> f64 {
    let (mut off, mut number) = (0.0, 0.0);
    for distance in distances {
        let periods = (distance / period).round();
        let by = distance - periods * period;
        if periods >= 1.0 && by.abs() < period / 4.0 {
            (off, number) = (off + by, number + periods);
        }
    }
    if number > 0.0 { period + off / number } else { period }
}

fn agreement(distances: &[f64], period: f64) -> f64 {
    let sum: f64 = distances.iter().map(|distance| (TAU * distance / period).cos()).sum();
    sum / distances.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    /// The truth is the period with which the times are made. A time is off the grid by up to `jitter` of it, and missing with
    /// a chance of `missed`.
    fn made(
        random: &mut Pcg64Mcg,
        period: f64,
        number: usize,
        jitter: f64,
        missed: f64,
    ) -> Vec<u64> {
        let mut times: Vec<u64> = Vec::new();
        let mut turn = 0.0;
        while times.len() < number {
            turn += 1.0;
            let off = random.random_range(-jitter..=jitter);
            if random.random::<f64>() >= missed {
                times.push((1e9 + (turn + off) * period) as u64);
            }
        }
        times
    }

    #[test]
    fn periods_are_found_with_jitter_and_missed_times() {
        let mut random = Pcg64Mcg::seed_from_u64(37);
        let (mut found, mut all) = (0, 0);
        for _ in 0..100 {
            let period = random.random_range(2e4..1e8);
            let number = random.random_range(16..512);
            for (jitter, missed) in [(0.0, 0.0), (0.001, 0.3), (0.05, 0.1), (0.1, 0.2)] {
                let times = made(&mut random, period, number, jitter, missed);
                let one = super::period(&times);
                all += 1;
                found += u32::from(one.is_some_and(|one| (one / period - 1.0).abs() < 0.02));
            }
        }
        assert!(100 * found >= 99 * all, "{found} of {all}");
    }

    #[test]
    fn random_sleeps_have_no_period() {
        let mut random = Pcg64Mcg::seed_from_u64(38);
        type Sleep = fn(&mut Pcg64Mcg) -> f64;
        let sleeps: [(&str, Sleep); 5] = [
            ("exponential", |random| -random.random::<f64>().max(1e-9).ln() * 1e6),
            ("uniform from 0", |random| random.random_range(0.0..2e6)),
            ("uniform by half", |random| random.random_range(0.5e6..1.5e6)),
            ("uniform by a quarter", |random| random.random_range(0.75e6..1.25e6)),
            ("whole numbers of ms", |random| {
                f64::from(random.random_range(1..20)) * 1e6 + random.random_range(0.0..4e5)
            }),
        ];
        for (name, sleep) in sleeps {
            let series = (0..100).filter(|turn| {
                let mut now = 1e9;
                let number = if turn % 2 == 0 { 500 } else { 12 };
                let times: Vec<u64> = (0..number)
                    .map(|_| {
                        now += sleep(&mut random);
                        now as u64
                    })
                    .collect();
                period(&times).is_some()
            });
            let found = series.count();
            assert!(found <= 1, "{name}: {found} of 100");
        }
    }

    #[test]
    fn a_few_times_have_no_period() {
        for number in 0..=5 {
            let times: Vec<u64> = (0..number).map(|turn| 1_000_000 * turn).collect();
            assert_eq!(period(&times), None, "{number}");
        }
        assert_eq!(period(&[7; 100]), None, "all at once");
        let exact: Vec<u64> = (0..100).map(|turn| 1_000_000 * turn).collect();
        assert_eq!(period(&exact), Some(1e6));
    }
}
