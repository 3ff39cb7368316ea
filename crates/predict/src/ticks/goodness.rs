//! How well the model fits, and where it does not.

use super::blocks::{Both, Group, both};
use super::chance::{self, deviation};
use super::fit::median_slope;
use super::pairs::{Pair, pairs};
use super::table::{Costs, Point};
use anechoic_analyze::stats::Interval;
use anechoic_analyze::stats::{NORMAL, mean, quantile, standard_error};
use schemars::JsonSchema;
use serde::Serialize;

/// A point that misses by no more than this share of its time is never called off.
const LEAST_OFF: f64 = 0.01;
/// Allowed miss of a point in standard errors that were given.
const DEVIATIONS: f64 = 3.0;
/// Allowed miss in standard errors estimated from blocks: with 24 points that fit, one of them exceeds it in 1 % of all
/// recordings.
const BLOCK_DEVIATIONS: f64 = 3.5;

/// Part of the predicted slowdown by which a time must not miss.
const BLIND: f64 = 0.25;

/// A point with its prediction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Fitted {
    /// The measured point.
    #[serde(flatten)]
    pub point: Point,
    /// Share f of the CPU that interrupts take at this rate. Absent if nothing is predicted.
    pub share: Option<f64>,
    /// Predicted slowdown f/(1 − f) relative to no interrupts. Absent if f ≥ 1, or if the cost is not significantly
    /// above 0.
    pub predicted: Option<f64>,
    /// Observed slowdown (T − B)/B, the mean over the blocks if these are known. Absent if B is.
    pub observed: Option<f64>,
    /// T divided by its expected value, minus 1; the mean over the blocks if these are known, absent without a
    /// prediction. The expected value is the median over the rates of T·(1 − f), divided by 1 − f. It uses the median
    /// instead of the mean B so that a single wrong time does not affect all other points.
    pub miss: Option<f64>,
    /// Standard error of the miss as a share, from the blocks and without the drift between them. Absent if errors are
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_error: Option<f64>,
    /// Largest allowed miss: three standard errors (with blocks 3.5), of this point or the median of all points,
    /// whichever is larger, because a few blocks may agree by chance. If standard errors are unknown, the miss that
    /// scatter as large as that of this table exceeds anywhere in 1 % of tables of this shape. At least 1 %.
    pub allowed: f64,
    /// Whether the miss exceeds what is allowed.
    pub off: bool,
}

/// How well the model fits, over all points.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Goodness {
    /// Share of the variance of T/B that the model explains; absent if there is nothing to test.
    pub r_squared: Option<f64>,
    /// Largest miss by absolute value, with its sign; absent without predictions.
    pub largest_miss: Option<f64>,
    /// Number of copies of the point with the largest miss.
    pub largest_miss_copies: Option<u32>,
    /// Rate of the point with the largest miss.
    pub largest_miss_hz: Option<f64>,
    /// Number of points that are off.
    pub off: u64,
}

/// Cost of one interrupt between the lowest rate and this one, the median over the copies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RateCost {
    /// The rate; the requested one if it differs from the delivered one.
    pub rate_hz: f64,
    /// The cost in µs.
    pub per_interrupt_us: f64,
}

/// The cost of one interrupt at the lower and at the higher rates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Bend {
    /// The rate in the middle, which belongs to both halves.
    pub at_hz: f64,
    /// Cost up to this rate, in µs.
    pub low_us: f64,
    /// Its 95 % interval.
    pub low_interval: Interval,
    /// Cost above this rate, in µs.
    pub high_us: f64,
    /// Its 95 % interval.
    pub high_interval: Interval,
    /// Whether the costs differ significantly: their intervals do not overlap.
    pub differs: bool,
}

/// A time that falls although the rate rises.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Fall {
    /// Number of copies that ran at once.
    pub copies: u32,
    /// The lower rate.
    pub low_hz: f64,
    /// The next higher rate at this number of copies.
    pub high_hz: f64,
    /// Time at the lower rate.
    pub low_ms: f64,
    /// Time at the higher rate.
    pub high_ms: f64,
    /// Whether the fall is within 3.5 standard errors of the difference: its own or the median of all steps, whichever
    /// is larger, because a few blocks may agree by chance. Absent if standard errors are unknown.
    pub within_error: Option<bool>,
}

