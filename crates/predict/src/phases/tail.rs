//! Beyond what was recorded: a tail fitted to the longest delays.

use super::law::Law;
use super::pareto::Pareto;
use super::resample::RESAMPLES;
use super::span::Span;
use super::threads::in_order;
use anechoic_analyze::stats::{Interval, percentiles, resample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// The longest of this many windows lie above the threshold,
const ONE_IN: u64 = 20;
/// but no more than this.
const MOST: u64 = 1_000;
/// Fewer windows above the threshold give no tail.
const FEWEST: usize = 50;
/// Fewer different delays among them are no tail but a few lengths.
const FEWEST_DISTINCT: usize = 20;

/// The fitted tail of one grain's delays.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tail {
    /// Delays above this are its.
    pub threshold_ns: u64,
    /// Windows of one grain that follow each other in free time, over all CPUs.
    pub windows: u64,
    /// Those with a delay above the threshold.
    pub exceedances: u64,
    /// Shape of the generalised Pareto distribution, by maximum likelihood; below 0 delays have a limit.
    pub shape: f64,
    /// Its 95 % interval, from blocks of time; absent where the recording is too short for blocks.
    pub shape_interval: Option<Interval>,
    /// Its scale, in ns.
    pub scale_ns: f64,
}

/// What the tail says of a number of ranks that the recording is too short for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Extrapolated {
    /// Time over time without noise, by the free-start law with the tail in the place of what was recorded above
    /// the threshold.
    pub slowdown: f64,
    /// Its 95 % interval, from blocks of time; absent where there are no blocks, or where it has no upper end.
    pub interval: Option<Interval>,
}

/// A fitted tail with what its intervals are made of.
#[derive(Debug, Clone)]
pub(super) struct Fitted {
    pub tail: Tail,
    pareto: Pareto,
    /// Tails of resampled blocks, and the share of exceedances that each has of the recorded.
    resampled: Vec<(Pareto, f64)>,
}

/// A delay over the threshold, and when it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Long {
    delay_ns: u64,
    /// Its place in the window, in millionths.
    at_ppm: u64,
}

/// A tail under which the longest delay would be this improbable is not that delay's.
const IMPROBABLE: f64 = 0.01;

/// Whether these excesses, the smallest first, could be of this distribution: the longest is not too improbable,
/// and their distribution is nowhere further from it than 1 / sqrt(count) (Kolmogorov-Smirnov; as the parameters are
/// those that fit best, that happens by chance in about one case of a hundred).
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

/// Fits the tail, or says why there is none. The threshold is the lowest of some, each with half as many delays
/// above it, that leaves delays of one kind. `longest` are those of `windows` of all CPUs, and `blocks` those that
/// time is cut into for intervals.
pub(super) fn fit(
    longest: Longest,
    windows: u64,
    blocks: Option<u64>,
    seed: u64,
) -> Result<Fitted, String> {
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
            return Err(format!("the longest delays have {distinct} lengths only"));
        }
        let excesses: Vec<f64> = above.delays.iter().map(|long| above.excess(long)).collect();
        let pareto = Pareto::fit(&excesses).ok_or("the longest delays are all equal")?;
        if could_be(&pareto, &excesses) {
            break pareto;
        }
        above = above.upper_half();
        if above.delays.len() < FEWEST {
            return Err(
                "the longest delays are of several kinds, or one is too long for them".into()
            );
        }
    };
    if pareto.shape >= 1.0 {
        return Err(format!("its shape is {:.2}: from 1 on, the mean has no limit", pareto.shape));
    }
    let resampled = blocks.map_or(vec![], |blocks| above.resample(blocks, seed));
    let shapes: Vec<f64> = resampled.iter().map(|(pareto, _)| pareto.shape).collect();
    let tail = Tail {
        threshold_ns: above.threshold_ns,
        windows,
        exceedances: above.delays.len() as u64,
        shape: pareto.shape,
        shape_interval: (shapes.len() == RESAMPLES).then(|| percentiles(shapes)),
        scale_ns: pareto.scale,
    };
    Ok(Fitted { tail, pareto, resampled })
}

/// The delays above a threshold, the shortest first.
#[derive(Debug)]
struct Above {
    threshold_ns: u64,
    delays: Vec<Long>,
}

impl Above {
    fn excess(&self, long: &Long) -> f64 {
        (long.delay_ns - self.threshold_ns) as f64
    }

    /// Those above the middle one.
    fn upper_half(mut self) -> Self {
        self.threshold_ns = self.delays[self.delays.len() / 2].delay_ns;
        self.delays.retain(|long| long.delay_ns > self.threshold_ns);
        self
    }

    /// Tails of blocks of time, drawn with replacement, and how many times as many delays each has.
    fn resample(&self, blocks: u64, seed: u64) -> Vec<(Pareto, f64)> {
        let mut by_block: Vec<Vec<f64>> = vec![vec![]; blocks as usize];
        for long in &self.delays {
            let block = (long.at_ppm * blocks / 1_000_000).min(blocks - 1);
            by_block[block as usize].push(self.excess(long));
        }
        let chosen = resample(by_block.len(), RESAMPLES, seed, <[usize]>::to_vec);
        let fit = |number: usize| {
            let of_blocks = chosen[number].iter().flat_map(|&block| &by_block[block]);
            let excesses: Vec<f64> = of_blocks.copied().collect();
            let share = excesses.len() as f64 / self.delays.len() as f64;
            Pareto::fit(&excesses).map(|pareto| (pareto, share))
        };
        in_order(RESAMPLES, fit).into_iter().flatten().collect()
    }
}

/// The longest delays of windows of one grain that follow each other in the free time of one CPU.
#[derive(Debug)]
pub(super) struct Longest {
    grain_ns: u64,
    /// Whole windows.
    windows: u64,
    most: u64,
    kept: BinaryHeap<Reverse<Long>>,
    lost_ns: u64,
    window: u64,
    delay_ns: u64,
}

impl Longest {
    /// None yet, of a CPU with so much free time; one more than `most` are kept, for the threshold.
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

    /// Adds another CPU's. Of both, the last detour was added.
    pub(super) fn merge(&mut self, mut other: Self) {
        self.close();
        other.close();
        other.kept.into_iter().for_each(|Reverse(long)| self.keep(long));
    }

    /// The delays above the longest but `most`.
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

/// How many delays the threshold leaves of so many windows.
pub(super) fn most_above(windows: u64) -> u64 {
    (windows / ONE_IN).min(MOST)
}

impl Fitted {
    /// The slowdown of `ranks` with the tail on the free-start law.
    pub(super) fn slowdown(&self, law: &Law, grain_ns: u64, ranks: u64) -> Extrapolated {
        let threshold_ns = self.tail.threshold_ns as f64;
        let (below, above) = (law.up_to(ranks, threshold_ns), law.survival(threshold_ns));
        let slowdown = |pareto: &Pareto, share: f64| {
            1.0 + (below + pareto.mean_of_largest((above * share).min(1.0), ranks))
                / grain_ns as f64
        };
        let bounded = self.resampled.iter().filter(|(pareto, _)| pareto.shape < 1.0);
        let bounded: Vec<&(Pareto, f64)> = bounded.collect();
        let drawn = in_order(bounded.len(), |at| slowdown(&bounded[at].0, bounded[at].1));
        // Where more than 2.5 % of the draws have no mean, the interval has no upper end.
        let enough = drawn.len() * 1_000 >= RESAMPLES * 975;
        Extrapolated {
            slowdown: slowdown(&self.pareto, 1.0),
            interval: enough.then(|| percentiles(drawn)),
        }
    }
}
