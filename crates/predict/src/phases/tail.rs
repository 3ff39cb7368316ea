//! Extrapolation beyond the recording with a tail fitted to the longest delays.

use super::law::Law;
use super::pareto::Pareto;
use super::span::Span;
use anechoic_analyze::stats::{Interval, Spread};
use anechoic_analyze::threads::in_order;
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// One of this many windows lies above the threshold.
const ONE_IN: u64 = 20;
/// Largest number of windows above the threshold.
const MOST: u64 = 1_000;
/// Smallest number of windows above the threshold for a tail.
const FEWEST: usize = 50;
/// Smallest number of different delays among them for a tail.
const FEWEST_DISTINCT: usize = 20;

/// The fitted tail of one grain's delays.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Tail {
    /// Threshold in ns: the tail describes longer delays.
    pub threshold_ns: u64,
    /// Number of windows of one grain that follow each other in free time, over all CPUs.
    pub windows: u64,
    /// Number of windows with a delay above the threshold.
    pub exceedances: u64,
    /// Shape of the generalised Pareto distribution by maximum likelihood; if it is below 0, delays have a limit.
    pub shape: f64,
    /// 95 % interval of the shape from blocks of time, which lies below 1.
    pub shape_interval: Option<Interval>,
    /// Scale of the distribution, in ns.
    pub scale_ns: f64,
}

/// The extrapolation to a number of ranks that the recording does not support.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Extrapolated {
    /// Time divided by time without noise, by the free-start law with the tail in place of the recorded delays above
    /// the threshold.
    pub slowdown: f64,
    /// Its 95 % interval from blocks of time; absent if it has no upper end.
    pub interval: Option<Interval>,
}

/// A fitted tail with the data behind its intervals.
#[derive(Debug, Clone)]
pub(super) struct Fitted {
    pub tail: Tail,
    pareto: Pareto,
    /// Tails without each of the blocks, each with its number of exceedances relative to the recorded one.
    without_each: Vec<(Pareto, f64)>,
}

/// A delay over the threshold, and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Long {
    delay_ns: u64,
    /// Position in the window, in millionths.
    at_ppm: u64,
}

/// A tail is rejected if the probability of the longest delay under it is smaller.
const IMPROBABLE: f64 = 0.01;

/// Returns whether these sorted excesses are compatible with this distribution: the longest is not too improbable, and
/// the largest distance of the distributions is at most 1 / sqrt(count) (Kolmogorov-Smirnov; with fitted parameters,
/// chance exceeds that in about one of a hundred cases).
fn could_be(pareto: &Pareto, excesses: &[f64]) -> bool {
    let count = excesses.len() as f64;
    let most = excesses.last().copied().unwrap_or(0.0);
    let any = -f64::exp_m1(count * f64::ln_1p(-pareto.survival(most)));
    let far = |(below, excess): (usize, &f64)| {
        let expected = count * (1.0 - pareto.survival(*excess));
        (expected - below as f64).abs().max((expected - below as f64 - 1.0).abs())
    };
    let furthest = excesses.iter().enumerate().map(far).fold(0.0, f64::max);
    any >= IMPROBABLE && furthest <= count.sqrt()
}

