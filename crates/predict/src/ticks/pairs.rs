//! Every pair of rates at one number of copies (Tsafrir 2007).

use super::blocks::both;
use super::table::{Costs, Point};
use anechoic_analyze::stats::{mean, quantile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the step from one rate to a higher one cost, at one number of copies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// Copies at once.
    pub copies: u32,
    /// The lower rate h1.
    pub low_hz: f64,
    /// The higher rate h2.
    pub high_hz: f64,
    /// Interrupts that came in addition while the work took T2: (h2 − h1)·T2.
    pub extra: f64,
    /// T2 − T1, in µs.
    pub rise_us: f64,
    /// Part of it that they cost by themselves: extra · direct cost of one.
    pub direct_us: f64,
    /// The rest.
    pub indirect_us: f64,
    /// The rest as a share of the rise; absent where the time did not rise.
    pub indirect_share: Option<f64>,
    /// What one interrupt cost: (T2 − T1)/(h2·T2 − h1·T1), in µs.
    pub per_interrupt_us: f64,
}

impl Pair {
    /// Of two points of the same number of copies, the first at the lower rate: in the blocks that have both, where
    /// blocks are known. Absent where none has, or the rates are the same there.
    ///
    /// Extra interrupts are those of Tsafrir 2007, (h2 − h1)·T2. In fact h2·T2 − h1·T1 more came, which is fewer
    /// where the interrupts of the lower rate already take a good part of the CPU; so the cost of one, which the
    /// predictions are made from, is told by that number: under T = B/(1 − c·h) it is exactly c.
    pub(super) fn of(low: &Point, high: &Point, costs: &Costs) -> Option<Self> {
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

/// All pairs of each of `groups`, whose points are in the order of their rates.
pub(super) fn pairs<'a>(groups: impl Iterator<Item = &'a [Point]>, costs: &Costs) -> Vec<Pair> {
    let of_group = |points: &[Point]| -> Vec<Pair> {
        let from = |(at, low): (usize, &Point)| -> Vec<Pair> {
            points[at + 1..].iter().filter_map(|high| Pair::of(low, high, costs)).collect()
        };
        points.iter().enumerate().flat_map(from).collect()
    };
    groups.flat_map(of_group).collect()
}

/// The indirect share over all pairs and copies: were all as they should be, all would be alike.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shares {
    /// Pairs that have one.
    pub pairs: u64,
    /// Pairs that have none, because the time did not rise.
    pub without: u64,
    /// Pairs whose share is below 0: the time rose by less than the direct cost.
    pub negative: u64,
    /// The mean; one pair of near rates can move it anywhere.
    pub mean: f64,
    /// The median.
    pub median: f64,
    /// A quarter is below this.
    pub q1: f64,
    /// A quarter is above this.
    pub q3: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Shares {
    /// Absent where no pair has a share.
    pub(super) fn of(pairs: &[Pair]) -> Option<Self> {
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
