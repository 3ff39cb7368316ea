//! The input of the model: times of one program under several rates of interrupts, and costs.

use super::scheduler::Scheduler;
use anechoic_analyze::facts::Facts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest number of points of a table, because every pair of them is computed.
pub const MOST_POINTS: usize = 1_000;
/// Largest number of pairs of rates within the blocks of a recording.
pub(super) const MOST_PAIRS: usize = 5_000_000;

/// Times and costs of some processors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// The origin of the table.
    pub origin: Origin,
    /// The processors in the order of the times.
    pub processors: Vec<Processor>,
}

/// The origin of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Two CSV files.
    Files {
        /// File with the times.
        times: String,
        /// File with the costs.
        costs: String,
    },
    /// A recording of `anechoic measure serial`.
    Recording(Box<Facts>),
}

/// The measurements of one processor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Processor {
    /// Name of the processor.
    pub name: String,
    /// The times, sorted by copies and rate.
    pub points: Vec<Point>,
    /// Direct cost of an interrupt.
    pub costs: Costs,
    /// Rate of the kernel's own tick, which is not included in the rates of the points; absent if the points are rates
    /// of the tick itself, or if it is unknown.
    pub own_tick_hz: Option<f64>,
    /// Time that the scheduler takes, by the number of copies.
    pub scheduler: Scheduler,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// Mean time of the work under one rate of interrupts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Number of copies of the work that ran at once.
    pub copies: u32,
    /// Delivered interrupts per second: ticks, or interrupts added to the kernel's own tick.
    pub rate_hz: f64,
    /// Requested rate, if the delivered one may differ.
    pub asked_hz: Option<f64>,
    /// Origin of the rate.
    pub rate_from: RateFrom,
    /// Time of one piece of work (a sort) in ms: the time of all copies together divided by all pieces.
    pub ms: f64,
    /// Standard error of the time from the blocks, including the drift between them; absent for fewer than two.
    pub standard_error_ms: Option<f64>,
    /// Number of blocks that the time is the mean of; 0 if unknown.
    pub blocks: u32,
    /// Time in each block in order; empty if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_block: Vec<BlockTime>,
    /// Number of pieces of work; absent if unknown.
    pub sorts: Option<u64>,
}

/// Time of the work under one rate of interrupts in one block; a block runs all rates at one number of copies in turn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockTime {
    /// Number of the block; points of the same number of copies and block were measured close together.
    pub block: u32,
    /// Delivered interrupts per second.
    pub rate_hz: f64,
    /// Time of one piece of work, in ms.
    pub ms: f64,
}

impl Point {
    /// Returns the rate by which points of different copies correspond.
    #[must_use]
    pub fn nominal_hz(&self) -> f64 {
        self.asked_hz.unwrap_or(self.rate_hz)
    }
}

/// Origin of the rate of interrupts; the least certain is the greatest.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RateFrom {
    /// The table; or no interrupts were added and none were recorded.
    Table,
    /// Counts of kernel events.
    Events,
    /// Counts of the injector.
    Injector,
    /// No counts: it is the requested rate.
    Asked,
}

/// Direct cost of one interrupt, in µs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Costs {
    /// Entering and leaving the kernel: mean of an empty system call.
    pub trap_us: f64,
    /// Entering and leaving the kernel: fastest empty system call.
    pub trap_min_us: Option<f64>,
    /// Time in the kernel: the handler of the interrupts whose rate differs between the points.
    pub handler_us: f64,
    /// Gaps around the handler as seen by the program: trap, return and, in a guest, the VM exit. If known, it replaces
    /// the trap.
    pub gap_us: Option<f64>,
    /// Handler and gap for each rate, of which the above are means; empty if they were given.
    pub added: Vec<SeenCost>,
    /// The kernel's own tick, if it was observed beside added interrupts.
    pub tick: Option<SeenCost>,
}

impl Costs {
    /// Returns the direct cost: trap and handler, or gap and handler for a recording.
    #[must_use]
    pub fn direct_us(&self) -> f64 {
        self.handler_us + self.gap_us.unwrap_or(self.trap_us)
    }
}

/// Observed cost of interrupts of one kind, in µs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeenCost {
    /// Requested rate of the interrupts.
    pub rate_hz: Option<f64>,
    /// Number of interrupts that came alone in their detour.
    pub count: u64,
    /// Time in the kernel.
    pub handler_us: f64,
    /// Gaps around it.
    pub gap_us: f64,
}
