//! The usual range of a rate, and when the rate leaves it.
//!
//! A rate leaves its range when it is higher than at any time in the last hour, by a factor. What was high once an hour ago is
//! usual and is not reported again: a machine that compiles now and then is not reported for every build. Nothing is assumed
//! of the distribution: of n exchangeable spans the last one is the highest with a probability of 1 in n, and the factors
//! make that rarer.

use anechoic_recording::rates::RateUnit;
use std::collections::VecDeque;

/// The range is that of the last hour, in minutes.
const MINUTES: usize = 60;
/// Seconds of a minute.
const MINUTE_S: u32 = 60;
/// Nothing is unusual before this many minutes are known.
const FEWEST_MINUTES: usize = 10;
/// The factor is larger by this while fewer than [`MINUTES`] are known: fewer spans have a lower maximum.
const YOUNG: f64 = 1.5;

/// How a rate leaves its range: over how many seconds its median is taken, and how many times as high as ever it must be.
const RULES: [Rule; 2] = [Rule { seconds: 5, factor: 2.0 }, Rule { seconds: 1, factor: 5.0 }];

struct Rule {
    seconds: usize,
    factor: f64,
}

/// A rate that has left its range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Left {
    /// The median over [`Left::seconds`].
    pub(super) value: f64,
    /// The highest such median before.
    pub(super) usual_most: f64,
    /// Number of seconds over which the median is taken.
    pub(super) seconds: u32,
    /// Start of the first of them that was above the range.
    pub(super) start_ticks: u64,
}

/// What is usual for a rate.
pub(super) struct UsualRange {
    /// What a rate must have more of than ever, beside the factor: less is nothing to look at.
    least: f64,
    /// The last values with the start of their second.
    last: VecDeque<(f64, u64)>,
    /// For each rule the highest medians of the last minutes; the last minute goes on.
    highest: [VecDeque<f64>; RULES.len()],
    /// Number of seconds of the last minute.
    seconds: u32,
    /// For how many more seconds it does not leave its range again.
    quiet_s: u32,
}

impl UsualRange {
    pub(super) fn new(unit: RateUnit) -> Self {
        Self {
            least: super::least(unit),
            last: VecDeque::new(),
            highest: Default::default(),
            seconds: MINUTE_S,
            quiet_s: 0,
        }
    }

    /// Takes the value of the next second; returns how the rate left its range in it.
    pub(super) fn take(&mut self, value: f64, start_ticks: u64) -> Option<Left> {
        self.last.push_back((value, start_ticks));
        if self.last.len() > RULES[0].seconds {
            self.last.pop_front();
        }
        if self.seconds == MINUTE_S {
            self.seconds = 0;
            for highest in &mut self.highest {
                highest.push_back(f64::NEG_INFINITY);
                if highest.len() > MINUTES {
                    highest.pop_front();
                }
            }
        }
        self.seconds += 1;
        self.quiet_s = self.quiet_s.saturating_sub(1);
        let mut left = None;
        for (rule, highest) in RULES.iter().zip(&mut self.highest) {
            let Some(median) = median_of_last(&self.last, rule.seconds) else { continue };
            let minutes = highest.len();
            let usual_most = highest.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if let Some(last) = highest.back_mut() {
                *last = last.max(median);
            }
            let young = if minutes < MINUTES { YOUNG } else { 1.0 };
            let limit = (usual_most * rule.factor * young).max(usual_most + self.least);
            if minutes > FEWEST_MINUTES && median > limit && self.quiet_s == 0 {
                self.quiet_s = MINUTE_S;
                let first = self.last.len().saturating_sub(rule.seconds);
                let mut last = self.last.range(first..);
                let first = last.find(|(value, _)| *value > usual_most);
                left = Some(Left {
                    value: median,
                    usual_most,
                    seconds: rule.seconds as u32,
                    start_ticks: first.map_or(start_ticks, |(_, start_ticks)| *start_ticks),
                });
            }
        }
        left
    }
}

/// Returns the median of the last values; `None` if there are fewer.
fn median_of_last(last: &VecDeque<(f64, u64)>, seconds: usize) -> Option<f64> {
    if last.len() < seconds {
        return None;
    }
    let mut values: Vec<f64> = last.iter().rev().take(seconds).map(|(value, _)| *value).collect();
    values.sort_by(f64::total_cmp);
    Some(values[seconds / 2])
}

#[cfg(test)]
pub(super) mod tests;
