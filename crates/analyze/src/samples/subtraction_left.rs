//! Computes results from distributions: spread, explained shares, curve.

use crate::samples::figures::Point;
use crate::samples::ns;
use crate::samples::subtraction::{Accounted, FEWEST_SAMPLES, Left};
use crate::samples::subtraction_values::{Replaced, Values, deviation};
use anechoic_recording::Clock;

/// A spread that exceeds that of undisturbed samples by a smaller share was not caused by the kernel, because both are
/// estimates.
const HARDLY_MORE: f64 = 0.2;
/// Smallest spread for a verdict, in steps of the counter.
const FEWEST_STEPS: u64 = 2;
/// Shares at which a curve has a point.
const CURVE: [f64; 37] = [
    0.0, 0.0001, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5,
    0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999,
    0.9995, 0.9999, 0.999_99, 0.999_999, 1.0,
];

/// Spread of samples, in ticks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) iqr_ticks: u64,
    pub(crate) p99_p1_ticks: u64,
    pub(crate) deviation_ticks: f64,
}

const SPREAD: [f64; 4] = [0.01, 0.25, 0.75, 0.99];

impl Spread {
    /// Returns the spread; absent without samples.
    pub(crate) fn from_values(values: &mut Values) -> Option<Self> {
        let quantiles = values.quantiles(&SPREAD)?;
        Some(Self::from(&quantiles, deviation(&values.moments())))
    }

    /// Returns the spread after some samples were replaced.
    pub(crate) fn with(values: &mut Values, by: &mut Replaced) -> Option<Self> {
        let quantiles = values.quantiles_with(by, &SPREAD)?;
        Some(Self::from(&quantiles, values.deviation_with(by)))
    }

    fn from(quantiles: &[u64], deviation_ticks: f64) -> Self {
        let apart = |low: usize, high: usize| quantiles[high].saturating_sub(quantiles[low]);
        Self { iqr_ticks: apart(1, 2), p99_p1_ticks: apart(0, 3), deviation_ticks }
    }
}

/// Returns what remains of raw samples with the spread `raw`; absent without samples.
pub(crate) fn left(values: &mut Values, raw: &Spread, clock: &Clock) -> Option<Left> {
    let spread = Spread::from_values(values)?;
    let moments = values.moments();
    let explained = |left: f64, raw: f64| (raw > 0.0).then(|| 1.0 - left / raw);
    let square = |deviation: f64| deviation * deviation;
    let curve = CURVE.iter().zip(values.quantiles(&CURVE)?);
    Some(Left {
        samples: moments.count(),
        mean_ns: ns_of(moments.mean(), clock),
        standard_deviation_ns: ns_of(spread.deviation_ticks, clock),
        iqr_ns: ns(spread.iqr_ticks, clock),
        p99_p1_ns: ns(spread.p99_p1_ticks, clock),
        min_ns: ns(moments.min(), clock),
        max_ns: ns(moments.max(), clock),
        variance_explained: explained(square(spread.deviation_ticks), square(raw.deviation_ticks)),
        iqr_explained: explained(spread.iqr_ticks as f64, raw.iqr_ticks as f64),
        p99_p1_explained: explained(spread.p99_p1_ticks as f64, raw.p99_p1_ticks as f64),
        curve: curve.map(|(&share, ticks)| Point { value: ns(ticks, clock), share }).collect(),
    })
}

/// Returns how much of one measure of spread is accounted for; all in ticks.
pub(crate) fn accounted(raw: u64, left: u64, undisturbed: Option<u64>, clock: &Clock) -> Accounted {
    let floor = undisturbed.unwrap_or(0) as f64;
    let caused = raw as f64 - floor;
    let judged = caused > HARDLY_MORE * raw as f64 && raw >= FEWEST_STEPS * clock.step_ticks();
    Accounted {
        raw_ns: ns(raw, clock),
        left_ns: ns(left, clock),
        undisturbed_ns: undisturbed.map(|ticks| ns(ticks, clock)),
        share: judged.then(|| ((raw as f64 - left as f64) / caused).min(1.0)),
    }
}

/// Returns the spread of undisturbed samples, if there are enough.
pub(crate) fn undisturbed(values: &mut Values) -> Option<Spread> {
    Spread::from_values(values).filter(|_| values.count() >= FEWEST_SAMPLES)
}

/// Converts fractional ticks to nanoseconds, rounded to a thousandth.
pub(crate) fn ns_of(ticks: f64, clock: &Clock) -> f64 {
    (ticks * clock.seconds(1) * 1e12).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::clock_ns;

    /// 1, 3, 5, …, 39: variance 140, of which raw ones have four times as much.
    #[test]
    fn what_is_explained_is_a_share_of_the_variance() {
        let mut values = Values::default();
        (0..20).for_each(|at| values.add(2 * at + 1));
        let own = Spread::from_values(&mut values).expect("samples");
        assert!((own.deviation_ticks - 140.0_f64.sqrt()).abs() < 1e-9);
        let raw = Spread { deviation_ticks: 560.0_f64.sqrt(), iqr_ticks: 4 * own.iqr_ticks, ..own };
        let left = left(&mut values, &raw, &clock_ns()).expect("samples");
        assert!(left.variance_explained.is_some_and(|share| (share - 0.75).abs() < 1e-9));
        assert_eq!((left.iqr_explained, left.p99_p1_explained), (Some(0.75), Some(0.0)));
    }

    #[test]
    fn spread_is_judged_where_the_kernel_caused_enough_of_it() {
        // Raw, left and undisturbed spread, and the share of what was caused that is accounted for.
        let cases = [
            ("all of it", 100, 20, Some(20), Some(1.0)),
            ("half", 100, 60, Some(20), Some(0.5)),
            ("more than there was", 100, 0, Some(20), Some(1.0)),
            ("more is left than was", 100, 140, Some(20), Some(-0.5)),
            ("undisturbed is not known", 100, 25, None, Some(0.75)),
            ("hardly more than undisturbed", 100, 50, Some(80), None),
            ("a little more than that", 100, 90, Some(79), Some(10.0 / 21.0)),
            ("a step of the counter", 1, 0, None, None),
            ("two steps", 2, 0, None, Some(1.0)),
            ("nothing", 0, 0, None, None),
        ];
        for (name, raw, left, undisturbed, expected) in cases {
            let found = accounted(raw, left, undisturbed, &clock_ns());
            let near = |(found, expected): (f64, f64)| (found - expected).abs() < 1e-12;
            assert!(found.share.zip(expected).is_none_or(near), "case: {name}: {found:?}");
            assert_eq!(found.share.is_some(), expected.is_some(), "case: {name}: {found:?}");
            assert_eq!((found.raw_ns, found.left_ns), (raw as f64, left as f64), "case: {name}");
        }
    }
}
