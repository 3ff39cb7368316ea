//! When the level of a rate changed: steps of its medians over equal spans of time.

use crate::history::Step;
use schemars::JsonSchema;
use serde::Serialize;

/// Number of spans that a rate's time is split into at most.
pub(super) const MOST_SPANS: usize = 288;
/// Fewest spans on each side of a step.
const FEWEST: usize = 8;
/// Largest number of steps of a rate.
const MOST_STEPS: usize = 8;
/// The probability without a change below which a step is shown. It is strict because successive spans are alike, and
/// because there are many rates.
const SHOWN: f64 = 1e-4;
/// A level changes at least by this factor.
const LEAST_FACTOR: f64 = 1.25;

/// A time at which the level of a rate changed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LevelStep {
    /// Start of the first span after it, RFC 3339 in UTC.
    pub since_utc: String,
    /// Median of the spans between the step before, or the start, and it.
    pub before: f64,
    /// Median of the spans between it and the next step, or the end.
    pub after: f64,
}

/// Finds the steps of these medians, each with its start, in order of time: the clearest one first, then those on both sides of
/// it. A level that is below `least` on both sides is none.
pub(super) fn steps(spans: &[(&str, f64)], least: f64) -> Vec<LevelStep> {
    let mut borders = vec![];
    split(spans, 0, &mut borders);
    borders.sort_unstable();
    let mut edges = vec![0];
    edges.extend(&borders);
    edges.push(spans.len());
    let around = edges.windows(3).map(|at| LevelStep {
        since_utc: spans[at[1]].0.to_owned(),
        before: level(&spans[at[0]..at[1]]),
        after: level(&spans[at[1]..at[2]]),
    });
    around.filter(|step| is_large(step.before, step.after, least)).collect()
}

/// Returns the median of spans.
fn level(spans: &[(&str, f64)]) -> f64 {
    let mut values: Vec<f64> = spans.iter().map(|span| span.1).collect();
    crate::stats::median(&mut values)
}

fn is_large(before: f64, after: f64, least: f64) -> bool {
    let (low, high) = (before.min(after), before.max(after));
    high >= low * LEAST_FACTOR && high - low >= least
}

fn split(spans: &[(&str, f64)], offset: usize, borders: &mut Vec<usize>) {
    let Some(step) = Step::find(spans).filter(|step| step.probability < SHOWN) else { return };
    let at = step.runs_before as usize;
    if at < FEWEST || spans.len() - at < FEWEST || borders.len() >= MOST_STEPS {
        return;
    }
    borders.push(offset + at);
    split(&spans[..at], offset, borders);
    split(&spans[at..], offset + at, borders);
}

#[cfg(test)]
mod tests;
