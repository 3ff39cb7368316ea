//! The difference between the values of two sets of runs, with its error.

use super::sessions::Sessions;
use super::{Change, Order, Values};
use crate::stats::{
    self, Interval, detectable, deviation, mean, probability_above, standard_error, student_t,
    successive, unbiased, welch_degrees,
};

/// Fewest runs of a side whose correlation is estimated.
pub(super) const CORRELATED_RUNS: usize = 3;
/// Fewest pairs of a duet that tell the sides from their CPUs.
pub const FEWEST_PAIRS: u64 = 3;
/// Level of the verdicts.
pub(super) const LEVEL: f64 = 0.05;

/// How the runs of both sides follow each other in time.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Design {
    /// Neighbours in time: the numbers of a run before and of a run after.
    Paired(Vec<[usize; 2]>),
    Mixed,
    Apart,
    /// The sides were measured at different times.
    Sessions(Sessions),
    /// Both sides at the same time: whether they had swapped their CPUs, pair by pair.
    Duet(Vec<bool>),
    /// What was kept of a run is no sample of it.
    Kept,
}

/// Returns the numbers of two runs, each with its start and its side, before and after; absent if they are of one side.
fn pair_of_sides(runs: &[(&str, usize, usize)]) -> Option<[usize; 2]> {
    match runs {
        [(_, 0, before), (_, 1, after)] | [(_, 1, after), (_, 0, before)] => {
            Some([*before, *after])
        }
        _ => None,
    }
}

impl Design {
    /// Finds the order of the runs, which are in order of time on each side.
    pub(super) fn from_sides(sides: &[Vec<Values>; 2]) -> Self {
        if sides.iter().flatten().any(|run| run.kept) {
            return Self::Kept;
        }
        let swapped = |side: &[Values]| side.iter().map(|run| run.swapped).collect();
        let swapped: [Option<Vec<bool>>; 2] = sides.each_ref().map(|side| swapped(side));
        if let [Some(before), Some(after)] = swapped
            && before == after
        {
            return Self::Duet(before);
        }
        let starts = |side: usize| {
            sides[side].iter().enumerate().map(move |(at, run)| (run.start_utc.as_str(), side, at))
        };
        let mut all: Vec<(&str, usize, usize)> = starts(0).chain(starts(1)).collect();
        all.sort_unstable();
        let switches = all.windows(2).filter(|pair| pair[0].1 != pair[1].1).count();
        match all.chunks(2).map(pair_of_sides).collect::<Option<Vec<_>>>() {
            Some(pairs) if pairs.len() > 1 => Self::Paired(pairs),
            // Long blocks of one side differ by drift as much as whole sides do.
            _ if switches > 1 && 2 * switches >= all.len() => Self::Mixed,
            _ => Sessions::from_sides(sides).map_or(Self::Apart, Self::Sessions),
        }
    }

    pub(super) fn order(&self) -> Order {
        match self {
            Self::Paired(_) => Order::Paired,
            Self::Mixed => Order::Mixed,
            Self::Apart => Order::Apart,
            Self::Sessions(sessions) if sessions.is_single() => Order::OneSession,
            Self::Sessions(_) => Order::Sessions,
            Self::Duet(_) => Order::Duet,
            Self::Kept => Order::Kept,
        }
    }
}

/// A difference with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Contrast {
    pub(super) difference: f64,
    standard_error: f64,
    degrees: u64,
}

