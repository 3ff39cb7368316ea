//! Robust slopes.

use anechoic_analyze::stats::{Interval, NORMAL, quantile};

/// A median slope.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Slope {
    pub(super) value: f64,
    /// Its 95 % interval; absent for too few points.
    pub(super) interval: Option<Interval>,
}

/// Returns the median of the slopes between all pairs of points of the same group (Theil 1950, Sen 1968). `sizes` are
/// the numbers of points in each group.
///
/// Up to 29 % of the points of a group may be arbitrarily wrong. The interval is Sen's, from the variance of Kendall's
/// statistic summed over the groups. It assumes independent errors and enough points for the normal approximation;
/// there is no interval otherwise, for example with fewer than six points in a single group.
///
/// Absent if there is no slope.
pub(super) fn median_slope(mut slopes: Vec<f64>, sizes: &[usize]) -> Option<Slope> {
    slopes.sort_by(f64::total_cmp);
    let value = quantile(&slopes, 0.5)?;
    let reach = NORMAL * sizes.iter().map(|&size| kendall_variance(size)).sum::<f64>().sqrt();
    let rank = ((slopes.len() as f64 - reach) / 2.0).floor();
    let interval = (rank >= 1.0).then(|| {
        let rank = rank as usize;
        Interval { low: slopes[rank - 1], high: slopes[slopes.len() - rank] }
    });
    Some(Slope { value, interval })
}

/// Returns the variance of Kendall's statistic for this many points without ties.
fn kendall_variance(points: usize) -> f64 {
    let n = points as f64;
    n * (n - 1.0) * (2.0 * n + 5.0) / 18.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    /// Returns the slopes of all pairs, for increasing x.
    fn slopes(points: &[(f64, f64)]) -> Vec<f64> {
        let pairs = points
            .iter()
            .enumerate()
            .flat_map(|(at, a)| points[at + 1..].iter().map(move |b| (b.1 - a.1) / (b.0 - a.0)));
        pairs.collect()
    }

    #[test]
    fn the_example_of_sen() {
        let points = [(1.0, 9.0), (2.0, 15.0), (3.0, 19.0), (4.0, 20.0)];
        let more = [(10.0, 45.0), (12.0, 55.0), (18.0, 78.0)];
        let points = [&points[..], &more].concat();
        let found = median_slope(slopes(&points), &[7]).expect("21 slopes");
        assert!((found.value - 4.0).abs() < 0.01, "{found:?}");
        // The variance of Kendall's statistic of 7 points is 44.3: (21 − 1.96 · 6.66) / 2 = 3.97.
        let mut sorted = slopes(&points);
        sorted.sort_by(f64::total_cmp);
        assert_eq!(found.interval, Some(Interval { low: sorted[2], high: sorted[18] }));
    }

    #[test]
    fn wrong_points_do_not_move_it_and_few_have_no_interval() {
        let mut points: Vec<(f64, f64)> =
            (0..20).map(|i| (f64::from(i), 3.0 * f64::from(i))).collect();
        for at in [2, 9, 15, 19] {
            points[at].1 = if at % 2 == 0 { -1e6 } else { 1e6 };
        }
        let found = median_slope(slopes(&points), &[20]).expect("many slopes");
        assert!((found.value - 3.0).abs() < 1e-9, "{found:?}");
        let cases = [(2, false), (3, false), (4, false), (5, false), (6, true), (9, true)];
        for (number, expected) in cases {
            let line: Vec<(f64, f64)> =
                (0..number).map(|i| (f64::from(i), f64::from(i * i))).collect();
            let found = median_slope(slopes(&line), &[line.len()]).expect("some");
            assert_eq!(found.interval.is_some(), expected, "{number} points");
        }
        assert_eq!(median_slope(vec![], &[]), None);
    }

    #[test]
    fn the_interval_covers_the_true_slope() {
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let mut noise = || (0..12).map(|_| random.random_range(-0.5..0.5)).sum::<f64>();
        let runs = 1_000;
        let covered = (0..runs).filter(|_| {
            // Three groups of six, each with its own height.
            let mut all = vec![];
            for group in 0..3 {
                let xs = [0.0, 1.0, 2.5, 5.0, 10.0, 20.0];
                let points = xs.map(|x| (x, f64::from(group) * 50.0 + 2.0 * x + noise()));
                all.extend(slopes(&points));
            }
            let found = median_slope(all, &[6, 6, 6]).expect("45 slopes");
            let interval = found.interval.expect("enough");
            interval.low <= 2.0 && 2.0 <= interval.high
        });
        let share = covered.count() as f64 / f64::from(runs);
        assert!((0.93..=0.985).contains(&share), "covers {share} of the time");
    }
}
