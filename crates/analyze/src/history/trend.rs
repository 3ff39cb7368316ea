//! Whether the noise of successive runs changed at a time, or changes with time.

use super::seconds;
use crate::stats::{median, probability_above};
use schemars::JsonSchema;
use serde::Serialize;

/// The probability without a change below which one is shown.
const SHOWN: f64 = 0.01;
/// Fewest runs in which a trend is looked for.
const FEWEST: usize = 8;
/// Seconds of a day.
const DAY_S: f64 = 86_400.0;

/// When a run began, and what was measured in it.
pub(crate) type Valued<'a> = (&'a str, f64);

/// A time at which what is measured changed: the noise, or a latency in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Step {
    /// Start of the first run after it, RFC 3339 in UTC.
    pub since_utc: String,
    /// Number of runs before it.
    pub runs_before: u64,
    /// Median before it.
    pub before: f64,
    /// Median after it.
    pub after: f64,
    /// Probability of so clear a step if runs are independent and nothing changed.
    pub probability: f64,
}

/// A change with time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Trend {
    /// What is measured after one day, relative to that before: the median over all pairs of runs (Sen 1968).
    pub per_day: f64,
    /// Probability of so clear a trend if runs are independent and nothing changed.
    pub probability: f64,
}

/// Degrees of freedom with which Student's distribution is the normal one.
const NORMAL_DEGREES: f64 = 1e9;

/// Returns 1 if `a` is larger, -1 if it is smaller, else 0.
fn sign(a: f64, b: f64) -> f64 {
    f64::from(i8::from(a > b) - i8::from(a < b))
}

impl Step {
    /// Finds the step by the ranks of the runs (Pettitt 1979); absent if there is none.
    pub(crate) fn find(runs: &[Valued<'_>]) -> Option<Self> {
        let n = runs.len();
        if n < FEWEST {
            return None;
        }
        // The sum over all pairs across a border; the next border adds those of one more run.
        let signs = |at: usize| runs.iter().map(|run| sign(runs[at].1, run.1)).sum::<f64>();
        let mut sum = 0.0;
        let mut best = (0.0_f64, 0);
        for border in 1..n {
            sum += signs(border - 1);
            if sum.abs() > best.0 {
                best = (sum.abs(), border);
            }
        }
        let (size, border) = best;
        let cubes = (n as f64).powi(3) + (n as f64).powi(2);
        let probability = (2.0 * (-6.0 * size * size / cubes).exp()).min(1.0);
        let middle =
            |runs: &[Valued<'_>]| median(&mut runs.iter().map(|run| run.1).collect::<Vec<_>>());
        (probability < SHOWN).then(|| Self {
            since_utc: runs[border].0.to_owned(),
            runs_before: border as u64,
            before: middle(&runs[..border]),
            after: middle(&runs[border..]),
            probability,
        })
    }
}

impl Trend {
    /// Finds the trend by the order of all pairs of runs (Mann 1945); absent if there is none.
    pub(super) fn find(runs: &[Valued<'_>]) -> Option<Self> {
        let n = runs.len() as f64;
        let logarithm = |value: f64| Some(value.ln()).filter(|found| found.is_finite());
        let point = |run: &Valued<'_>| Some((seconds(run.0)?, logarithm(run.1)?));
        let points: Option<Vec<(f64, f64)>> = runs.iter().map(point).collect();
        let points = points.filter(|points| points.len() >= FEWEST)?;
        let (mut order, mut slopes) = (0.0, vec![]);
        for (at, early) in points.iter().enumerate() {
            for late in &points[at + 1..] {
                order += sign(late.1, early.1);
                if late.0 > early.0 {
                    slopes.push((late.1 - early.1) / (late.0 - early.0));
                }
            }
        }
        let variance = n * (n - 1.0) * (2.0 * n + 5.0) / 18.0;
        let size = (order.abs() - 1.0).max(0.0) / variance.sqrt();
        let probability = (2.0 * probability_above(size, NORMAL_DEGREES)).min(1.0);
        let per_day = (median(&mut slopes) * DAY_S).exp();
        (probability < SHOWN && per_day.is_finite()).then_some(Self { per_day, probability })
    }
}
