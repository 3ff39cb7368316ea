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
        let block = |long: &Long| long.at_ppm * blocks / 1_000_000;
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
        // One without a delay is above no threshold.
        if self.window < self.windows {
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
    use crate::phases::bins::{Binned, DelayBin, bin_of};
    use crate::phases::law::LawBuilder;

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
    /// Returns the middles of `count` equal parts of an exponential distribution with the mean 1, each lower by `down` parts.
    fn quantiles(count: u32, down: f64) -> Vec<f64> {
        let below = (0..count)
            .map(|at| ((f64::from(at) + 0.5 - down) / f64::from(count)).clamp(0.0, 0.995));
        below.map(|below| -f64::ln_1p(-below)).collect()
    }

    /// Of 100 values the distribution may be 10 away, on either side of each step, and the longest may have 1 %.
    #[test]
    fn a_tail_fits_unless_the_longest_or_the_distance_is_improbable() {
        let exponential = Pareto { shape: 0.0, scale: 1.0 };
        let mut long = quantiles(100, 0.0);
        long[99] = 10.0; // 100 · e^-10 = 0.45 %
        let mut longest_that_may_be = quantiles(100, 0.0);
        longest_that_may_be[99] = 9.0; // 1.2 %
        let cases = [
            ("exponential", quantiles(100, 0.0), true),
            ("the longest is improbable", long, false),
            ("it is not", longest_that_may_be, true),
            ("9.9 too short", quantiles(100, 9.4), true),
            ("10.1 too short", quantiles(100, 9.6), false),
            ("10.1 too long", quantiles(100, -9.6), false),
        ];
        for (name, excesses, expected) in cases {
            assert_eq!(could_be(&exponential, &excesses), expected, "case: {name}");
        }
    }

    /// Windows of 100 ns of free time; what lies in one of them is one delay.
    #[test]
    fn the_detours_of_a_window_are_one_delay() {
        let mut longest = Longest::new(1_000, 100, 10);
        // In free time these begin at 50, 90, 110, 399 and 1,000: the last window is not complete.
        let mut lost_ns = 0;
        for (free_ns, length_ns) in [(50, 7), (90, 5), (110, 3), (399, 20), (1_000, 9)] {
            let start_ns = free_ns + lost_ns;
            longest.add(Span { start_ns, end_ns: start_ns + length_ns });
            lost_ns += length_ns;
        }
        let above = longest.above();
        let long = |delay_ns, at_ppm| Long { delay_ns, at_ppm };
        assert_eq!(above.threshold_ns, 0);
        assert_eq!(above.delays, [long(3, 100_000), long(12, 0), long(20, 300_000)]);
    }
    #[test]
    fn one_in_twenty_windows_is_above_the_threshold_and_at_most_a_thousand() {
        let found = [0, 19, 20, 399, 20_000, 20_020, u64::MAX].map(most_above);
        assert_eq!(found, [0, 0, 1, 19, 1_000, 1_000, 1_000]);
    }
    /// Half as many delays are left of those that follow no distribution: fifty are enough, and one less is not.
    #[test]
    fn fifty_delays_are_enough_for_a_tail() {
        for (left, says) in [(50, "too few blocks of time"), (49, "do not follow one distribution")]
        {
            let short = (1..=left).map(u64::from).chain([1_000_000]);
            let long = quantiles(left, 0.0).into_iter();
            let long = long.map(|excess| 1_000_000 + (excess * 100_000.0) as u64 + 1);
            let all = short.chain(long).map(|delay_ns| Reverse(Long { delay_ns, at_ppm: 0 }));
            let longest = Longest { kept: all.collect(), ..Longest::new(1_000, 1, 1_000) };
            let why = fit(longest, 1_000, None).expect_err("no blocks");
            assert!(why.contains(says), "{left} are left: {why}");
        }
    }

    /// One of ten phases is delayed by 1 µs. Over 500 ns the tail replaces it: 0.1 · (500 + 100 / (1 − 1/2)) ns in the mean.
    #[test]
    fn a_tail_is_added_to_what_lies_below_its_threshold() {
        let mut cells = vec![DelayBin { mass: 90, sum: 0.0 }];
        cells.resize(bin_of(1_000), DelayBin::default());
        cells.push(DelayBin { mass: 10, sum: 10_000.0 });
        let mut law = LawBuilder::default();
        law.add(&Binned { cells, total: 100, mean: 100.0 });
        let law = law.finish();
        let pareto = |scale: f64| Pareto { shape: 0.5, scale };
        let tail = Tail {
            threshold_ns: 500,
            windows: 100,
            exceedances: 10,
            shape: 0.5,
            shape_interval: None,
            scale_ns: 100.0,
        };
        let around = [90.0, 110.0].map(|scale| (pareto(scale), 1.0)).repeat(10);
        let mut fitted = Fitted { tail, pareto: pareto(100.0), without_each: around };
        let found = fitted.slowdown(&law, 1_000, 1);
        assert!((found.slowdown - 1.07).abs() < 1e-4, "{found:?}");
        // The interval is symmetric in the logarithm of what is added.
        let interval = found.interval.expect("each block leaves a tail");
        let middle = ((interval.low - 1.0) * (interval.high - 1.0)).sqrt();
        assert!((middle / (found.slowdown - 1.0) - 1.0).abs() < 1e-9, "{found:?}");
        assert!(interval.low > 1.0 && interval.low < found.slowdown, "{found:?}");
        // Without one of the blocks the mean is infinite.
        fitted.without_each[0].0.shape = 1.2;
        assert_eq!(fitted.slowdown(&law, 1_000, 1).interval, None);
    }
}
