//! How much of the variance of times lost time explains.
//!
//! The times W and the lost times L of n runs are fitted by W = a + b·L + e. A delay cannot be longer than the time that was
//! lost, so b is at most 1: without lost time the times would be W − b·L, and the share that it explains is that by which
//! the variance of these is smaller than that of W. For 0 ≤ b ≤ 1 that is the coefficient of determination; below 0 nothing is
//! explained.
//!
//! Longer runs meet more noise. A run that lost 1 % of its time because it was longer for a reason of its own is not explained by
//! that: its slope is 100. If n CPUs lose the share p each, the slope is 1/(n·p), which may be near 1; but then the line passes
//! through the origin, and nothing is shown to be explained.

use super::dependence::{self, Errors};
use crate::stats::{Interval, mean, student_t};
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};
use statrs::function::gamma::ln_gamma;

/// With fewer runs no share is stated.
pub const FEWEST: usize = 8;
/// With fewer iterations of one run no share is stated.
pub const FEWEST_IN_ORDER: usize = 20;
/// An interval that holds 0 decides something if it ends below this.
const LITTLE: f64 = 0.5;
/// Times that differ by less than this, in ns, do not vary: it is about what starting a process and waiting for it takes.
const SAME_NS: f64 = 1_000.0;
/// A slope whose interval lies between these agrees with delays that are as long as the lost time: that two quantities
/// vary by the same amount of time in the same runs is no chance.
const LIKE_ONE: [f64; 2] = [0.5, 2.0];
/// A line whose time without lost time may be below this part of the mean time may pass through the origin.
const LEAST_WITHOUT: f64 = 0.1;
/// Shares of the variance below this are rounding.
const ROUNDING: f64 = 1e-12;

/// What is known of the share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// There are too few times for a share.
    TooFew,
    /// The times do not vary.
    NoVariance,
    /// Lost time explains a part of the variance.
    Explained,
    /// It explains at most the upper end of the interval, which holds 0 and ends below a half.
    Little,
    /// The interval holds 0 and more than a half.
    Undecided,
}

/// How much of the variance of times lost time explains.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Explained {
    /// What is known of the share.
    pub decision: Decision,
    /// The share of the variance, corrected for the number of times; absent if there are too few or they do not vary.
    pub share: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<Interval>,
    /// By how much longer a time is for each unit of lost time; absent like the share, and if lost time does not vary.
    pub slope: Option<f64>,
    /// Its 95 % interval.
    pub slope_interval: Option<Interval>,
    /// The times without lost time; absent unless the share is above 0 and the slope is that of delays.
    pub without: Option<Without>,
}

/// The times that there would be without lost time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Without {
    /// Their mean in ns.
    pub mean_ns: f64,
    /// The 95 % interval of the mean, in ns.
    pub interval_ns: Interval,
    /// Their standard deviation in ns.
    pub deviation_ns: f64,
}

/// Times and lost times in ns, as sums of squared deviations and products.
#[derive(Debug, Clone, Copy)]
struct Line {
    count: usize,
    mean: [f64; 2],
    /// Sum of the squared deviations of the times.
    times: f64,
    /// The same of the lost times.
    lost: f64,
    /// Sum of the products of both deviations.
    both: f64,
    errors: Errors,
}

/// Returns the sum of the products of the deviations of two quantities from their means.
pub(super) fn products(a: &[f64], b: &[f64]) -> f64 {
    let [mean_a, mean_b] = [a, b].map(|values| mean(values).unwrap_or_default());
    a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum()
}

impl Line {
    /// Fits times that do not depend on each other.
    fn new(times: &[f64], lost: &[f64]) -> Self {
        Self {
            count: times.len(),
            mean: [times, lost].map(|values| mean(values).unwrap_or_default()),
            times: products(times, times),
            lost: products(lost, lost),
            both: products(times, lost),
            errors: Errors::independent(times.len() as f64 - 2.0),
        }
    }

    /// Fits successive times, of which each of several groups lies around the common mean.
    fn in_order(times: &[f64], lost: &[f64], groups: usize) -> Self {
        let line = Self::new(times, lost);
        let degrees = line.count as f64 - 1.0 - groups as f64;
        let slope = if line.lost > 0.0 { line.both / line.lost } else { 0.0 };
        let [mean, mean_lost] = line.mean;
        let from_mean: Vec<f64> = lost.iter().map(|lost| lost - mean_lost).collect();
        let left = times.iter().zip(&from_mean).map(|(time, lost)| time - mean - slope * lost);
        let errors = Errors::in_order(&left.collect::<Vec<f64>>(), &from_mean, degrees);
        Self { errors, ..line }
    }

