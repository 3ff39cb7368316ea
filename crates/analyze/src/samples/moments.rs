//! Moments of values in one pass.

/// Number, extremes, mean and central moments of values added in any number of parts.
///
/// Each part is computed with its own mean and then combined with the others (Chan, Golub and LeVeque 1979; third and
/// fourth moment after Pébay 2008), as differences from the first value, so that 1 ms ± 10 ns loses no digits.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Moments {
    count: u64,
    min: u64,
    max: u64,
    /// Origin of the differences: the first value.
    origin: u64,
    /// Mean minus `origin`.
    mean: f64,
    /// Sums of the second to fourth power of value minus mean.
    sums: [f64; 3],
}

impl Moments {
    /// Adds values.
    pub(crate) fn add(&mut self, values: &[u64]) {
        let Some(&first) = values.first() else { return };
        let origin = if self.count == 0 { first } else { self.origin };
        let count = values.len() as f64;
        let (mut min, mut max, mut sum) = (first, first, 0.0);
        for &value in values {
            (min, max) = (min.min(value), max.max(value));
            sum += difference(value, origin);
        }
        let mean = sum / count;
        let mut sums = [0.0; 3];
        for &value in values {
            let d = difference(value, origin) - mean;
            let square = d * d;
            sums[0] += square;
            sums[1] += square * d;
            sums[2] += square * square;
        }
        self.merge(&Self { count: values.len() as u64, min, max, origin, mean, sums });
    }

    /// Adds all values of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        if self.count == 0 || other.count == 0 {
            *self = if self.count == 0 { *other } else { *self };
            return;
        }
        let (a, b) = (self.count as f64, other.count as f64);
        let n = a + b;
        let d = difference(other.origin, self.origin) + other.mean - self.mean;
        let ([a2, a3, a4], [b2, b3, b4]) = (self.sums, other.sums);
        let dn = d / n;
        self.sums = [
            a2 + b2 + d * dn * a * b,
            a3 + b3 + d * dn * dn * a * b * (a - b) + 3.0 * dn * (a * b2 - b * a2),
            a4 + b4
                + d * dn * dn * dn * a * b * (a * a - a * b + b * b)
                + 6.0 * dn * dn * (a * a * b2 + b * b * a2)
                + 4.0 * dn * (a * b3 - b * a3),
        ];
        self.mean += dn * b;
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Returns the variance divided by the mean, Wächtler and Sojka's measure of noise, of values that each contain `taken`
    /// which is not theirs. The variance is at least that of rounding to `step`: less cannot be measured. Absent for fewer
    /// than two values, and if nothing is left of the mean.
    pub(crate) fn variance_to_mean(&self, taken: f64, step: u64) -> Option<f64> {
        let variance = self.variance()?.max((step as f64).powi(2) / 12.0);
        let mean = self.mean() - taken;
        (mean > 0.0).then(|| variance / mean)
    }

    /// Returns the number of values.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the minimum; 0 without values.
    pub(crate) fn min(&self) -> u64 {
        self.min
    }

    /// Returns the maximum; 0 without values.
    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// Returns the mean; 0 without values.
    pub(crate) fn mean(&self) -> f64 {
        self.origin as f64 + self.mean
    }

    /// Returns the variance, divided by n − 1; absent for fewer than two.
    pub(crate) fn variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.sums[0].max(0.0) / (self.count - 1) as f64)
    }

    /// Returns the third central moment divided by the second to the power 1.5; absent if all are equal.
    pub(crate) fn skewness(&self) -> Option<f64> {
        let [m2, m3, _] = self.means();
        (m2 > 0.0).then(|| m3 / m2.powf(1.5))
    }

    /// Returns the fourth central moment divided by the second squared, minus 3; absent if all are equal.
    pub(crate) fn excess_kurtosis(&self) -> Option<f64> {
        let [m2, _, m4] = self.means();
        (m2 > 0.0).then(|| m4 / (m2 * m2) - 3.0)
    }

    fn means(&self) -> [f64; 3] {
        let varied = self.min < self.max;
        self.sums.map(|sum| if varied { sum / self.count as f64 } else { 0.0 })
    }
}

