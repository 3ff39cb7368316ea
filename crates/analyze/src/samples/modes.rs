//! Two speeds of a body, and whether a tick changes how often it runs at the slower one.
//!
//! The code of a loop may run at one of two speeds from sample to sample, by where it happens to stand in the processor's
//! front end. Tsafrir 2007 found such *fasties* and *slowies*, and an interaction with interrupts.

use crate::samples::neighbours::Compared;
use crate::samples::ns;
use crate::stats::{Batches, Interval, probability_above};
use anechoic_recording::Clock;
use schemars::JsonSchema;
use serde::Serialize;

/// Largest number of samples with a tick that are kept; of more, equally spaced ones.
const MOST: usize = 4_096;
/// Smallest number of samples with a tick, and of undisturbed ones, for a result.
const FEWEST: usize = 20;
const FEWEST_UNDISTURBED: usize = 100;
/// Undisturbed samples beyond these shares are not part of either speed.
const TRIMMED: f64 = 0.01;
/// Smallest share of undisturbed samples at the rarer speed.
const RARER: f64 = 0.05;
/// Between two speeds, in the middle third of their distance, lies at most this part of the rarer one's share. Halves of a
/// normal, an exponential or a uniform distribution have more than 0.3 of it there.
const VALLEY: f64 = 0.2;
/// Smallest distance of two speeds in steps of the counter, which cannot resolve smaller ones.
const FEWEST_STEPS: u64 = 6;
/// By this share more samples with a tick than undisturbed ones may run at neither speed. Otherwise the tick costs time,
/// and does not choose between the speeds.
const BESIDE: f64 = 0.1;
/// Smallest difference of shares that matters.
const LEAST: f64 = 0.05;
/// Level of all series of a recording together.
const LEVEL: f64 = 0.01;

/// Two speeds of the undisturbed samples of a series, and how often the slower one occurs with a tick.
///
/// Samples with one tick and nothing else, its time and gaps subtracted, are compared with their nearest undisturbed
/// neighbours. A tick that comes at a random time meets slow samples in proportion to their length, and the share among
/// neighbours is weighted likewise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Modes {
    /// Median of the faster undisturbed samples.
    pub fast_ns: f64,
    /// Median of the slower ones.
    pub slow_ns: f64,
    /// Number of samples with a tick that are compared.
    pub ticks: u64,
    /// Share of the slower speed among their undisturbed neighbours.
    pub undisturbed_slow: f64,
    /// Share of the slower speed among the samples with a tick.
    pub with_tick_slow: f64,
    /// 95 % interval of the difference of both shares.
    pub difference: Interval,
    /// Probability of such a difference by chance, for this series alone.
    pub p: f64,
    /// Whether a tick changes how often the body is slow: by at least 5 points, and significantly at 1 % among all series
    /// of the recording (Holm 1979).
    pub differs: bool,
}

/// Samples with a tick and their neighbours, in bounded memory.
#[derive(Debug)]
pub(crate) struct ModesOf {
    kept: Vec<Compared<()>>,
    /// Each of how many samples is kept.
    every: u64,
    seen: u64,
}

impl Default for ModesOf {
    fn default() -> Self {
        Self { kept: vec![], every: 1, seen: 0 }
    }
}

impl ModesOf {
    /// Adds a sample with one tick.
    pub(crate) fn add<K>(&mut self, compared: &Compared<K>) {
        if self.seen.is_multiple_of(self.every) {
            self.kept.push(compared.without_key());
        }
        self.seen += 1;
        if self.kept.len() == MOST {
            let mut at = 0;
            self.kept.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.every *= 2;
        }
    }

    /// Returns the two speeds and how often the slower one occurs; absent for one speed, or for too few samples.
    pub(crate) fn finish(&self, clock: &Clock) -> Option<Modes> {
        if self.kept.len() < FEWEST {
            return None;
        }
        let undisturbed = self.kept.iter().flat_map(Compared::neighbours).collect();
        let speeds = Speeds::find(undisturbed, FEWEST_STEPS * clock.step_ticks())?;
        let rests: Vec<u64> = self.kept.iter().map(|compared| compared.rest).collect();
        if speeds.beside(&rests) > speeds.beside_undisturbed + BESIDE {
            return None;
        }
        Some(self.compare(&speeds, clock))
    }

