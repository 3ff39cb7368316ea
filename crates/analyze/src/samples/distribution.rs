//! How the samples of a series are distributed: moments, quantiles, outliers.

use crate::blocks::FEWEST_BLOCKS;
use crate::samples::block_shares::Blocks;
use crate::samples::cells::{Cell, value_at};
use crate::samples::moments::Moments;
use crate::samples::values::{Fixed, Scale};
use crate::stats::Interval;
use crate::stats::student_t;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The distribution of a series' samples.
///
/// The value of a sample is its time in ns where the work is fixed, and the units of work done in it
/// where the time is fixed. Minimum and maximum are exact, and so is what rests on all samples (mean,
/// deviation, skewness, kurtosis). Quantiles and outliers are exact too where `rounding` is 0; else
/// values were rounded by up to that share of their distance from the median.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Samples.
    pub samples: u64,
    /// Their mean.
    pub mean: f64,
    /// Standard deviation (divided by n − 1); absent of a single sample.
    pub standard_deviation: Option<f64>,
    /// Skewness, third central moment over the second to the power 1.5; absent where all are equal.
    pub skewness: Option<f64>,
    /// Excess kurtosis, fourth central moment over the second squared, less 3; absent where all are equal.
    pub excess_kurtosis: Option<f64>,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// Variance over mean, in the unit of the samples; absent of a single sample and where the mean is 0.
    pub variance_to_mean: Option<f64>,
    /// Fixed work: mean / minimum − 1. Fixed time: 1 − mean / maximum. Absent where that divides by 0.
    pub noise: Option<f64>,
    /// Mean of the samples between the 20th and the 30th percentile of time (Tsafrir 2007): what a sample
    /// takes undisturbed. Of fixed time between the 70th and the 80th of work, which is the same side.
    pub third_decile_mean: f64,
    /// Quantiles, by share: 1, 5, 25, 50, 75, 95, 99 and 99.9 %.
    pub quantiles: Vec<Quantile>,
    /// How the intervals of the quantiles were made.
    pub intervals: QuantileIntervals,
    /// Samples clearly faster than the main body: shorter, or of more work.
    pub fasties: Outliers,
    /// Samples clearly slower than the main body: longer, or of less work.
    pub slowies: Outliers,
    /// Values were rounded by at most this share of their distance from the median; 0 where none was.
    pub rounding: f64,
}

/// One quantile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quantile {
    /// This share of the samples is at most
    pub share: f64,
    /// that large: the smallest value for which this holds.
    pub value: f64,
    /// Its 95 % interval; absent where the samples do not bound it.
    pub interval: Option<Interval>,
}

/// How intervals of quantiles were made, and what they assume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuantileIntervals {
    /// Equal blocks of consecutive samples; with too few of them there are no intervals.
    pub blocks: u64,
    /// Samples of a block.
    pub block_samples: u64,
    /// Fewer blocks than this give no interval.
    pub fewest_blocks: u64,
    /// What is assumed, in words.
    pub assumes: String,
}

/// Samples beyond a fence, which lies three times the width of the main body outside of it.
///
/// The main body lies between the quartiles; where the slow one is farther from the median than the fast one,
/// it is taken to be as far. Its width is at least three steps of the counter, or three units of work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outliers {
    /// The fence; may be negative.
    pub fence: f64,
    /// Samples beyond it.
    pub count: u64,
    /// Their share.
    pub share: f64,
    /// Their mean; absent where there are none.
    pub mean: Option<f64>,
    /// The one farthest out; absent where there are none.
    pub extreme: Option<f64>,
}

/// The quantiles that are reported, in thousandths.
const SHARES: [u16; 8] = [10, 50, 250, 500, 750, 950, 990, 999];
/// Fences lie so many widths of the main body outside of it; it is at least so many steps of the counter wide.
const FENCE: i128 = 3;

/// What is known of a series' values when all were taken.
pub(crate) struct Taken<'a> {
    pub(crate) moments: &'a Moments,
    /// Counts of values, rising.
    pub(crate) cells: &'a [Cell],
    pub(crate) rounding: f64,
    pub(crate) blocks: &'a Blocks,
    pub(crate) scale: Scale,
}

impl Distribution {
    /// Of all values of a series; absent where there are none.
    pub(crate) fn of(taken: &Taken) -> Option<Self> {
        let Taken { moments, cells, scale, .. } = taken;
        let samples = moments.count();
        if samples == 0 {
            return None;
        }
        let (mean, unit) = (moments.mean(), scale.per_raw());
        let variance = moments.variance();
        let (min, max) = (moments.min() as f64, moments.max() as f64);
        let (noise, decile) = match scale.fixed() {
            Fixed::Work => ((min > 0.0).then(|| mean / min - 1.0), 2),
            Fixed::Time => ((max > 0.0).then(|| 1.0 - mean / max), 7),
        };
        let fences = Fences::of(cells, samples, scale);
        let [low, high] = [
            outliers(cells, samples, fences.low, scale, |cell| i128::from(cell.value) < fences.low),
            outliers(cells, samples, fences.high, scale, |cell| {
                i128::from(cell.value) > fences.high
            }),
        ];
        let low = low.with_extreme(scale.value(min));
        let high = high.with_extreme(scale.value(max));
        let (fasties, slowies) = match scale.fixed() {
            Fixed::Work => (low, high),
            Fixed::Time => (high, low),
        };
        Some(Self {
            samples,
            mean: mean * unit,
            standard_deviation: variance.map(|variance| variance.sqrt() * unit),
            skewness: moments.skewness(),
            excess_kurtosis: moments.excess_kurtosis(),
            min: scale.value(min),
            max: scale.value(max),
            variance_to_mean: variance.filter(|_| mean > 0.0).map(|v| v / mean * unit),
            noise,
            third_decile_mean: mean_of_decile(cells, samples, decile) * unit,
            quantiles: SHARES.iter().map(|&share| taken.quantile(share)).collect(),
            intervals: QuantileIntervals::of(taken.blocks),
            fasties,
            slowies,
            rounding: taken.rounding,
        })
    }
}

