//! The result of the serial tick model.

use super::goodness::{Bend, Fall, Fitted, Goodness, RateCost};
use super::pairs::{Estimators, Pair, Shares};
use super::scheduler::Scheduler;
use super::table::{Costs, Origin};
use anechoic_analyze::stats::Interval;
use schemars::JsonSchema;
use serde::Serialize;

/// The serial tick model of every processor of a table.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Model {
    /// The origin of the table.
    pub origin: Origin,
    /// The processors in the order of the table.
    pub processors: Vec<ProcessorModel>,
    /// The assumptions, one sentence each.
    pub assumptions: Vec<String>,
    /// What was given but is not part of the model, and why, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// The serial tick model of one processor.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ProcessorModel {
    /// Name of the processor.
    pub name: String,
    /// Direct cost of an interrupt.
    pub costs: Costs,
    /// All points with their predictions, sorted by copies and rate.
    pub points: Vec<Fitted>,
    /// Each pair of rates at the same number of copies. If blocks are known, times and rates are means over the blocks
    /// that have both. (The cost of one interrupt is the median over the pairs of each block.)
    pub pairs: Vec<Pair>,
    /// The indirect share over all pairs; absent if the time rose in none.
    pub shares: Option<Shares>,
    /// Cost of one interrupt.
    pub cost: Cost,
    /// Percentage of the CPU that 1,000 interrupts per second take, for the interrupts whose rate differs between the
    /// points; absent if the cost is not significantly above 0.
    pub per_1000: Option<Parts>,
    /// Percentage of the CPU that 1,000 of the kernel's own ticks per second take, with their own handler and gap;
    /// absent if the points are themselves ticks, or if the tick was not observed.
    pub per_1000_own_ticks: Option<Parts>,
    /// The same in each mode of the handler, if modes are named: the indirect cost is that of the mode in which the times
    /// were measured, the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<ModeParts>,
    /// The indirect part by several estimators; absent if the cost is not significantly above 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimators: Option<Estimators>,
    /// Share f(n) of the CPU that ticks take at some rates, for the kernel's own tick if it was observed. Empty if the
    /// cost is not significantly above 0.
    pub ticks: Vec<TickShare>,
    /// Time of the work without interrupts, by copies; empty if the cost is not significantly above 0.
    pub tickless: Vec<Tickless>,
    /// Cost of one interrupt at each rate, relative to the lowest.
    pub by_rate: Vec<RateCost>,
    /// How well the model fits.
    pub goodness: Goodness,
    /// Whether interrupts cost less or more at higher rates; absent for too few rates.
    pub bend: Option<Bend>,
    /// Steps at which the time falls although the rate rises.
    pub falls: Vec<Fall>,
    /// The verdict on the model.
    pub verdict: Verdict,
    /// Time that the scheduler takes, by the number of copies.
    pub scheduler: Scheduler,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// Cost of one interrupt in µs: the median over all pairs, blocks and copies (Theil 1950, Sen 1968).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Cost {
    /// Total cost.
    pub total_us: f64,
    /// 95 % interval of the total cost; absent for too few points.
    pub total_interval: Option<Interval>,
    /// Direct cost: given or measured separately, and assumed to be exact.
    pub direct_us: f64,
    /// Indirect cost: the rest of the total.
    pub indirect_us: f64,
    /// 95 % interval of the indirect cost: that of the total, shifted.
    pub indirect_interval: Option<Interval>,
    /// Indirect cost as a share of the total; absent if the total is not significantly above 0.
    pub indirect_share: Option<f64>,
}

/// Percentage of a CPU that 1,000 interrupts per second take: P of Tsafrir 2007.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Parts {
    /// Share of traps; absent if the gaps, which contain them, are known.
    pub trap: Option<f64>,
    /// Share of gaps: trap, return and VM exit; absent if only an empty system call was measured.
    pub gap: Option<f64>,
    /// Share of handlers.
    pub handler: f64,
    /// Share of the indirect cost.
    pub indirect: f64,
    /// Sum of these shares.
    pub total: f64,
}

/// Percentage of a CPU that 1,000 ticks per second take in one mode of the handler.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModeParts {
    /// Name of the mode.
    pub name: String,
    /// The percentages.
    pub parts: Parts,
}

/// Share of a CPU that ticks take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TickShare {
    /// Rate n of the ticks.
    pub rate_hz: f64,
    /// The share f(n) in percent; 100 or more is impossible, which shows the limit of the model.
    pub percent: f64,
    /// Its 95 % interval; absent for too few points.
    pub interval: Option<Interval>,
}

/// Time of the work without interrupts, at one number of copies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Tickless {
    /// Number of copies that ran at once.
    pub copies: u32,
    /// B, the mean over the rates of T·(1 − f), in ms; for a recording it contains the kernel's own tick. Absent if f ≥
    /// 1 at all rates.
    pub ms: Option<f64>,
    /// B without the kernel's own tick, in ms; absent if the rate or cost of that tick is unknown, or if it is not
    /// separate.
    pub without_own_tick_ms: Option<f64>,
}

/// The verdict on the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Verdict {
    /// Whether the cost grows in proportion to the rate.
    pub linearity: Linearity,
    /// Whether the sample sufficed to determine the costs.
    pub sample: Sample,
}

/// Whether the cost grows in proportion to the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Linearity {
    /// Not tested: no number of copies has more than two rates, so that a line always fits; or the cost is not
    /// significantly above 0; or there are too few blocks to estimate errors; or the times scatter so much that a miss by
    /// a quarter of what interrupts add at the highest rate does not show.
    Untested,
    /// It does: no point is off, no time falls by more than its error as the rate rises, and the cost does not differ
    /// significantly between low and high rates.
    Holds,
    /// It does not: a point is off, a time falls as the rate rises, or the cost differs at high rates.
    Fails,
}

/// Whether the sample sufficed to determine the costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sample {
    /// Total and indirect cost are significant.
    Enough,
    /// The total cost is significant, the indirect cost is not.
    OnlyTotal,
    /// The total cost is not significant.
    Noise,
    /// The estimated cost is 0 or negative, significantly or without an interval. No cost is negative, so something
    /// else differed between the rates.
    NotPositive,
    /// There are too few points for an interval.
    TooFew,
}

impl Sample {
    /// Returns whether the cost is significantly above 0; otherwise nothing follows from it.
    #[must_use]
    pub fn resolves_cost(self) -> bool {
        !matches!(self, Self::Noise | Self::NotPositive)
    }
}