    fn compare(&self, speeds: &Speeds, clock: &Clock) -> Modes {
        let mut differences = Batches::default();
        let (mut slow, mut expected, mut variance) = (0.0, 0.0, 0.0);
        for compared in &self.kept {
            let is_slow = f64::from(u8::from(speeds.is_slow(compared.rest)));
            let [fast_ticks, slow_ticks] = speeds.ticks_at_each(compared.neighbours());
            let share = slow_ticks / (fast_ticks + slow_ticks);
            differences.add(is_slow - share);
            slow += is_slow;
            expected += share;
            // The chance among the sample and its neighbours, if it is one of them.
            let count = compared.neighbours().count() as f64;
            let among = (share * count + is_slow) / (count + 1.0);
            variance += among * (1.0 - among);
        }
        let count = self.kept.len() as f64;
        let (with_tick_slow, undisturbed_slow) = (slow / count, expected / count);
        let difference = with_tick_slow - undisturbed_slow;
        // Few samples that happen to be alike have no spread: the error is at least that of drawing them by chance.
        let drawn = variance.sqrt() / count;
        let (error, reach, effective) = differences.spread().map_or((drawn, 0.0, 2.0), |spread| {
            (spread.standard_error.max(drawn), spread.reach(), spread.effective)
        });
        let reach = reach.max(crate::stats::NORMAL * error);
        let p = 2.0 * probability_above(difference.abs() / error, (effective - 1.0).max(1.0));
        Modes {
            fast_ns: ns(speeds.fast, clock),
            slow_ns: ns(speeds.slow, clock),
            ticks: self.kept.len() as u64,
            undisturbed_slow,
            with_tick_slow,
            difference: Interval { low: difference - reach, high: difference + reach },
            p: p.min(1.0),
            differs: false,
        }
    }
}

/// Two groups of undisturbed samples with hardly any between them, in ticks.
#[derive(Debug, Clone, Copy)]
struct Speeds {
    fast: u64,
    slow: u64,
    /// Share of the undisturbed samples that are near neither.
    beside_undisturbed: f64,
}

impl Speeds {
    /// Returns the two speeds, at least `apart` ticks from each other; absent for one speed, or for too few samples.
    fn find(mut lengths: Vec<u64>, apart: u64) -> Option<Self> {
        if lengths.len() < FEWEST_UNDISTURBED {
            return None;
        }
        lengths.sort_unstable();
        let trimmed = (TRIMMED * lengths.len() as f64) as usize;
        let inner = &lengths[trimmed..lengths.len() - trimmed];
        let split = split(inner);
        let (fast, slow) = (inner[split / 2], inner[split + (inner.len() - split) / 2]);
        let rarer = split.min(inner.len() - split) as f64 / inner.len() as f64;
        if rarer < RARER || slow - fast < apart {
            return None;
        }
        let speeds = Self { fast, slow, beside_undisturbed: 0.0 };
        let third = (slow - fast) / 3;
        let between = inner.iter().filter(|&&at| at > fast + third && at < slow - third).count();
        let is_empty = between as f64 / inner.len() as f64 <= VALLEY * rarer;
        is_empty.then(|| Self { beside_undisturbed: speeds.beside(&lengths), ..speeds })
    }

    fn is_slow(&self, ticks: u64) -> bool {
        ticks > self.fast.midpoint(self.slow)
    }

    /// Returns the share of these that are nearer to neither speed than a third of their distance.
    fn beside(&self, lengths: &[u64]) -> f64 {
        let third = (self.slow - self.fast) / 3;
        let near = |at: u64| at.abs_diff(self.fast).min(at.abs_diff(self.slow)) <= third;
        lengths.iter().filter(|&&at| !near(at)).count() as f64 / lengths.len().max(1) as f64
    }

    /// Returns the time of the samples at each speed, the fast ones first.
    fn ticks_at_each(&self, lengths: impl Iterator<Item = u64>) -> [f64; 2] {
        let mut sums = [0.0; 2];
        lengths.for_each(|ticks| sums[usize::from(self.is_slow(ticks))] += ticks as f64);
        sums
    }
}

/// Returns how many of the sorted lengths belong to the lower of two groups whose means are as far apart as their numbers
/// allow: the variance between them is the largest (Otsu 1979).
fn split(sorted: &[u64]) -> usize {
    let origin = sorted.first().copied().unwrap_or(0);
    let above = |ticks: u64| (ticks - origin) as f64;
    let all: f64 = sorted.iter().map(|&ticks| above(ticks)).sum();
    let (mut lower, mut best) = (0.0, (0.0, 0));
    for (at, pair) in sorted.windows(2).enumerate() {
        lower += above(pair[0]);
        let counts = [(at + 1) as f64, (sorted.len() - at - 1) as f64];
        let apart = (all - lower) / counts[1] - lower / counts[0];
        let between = counts[0] * counts[1] * apart * apart;
        if pair[0] < pair[1] && between > best.0 {
            best = (between, at + 1);
        }
    }
    best.1
}

/// Finds the series in which a tick changes the speed, all of them as one family (Holm 1979).
pub(crate) fn judge(mut modes: Vec<&mut Modes>) {
    modes.sort_by(|a, b| a.p.total_cmp(&b.p));
    let all = modes.len();
    for (at, modes) in modes.into_iter().enumerate() {
        if modes.p * (all - at) as f64 > LEVEL {
            break;
        }
        modes.differs = (modes.with_tick_slow - modes.undisturbed_slow).abs() >= LEAST;
    }
}

#[cfg(test)]
#[path = "modes_tests.rs"]
mod tests;