impl Taken<'_> {
    /// A quantile and its interval.
    ///
    /// The share of samples up to the quantile has a standard error SE, from the blocks. The interval are the
    /// quantiles at share ± t SE (Francisco and Fuller 1991, after Woodruff 1952): so no density is estimated
    /// and a quantile within one value of a coarse counter stays that value. SE is taken just below and at the
    /// quantile, the larger counts; and it is at least that of as many independent samples, so that what
    /// never varied in these blocks is not taken to be certain.
    fn quantile(&self, thousandths: u16) -> Quantile {
        let share = f64::from(thousandths) / 1000.0;
        let samples = self.moments.count();
        let rank = (u128::from(samples) * u128::from(thousandths)).div_ceil(1000);
        let raw = value_at(self.cells, u64::try_from(rank).unwrap_or(u64::MAX));
        let interval = (self.blocks.count() >= FEWEST_BLOCKS).then(|| {
            let independent = (share * (1.0 - share) / samples as f64).sqrt();
            let error = self.blocks.standard_error(raw);
            let below = self.blocks.standard_error(raw.saturating_sub(1));
            let reach = student_t(self.blocks.count() - 1) * error.max(below).max(independent);
            let end = |share: f64| {
                let known = 0.0 < share && share < 1.0;
                let rank = (share * samples as f64).ceil() as u64;
                known.then(|| self.scale.value(value_at(self.cells, rank.max(1)) as f64))
            };
            Some(Interval { low: end(share - reach)?, high: end(share + reach)? })
        });
        Quantile { share, value: self.scale.value(raw as f64), interval: interval.flatten() }
    }
}

impl QuantileIntervals {
    fn of(blocks: &Blocks) -> Self {
        Self {
            blocks: blocks.count(),
            block_samples: blocks.length(),
            fewest_blocks: FEWEST_BLOCKS,
            assumes: "95 % interval from the spread of the shares in blocks of consecutive samples; blocks are \
                      taken to be alike and independent, so what happens only a few times in a series is not \
                      covered"
                .into(),
        }
    }
}

/// Beyond these a value is an outlier, raw.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fences {
    pub(crate) low: i128,
    pub(crate) high: i128,
}

impl Fences {
    /// Three times the width of the main body outside of it.
    ///
    /// The main body is what lies between the quartiles. But noise only slows: where the slow quartile is
    /// farther from the median than the fast one, it is taken to be as far. Else a tick in every fourth
    /// sample (1 ms at 250 Hz) would be part of the main body in one run and not in the next.
    pub(crate) fn of(cells: &[Cell], samples: u64, scale: &Scale) -> Self {
        let at = |rank: u64| i128::from(value_at(cells, rank));
        let (first, median) = (at(samples.div_ceil(4)), at(samples.div_ceil(2)));
        let third = at(samples - samples / 4);
        let (low, high) = match scale.fixed() {
            Fixed::Work => (first, third.min(2 * median - first)),
            Fixed::Time => (first.max(2 * median - third), third),
        };
        let reach = FENCE * (high - low).max(FENCE * i128::from(scale.step()));
        Self { low: low - reach, high: high + reach }
    }
}

fn outliers(
    cells: &[Cell],
    samples: u64,
    fence: i128,
    scale: &Scale,
    beyond: impl Fn(&Cell) -> bool,
) -> Outliers {
    let (mut count, mut sum) = (0, 0.0);
    for cell in cells.iter().filter(|cell| beyond(cell)) {
        count += cell.count;
        sum += cell.value as f64 * cell.count as f64;
    }
    Outliers {
        fence: scale.value(fence as f64),
        count,
        share: crate::share(count, samples),
        mean: (count > 0).then(|| scale.value(sum / count as f64)),
        extreme: None,
    }
}

impl Outliers {
    fn with_extreme(self, extreme: f64) -> Self {
        Self { extreme: (self.count > 0).then_some(extreme), ..self }
    }
}

/// Mean of the values between `decile` and `decile + 1` tenths of the samples, raw.
///
/// A value on an edge counts with the part of it that lies inside.
fn mean_of_decile(cells: &[Cell], samples: u64, decile: u64) -> f64 {
    // In tenths of samples, so that the edges are whole numbers.
    let edge = |decile: u64| u128::from(samples) * u128::from(decile);
    let (low, high) = (edge(decile), edge(decile + 1));
    // Differences from a value inside keep the digits of 1 ms ± 10 ns.
    let inside = u64::try_from(low / 10 + 1).unwrap_or(u64::MAX);
    let origin = value_at(cells, inside);
    let (mut up_to, mut sum) = (0_u128, 0.0);
    for cell in cells {
        let begin = up_to;
        up_to += 10 * u128::from(cell.count);
        let within = up_to.min(high).saturating_sub(begin.max(low));
        sum += (cell.value as f64 - origin as f64) * within as f64;
    }
    origin as f64 + sum / (high - low) as f64
}

#[cfg(test)]
#[path = "distribution_tests.rs"]
mod tests;