impl Contrast {
    /// Returns the mean after less the mean before; absent with one run on a side, and where one is no sample.
    pub(super) fn new(sides: &[Vec<f64>; 2], design: &Design) -> Option<Self> {
        let [before, after] = sides;
        if let Design::Paired(pairs) = design {
            let differences: Vec<f64> = pairs.iter().map(|[b, a]| after[*a] - before[*b]).collect();
            return Some(Self {
                difference: mean(&differences)?,
                standard_error: standard_error(&differences)?,
                degrees: differences.len() as u64 - 1,
            });
        }
        if *design == Design::Kept {
            return None;
        }
        if let Design::Duet(swapped) = design {
            return Self::duet(sides, swapped);
        }
        if let Design::Sessions(sessions) = design
            && !sessions.is_single()
        {
            return Self::new(&sessions.means(sides), &Design::Apart);
        }
        let errors = [standard_error(before)?, standard_error(after)?];
        let squares = errors.map(|error| error * error);
        let degrees = [before.len() as u64 - 1, after.len() as u64 - 1];
        let apart = matches!(design, Design::Apart | Design::Sessions(_));
        let inflation = if apart { inflation(sides) } else { 1.0 };
        // Correlated runs are as good as fewer independent ones.
        let effective = ((before.len() + after.len()) as f64 / inflation - 2.0).max(1.0) as u64;
        Some(Self {
            difference: mean(after)? - mean(before)?,
            standard_error: ((squares[0] + squares[1]) * inflation).sqrt(),
            degrees: welch_degrees(squares, degrees).min(effective),
        })
    }

    /// Returns the difference of sides that ran at the same time on two sets of CPUs. Each pair differs by the sides, and
    /// by the sets with a sign that the swap turns; least squares separate the two. Absent with fewer than [`FEWEST_PAIRS`],
    /// or if all had the sets alike.
    fn duet([before, after]: &[Vec<f64>; 2], swapped: &[bool]) -> Option<Self> {
        let signs = swapped.iter().map(|swapped| if *swapped { -1.0 } else { 1.0 });
        let differences = after.iter().zip(before).map(|(after, before)| after - before);
        let pairs: Vec<(f64, f64)> = signs.zip(differences).collect();
        let count = pairs.len() as f64;
        let signs: f64 = pairs.iter().map(|(sign, _)| sign).sum();
        let sum: f64 = pairs.iter().map(|(_, difference)| difference).sum();
        let signed: f64 = pairs.iter().map(|(sign, difference)| sign * difference).sum();
        let determinant = count * count - signs * signs;
        if (pairs.len() as u64) < FEWEST_PAIRS || determinant <= 0.0 {
            return None;
        }
        let difference = (count * sum - signs * signed) / determinant;
        let set_difference = (count * signed - signs * sum) / determinant;
        let left =
            |(sign, observed): &(f64, f64)| (observed - difference - sign * set_difference).powi(2);
        let degrees = pairs.len() as u64 - 2;
        let variance = pairs.iter().map(left).sum::<f64>() / degrees as f64;
        let standard_error = (variance * count / determinant).sqrt();
        Some(Self { difference, standard_error, degrees })
    }

    /// Returns the 95 % interval of the difference.
    pub(super) fn interval(&self) -> Interval {
        let reach = student_t(self.degrees) * self.standard_error;
        Interval { low: self.difference - reach, high: self.difference + reach }
    }

    /// Returns the probability of a difference at least as large, up or down, if the true one is 0.
    pub(super) fn probability(&self) -> f64 {
        match self.difference {
            0.0 => 1.0,
            _ => {
                2.0 * probability_above(
                    (self.difference / self.standard_error).abs(),
                    self.degrees as f64,
                )
            }
        }
    }

    /// Returns the smallest difference that would be found with a probability of 80 %.
    pub(super) fn detectable(&self) -> f64 {
        detectable(student_t(self.degrees) * self.standard_error, self.standard_error)
    }

    pub(super) fn verdict(&self, control_moved: bool) -> Change {
        match (self.probability() < LEVEL, control_moved) {
            (false, _) => Change::NotShown,
            (true, true) => Change::Unproven,
            (true, false) if self.difference < 0.0 => Change::Quieter,
            (true, false) => Change::Noisier,
        }
    }
}

