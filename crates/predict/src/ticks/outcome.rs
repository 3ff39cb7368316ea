//! What the model says.

use super::goodness::{Bend, Fall, Fitted, Goodness, RateCost};
use super::pairs::{Pair, Shares};
use super::scheduler::Scheduler;
use super::table::{Costs, Origin};
use anechoic_analyze::stats::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The serial tick model of every processor of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Model {
    /// Where the table comes from.
    pub origin: Origin,
    /// The processors, as in the table.
    pub processors: Vec<ProcessorModel>,
    /// What is assumed, a sentence each.
    pub assumptions: Vec<String>,
}

/// The serial tick model of one processor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessorModel {
    /// Its name.
    pub name: String,
    /// What an interrupt costs by itself.
    pub costs: Costs,
    /// Each point with what the model says of it, by copies and then by rate.
    pub points: Vec<Fitted>,
    /// Each pair of rates at the same number of copies, its times and rates the means of the blocks that have both
    /// where blocks are known. (What one interrupt costs is the median over the pairs of each block.)
    pub pairs: Vec<Pair>,
    /// The indirect share over all pairs; absent where the time rose in none.
    pub shares: Option<Shares>,
    /// What one interrupt costs.
    pub cost: Cost,
    /// What 1,000 interrupts a second, of those whose rate differs between the points, take of the CPU; absent where
    /// the cost is not told to be above 0.
    pub per_1000: Option<Parts>,
    /// The same of the kernel's own tick, with its own handler and gap; absent too where the points are ticks already,
    /// and where it was not seen.
    pub per_1000_own_ticks: Option<Parts>,
    /// What ticks at some rates take of the CPU: f(n). Of the kernel's own tick where that was seen. Empty where the
    /// cost is not told to be above 0.
    pub ticks: Vec<TickShare>,
    /// Time of the work without interrupts, by copies; empty where the cost is not told to be above 0.
    pub tickless: Vec<Tickless>,
    /// What one interrupt costs at each rate, against the lowest.
    pub by_rate: Vec<RateCost>,
    /// How well the model fits.
    pub goodness: Goodness,
    /// Whether interrupts cost less or more at higher rates; absent of too few rates.
    pub bend: Option<Bend>,
    /// Where the time falls as the rate rises.
    pub falls: Vec<Fall>,
    /// What that comes to.
    pub verdict: Verdict,
    /// What the scheduler takes, by the number of copies.
    pub scheduler: Scheduler,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// What one interrupt costs, in µs: the median over all pairs, blocks and copies (Theil 1950, Sen 1968).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// All of it.
    pub total_us: f64,
    /// Its 95 % interval; absent of too few points.
    pub total_interval: Option<Interval>,
    /// The direct part: given or measured apart, and taken to be exact.
    pub direct_us: f64,
    /// What is left: the indirect part.
    pub indirect_us: f64,
    /// Its 95 % interval: that of the whole, moved.
    pub indirect_interval: Option<Interval>,
    /// The indirect part as a share of the whole; absent where the whole is not told to be above 0.
    pub indirect_share: Option<f64>,
}

/// What 1,000 interrupts a second take of a CPU, in percent: P of Tsafrir 2007.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parts {
    /// Traps; absent where the gaps are known, which they are part of.
    pub trap: Option<f64>,
    /// Gaps: trap, return and VM exit; absent where only a null system call is known.
    pub gap: Option<f64>,
    /// Handlers.
    pub handler: f64,
    /// The indirect cost.
    pub indirect: f64,
    /// All of them.
    pub total: f64,
}

/// What ticks take of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TickShare {
    /// Their rate n.
    pub rate_hz: f64,
    /// f(n), in percent. 100 and more is more than there is: the model ends before.
    pub percent: f64,
    /// Its 95 % interval; absent of too few points.
    pub interval: Option<Interval>,
}

/// Time of the work without interrupts, at one number of copies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tickless {
    /// Copies at once.
    pub copies: u32,
    /// B, the mean over the rates of T·(1 − f), in ms; with a recording the kernel's own tick is still in it.
    /// Absent where f is 1 or more at all of them.
    pub ms: Option<f64>,
    /// The same without that tick; absent where its rate or cost is not known, or is not apart.
    pub without_own_tick_ms: Option<f64>,
}

/// What the model comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Whether the cost grows in proportion to the rate.
    pub linearity: Linearity,
    /// Whether the sample was enough to tell the costs.
    pub sample: Sample,
}

/// Whether the cost grows in proportion to the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Linearity {
    /// No number of copies has more than two rates, so that a line fits always; or the cost is not told to be above 0;
    /// or blocks are too few to tell errors.
    Untested,
    /// No point lies off, no time falls by more than its error as the rate rises, and interrupts cost the same at low
    /// and at high rates as far as can be told.
    Holds,
    /// A point lies off, a time falls as the rate rises, or interrupts cost something else at high rates.
    Fails,
}

/// Whether the sample was enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sample {
    /// Both parts of the cost are told from 0.
    Enough,
    /// The cost is told from 0, the indirect part is not.
    OnlyTotal,
    /// The cost is not told from 0.
    Noise,
    /// The cost comes out as 0 or less, surely or without an interval: nothing costs that, so something else differed
    /// between the rates.
    NotPositive,
    /// Too few points for an interval.
    TooFew,
}

impl Sample {
    /// Whether the cost is above 0, as far as can be told; otherwise nothing follows from it.
    #[must_use]
    pub fn tells_cost(self) -> bool {
        !matches!(self, Self::Noise | Self::NotPositive)
    }
}