/// Returns `a - b`, exact up to 2^53.
fn difference(a: u64, b: u64) -> f64 {
    if a >= b { (a - b) as f64 } else { -((b - a) as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// (mean, variance, skewness, excess kurtosis)
    fn four_moments(values: impl IntoIterator<Item = u64>) -> [f64; 4] {
        let values: Vec<u64> = values.into_iter().collect();
        let mut moments = Moments::default();
        values.chunks(997).for_each(|values| moments.add(values));
        let or_nan = |value: Option<f64>| {
            assert!(!value.is_some_and(f64::is_nan), "absent, not a number that is none");
            value.unwrap_or(f64::NAN)
        };
        [
            moments.mean(),
            or_nan(moments.variance()),
            or_nan(moments.skewness()),
            or_nan(moments.excess_kurtosis()),
        ]
    }

    fn close(got: [f64; 4], expected: [f64; 4], digits: i32) -> bool {
        let close = |(got, expected): (f64, f64)| {
            (got.is_nan() && expected.is_nan())
                || (got - expected).abs() <= 10_f64.powi(-digits) * expected.abs().max(1.0)
        };
        got.into_iter().zip(expected).all(close)
    }

    /// 4 and 8, of which 2 are not theirs: a variance of 8 over a mean of 4. Steps of 12 make at least 12 of it.
    #[test]
    fn the_variance_is_divided_by_what_is_left_of_the_mean() {
        let mut moments = Moments::default();
        moments.add(&[4, 8]);
        for (taken, step, expected) in
            [(2.0, 1, Some(2.0)), (2.0, 12, Some(3.0)), (6.0, 1, None), (7.0, 1, None)]
        {
            assert_eq!(moments.variance_to_mean(taken, step), expected, "{taken}, {step}");
        }
    }

    #[test]
    fn known_distributions() {
        const NAN: f64 = f64::NAN;
        // Uniform on 1..=n: variance n (n + 1) / 12, excess kurtosis -6 (n² + 1) / (5 (n² - 1)).
        let n = 10_000.0_f64;
        let uniform =
            [n.midpoint(1.0), n * (n + 1.0) / 12.0, 0.0, -1.2 * (n * n + 1.0) / (n * n - 1.0)];
        let raised = |by: u64| [uniform[0] + by as f64, uniform[1], uniform[2], uniform[3]];
        let millisecond = 2_596_000;
        // 0 with 1 - p, 1 with p = 1/100: skewness (1 - 2p) / s, excess kurtosis (1 - 6 p (1 - p)) / s², s² = p (1 -
        // p).
        let s2 = 0.01 * 0.99;
        let rare = |high: f64, low: f64| {
            let height = high - low;
            [
                low + 0.01 * height,
                s2 * height * height * 100_000.0 / 99_999.0,
                0.98 / s2.sqrt(),
                (1.0 - 6.0 * s2) / s2,
            ]
        };
        type Case = (&'static str, Vec<u64>, [f64; 4], i32);
        let cases: [Case; 9] = [
            ("uniform", (1..=10_000).collect(), uniform, 12),
            ("uniform at 2^50", (1..=10_000).map(|v| v + (1 << 50)).collect(), raised(1 << 50), 12),
            ("falling", (1..=10_000).rev().collect(), uniform, 12),
            (
                "one step of the counter up, rarely",
                (0..100_000).map(|i| millisecond + if i % 100 == 7 { 26 } else { 0 }).collect(),
                rare(2_596_026.0, 2_596_000.0),
                11,
            ),
            (
                "tens of milliseconds, rarely",
                (0..100_000).map(|i| if i % 100 == 7 { 26_000_000 } else { millisecond }).collect(),
                rare(26_000_000.0, 2_596_000.0),
                11,
            ),
            ("one", vec![7], [7.0, NAN, NAN, NAN], 15),
            ("all equal", vec![7; 5_000], [7.0, 0.0, NAN, NAN], 15),
            ("zeros", vec![0, 0], [0.0, 0.0, NAN, NAN], 15),
            ("as large as can be", vec![u64::MAX; 3], [u64::MAX as f64, 0.0, NAN, NAN], 15),
        ];
        for (name, values, expected, digits) in cases {
            let got = four_moments(values);
            assert!(close(got, expected, digits), "case: {name}: {got:?}, not {expected:?}");
        }
    }

    #[test]
    fn nothing_overflows() {
        let got = four_moments([0, u64::MAX, 0, u64::MAX]);
        let half = u64::MAX as f64 / 2.0;
        assert!(close(got, [half, half * half * 4.0 / 3.0, 0.0, -2.0], 12), "{got:?}");
        let mut moments = Moments::default();
        moments.add(&[]);
        assert_eq!((moments.count(), moments.mean(), moments.variance()), (0, 0.0, None));
    }

    proptest! {
        #[test]
        fn merging_is_adding(
            values in prop::collection::vec(0u64..1_000_000_000, 2..200),
            cut in 0usize..200,
        ) {
            let (a, b) = values.split_at(cut.min(values.len()));
            let (mut all, mut left, mut right) = <(Moments, Moments, Moments)>::default();
            all.add(&values);
            left.add(a);
            right.add(b);
            left.merge(&right);
            prop_assert_eq!((left.count(), left.min(), left.max()), (all.count(), all.min(), all.max()));
            let shape = |m: &Moments| [
                m.mean(),
                m.variance().unwrap_or(0.0),
                m.skewness().unwrap_or(0.0),
                m.excess_kurtosis().unwrap_or(0.0),
            ];
            prop_assert!(close(shape(&left), shape(&all), 8), "{:?} {:?}", shape(&left), shape(&all));
        }
    }
}
