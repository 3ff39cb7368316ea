//! How well the model fits, and where it does not.

use super::fit::{median_slope, quantile};
use super::pairs::{Pair, pairs};
use super::table::{Costs, Point};
use anechoic_analyze::bootstrap::Interval;
use anechoic_analyze::samples::student::student_t;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A point that lies off by no more than this share of its time is not called off, however exact it is.
const LEAST_OFF: f64 = 0.01;
/// A point may miss by so many standard errors; where they are not known, standard deviations of all misses.
const DEVIATIONS: f64 = 3.0;
/// Median absolute deviation times this is the standard deviation of a normal distribution.
const MAD_TO_DEVIATION: f64 = 1.4826;

/// A point, and what the model says of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fitted {
    /// What was measured.
    #[serde(flatten)]
    pub point: Point,
    /// What interrupts take of the CPU at this rate: f, from 0.
    pub share: f64,
    /// f/(1 − f): by how much the work should take longer than without interrupts. Absent where f is 1 or more.
    pub predicted: Option<f64>,
    /// (T − B)/B: by how much it did. Absent where B is.
    pub observed: Option<f64>,
    /// T over what is to be expected, − 1; absent where nothing is. That is the median over the rates of T·(1 − f), not
    /// their mean B, over 1 − f: a single wrong time must not make all others look wrong.
    pub miss: Option<f64>,
    /// How large a miss may be: three standard errors, its own or the median of all points' where that is larger
    /// (few blocks may agree by chance); where they are not known, three standard deviations of all misses. At
    /// least 1 %.
    pub allowed: f64,
    /// Whether it lies off by more.
    pub off: bool,
}

/// How well the model fits, over all points.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Goodness {
    /// Share of the variance of T/B that the model explains; absent where there is nothing to test.
    pub r_squared: Option<f64>,
    /// The largest miss by size, with its sign; absent where nothing was predicted.
    pub largest_miss: Option<f64>,
    /// Number of copies of that point.
    pub largest_miss_copies: Option<u32>,
    /// Rate of that point.
    pub largest_miss_hz: Option<f64>,
    /// Points that lie off.
    pub off: u64,
}

/// What one interrupt costs between the lowest rate and this one: the median over the copies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateCost {
    /// The rate; as asked for, where another may have come.
    pub rate_hz: f64,
    /// The cost, in µs.
    pub per_interrupt_us: f64,
}

/// The cost of one interrupt at the lower and at the higher rates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bend {
    /// The rate in the middle, which belongs to both.
    pub at_hz: f64,
    /// Up to there, in µs.
    pub low_us: f64,
    /// Its 95 % interval.
    pub low_interval: Interval,
    /// From there on, in µs.
    pub high_us: f64,
    /// Its 95 % interval.
    pub high_interval: Interval,
    /// Whether the two surely differ: their intervals have nothing in common.
    pub differs: bool,
}

/// A time that falls as the rate rises.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fall {
    /// Copies at once.
    pub copies: u32,
    /// The lower rate.
    pub low_hz: f64,
    /// The next higher one of that number of copies.
    pub high_hz: f64,
    /// The time at the lower rate.
    pub low_ms: f64,
    /// The time at the higher rate.
    pub high_ms: f64,
    /// Whether it is within the 95 % errors of both; absent where they are not known.
    pub within_error: Option<bool>,
}

/// 95 % error of a point's time, in ms; absent of a single block.
fn reach_ms(point: &Point) -> Option<f64> {
    let blocks = point.blocks.checked_sub(1).filter(|&degrees| degrees > 0)?;
    Some(student_t(u64::from(blocks)) * point.standard_error_ms?)
}

/// The points of one number of copies where an interrupt costs so many µs, and B in ms. Whether they lie off is
/// told by [`mark`].
pub(super) fn fitted(points: &[Point], cost_us: f64, tickless_ms: Option<f64>) -> Vec<Fitted> {
    let share = |point: &Point| cost_us * point.rate_hz / 1e6;
    let left = points.iter().map(|point| point.ms * (1.0 - share(point)));
    let mut left: Vec<f64> = left.filter(|&ms| ms > 0.0).collect();
    left.sort_by(f64::total_cmp);
    let middle_ms = quantile(&left, 0.5);
    let of = |point: &Point| {
        let share = share(point);
        let within = share < 1.0;
        let miss = |middle_ms: f64| point.ms * (1.0 - share) / middle_ms - 1.0;
        Fitted {
            point: point.clone(),
            share,
            predicted: within.then(|| share / (1.0 - share)),
            observed: tickless_ms.map(|ms| point.ms / ms - 1.0),
            miss: middle_ms.filter(|_| within).map(miss),
            allowed: LEAST_OFF,
            off: false,
        }
    };
    points.iter().map(of).collect()
}

/// Finds the points that lie off.
pub(super) fn mark(points: &mut [Fitted]) {
    let scatter = deviation(points.iter().filter_map(|fitted| fitted.miss));
    let own = |fitted: &Fitted| Some(fitted.point.standard_error_ms? / fitted.point.ms);
    let mut errors: Vec<f64> = points.iter().filter_map(own).collect();
    errors.sort_by(f64::total_cmp);
    let usual = quantile(&errors, 0.5).unwrap_or(0.0);
    for fitted in points {
        let error = own(fitted).map_or(scatter, |own| own.max(usual));
        fitted.allowed = (DEVIATIONS * error).max(LEAST_OFF);
        fitted.off = fitted.miss.is_none_or(|miss| miss.abs() > fitted.allowed);
    }
}