/// Returns the points of one number of copies with predictions for this cost in µs. Each is compared with the others of
/// its block, and the mean over the blocks is reported. [`mark`] decides which are off.
pub(super) fn fitted(group: &Group, cost_us: f64) -> Vec<Fitted> {
    let share = |point: &Point| cost_us * point.rate_hz / 1e6;
    let mut deviations = vec![BlockDeviations::default(); group.points.len()];
    for part in &group.parts {
        let left = |point: &Point| point.ms * (1.0 - share(point));
        let tickless_ms = tickless_ms(&part.points, cost_us);
        let mut all: Vec<f64> = part.points.iter().map(left).filter(|&ms| ms > 0.0).collect();
        all.sort_by(f64::total_cmp);
        // A point alone would agree with itself.
        let alone = group.parts.len() > 1 && !part.compares();
        let middle_ms = quantile(&all, 0.5).filter(|_| !alone);
        for (&place, point) in part.places.iter().zip(&part.points) {
            let within = share(point) < 1.0;
            deviations[place].observed.extend(tickless_ms.map(|ms| point.ms / ms - 1.0));
            let misses = middle_ms.filter(|_| within).map(|ms| left(point) / ms - 1.0);
            deviations[place].misses.extend(misses);
        }
    }
    let fitted = group.points.iter().zip(&deviations).map(|(point, deviations)| {
        let share = share(point);
        let within = share < 1.0;
        let blocks = (group.parts.len() > 1).then(|| standard_error(&deviations.misses)).flatten();
        Fitted {
            share: Some(share),
            predicted: within.then(|| share / (1.0 - share)),
            observed: mean(&deviations.observed),
            miss: mean(&deviations.misses).filter(|_| within),
            standard_error: blocks.or_else(|| point.standard_error_ms.map(|ms| ms / point.ms)),
            allowed: LEAST_OFF,
            off: false,
            point: point.clone(),
        }
    });
    fitted.collect()
}

/// Removes the predictions, because the cost is not above 0; measured values stay.
pub(super) fn predict_nothing(points: &mut [Fitted]) {
    for fitted in points {
        (fitted.share, fitted.predicted, fitted.observed, fitted.miss) = (None, None, None, None);
        fitted.off = false;
    }
}

/// The deviations of a point in its blocks.
#[derive(Debug, Clone, Default)]
struct BlockDeviations {
    observed: Vec<f64>,
    misses: Vec<f64>,
}

/// Returns B, the mean over the rates of T·(1 − f), in ms; absent if f ≥ 1 at all rates.
pub(super) fn tickless_ms(points: &[Point], cost_us: f64) -> Option<f64> {
    let left = |point: &Point| 1.0 - cost_us * point.rate_hz / 1e6;
    let within = points.iter().filter(|point| left(point) > 0.0);
    mean(&within.map(|point| point.ms * left(point)).collect::<Vec<_>>())
}

/// Marks the points that are off.
pub(super) fn mark(points: &mut [Fitted]) {
    let scatter = deviation(points.iter().filter_map(|fitted| fitted.miss));
    let usual = usual_miss(points);
    let unknown = points.iter().any(|fitted| fitted.standard_error.is_none());
    let alike = points.chunk_by(|a, b| a.point.copies == b.point.copies);
    let sizes: Vec<usize> = alike.map(<[Fitted]>::len).collect();
    let by_chance = if unknown { chance::largest(&sizes, scatter) } else { 0.0 };
    for fitted in points {
        let deviations =
            if fitted.point.by_block.is_empty() { DEVIATIONS } else { BLOCK_DEVIATIONS };
        let allowed = fitted.standard_error.map_or(by_chance, |own| deviations * own.max(usual));
        fitted.allowed = allowed.max(LEAST_OFF);
        fitted.off = fitted.miss.is_none_or(|miss| miss.abs() > fitted.allowed);
    }
}

/// Returns the median error of all misses.
fn usual_miss(points: &[Fitted]) -> f64 {
    let blocks = points.iter().map(|fitted| fitted.point.by_block.len()).collect();
    let errors = points.iter().filter_map(|fitted| fitted.standard_error).collect();
    usual_error(errors, blocks)
}

/// Returns the median error, because a few blocks may agree by chance. With blocks it is divided by the median that
/// such an estimate has relative to the true error: that of the root of χ² over its degrees of freedom (Wilson and
/// Hilferty 1931).
fn usual_error(mut errors: Vec<f64>, blocks: Vec<usize>) -> f64 {
    errors.sort_by(f64::total_cmp);
    let usual = quantile(&errors, 0.5).unwrap_or(0.0);
    let degrees = blocks.iter().filter(|&&blocks| blocks > 1);
    let mut degrees: Vec<f64> = degrees.map(|&blocks| blocks as f64 - 1.0).collect();
    degrees.sort_by(f64::total_cmp);
    let short = |degrees: f64| (1.0 - 2.0 / (9.0 * degrees)).powf(1.5);
    usual / quantile(&degrees, 0.5).map_or(1.0, short)
}

