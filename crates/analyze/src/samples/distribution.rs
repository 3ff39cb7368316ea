//! The distribution of the samples of a series: moments, quantiles, outliers.

use crate::blocks::FEWEST_BLOCKS;
use crate::samples::Fixed;
use crate::samples::block_shares::Blocks;
use crate::samples::cells::{Cell, value_at};
use crate::samples::moments::Moments;
use crate::samples::values::Scale;
use crate::stats::Interval;
use crate::stats::NORMAL;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The distribution of a series' samples.
///
/// The value of a sample is its time in ns if the work is fixed, and the units of work done in it if the time is fixed.
/// Minimum, maximum, mean, deviation, skewness and kurtosis are exact. Quantiles and outliers are exact if `rounding`
/// is 0; otherwise values were rounded by up to that share of their distance from the median.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Distribution {
    /// Number of samples.
    pub samples: u64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation (divided by n − 1); absent for a single sample.
    pub standard_deviation: Option<f64>,
    /// Skewness: third central moment divided by the second to the power 1.5; absent if all are equal.
    pub skewness: Option<f64>,
    /// Excess kurtosis: fourth central moment divided by the second squared, minus 3; absent if all are equal.
    pub excess_kurtosis: Option<f64>,
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
    /// Variance divided by mean, in the unit of the samples; absent for a single sample, or if the mean is 0.
    pub variance_to_mean: Option<f64>,
    /// Noise. Fixed work: mean / minimum − 1. Fixed time: 1 − mean / maximum. Absent if that divides by 0.
    pub noise: Option<f64>,
    /// Mean of the samples between the 20th and the 30th percentile of time (Tsafrir 2007): the undisturbed sample. For
    /// fixed time, between the 70th and the 80th percentile of work, which is the same side.
    pub third_decile_mean: f64,
    /// The quantiles at 1, 5, 25, 50, 75, 95, 99 and 99.9 %.
    pub quantiles: Vec<Quantile>,
    /// How the intervals of the quantiles are computed.
    pub intervals: QuantileIntervals,
    /// Samples clearly faster than the main body: shorter, or with more work.
    pub fasties: Outliers,
    /// Samples clearly slower than the main body: longer, or with less work.
    pub slowies: Outliers,
    /// Largest rounding of values as a share of their distance from the median; 0 if all are exact.
    pub rounding: f64,
}

/// One quantile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Quantile {
    /// The share of samples that do not exceed the quantile.
    pub share: f64,
    /// The quantile: the smallest value that this share of the samples does not exceed.
    pub value: f64,
    /// Its 95 % interval; absent if the samples do not bound it.
    pub interval: Option<Interval>,
}

/// How the intervals of quantiles are computed, and what they assume.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct QuantileIntervals {
    /// Number of equal blocks of consecutive samples; with too few there are no intervals.
    pub blocks: u64,
    /// Number of samples in a block.
    pub block_samples: u64,
    /// Smallest number of blocks for intervals.
    pub fewest_blocks: u64,
    /// The assumptions, in words.
    pub assumes: String,
}

/// Samples beyond a fence, which lies outside the main body by three times its width.
///
/// The main body lies between the quartiles; if the slow quartile is farther from the median than the fast one, the
/// latter distance counts on both sides. The width is at least three steps of the counter, or three units of work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outliers {
    /// Position of the fence, which may be negative.
    pub fence: f64,
    /// Number of samples beyond it.
    pub count: u64,
    /// Their share.
    pub share: f64,
    /// Mean of these; absent if there are none.
    pub mean: Option<f64>,
    /// The farthest of these; absent if there are none.
    pub extreme: Option<f64>,
}

/// The reported quantiles, in thousandths.
const SHARES: [u16; 8] = [10, 50, 250, 500, 750, 950, 990, 999];
/// Distance of the fences in widths of the main body, and smallest width in steps of the counter.
const FENCE: i128 = 3;

/// The values of a series once all samples have been read.
pub(crate) struct SeriesValues<'a> {
    pub(crate) moments: &'a Moments,
    /// Counts of values in rising order.
    pub(crate) cells: &'a [Cell],
    pub(crate) rounding: f64,
    pub(crate) blocks: &'a Blocks,
    pub(crate) scale: Scale,
}

impl Distribution {
    /// Returns the quantile at this share of the samples, from 0 to 1; absent if it is none of those that are kept.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<&Quantile> {
        self.quantiles.iter().find(|quantile| (quantile.share - share).abs() < 1e-6)
    }

    /// Returns the distribution of all values; absent if there are none.
    pub(crate) fn from_values(taken: &SeriesValues) -> Option<Self> {
        let SeriesValues { moments, cells, scale, .. } = taken;
        let samples = moments.count();
        if samples == 0 {
            return None;
        }
        let (mean, unit) = (moments.mean(), scale.per_raw);
        let variance = moments.variance();
        let (min, max) = (moments.min() as f64, moments.max() as f64);
        let (noise, decile) = match scale.fixed() {
            Fixed::Work => ((min > 0.0).then(|| mean / min - 1.0), 2),
            Fixed::Time => ((max > 0.0).then(|| 1.0 - mean / max), 7),
        };
        let fences = Fences::new(cells, samples, scale);
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
            intervals: QuantileIntervals::from_blocks(taken.blocks),
            fasties,
            slowies,
            rounding: taken.rounding,
        })
    }
}

impl SeriesValues<'_> {
    /// Returns a quantile with its interval.
    ///
    /// The share of samples up to the quantile has a standard error SE from the blocks. The interval consists of the
    /// quantiles at share ± t SE (Francisco and Fuller 1991, after Woodruff 1952), so no density is estimated, and a
    /// quantile within one value of a coarse counter stays that value. SE is the larger of those just below and at the
    /// quantile, and at least that of as many independent samples, so that what never varied in these blocks does not
    /// count as certain.
    fn quantile(&self, thousandths: u16) -> Quantile {
        let share = f64::from(thousandths) / 1000.0;
        let samples = self.moments.count();
        let rank = (u128::from(samples) * u128::from(thousandths)).div_ceil(1000);
        let raw = value_at(self.cells, u64::try_from(rank).unwrap_or(u64::MAX));
        let interval = (self.blocks.count() >= FEWEST_BLOCKS).then(|| {
            let independent = (share * (1.0 - share) / samples as f64).sqrt();
            let reach = |value| Some(self.blocks.spread(value)?.reach());
            let reach = reach(raw)?.max(reach(raw.saturating_sub(1))?).max(NORMAL * independent);
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
    fn from_blocks(blocks: &Blocks) -> Self {
        Self {
            blocks: blocks.count(),
            block_samples: blocks.length(),
            fewest_blocks: FEWEST_BLOCKS,
            assumes: "95 % interval from the spread of the shares in blocks of consecutive samples, widened by the correlation between them; does not cover events that happen only a few times in a series"
                .into(),
        }
    }
}

/// The fences beyond which a value is an outlier, raw.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fences {
    pub(crate) low: i128,
    pub(crate) high: i128,
}

impl Fences {
    /// Returns the fences at three times the width of the main body.
    ///
    /// The main body lies between the quartiles. But noise only slows: if the slow quartile is farther from the median
    /// than the fast one, the distance of the fast one counts on both sides. Otherwise a tick in every fourth sample (1
    /// ms at 250 Hz) would belong to the main body in one run and not in the next.
    pub(crate) fn new(cells: &[Cell], samples: u64, scale: &Scale) -> Self {
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

/// Returns the mean of the values between `decile` and `decile + 1` tenths of the samples, raw.
///
/// A value on an edge counts in proportion to the part that lies inside.
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