/// Standard deviation about 0, by the median of the absolute values.
fn deviation(values: impl Iterator<Item = f64>) -> f64 {
    let mut sizes: Vec<f64> = values.map(f64::abs).collect();
    sizes.sort_by(f64::total_cmp);
    MAD_TO_DEVIATION * quantile(&sizes, 0.5).unwrap_or(0.0)
}

/// How well the model fits; `tested` where some number of copies has more than two rates.
pub(super) fn goodness(points: &[Fitted], tested: bool) -> Goodness {
    let known: Vec<(f64, f64)> =
        points.iter().filter_map(|point| Some((point.observed?, point.predicted?))).collect();
    let mean = known.iter().map(|(observed, _)| observed).sum::<f64>() / known.len() as f64;
    let around = |about: &dyn Fn(&(f64, f64)) -> f64| -> f64 {
        known.iter().map(|pair| (pair.0 - about(pair)).powi(2)).sum()
    };
    let (left, all) = (around(&|pair| pair.1), around(&|_| mean));
    let size = |fitted: &&Fitted| fitted.miss.map_or(-1.0, f64::abs);
    let largest = points.iter().max_by(|a, b| size(a).total_cmp(&size(b)));
    let largest = largest.filter(|fitted| fitted.miss.is_some());
    Goodness {
        r_squared: (tested && all > 0.0).then(|| 1.0 - left / all),
        largest_miss: largest.and_then(|fitted| fitted.miss),
        largest_miss_copies: largest.map(|fitted| fitted.point.copies),
        largest_miss_hz: largest.map(|fitted| fitted.point.nominal_hz()),
        off: points.iter().filter(|fitted| fitted.off).count() as u64,
    }
}

/// Where the time falls from one rate to the next. The points of a group are in the order of their rates.
pub(super) fn falls(groups: &[&[Point]]) -> Vec<Fall> {
    let next = groups.iter().flat_map(|points| points.windows(2));
    let fall = |pair: &[Point]| {
        let (low, high) = (&pair[0], &pair[1]);
        let errors = reach_ms(low).zip(reach_ms(high));
        (high.ms < low.ms).then(|| Fall {
            copies: low.copies,
            low_hz: low.nominal_hz(),
            high_hz: high.nominal_hz(),
            low_ms: low.ms,
            high_ms: high.ms,
            within_error: errors.map(|(a, b)| low.ms - high.ms <= a.hypot(b)),
        })
    };
    next.filter_map(fall).collect()
}

/// Each rate of all copies once, rising.
fn rates(groups: &[&[Point]]) -> Vec<f64> {
    let mut rates: Vec<f64> =
        groups.iter().flat_map(|points| points.iter().map(Point::nominal_hz)).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    rates
}

/// The cost of one interrupt at each rate, against the lowest of the same number of copies.
pub(super) fn by_rate(groups: &[&[Point]], costs: &Costs) -> Vec<RateCost> {
    let mut all: Vec<(f64, f64)> = vec![];
    for points in groups {
        let lowest = &points[0];
        let higher = points.iter().filter(|point| point.rate_hz > lowest.rate_hz);
        all.extend(
            higher
                .map(|point| (point.nominal_hz(), Pair::of(lowest, point, costs).per_interrupt_us)),
        );
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let of_rate = |all: &[(f64, f64)]| {
        let costs: Vec<f64> = all.iter().map(|(_, cost)| *cost).collect();
        Some(RateCost { rate_hz: all[0].0, per_interrupt_us: quantile(&costs, 0.5)? })
    };
    all.chunk_by(|a, b| a.0 == b.0).filter_map(of_rate).collect()
}

/// Whether interrupts cost the same at the lower and at the higher rates.
pub(super) fn bend(groups: &[&[Point]], costs: &Costs) -> Option<Bend> {
    let rates = rates(groups);
    let at_hz = *rates.get(rates.len() / 2)?;
    let side = |lower: bool| {
        let parts: Vec<&[Point]> = groups
            .iter()
            .map(|points| {
                // In the order of the rates as they came, which is that of the rates asked for unless others add to them.
                let first = points.iter().position(|point| point.nominal_hz() >= at_hz);
                let last = points.iter().rposition(|point| point.nominal_hz() <= at_hz);
                let (cut, with) = (first.unwrap_or(points.len()), last.map_or(0, |at| at + 1));
                if lower { &points[..with] } else { &points[cut..] }
            })
            .collect();
        let sizes: Vec<usize> = parts.iter().map(|points| points.len()).collect();
        let slopes = pairs(&parts, costs).iter().map(|pair| pair.per_interrupt_us).collect();
        let slope = median_slope(slopes, &sizes)?;
        Some((slope.value, slope.interval?))
    };
    let ((low_us, low_interval), (high_us, high_interval)) = (side(true)?, side(false)?);
    let differs = low_interval.high < high_interval.low || high_interval.high < low_interval.low;
    Some(Bend { at_hz, low_us, low_interval, high_us, high_interval, differs })
}