/// Returns the factor by which the correlation of successive runs inflates the squared error, from both sides together,
/// corrected for the bias of few runs (Kendall 1954).
fn inflation(sides: &[Vec<f64>; 2]) -> f64 {
    let shortest = sides.iter().map(Vec::len).min().unwrap_or(0);
    if shortest < CORRELATED_RUNS {
        return 1.0;
    }
    let mut sums = [0.0, 0.0];
    for side in sides {
        let [products, squares] = successive(side);
        sums = [sums[0] + products, sums[1] + squares];
    }
    if sums[1] <= 0.0 {
        return 1.0;
    }
    stats::inflation(unbiased(sums[0] / sums[1], shortest as f64))
}

/// Returns the number of runs on each side that find this difference with a probability of 80 %, if values have this
/// variance; absent if a million do not.
pub(super) fn runs_needed(variance: f64, difference: f64) -> Option<u64> {
    let finds = |runs: u64| {
        let error = (2.0 * variance / runs as f64).sqrt();
        detectable(student_t(2 * runs - 2) * error, error) <= difference
    };
    let (mut low, mut high) = (2, 1_000_000);
    if !finds(high) {
        return None;
    }
    while low < high {
        let middle = (low + high) / 2;
        if finds(middle) { high = middle } else { low = middle + 1 }
    }
    Some(low)
}

