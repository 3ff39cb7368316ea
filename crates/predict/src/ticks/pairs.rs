//! Pairs of rates at the same number of copies (Tsafrir 2007).

use super::blocks::both;
use super::table::{Costs, Point};
use anechoic_analyze::stats::{mean, quantile};
use schemars::JsonSchema;
use serde::Serialize;

/// The cost of the step from one rate to a higher one, at one number of copies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Pair {
    /// Number of copies that ran at once.
    pub copies: u32,
    /// The lower rate h1.
    pub low_hz: f64,
    /// The higher rate h2.
    pub high_hz: f64,
    /// Additional interrupts during the work at the higher rate: (h2 − h1)·T2.
    pub extra: f64,
    /// Rise of the time T2 − T1, in µs.
    pub rise_us: f64,
    /// Direct cost of the additional interrupts, in µs: extra · direct cost of one.
    pub direct_us: f64,
    /// Indirect cost, in µs: the rest of the rise.
    pub indirect_us: f64,
    /// Indirect cost as a share of the rise; absent if the time did not rise.
    pub indirect_share: Option<f64>,
    /// Cost of one interrupt (T2 − T1)/(h2·T2 − h1·T1), in µs.
    pub per_interrupt_us: f64,
}

impl Pair {
    /// Returns the pair of two points at the same number of copies, the first at the lower rate. If blocks are known,
    /// it uses the blocks that have both points. Absent if no block has both, or if the rates are equal.
    ///
    /// The extra interrupts are those of Tsafrir 2007, (h2 − h1)·T2. The actual number is h2·T2 − h1·T1, which is
    /// smaller if the interrupts of the lower rate already take much of the CPU. The cost of one interrupt, from which
    /// predictions are made, uses the actual number: under T = B/(1 − c·h) it is exactly c.
    pub(super) fn between(low: &Point, high: &Point, costs: &Costs) -> Option<Self> {
        let copies = high.copies;
        let both = both(low, high)?;
        let ((low_hz, low_ms), (high_hz, high_ms)) = (both.low, both.high);
        let rise_us = (high_ms - low_ms) * 1e3;
        let extra = (high_hz - low_hz) * high_ms / 1e3;
        let direct_us = extra * costs.direct_us();
        let indirect_us = rise_us - direct_us;
        // Where the time falls the number of interrupts may fall with it; the sign of the cost must not turn round.
        let more = extra + low_hz * rise_us.max(0.0) / 1e6;
        (high_hz > low_hz).then(|| Self {
            copies,
            low_hz,
            high_hz,
            extra,
            rise_us,
            direct_us,
            indirect_us,
            indirect_share: (rise_us > 0.0).then(|| indirect_us / rise_us),
            per_interrupt_us: rise_us / more,
        })
    }
}

/// Returns all pairs of each of `groups`, whose points are sorted by rate.
pub(super) fn pairs<'a>(groups: impl Iterator<Item = &'a [Point]>, costs: &Costs) -> Vec<Pair> {
    let mut pairs = vec![];
    for points in groups {
        for (at, low) in points.iter().enumerate() {
            let higher = points[at + 1..].iter();
            pairs.extend(higher.filter_map(|high| Pair::between(low, high, costs)));
        }
    }
    pairs
}

/// The indirect share over all pairs and copies; if the model held exactly, all pairs would have the same share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Shares {
    /// Number of pairs with a share.
    pub pairs: u64,
    /// Number of pairs without a share, because the time did not rise.
    pub without: u64,
    /// Number of pairs with a share below 0: the time rose by less than the direct cost.
    pub negative: u64,
    /// Mean share, which a single pair of similar rates can distort arbitrarily.
    pub mean: f64,
    /// Median share.
    pub median: f64,
    /// First quartile of the shares.
    pub q1: f64,
    /// Third quartile of the shares.
    pub q3: f64,
    /// Smallest share.
    pub min: f64,
    /// Largest share.
    pub max: f64,
}

impl Shares {
    /// Returns the distribution of the shares; absent if no pair has one.
    pub(super) fn from_pairs(pairs: &[Pair]) -> Option<Self> {
        let mut shares: Vec<f64> = pairs.iter().filter_map(|pair| pair.indirect_share).collect();
        shares.sort_by(f64::total_cmp);
        let at = |share: f64| quantile(&shares, share);
        Some(Self {
            pairs: shares.len() as u64,
            without: (pairs.len() - shares.len()) as u64,
            negative: shares.iter().filter(|&&share| share < 0.0).count() as u64,
            mean: mean(&shares)?,
            median: at(0.5)?,
            q1: at(0.25)?,
            q3: at(0.75)?,
            min: at(0.0)?,
            max: at(1.0)?,
        })
    }
}

/// The indirect cost of 1,000 interrupts per second, in percent of a CPU, by several estimators. They differ where times
/// scatter: a step between similar rates counts as much as one between distant rates in a mean.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Estimators {
    /// The fit: the median over all pairs of the cost of the interrupts that really came, as in `cost`.
    pub fit: f64,
    /// The estimator of Tsafrir 2007: the mean over all pairs of the indirect cost of an additional interrupt.
    pub mean: f64,
    /// The same over the pairs whose time rose; absent if there is none.
    pub mean_of_rises: Option<f64>,
    /// The median over all pairs.
    pub median: f64,
    /// Number of pairs.
    pub pairs: u64,
    /// Number of pairs whose time rose.
    pub rises: u64,
}

impl Estimators {
    /// Returns the estimates from all pairs of a processor beside that of the fit; absent without pairs.
    pub(super) fn from_pairs(pairs: &[Pair], fit: f64) -> Option<Self> {
        // 1,000 interrupts per second that cost 1 µs each take 0.1 % of a CPU.
        let percent = |pair: &Pair| 0.1 * pair.indirect_us / pair.extra;
        let mut all: Vec<f64> = pairs.iter().map(percent).collect();
        all.sort_by(f64::total_cmp);
        let rises: Vec<f64> = pairs.iter().filter(|pair| pair.rise_us > 0.0).map(percent).collect();
        Some(Self {
            fit,
            mean: mean(&all)?,
            mean_of_rises: mean(&rises),
            median: quantile(&all, 0.5)?,
            pairs: all.len() as u64,
            rises: rises.len() as u64,
        })
    }
}