/// Fits the tail, or returns why there is none. The threshold is the lowest of several, each with half as many delays
/// above it, for which the excesses are compatible with the fit. `longest` are the longest delays of `windows` of all
/// CPUs, and `blocks` the number of blocks for intervals.
pub(super) fn fit(longest: Longest, windows: u64, blocks: Option<u64>) -> Result<Fitted, String> {
    let mut above = longest.above();
    if above.delays.len() < FEWEST {
        return Err(format!(
            "{} of {windows} windows have a delay above the threshold, fewer than {FEWEST}",
            above.delays.len()
        ));
    }
    let pareto = loop {
        let distinct = above.delays.iter().map(|long| long.delay_ns).collect::<BTreeSet<_>>().len();
        if distinct < FEWEST_DISTINCT {
            return Err(format!("the longest delays have only {distinct} different lengths"));
        }
        let excesses: Vec<f64> = above.delays.iter().map(|long| above.excess(long)).collect();
        let pareto = Pareto::fit(&excesses).ok_or("the longest delays are all equal")?;
        if could_be(&pareto, &excesses) {
            break pareto;
        }
        above = above.upper_half();
        if above.delays.len() < FEWEST {
            return Err(
                "the longest delays do not follow one distribution, or one is too long for it"
                    .into(),
            );
        }
    };
    if pareto.shape >= 1.0 {
        return Err(format!(
            "the tail of the longest delays has a shape of {:.2}, and from 1 on the mean is infinite",
            pareto.shape
        ));
    }
    let without_each = blocks.and_then(|blocks| above.without_each(blocks)).unwrap_or_default();
    let shapes: Vec<f64> = without_each.iter().map(|(pareto, _)| pareto.shape).collect();
    let spread = Spread::left_out(pareto.shape, &shapes);
    let Some(shape) = spread.map(|spread| spread.around(pareto.shape)) else {
        return Err("the recording has too few blocks of time to know the shape of its tail".into());
    };
    if shape.high >= 1.0 {
        return Err(format!(
            "the shape of its tail is between {:.1} and {:.1} (95 %), and the mean is infinite from 1 on",
            shape.low, shape.high
        ));
    }
    let tail = Tail {
        threshold_ns: above.threshold_ns,
        windows,
        exceedances: above.delays.len() as u64,
        shape: pareto.shape,
        shape_interval: Some(shape),
        scale_ns: pareto.scale,
    };
    Ok(Fitted { tail, pareto, without_each })
}

/// The delays above a threshold, in rising order.
#[derive(Debug)]
struct Above {
    threshold_ns: u64,
    delays: Vec<Long>,
}

impl Above {
    fn excess(&self, long: &Long) -> f64 {
        (long.delay_ns - self.threshold_ns) as f64
    }

    /// Returns the delays above the median.
    fn upper_half(mut self) -> Self {
        self.threshold_ns = self.delays[self.delays.len() / 2].delay_ns;
        self.delays.retain(|long| long.delay_ns > self.threshold_ns);
        self
    }

    /// Returns the tails without each of the blocks of time in turn, each with its relative number of delays; absent if
    /// one of them has no tail.
    fn without_each(&self, blocks: u64) -> Option<Vec<(Pareto, f64)>> {
        let fits = in_order(blocks as usize, |left_out| self.without(left_out as u64, blocks));
        fits.into_iter().collect()
    }

    /// Returns the tail without a block, with its relative number of delays.
    fn without(&self, left_out: u64, blocks: u64) -> Option<(Pareto, f64)> {
        let block = |long: &Long| (long.at_ppm * blocks / 1_000_000).min(blocks - 1);
        let others = self.delays.iter().filter(|long| block(long) != left_out);
        let excesses: Vec<f64> = others.map(|long| self.excess(long)).collect();
        let share = excesses.len() as f64 / self.delays.len() as f64;
        let longer = blocks as f64 / (blocks - 1) as f64;
        Pareto::fit(&excesses).map(|pareto| (pareto, share * longer))
    }
}

/// The longest delays of windows of one grain that follow each other in the free time of one CPU.
#[derive(Debug)]
pub(super) struct Longest {
    grain_ns: u64,
    /// Number of complete windows.
    windows: u64,
    most: u64,
    kept: BinaryHeap<Reverse<Long>>,
    lost_ns: u64,
    window: u64,
    delay_ns: u64,
}

impl Longest {
    /// Returns an empty collection for a CPU with this much free time; one more than `most` is kept, for the threshold.
    pub(super) fn new(free_ns: u64, grain_ns: u64, most: u64) -> Self {
        let (windows, kept) = (free_ns / grain_ns, BinaryHeap::new());
        Self { grain_ns, windows, most, kept, lost_ns: 0, window: 0, delay_ns: 0 }
    }

