//! Predicts the time per access after a preemption from the curve with warm caches and the preemptor's footprint
//! (Thiébaut & Stone, TOCS 1987).
//!
//! A set of a cache holds as many lines as it has ways. If the preempted program has x lines in a set and the preemptor
//! y, x + y − ways of them must be loaded again. A load takes as much longer as the next level is slower, which the warm
//! curve shows.

use super::{Experiment, Point};
use crate::stats::median;
use anechoic_recording::machine::Cache;
use anechoic_recording::memory::{Before, MEMORY_EXPERIMENTS, Preemptor};
use schemars::JsonSchema;
use serde::Serialize;

/// Ways of a cache whose machine does not report them.
const USUAL_WAYS: u32 = 8;
/// Largest ratio of times that agree.
const AGREEING: f64 = 2.0;
/// A smaller part of displaced lines adds nothing that matters.
const HARDLY: f64 = 0.01;

/// How close the predicted times of an experiment are to the measured ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Prediction {
    /// Number of working sets.
    pub points: u64,
    /// Median over the working sets of the relative difference between the predicted and the measured median time.
    pub error: f64,
    /// The same if the preemptor displaced nothing: the difference of the warm curve.
    pub warm_error: f64,
}

/// A cache.
#[derive(Debug, Clone, Copy)]
struct Level {
    bytes: u64,
    line_bytes: f64,
    ways: u32,
    /// Whether the lines of contiguous memory are spread evenly over the sets, because a way is no larger than a page.
    even: bool,
}

/// Adds the prediction to each experiment of preemption that has a warm one with the same kernel.
pub(super) fn add(experiments: &mut [Experiment], caches: &[&Cache], page_bytes: Option<u64>) {
    let levels: Vec<Level> = caches.iter().map(|cache| Level::new(cache, page_bytes)).collect();
    for listed in MEMORY_EXPERIMENTS.iter() {
        let Before::Preempted { by, .. } = listed.before else { continue };
        let find = |id: &str| experiments.iter().position(|found| found.id == id);
        let (Some(at), Some(warm)) =
            (find(&listed.id), listed.warm().and_then(|warm| find(&warm.id)))
        else {
            continue;
        };
        if levels.is_empty() {
            continue;
        }
        // What is loaded again needs no TLB entry that is not there: small working sets are displaced most.
        let local =
            find(&format!("bandwidth-{}-local-warm", listed.kernel)).filter(|_| !listed.co_runner);
        let times = times(&experiments[local.unwrap_or(warm)].points, &levels);
        let warm = experiments[warm].points.clone();
        let found = &mut experiments[at];
        let other = found.other_bytes.unwrap_or(0);
        let (mut errors, mut warm_errors) = (Vec::new(), Vec::new());
        for point in &mut found.points {
            let Some(before) = warm.iter().find(|before| before.bytes == point.bytes) else {
                continue;
            };
            // Code is in no first-level cache of data.
            let first = usize::from(by == Preemptor::RunsCode);
            let delay = |at: usize| levels[at].delay(before, [times[at], times[at + 1]], other);
            let delays: Option<f64> = (first..levels.len()).map(delay).sum();
            point.predicted = delays.map(|delays| before.median + delays);
            if let Some(predicted) = point.predicted.filter(|_| point.median > 0.0) {
                errors.push((predicted / point.median - 1.0).abs());
                warm_errors.push((before.median / point.median - 1.0).abs());
            }
        }
        found.prediction = (!errors.is_empty()).then(|| Prediction {
            points: errors.len() as u64,
            error: median(&mut errors),
            warm_error: median(&mut warm_errors),
        });
    }
}

/// Returns the time of an access that finds its line in each cache, and beyond them: in the second octave above the end of
/// the cache before, where nearly no line is in that any more. A time is supported by several working sets that agree;
/// otherwise it is absent.
fn times(warm: &[Point], levels: &[Level]) -> Vec<Option<f64>> {
    let first = levels.first().map_or(0, |level| level.bytes);
    let mut inside: Vec<f64> =
        warm.iter().filter(|point| point.bytes <= first).map(|point| point.median).collect();
    let inside = (!inside.is_empty()).then(|| median(&mut inside));
    let after = |level: &Level| {
        let octave = level.bytes.saturating_mul(2)..=level.bytes.saturating_mul(4);
        let points = warm.iter().filter(|point| octave.contains(&point.bytes));
        agreeing(points.map(|point| point.median).collect())
    };
    std::iter::once(inside).chain(levels.iter().map(after)).collect()
}

/// Returns the median of times of which at least two are known, and half lie within a factor of two.
fn agreeing(mut times: Vec<f64>) -> Option<f64> {
    let middle = median(&mut times);
    let quarter = times.len() / 4;
    let half = times.get(quarter..times.len() - quarter).filter(|_| times.len() > 1)?;
    (*half.last()? <= AGREEING * half[0]).then_some(middle)
}

impl Level {
    /// Returns what loading the displaced lines into this cache adds to the time per access. `here` and `next` are the
    /// times of an access to this cache and to the next. Absent if lines are displaced and one of these is not known.
    fn delay(&self, warm: &Point, times: [Option<f64>; 2], other_bytes: u64) -> Option<f64> {
        let displaced = self.displaced(warm.bytes, other_bytes);
        if displaced < HARDLY {
            return Some(0.0);
        }
        let [Some(here), Some(next)] = times else { return None };
        if next <= here {
            return Some(0.0);
        }
        // The part of the lines that the cache still holds when the next pass begins follows from the warm time.
        let held = ((next - warm.median) / (next - here)).clamp(0.0, 1.0);
        Some(held * displaced * (next - here))
    }