    /// Returns the degrees of freedom that the fit leaves.
    fn degrees(&self) -> f64 {
        self.errors.degrees
    }

    /// Returns the slope and its standard error; absent if the lost times do not vary.
    fn slope(&self) -> Option<[f64; 2]> {
        let slope = (self.lost > ROUNDING * self.times).then(|| self.both / self.lost)?;
        Some([slope, self.errors.slope * (self.variance() / self.lost).sqrt()])
    }

    /// Returns the sum of squares that the fit leaves.
    fn left(&self) -> f64 {
        let left = self.times - self.both * self.both / self.lost;
        if left > ROUNDING * self.times { left } else { 0.0 }
    }

    /// Returns the variance of the times around the line.
    fn variance(&self) -> f64 {
        self.left() / (self.count as f64 - 2.0)
    }

    /// Returns the share of the variance, its interval, and the interval of the slope.
    fn share(&self) -> (f64, Interval, Option<Interval>) {
        let nothing = Interval { low: 0.0, high: 0.0 };
        let Some([slope, error]) = self.slope() else { return (0.0, nothing, None) };
        let reach = student_t(self.degrees().max(1.0) as u64) * error;
        let slopes = Interval { low: slope - reach, high: slope + reach };
        let fitted = 1.0 - self.left() / self.times;
        let count = self.count as f64;
        let adjusted = 1.0 - (1.0 - fitted) * (count - 1.0) / (count - 2.0);
        let share = if slope > 0.0 { adjusted.max(0.0) * limited(slope) } else { 0.0 };
        let [low, high] = [0.025, 0.975].map(|chance| {
            let distance = distance(slope / error, self.degrees(), chance).max(0.0);
            if distance.is_infinite() {
                return 1.0;
            }
            let squared = (distance * self.errors.slope).powi(2);
            squared / (squared + count - 1.0)
        });
        let most = 2.0 * slopes.high.max(0.0) * (self.lost / self.times);
        let high = (high * limited(slopes.low)).min(most.max(share));
        let low = (low * limited(slopes.high)).min(high);
        (share.clamp(low, high), Interval { low, high }, Some(slopes))
    }

    /// Returns the times without lost time; absent if they may be a small part of the times.
    fn without(&self) -> Option<Without> {
        let [slope, _] = self.slope()?;
        let [times, lost] = self.mean;
        let mean_ns = times - slope * lost;
        let Errors { slope: by_slope, mean: by_mean, .. } = self.errors;
        let variance = self.variance();
        let parts = [by_mean.powi(2) / self.count as f64, (by_slope * lost).powi(2) / self.lost];
        let error = (variance * (parts[0] + parts[1])).sqrt();
        let reach = student_t(self.degrees().max(1.0) as u64) * error;
        let interval_ns = Interval { low: mean_ns - reach, high: mean_ns + reach };
        let known = interval_ns.low > LEAST_WITHOUT * times;
        known.then_some(Without { mean_ns, interval_ns, deviation_ns: variance.sqrt() })
    }
}

/// Returns the part of what a fit explains that a slope of at most 1 explains: 1 up to that slope.
fn limited(slope: f64) -> f64 {
    if slope <= 1.0 { 1.0 } else { (2.0 - 1.0 / slope) / slope }
}