/// Returns whether the times scatter so much that a deviation from the model does not show that matters: at the rate where
/// interrupts add most, the miss may be a quarter of what they add, by its size and two of its standard errors. A cost that is half as large there misses by so much,
/// because the fit follows it half of the way.
pub(super) fn is_blind(points: &[Fitted]) -> bool {
    let added = |point: &&Fitted| point.predicted.unwrap_or(0.0);
    let most = points.iter().max_by(|a, b| added(a).total_cmp(&added(b)));
    let scatter = deviation(points.iter().filter_map(|point| point.miss));
    let usual = usual_miss(points);
    let may_miss = |point: &Fitted| {
        let error = point.standard_error.map_or(scatter, |own| own.max(usual));
        point.miss.unwrap_or(0.0).abs() + NORMAL * error
    };
    most.is_some_and(|point| may_miss(point) > BLIND * added(&point))
}

/// Returns how well the model fits; `tested` is whether any number of copies has more than two rates.
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

/// Returns where the time falls from one rate to the next, within blocks that have both. The points of a group are
/// sorted by rate.
pub(super) fn falls(groups: &[Group]) -> Vec<Fall> {
    let next = groups.iter().flat_map(|group| group.points.windows(2));
    let steps: Vec<(&[Point], Both)> =
        next.filter_map(|pair| Some((pair, both(&pair[0], &pair[1])?))).collect();
    // As shares of the time, which differs between numbers of copies.
    let error = |both: &Both| Some(both.error_ms? / both.low.1);
    let errors = steps.iter().filter_map(|(_, both)| error(both)).collect();
    let usual = usual_error(errors, steps.iter().map(|(_, both)| both.blocks).collect());
    let falls = steps.iter().filter_map(|(pair, both)| {
        let (low_ms, high_ms) = (both.low.1, both.high.1);
        let allowed = error(both).map(|own| BLOCK_DEVIATIONS * own.max(usual));
        (high_ms < low_ms).then(|| Fall {
            copies: pair[0].copies,
            low_hz: pair[0].nominal_hz(),
            high_hz: pair[1].nominal_hz(),
            low_ms,
            high_ms,
            within_error: allowed.map(|allowed| 1.0 - high_ms / low_ms <= allowed),
        })
    });
    falls.collect()
}

/// Returns all rates of all copies in rising order, without repetitions.
pub(super) fn rates(groups: &[Group]) -> Vec<f64> {
    let mut rates: Vec<f64> =
        groups.iter().flat_map(|group| group.points.iter().map(Point::nominal_hz)).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    rates
}

/// Returns the cost of one interrupt at each rate relative to the lowest rate of the same number of copies and block.
pub(super) fn by_rate(groups: &[Group], costs: &Costs) -> Vec<RateCost> {
    let mut all: Vec<(f64, f64)> = vec![];
    for points in groups.iter().flat_map(Group::slices) {
        let Some((lowest, higher)) = points.split_first() else { continue };
        let cost = |point: &Point| {
            Some((point.nominal_hz(), Pair::between(lowest, point, costs)?.per_interrupt_us))
        };
        all.extend(higher.iter().filter_map(cost));
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    all.chunk_by(|a, b| a.0 == b.0).filter_map(median_cost).collect()
}

/// Returns the median of some costs at one rate.
fn median_cost(all: &[(f64, f64)]) -> Option<RateCost> {
    let costs: Vec<f64> = all.iter().map(|(_, cost)| *cost).collect();
    Some(RateCost { rate_hz: all[0].0, per_interrupt_us: quantile(&costs, 0.5)? })
}

/// Compares the cost of interrupts at lower and higher rates.
pub(super) fn bend(groups: &[Group], costs: &Costs) -> Option<Bend> {
    let rates = rates(groups);
    let at_hz = *rates.get(rates.len() / 2)?;
    let slices = || groups.iter().flat_map(Group::slices);
    // In the order of the rates as they came, which is that of the rates asked for unless others add to them.
    let lower = slices().map(|points| {
        let last = points.iter().rposition(|point| point.nominal_hz() <= at_hz);
        &points[..last.map_or(0, |at| at + 1)]
    });
    let higher = slices().map(|points| {
        let first = points.iter().position(|point| point.nominal_hz() >= at_hz);
        &points[first.unwrap_or(points.len())..]
    });
    let (low_us, low_interval) = cost_us(lower.collect(), costs)?;
    let (high_us, high_interval) = cost_us(higher.collect(), costs)?;
    let differs = low_interval.high < high_interval.low || high_interval.high < low_interval.low;
    Some(Bend { at_hz, low_us, low_interval, high_us, high_interval, differs })
}

/// Returns the cost of one interrupt from the pairs of rates in each of `parts`, with its interval.
fn cost_us(parts: Vec<&[Point]>, costs: &Costs) -> Option<(f64, Interval)> {
    let sizes: Vec<usize> = parts.iter().map(|points| points.len()).collect();
    let slopes = pairs(parts.into_iter(), costs).iter().map(|pair| pair.per_interrupt_us).collect();
    let slope = median_slope(slopes, &sizes)?;
    Some((slope.value, slope.interval?))
}
