//! Results, one folder and one row each.
//!
//! A row defines which recordings a result needs, how it is computed, how it becomes a screen and JSON, and its exit
//! code. Commands, schemas and the report follow from the rows. Each folder has the screen of its result in `mod.rs`, with
//! words, tables and charts beside it, and the row in `row.rs`; `mod.rs` of a prediction has the row as well.

pub mod bsp;
pub mod certificate;
pub mod cluster;
pub mod compare;
pub mod compare_wakeups;
pub mod counted;
mod described;
mod found;
pub mod gate;
pub mod histogram;
pub mod history;
pub mod hosts;
mod input;
pub mod interference;
pub mod iterations;
pub mod laws;
pub mod list;
pub mod live;
pub mod longest;
pub mod longest_wakeups;
pub mod measured;
pub mod memory;
mod model;
pub mod monitored;
pub mod paging;
pub mod phases;
pub mod probed;
pub mod rank;
pub mod rank_wakeups;
pub mod repeat;
mod row;
mod select;
pub mod simulated;
pub mod sources;
pub mod suite;
pub mod summary;
pub mod sweep;
pub mod switch;
pub mod ticks;
pub mod timeline;
pub mod variance;
pub mod wakeup;
pub mod wakeup_history;
pub mod wakeup_hosts;

pub use described::{Described, Grouping, Methods, Section};
pub use found::{Findings, Found};
pub use input::{Beside, Input, LeftOut, Progress};
pub use model::Model;
pub use row::{AnyRow, Compute, Print, Row};
pub use select::{Job, for_report, for_summary, needed, together_for_report};

/// All results, in the order of their texts in a report.
pub static RESULTS: &[&dyn AnyRow] = &[
    &measured::MEASURED,
    &bsp::BSP,
    &interference::INTERFERENCE,
    &ticks::TICKS,
    &memory::MEMORY,
    &paging::PAGING,
    &switch::SWITCH,
    &wakeup::WAKEUP,
    &probed::PROBED,
    &summary::SUMMARY,
    &iterations::ITERATIONS,
    &counted::COUNTED,
    &timeline::TIMELINE,
    &timeline::PERIODS,
    &phases::PHASES,
    &laws::LAWS,
    &simulated::SIMULATED,
    &sources::SOURCES,
    &longest::LONGEST,
    &longest_wakeups::LONGEST_WAKEUPS,
    &histogram::HISTOGRAM,
    &repeat::REPEAT,
    &variance::VARIANCE,
    &cluster::HOST,
    &cluster::CLUSTER,
    &hosts::HOST_SAMPLES,
    &hosts::HOSTS,
    &wakeup_hosts::HOST_WAKEUPS,
    &wakeup_hosts::WAKEUP_HOSTS,
    &rank::RANK,
    &sweep::SWEEP,
    &suite::SUITE,
    &compare::COMPARE,
    &compare_wakeups::COMPARE_WAKEUPS,
    &rank_wakeups::RANK_WAKEUPS,
    &certificate::CERTIFICATE,
    &history::HISTORY,
    &wakeup_history::WAKEUP_HISTORY,
    &monitored::MONITORED,
    &gate::GATE,
    &list::LIST,
    &live::VERIFICATION,
    &live::SELF_TEST,
    &live::CHECK,
    &live::SETTINGS,
];

/// Returns the row with this identifier.
#[must_use]
pub fn find(id: &str) -> Option<&'static dyn AnyRow> {
    RESULTS.iter().copied().find(|row| row.id() == id)
}

/// Returns file name under `schema/` and text of each schema; none without the feature `schemas`.
#[must_use]
pub fn schemas() -> Vec<(String, String)> {
    let schema = |row: &&dyn AnyRow| Some((format!("{}.schema.json", row.id()), row.schema()?));
    RESULTS.iter().filter_map(schema).collect()
}