/// Returns the bound that the true slope, in true standard errors of it, is below with this probability, given the slope in
/// estimated ones: a quantile of t·√(χ²/ν) − z, which is exact for normal deviations and any lost times.
fn distance(t: f64, degrees: f64, chance: f64) -> f64 {
    /// Ratio of the two parts of the spread from which on the smaller one counts for nothing.
    const ALONE: f64 = 10.0;
    /// Steps of the integral, an even number, and standard deviations that it reaches to.
    const STEPS: usize = 96;
    const REACH: f64 = 8.0;
    let width = 1.0 / (2.0 * degrees).sqrt();
    if !t.is_finite() {
        return t;
    }
    if t.abs() * width > ALONE {
        let chance = if t > 0.0 { chance } else { 1.0 - chance };
        let quantile = ChiSquared::new(degrees).map_or(degrees, |chi| chi.inverse_cdf(chance));
        return t * (quantile / degrees).sqrt();
    }
    let half = degrees / 2.0;
    let scale = std::f64::consts::LN_2 + half * half.ln() - ln_gamma(half);
    let from = (1.0 - REACH * width).max(0.0);
    let step = (1.0 + REACH * width - from) / STEPS as f64;
    let points: Vec<(f64, f64)> = (0..=STEPS)
        .map(|at| {
            let s = from + at as f64 * step;
            let weight = if at == 0 || at == STEPS { 1.0 } else { 2.0 + 2.0 * (at % 2) as f64 };
            let density = (scale + (degrees - 1.0) * s.ln() - half * s * s).exp();
            (t * s, density * weight * step / 3.0)
        })
        .collect();
    let normal = Normal::standard();
    let (mut low, mut high) =
        (t - REACH * (1.0 + t.abs() * width), t + REACH * (1.0 + t.abs() * width));
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        let below: f64 = points.iter().map(|(at, weight)| weight * normal.cdf(middle - at)).sum();
        if below < chance { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Returns whether this slope may be that of delays. Up to 2, lost time may cost more than itself, for example by cold caches; a
/// larger slope is that of longer runs that meet more noise.
fn is_delay(slopes: Interval) -> bool {
    slopes.low <= 1.0 || slopes.high < LIKE_ONE[1]
}

/// Returns whether times and lost times in a random order agree as well in more than 2.5 % of all orders: a permutation test
/// (Fisher 1935), which holds for any distribution of both.
fn may_be_chance(times: &[f64], lost: &[f64]) -> bool {
    /// Number of random orders.
    const ORDERS: usize = 1_000;
    let found = products(times, lost);
    let enough = found - ROUNDING * found.abs();
    let mut random = Pcg64Mcg::seed_from_u64(36);
    let mut shuffled = lost.to_vec();
    let as_well = (0..ORDERS).filter(|_| {
        shuffled.shuffle(&mut random);
        products(times, &shuffled) >= enough
    });
    as_well.count() * 40 > ORDERS
}

/// Returns how much of the variance of `times` a source of lost time explains; all together that is what `found` states. Less
/// than 0 is a source that took less in longer runs. Absent if there is no share.
pub(super) fn part(found: &Explained, times: &[f64], lost: &[f64], source: &[f64]) -> Option<f64> {
    let share = found.share.filter(|_| found.decision == Decision::Explained)?;
    let slope = found.slope.unwrap_or(0.0).min(1.0);
    let with =
        |source: &[f64]| slope * (2.0 * products(times, source) - slope * products(lost, source));
    let all = with(lost);
    (all > 0.0).then(|| share * with(source) / all)
}

/// Returns what is known where there is no share.
fn without_share(decision: Decision) -> Explained {
    Explained {
        decision,
        share: None,
        interval: None,
        slope: None,
        slope_interval: None,
        without: None,
    }
}

/// Returns how much of the variance of `times` the lost time of each explains, both in ns.
pub(super) fn explained(times: &[f64], lost: &[f64]) -> Explained {
    judge(times, lost, FEWEST, Line::new, may_be_chance)
}

/// Returns the same of successive times, which may depend on those before. Each of `groups` groups, one after the other, lies
/// around the common mean.
pub(crate) fn explained_in_order(times: &[f64], lost: &[f64], groups: usize) -> Explained {
    let fit = |times: &[f64], lost: &[f64]| Line::in_order(times, lost, groups);
    judge(times, lost, FEWEST_IN_ORDER, fit, dependence::may_be_chance)
}

/// Judges times by a fit, and by whether their agreement with lost times may be chance.
fn judge(
    times: &[f64],
    lost: &[f64],
    fewest: usize,
    fit: impl Fn(&[f64], &[f64]) -> Line,
    may_be_chance: impl Fn(&[f64], &[f64]) -> bool,
) -> Explained {
    let ends = times.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], &time| {
        [time.min(low), time.max(high)]
    });
    if times.len() > 1 && ends[1] - ends[0] < SAME_NS {
        return without_share(Decision::NoVariance);
    }
    if times.len() < fewest {
        return without_share(Decision::TooFew);
    }
    let line = fit(times, lost);
    let (share, mut interval, slopes) = line.share();
    let without = line.without();
    let agrees = |slopes: Interval| slopes.low > LIKE_ONE[0] && slopes.high < LIKE_ONE[1];
    // A line that may pass through the origin, or a slope that is no delay's: time may be lost in proportion to how long a run
    // takes.
    let is_delay = slopes.is_some_and(is_delay);
    let may_be_proportional = without.is_none() || !is_delay;
    let is_doubtful =
        may_be_proportional || (!slopes.is_some_and(agrees) && may_be_chance(times, lost));
    if is_doubtful {
        interval.low = 0.0;
    }
    let decision = match interval {
        Interval { low, .. } if low > 0.0 => Decision::Explained,
        Interval { high, .. } if high < LITTLE => Decision::Little,
        _ => Decision::Undecided,
    };
    let holds = decision == Decision::Explained && is_delay;
    Explained {
        decision,
        share: Some(share),
        interval: Some(interval),
        slope: line.slope().map(|[slope, _]| slope),
        slope_interval: slopes,
        without: without.filter(|_| holds),
    }
}

#[cfg(test)]
mod tests;