    /// Adds the next detour.
    #[inline]
    pub(super) fn add(&mut self, detour: Span) {
        let end_ns = (self.window + 1) * self.grain_ns;
        if detour.start_ns - self.lost_ns >= end_ns {
            self.close();
            self.window = (detour.start_ns - self.lost_ns) / self.grain_ns;
        }
        self.delay_ns += detour.length_ns();
        self.lost_ns += detour.length_ns();
    }

    fn close(&mut self) {
        let delay_ns = std::mem::take(&mut self.delay_ns);
        if delay_ns > 0 && self.window < self.windows {
            self.keep(Long { delay_ns, at_ppm: self.window * 1_000_000 / self.windows });
        }
    }

    fn keep(&mut self, long: Long) {
        let room = self.kept.len() as u64 <= self.most;
        if room || self.kept.peek().is_some_and(|Reverse(least)| *least < long) {
            self.kept.push(Reverse(long));
        }
        if self.kept.len() as u64 > self.most + 1 {
            self.kept.pop();
        }
    }

    /// Adds those of another CPU; both must have all detours.
    pub(super) fn merge(&mut self, mut other: Self) {
        self.close();
        other.close();
        other.kept.into_iter().for_each(|Reverse(long)| self.keep(long));
    }

    /// Returns the longest delays except the last, which is the threshold.
    fn above(mut self) -> Above {
        self.close();
        let mut kept: Vec<Long> = self.kept.into_iter().map(|Reverse(long)| long).collect();
        kept.sort_unstable();
        // Fewer windows than wanted had a delay: the rest had none.
        let threshold_ns = if kept.len() as u64 > self.most { kept[0].delay_ns } else { 0 };
        kept.retain(|long| long.delay_ns > threshold_ns);
        Above { threshold_ns, delays: kept }
    }
}

/// Returns the number of delays above the threshold for this number of windows.
pub(super) fn most_above(windows: u64) -> u64 {
    (windows / ONE_IN).min(MOST)
}

impl Fitted {
    /// Returns the slowdown of `ranks` by the free-start law with the tail.
    pub(super) fn slowdown(&self, law: &Law, grain_ns: u64, ranks: u64) -> Extrapolated {
        let threshold_ns = self.tail.threshold_ns as f64;
        let (below, above) = (law.up_to(ranks, threshold_ns), law.survival(threshold_ns));
        let slowdown = |pareto: &Pareto, share: f64| {
            1.0 + (below + pareto.mean_of_largest((above * share).min(1.0), ranks))
                / grain_ns as f64
        };
        // In logarithms, because the mean grows without limit as the shape nears 1.
        let added = |pareto: &Pareto, share: f64| (slowdown(pareto, share) - 1.0).ln();
        let each = &self.without_each;
        let without = in_order(each.len(), |at| match &each[at] {
            (pareto, share) if pareto.shape < 1.0 => added(pareto, *share),
            _ => f64::INFINITY,
        });
        let middle = added(&self.pareto, 1.0);
        let spread = Spread::left_out(middle, &without);
        let interval = spread.map(|spread| spread.around(middle));
        Extrapolated {
            slowdown: slowdown(&self.pareto, 1.0),
            interval: interval
                .map(|log| Interval { low: 1.0 + log.low.exp(), high: 1.0 + log.high.exp() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a block that has c of all N delays of B blocks, (N − c) / N · B / (B − 1) times as many are expected.
    #[test]
    fn blocks_with_more_delays_leave_fewer_when_they_are_left_out() {
        let delays: Vec<Long> = (0..4)
            .flat_map(|block| (0..10 * (block + 1)).map(move |at| (block, at)))
            .map(|(block, at)| Long { delay_ns: 1_001 + 37 * at, at_ppm: 250_000 * block + at })
            .collect();
        let above = Above { threshold_ns: 1_000, delays };
        let each = above.without_each(4).expect("each has a tail");
        let shares: Vec<f64> = each.iter().map(|(_, share)| *share).collect();
        let expected = [90.0, 80.0, 70.0, 60.0].map(|left| left / 100.0 * 4.0 / 3.0);
        let near = shares.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near && shares.len() == 4, "{shares:?}");
    }
}
