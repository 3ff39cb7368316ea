//! What the model is made from: times of one program under several rates of interrupts, and costs.

use super::scheduler::Scheduler;
use anechoic_analyze::facts::Facts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Points that a table may have, at most: every pair of them is looked at.
pub const MOST_POINTS: usize = 1_000;
/// Pairs of rates within the blocks of a recording, at most.
pub(super) const MOST_PAIRS: usize = 5_000_000;

/// Times and costs of some processors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// Where it comes from.
    pub origin: Origin,
    /// The processors, in the order of the times.
    pub processors: Vec<Processor>,
}

/// Where a table comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Two CSV files.
    Files {
        /// That with the times.
        times: String,
        /// That with the costs.
        costs: String,
    },
    /// A recording of `anechoic measure serial`.
    Recording(Box<Facts>),
}

/// What one processor was measured to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Processor {
    /// Its name.
    pub name: String,
    /// The times, by copies and then by rate.
    pub points: Vec<Point>,
    /// What an interrupt costs by itself.
    pub costs: Costs,
    /// Rate of the kernel's own tick, which came all the time and is not in the rates of the points; absent
    /// where the rates are those of the tick itself, or it is not known.
    pub own_tick_hz: Option<f64>,
    /// What the scheduler takes, by the number of copies.
    pub scheduler: Scheduler,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// Mean time of the work under one rate of interrupts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// How many copies of the work ran at once.
    pub copies: u32,
    /// Interrupts per second: ticks, or interrupts added to the kernel's own tick, as they came.
    pub rate_hz: f64,
    /// The rate that was asked for, where another may have come.
    pub asked_hz: Option<f64>,
    /// Who says what came.
    pub rate_from: RateFrom,
    /// Time of one piece of work (a sort), in ms: that of all copies together, divided by all pieces.
    pub ms: f64,
    /// Standard error of the time, from the blocks, with all by which the host differed between them; absent of
    /// fewer than two.
    pub standard_error_ms: Option<f64>,
    /// Blocks that the time is the mean of; 0 where that is not known.
    pub blocks: u32,
    /// The time in each of them, in their order; empty where that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_block: Vec<BlockTime>,
    /// Pieces of work in them; absent where that is not known.
    pub sorts: Option<u64>,
}

/// Time of the work under one rate of interrupts in one block: all rates at one number of copies, one after the
/// other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockTime {
    /// Number of the block; points of the same number of copies and block were measured close together.
    pub block: u32,
    /// Interrupts per second, as they came.
    pub rate_hz: f64,
    /// Time of one piece of work, in ms.
    pub ms: f64,
}

impl Point {
    /// The rate by which points of different copies belong together.
    #[must_use]
    pub fn nominal_hz(&self) -> f64 {
        self.asked_hz.unwrap_or(self.rate_hz)
    }
}

/// Who says at what rate interrupts came; the least certain is the greatest.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RateFrom {
    /// The table; or none were added, and none were seen.
    Table,
    /// The kernel's events, counted.
    Events,
    /// What made the interrupts.
    Injector,
    /// Nobody: it is the rate that was asked for.
    Asked,
}

/// What one interrupt costs by itself (its direct cost), in µs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Costs {
    /// Into the kernel and back: a null system call, the mean.
    pub trap_us: f64,
    /// The same, the fastest.
    pub trap_min_us: Option<f64>,
    /// In the kernel: the handler of the interrupts whose rate differs between the points.
    pub handler_us: f64,
    /// Around it as the program saw it: trap, return and, in a guest, the VM exit. Where it is known it takes
    /// the place of the trap.
    pub gap_us: Option<f64>,
    /// What handler and gap are the mean of, by rate; empty where they were given.
    pub added: Vec<SeenCost>,
    /// The kernel's own tick, where it was seen beside added interrupts.
    pub tick: Option<SeenCost>,
}

impl Costs {
    /// Trap and handler; with a recording gap and handler.
    #[must_use]
    pub fn direct_us(&self) -> f64 {
        self.handler_us + self.gap_us.unwrap_or(self.trap_us)
    }
}

/// What interrupts of one kind were seen to cost, in µs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeenCost {
    /// Their rate as asked for.
    pub rate_hz: Option<f64>,
    /// How many that came alone: nothing else was in the detour.
    pub count: u64,
    /// In the kernel.
    pub handler_us: f64,
    /// Around it.
    pub gap_us: f64,
}
