//! The input of the model: times of one program under several rates of interrupts, and costs.

use super::scheduler::Scheduler;
use anechoic_analyze::facts::Facts;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// Largest number of points of a table, because every pair of them is computed.
pub const MOST_POINTS: usize = 1_000;
/// Largest number of pairs of rates within the blocks of a recording.
pub(super) const MOST_PAIRS: usize = 5_000_000;

/// Times and costs of some processors.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Table {
    /// The origin of the table.
    pub origin: Origin,
    /// The processors in the order of the times.
    pub processors: Vec<Processor>,
    /// What was given but is not part of the table, and why, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

impl Table {
    /// Joins the tables of several recordings, each with its name, which distinguishes processors of one name.
    #[must_use]
    pub fn join(tables: Vec<(String, Table)>) -> Self {
        let names = || {
            tables.iter().flat_map(|(_, table)| &table.processors).map(|processor| &processor.name)
        };
        let distinct = names().collect::<BTreeSet<_>>().len() == names().count();
        let (mut facts, mut processors, mut left_out) = (vec![], vec![], vec![]);
        for (label, table) in tables {
            if let Origin::Recording(recorded) = table.origin {
                facts.push(*recorded);
            }
            for processor in table.processors {
                let name =
                    if distinct { processor.name } else { format!("{label}: {}", processor.name) };
                processors.push(Processor { name, ..processor });
            }
            left_out.extend(table.left_out);
        }
        Self { origin: Origin::Recordings(facts), processors, left_out }
    }
}

/// The origin of a table.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
    /// Several of them.
    Recordings(Vec<Facts>),
}

/// The measurements of one processor.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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

impl Processor {
    /// Returns a processor of a table.
    #[must_use]
    pub fn given(name: String, points: Vec<Point>, costs: Costs) -> Self {
        let scheduler = Scheduler::none("tables do not contain single ticks");
        Self { name, points, costs, own_tick_hz: None, scheduler, notes: vec![] }
    }
}

/// Mean time of the work under one rate of interrupts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct BlockTime {
    /// Number of the block; points of the same number of copies and block were measured close together.
    pub block: u32,
    /// Delivered interrupts per second.
    pub rate_hz: f64,
    /// Time of one piece of work, in ms.
    pub ms: f64,
}

impl Point {
    /// Returns a time in ms from a table.
    #[must_use]
    pub fn given(copies: u32, rate_hz: f64, ms: f64) -> Self {
        Self {
            copies,
            rate_hz,
            asked_hz: None,
            rate_from: RateFrom::Table,
            ms,
            standard_error_ms: None,
            blocks: 0,
            by_block: vec![],
            sorts: None,
        }
    }

    /// Returns the rate by which points of different copies correspond.
    #[must_use]
    pub fn nominal_hz(&self) -> f64 {
        self.asked_hz.unwrap_or(self.rate_hz)
    }
}

/// Origin of the rate of interrupts; the least certain is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Costs {
    /// Entering and leaving the kernel: mean of an empty system call.
    pub trap_us: f64,
    /// Entering and leaving the kernel: fastest empty system call.
    pub trap_min_us: Option<f64>,
    /// Standard deviation of empty system calls, over samples that are each the mean of many calls; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trap_sd_us: Option<f64>,
    /// Time in the kernel: the handler of the interrupts whose rate differs between the points.
    pub handler_us: f64,
    /// Gaps around the handler as seen by the program: trap, return and, in a guest, the VM exit. If known, it replaces
    /// the trap.
    pub gap_us: Option<f64>,
    /// Handler and gap for each rate, of which the above are means; empty if they were given.
    pub added: Vec<SeenCost>,
    /// The kernel's own tick, if it was observed beside added interrupts.
    pub tick: Option<SeenCost>,
    /// The modes of the tick's handler, if they are named. The times were measured in the first, whose costs are those
    /// above.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<HandlerMode>,
}

/// Direct cost of a tick in one of the ways in which a kernel may handle it, for example with and without reading an
/// external clock (the TSC and PIT modes of Tsafrir 2007).
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HandlerMode {
    /// Name of the mode.
    pub name: String,
    /// Entering and leaving the kernel, in µs.
    pub trap_us: f64,
    /// Time in the handler, in µs.
    pub handler_us: f64,
}

impl Costs {
    /// Returns costs that were given instead of recorded.
    #[must_use]
    pub fn given(trap_us: f64, handler_us: f64) -> Self {
        Self {
            trap_us,
            trap_min_us: None,
            trap_sd_us: None,
            handler_us,
            gap_us: None,
            added: vec![],
            tick: None,
            modes: vec![],
        }
    }

    /// Returns the costs of the first of these modes; none without a mode.
    #[must_use]
    pub fn from_modes(modes: Vec<HandlerMode>) -> Option<Self> {
        let first = modes.first()?;
        Some(Self { modes: modes.clone(), ..Self::given(first.trap_us, first.handler_us) })
    }

    /// Returns the direct cost: trap and handler, or gap and handler for a recording.
    #[must_use]
    pub fn direct_us(&self) -> f64 {
        self.handler_us + self.gap_us.unwrap_or(self.trap_us)
    }
}

/// Observed cost of interrupts of one kind, in µs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SeenCost {
    /// Requested rate of the interrupts.
    pub rate_hz: Option<f64>,
    /// Number of interrupts that came alone in their detour.
    pub count: u64,
    /// Time in the kernel.
    pub handler_us: f64,
    /// Its standard deviation; absent for a single interrupt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handler_sd_us: Option<f64>,
    /// Gaps around it.
    pub gap_us: f64,
    /// Their standard deviation; absent likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_sd_us: Option<f64>,
}