/// Returns the variance of values around the mean of their side, over both sides; absent with one value on each.
pub(super) fn pooled_variance(sides: &[Vec<f64>; 2]) -> Option<f64> {
    let degrees: usize = sides.iter().map(|side| side.len().saturating_sub(1)).sum();
    let squares = |side: &Vec<f64>| {
        deviation(side).map_or(0.0, |deviation| deviation * deviation * (side.len() - 1) as f64)
    };
    (degrees > 0).then(|| sides.iter().map(squares).sum::<f64>() / degrees as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 1, 2, 3, 4 the products of successive deviations add up to 1.25 and their squares to 5: a correlation of 0.25, which
    /// is 0.6875 without the bias of four values.
    #[test]
    fn successive_runs_that_are_alike_inflate_the_error() {
        let rising = vec![1.0, 2.0, 3.0, 4.0];
        let cases = [
            ("rising", [rising.clone(), rising.clone()], 1.6875 / 0.3125),
            ("one side varies", [vec![7.0; 4], rising.clone()], 1.6875 / 0.3125),
            ("nothing varies", [vec![7.0; 4], vec![9.0; 4]], 1.0),
            ("up and down", [vec![1.0, 2.0, 1.0, 2.0], vec![1.0, 2.0, 1.0, 2.0]], 1.0),
            ("two runs on a side", [vec![1.0, 2.0], rising], 1.0),
        ];
        for (name, sides, expected) in cases {
            let found = inflation(&sides);
            assert!((found - expected).abs() < 1e-9, "case: {name}: {found}");
        }
    }

    fn close(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= 1e-9 * expected.abs().max(1.0)
    }

    /// Returns mean and squared standard error.
    fn mean_and_error(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (mean, squares / (n - 1.0) / n)
    }

    /// The differences of the pairs are 5 - 1, 2 - 4 and 6 - 2.
    #[test]
    fn pairs_are_compared_by_their_differences() {
        let sides = [vec![4.0, 1.0, 2.0], vec![5.0, 2.0, 6.0]];
        let design = Design::Paired(vec![[1, 0], [0, 1], [2, 2]]);
        let found = Contrast::new(&sides, &design).expect("three pairs");
        // Squared deviations from 2: 4 + 16 + 4.
        assert!(close(found.difference, 2.0) && close(found.standard_error, 2.0), "{found:?}");
        assert_eq!(found.degrees, 2);
        let interval = found.interval();
        let reach = 4.302_652_73 * 2.0;
        assert!((interval.low - (2.0 - reach)).abs() < 1e-6, "{interval:?}");
        assert!((interval.high - (2.0 + reach)).abs() < 1e-6, "{interval:?}");
        assert!((found.detectable() - (reach + 0.842 * 2.0)).abs() < 1e-6, "{found:?}");
        // Two degrees of freedom, t of 1: 2 (1/2 - 1/(2 sqrt(3))).
        assert!(close(found.probability(), 1.0 - 1.0 / 3.0_f64.sqrt()), "{}", found.probability());
    }

    #[test]
    fn mixed_sides_are_compared_as_welch_does() {
        let sides = [vec![1.0, 30.0, 2.0, 60.0], vec![10.0, 18.0, 14.0]];
        let found = Contrast::new(&sides, &Design::Mixed).expect("several on each side");
        let ((before, of_before), (after, of_after)) =
            (mean_and_error(&sides[0]), mean_and_error(&sides[1]));
        assert!(close(found.difference, after - before), "{found:?}");
        assert!(close(found.standard_error, (of_before + of_after).sqrt()), "{found:?}");
        let sum = of_before + of_after;
        let degrees = sum * sum / (of_before * of_before / 3.0 + of_after * of_after / 2.0);
        assert_eq!(found.degrees, degrees as u64);
    }

    /// Runs that are alike one after the other are as good as 8 / 5.4 independent ones: one degree of freedom.
    #[test]
    fn correlated_runs_have_a_larger_error_and_fewer_degrees() {
        let sides = [vec![1.0, 2.0, 3.0, 4.0], vec![3.0, 4.0, 5.0, 6.0]];
        let [apart, mixed] = [Design::Apart, Design::Mixed]
            .map(|design| Contrast::new(&sides, &design).expect("several on each side"));
        let squared = (apart.standard_error / mixed.standard_error).powi(2);
        assert!(close(squared, 1.6875 / 0.3125), "{apart:?}, {mixed:?}");
        assert_eq!((apart.degrees, mixed.degrees), (1, 6));
        // 20 runs on each side, 0.25 (1 + 3 / 20) of correlation at most: 40 / inflation - 2, less than of Welch.
        let long: Vec<f64> = (0..20).map(|at| f64::from(at / 2 % 2)).collect();
        let sides = [long.clone(), long];
        let found = Contrast::new(&sides, &Design::Apart).expect("several on each side");
        assert_eq!(found.degrees, (40.0 / inflation(&sides) - 2.0) as u64, "{}", inflation(&sides));
    }

    /// With both orders of the CPUs the difference is the mean of those of each order, whatever the CPUs add.
    #[test]
    fn a_duet_is_the_mean_of_both_orders() {
        let cases: [(&str, &[bool], &[f64]); 3] = [
            ("as many of each", &[false, true, false, true], &[5.0, -1.0, 7.0, 1.5]),
            ("one is swapped", &[false, false, true], &[5.0, 6.0, -1.0]),
            (
                "most are swapped",
                &[true, true, false, true, true, false],
                &[4.0, 1.0, 2.0, 2.5, 0.0, 9.0],
            ),
        ];
        for (name, swapped, differences) in cases {
            let before: Vec<f64> = (0..).map(f64::from).take(swapped.len()).collect();
            let after =
                before.iter().zip(differences).map(|(before, more)| before + more).collect();
            let found = Contrast::duet(&[before, after], swapped).expect("both orders");
            let [plain, turned] = [false, true].map(|order| {
                let of_order =
                    swapped.iter().zip(differences).filter(|(swapped, _)| **swapped == order);
                of_order.map(|(_, difference)| *difference).collect::<Vec<f64>>()
            });
            let squares = |values: &[f64]| {
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
            };
            let means = [&plain, &turned].map(|side| side.iter().sum::<f64>() / side.len() as f64);
            assert!(
                close(found.difference, (means[0] + means[1]) / 2.0),
                "case: {name}: {found:?}"
            );
            let degrees = differences.len() as f64 - 2.0;
            let variance = (squares(&plain) + squares(&turned)) / degrees;
            let error = variance * (1.0 / plain.len() as f64 + 1.0 / turned.len() as f64) / 4.0;
            assert!(close(found.standard_error, error.sqrt()), "case: {name}: {found:?}");
            assert_eq!(found.degrees, degrees as u64, "case: {name}");
        }
        let two = [vec![1.0, 2.0], vec![2.0, 1.0]];
        assert_eq!(Contrast::duet(&two, &[false, true]), None, "too few pairs");
        let sides = [vec![1.0, 2.0, 3.0], vec![2.0, 1.0, 4.0]];
        assert_eq!(Contrast::duet(&sides, &[true; 3]), None, "the CPUs were never swapped");
    }

    #[test]
    fn sides_without_repetition_have_no_contrast() {
        let (one, two) = (vec![1.0], vec![1.0, 2.0]);
        let cases = [
            ("one before", [one.clone(), two.clone()], Design::Apart),
            ("one after", [two.clone(), one.clone()], Design::Mixed),
            ("one pair", [one.clone(), one], Design::Paired(vec![[0, 0]])),
            ("what is kept of runs", [two.clone(), two], Design::Kept),
        ];
        for (name, sides, design) in cases {
            assert_eq!(Contrast::new(&sides, &design), None, "case: {name}");
        }
    }

    #[test]
    fn a_verdict_needs_significance_and_a_host_at_rest() {
        let contrast = |difference: f64| Contrast { difference, standard_error: 1.0, degrees: 10 };
        // The 97.5 % quantile with ten degrees of freedom is 2.2281.
        let cases = [
            (0.0, false, Change::NotShown),
            (2.22, false, Change::NotShown),
            (2.22, true, Change::NotShown),
            (-2.22, false, Change::NotShown),
            (2.23, false, Change::Noisier),
            (-2.23, false, Change::Quieter),
            (2.23, true, Change::Unproven),
            (-2.23, true, Change::Unproven),
        ];
        for (difference, moved, expected) in cases {
            let verdict = contrast(difference).verdict(moved);
            assert_eq!(verdict, expected, "{difference}, moved: {moved}");
        }
        let certain = Contrast { standard_error: 0.0, ..contrast(0.0) };
        assert_eq!(certain.probability(), 1.0, "no difference and no error");
    }

    /// As found by trying one number after the other.
    #[test]
    fn the_fewest_runs_that_find_a_difference() {
        for (variance, difference) in
            [(1.0, 20.0), (1.0, 4.0), (1.0, 3.0), (1.0, 1.0), (0.01, 0.05), (4.0, 0.9)]
        {
            let finds = |runs: &u64| {
                let error = (2.0 * variance / *runs as f64).sqrt();
                (student_t(2 * runs - 2) + 0.842) * error <= difference
            };
            let expected = (2..10_000).find(finds);
            assert_eq!(runs_needed(variance, difference), expected, "{difference} of {variance}");
        }
        // (1.96 + 0.842) sqrt(2 / 1,000,000) is 0.003962.
        assert_eq!(runs_needed(1.0, 0.003_96), None);
        assert!(runs_needed(1.0, 0.003_964).is_some_and(|runs| runs > 995_000));
        assert_eq!(runs_needed(1.0, 0.0), None);
    }

    #[test]
    fn variances_are_pooled_by_their_degrees() {
        let cases = [
            ("2 of one degree, 8 of two", [vec![1.0, 3.0], vec![2.0, 4.0, 6.0]], Some(10.0 / 3.0)),
            ("one side alone", [vec![1.0], vec![2.0, 4.0]], Some(2.0)),
            ("one of each", [vec![1.0], vec![2.0]], None),
            ("nothing", [vec![], vec![]], None),
        ];
        for (name, sides, expected) in cases {
            let found = pooled_variance(&sides);
            let agrees = found.zip(expected).map_or(found == expected, |(a, b)| close(a, b));
            assert!(agrees, "case: {name}: {found:?}");
        }
    }
}