    fn new(cache: &Cache, page_bytes: Option<u64>) -> Self {
        let ways = if cache.ways == 0 { USUAL_WAYS } else { cache.ways };
        Self {
            bytes: cache.size_bytes,
            line_bytes: f64::from(cache.line_bytes.max(1)),
            ways,
            even: page_bytes.is_some_and(|page| cache.size_bytes / u64::from(ways) <= page),
        }
    }

    /// Returns the part of the lines of `own` bytes in this cache that the footprint of another program displaces.
    fn displaced(&self, own: u64, other: u64) -> f64 {
        let sets = (self.bytes as f64 / self.line_bytes / f64::from(self.ways)).max(1.0);
        let in_set = |bytes: u64| per_set(bytes as f64 / self.line_bytes / sets, self);
        let (own, other) = (in_set(own), in_set(other));
        let ways = self.ways as usize;
        let lost = |own: usize, other: usize| (own + other).saturating_sub(ways) as f64;
        let (mut held, mut displaced) = (0.0, 0.0);
        for (lines, share) in own.iter().enumerate() {
            held += share * lines as f64;
            displaced += other
                .iter()
                .enumerate()
                .map(|(other_lines, part)| share * part * lost(lines, other_lines))
                .sum::<f64>();
        }
        if held > 0.0 { displaced / held } else { 0.0 }
    }
}

/// Returns the probability of each number of lines in a set, from 0 to the number of ways or more, if `mean` is their mean:
/// two neighbouring numbers for an even spread, and otherwise a Poisson distribution, since pages lie anywhere.
fn per_set(mean: f64, level: &Level) -> Vec<f64> {
    let ways = level.ways as usize;
    let mut all = vec![0.0; ways + 1];
    if level.even {
        let (low, part) = (mean.floor(), mean.fract());
        all[(low as usize).min(ways)] += 1.0 - part;
        all[(low as usize + 1).min(ways)] += part;
        return all;
    }
    let mut probability = (-mean).exp();
    for (lines, share) in all[..ways].iter_mut().enumerate() {
        *share = probability;
        probability *= mean / (lines + 1) as f64;
    }
    all[ways] = (1.0 - all[..ways].iter().sum::<f64>()).max(0.0);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const CACHE: Level = Level { bytes: 32 << 10, line_bytes: 64.0, ways: 8, even: true };

    #[test]
    fn the_lines_that_do_not_fit_beside_the_footprint_are_displaced() {
        let kib = |kib: u64| kib << 10;
        let cases = [
            ("nothing ran", kib(16), 0, 0.0),
            ("both fit", kib(16), kib(16), 0.0),
            ("half of it", kib(16), kib(24), 0.5),
            ("all of it", kib(16), kib(32), 1.0),
            ("a footprint larger than the cache", kib(4), kib(4096), 1.0),
            ("a full cache loses the footprint", kib(32), kib(8), 0.25),
            ("a working set larger than the cache", kib(320), kib(8), 0.25),
        ];
        for (name, own, other, expected) in cases {
            let found = CACHE.displaced(own, other);
            assert!((found - expected).abs() < 1e-12, "case: {name}: {found}");
        }
        // Where pages lie anywhere, some sets have more than their share; 8 ways with 4 and 4 lines on average.
        let anywhere = Level { even: false, ..CACHE };
        let some = anywhere.displaced(kib(16), kib(16));
        assert!((0.05..0.3).contains(&some), "{some}");
        assert!((anywhere.displaced(kib(16), kib(4096)) - 1.0).abs() < 1e-9);
    }

    /// On a busy host one working set took 1,305 ticks an access where its neighbours took 40: it decides nothing.
    #[test]
    fn a_time_needs_several_working_sets_that_agree() {
        let point = |kib: u64, median: f64| Point {
            bytes: kib << 10,
            samples: 9,
            min: median,
            median,
            mean: median,
            max: median,
            variance: None,
            ratio: None,
            variance_without_os: None,
            predicted: None,
            outliers: 0,
        };
        let warm = |beyond: &[(u64, f64)]| {
            let inside = [(8, 4.0), (16, 4.1), (32, 4.2)];
            inside.iter().chain(beyond).map(|&(kib, at)| point(kib, at)).collect::<Vec<_>>()
        };
        type Case = (&'static str, &'static [(u64, f64)], Option<f64>);
        let cases: [Case; 5] = [
            ("one", &[(64, 40.0)], None),
            ("two that agree", &[(64, 40.0), (128, 44.0)], Some(42.0)),
            ("two of which one is wrong", &[(64, 1_305.0), (128, 40.0)], None),
            (
                "one wrong of several",
                &[(64, 1_305.0), (80, 40.0), (96, 42.0), (128, 44.0)],
                Some(43.0),
            ),
            ("far beyond", &[(256, 40.0), (512, 44.0)], None),
        ];
        for (name, beyond, expected) in cases {
            let found = times(&warm(beyond), &[CACHE]);
            assert_eq!(found, [Some(4.1), expected], "case: {name}");
            let before = point(16, 4.1);
            let delay = CACHE.delay(&before, [found[0], found[1]], 32 << 10);
            assert_eq!(delay.is_some(), expected.is_some(), "case: {name}");
            assert_eq!(CACHE.delay(&before, [found[0], found[1]], 0), Some(0.0), "case: {name}");
        }
    }

    #[test]
    fn probabilities_add_up() {
        for mean in [0.0, 0.3, 4.0, 7.5, 64.0, 1e6] {
            for even in [false, true] {
                let sum: f64 = per_set(mean, &Level { even, ..CACHE }).iter().sum();
                assert!((sum - 1.0).abs() < 1e-12, "{mean}: {sum}");
            }
        }
    }
}
