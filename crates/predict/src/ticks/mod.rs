//! The serial tick model (Tsafrir, ExpCS 2007): the direct and indirect cost of periodic interrupts for one program,
//! and how it grows with their rate.
//!
//! A [`Table`] comes from CSV files ([`read_files`]) or a recording ([`table_of`]); [`model`] makes the [`Model`].

mod blocks;
mod chance;
mod csv;
mod files;
mod fit;
mod goodness;
mod model;
mod outcome;
mod pairs;
mod recorded;
mod recorded_costs;
mod recorded_rates;
mod recorded_rounds;
mod recorded_scheduler;
mod scheduler;
mod table;

pub use files::{OPTIONS, read_files};
pub use goodness::{Bend, Fall, Fitted, Goodness, RateCost};
pub use model::model;
pub use outcome::{
    Cost, Linearity, ModeParts, Model, Parts, ProcessorModel, Sample, TickShare, Tickless, Verdict,
};
pub use pairs::{Estimators, Pair, Shares};
pub use recorded::table_of;
pub use recorded_rounds::is_work;
pub use scheduler::{Estimate, Scheduler, SchedulerCost};
pub use table::{
    BlockTime, Costs, HandlerMode, MOST_POINTS, Origin, Point, Processor, RateFrom, SeenCost, Table,
};
