//! Statistics over recordings: noise, its sources, and how reliable they are.
//!
//! Everything is added up in integer ticks while a recording is read part by part, and converted to nanoseconds, shares
//! and intervals only at the end. Nothing here prints.
//!
//! Computes the noise of a recording, and how often each source interrupted it:
//!
//! ```
//! use anechoic_recording::{Problem, Recording};
//! use std::path::Path;
//!
//! let recording = Recording::open(Path::new("../../docs/examples/before"))?;
//! let summary = anechoic_analyze::summarize(&recording)?;
//! println!("noise {:.3} %", 100.0 * summary.total.noise);
//! assert!(summary.total.noise > 0.0 && summary.total.noise < 1.0);
//! for row in summary.sources.iter().flat_map(|sources| &sources.rows) {
//!     println!("{}: {:.1} detours per second", row.source, row.rate_per_s);
//! }
//! # Ok::<(), Problem>(())
//! ```

#![forbid(unsafe_code)]

pub mod blocks;
pub mod certificate;
pub mod cluster;
pub mod compare;
pub mod competition;
pub mod counted;
pub mod coverage;
pub mod curve;
pub(crate) mod detours;
pub mod edges;
pub mod facts;
mod fold;
mod folded;
pub mod gate;
pub mod histogram;
pub mod history;
pub mod injection;
pub mod interference;
pub mod iterations;
mod jobs;
pub mod known;
pub mod lengths;
pub mod levels;
pub mod live;
pub mod longest;
mod loops;
pub mod memory;
pub mod monitor;
pub mod noise;
pub mod owners;
pub mod pace;
pub mod paging;
mod places;
pub mod probed;
pub mod program;
pub mod rank;
mod readings;
pub mod repeat;
pub mod sampled;
pub mod samples;
mod source_row;
pub mod sources;
pub mod spectrum;
mod split;
pub mod stats;
mod stopped;
mod stories;
mod story;
mod stream;
pub mod summary;
pub mod suspects;
pub mod sweep;
pub mod switch;
#[cfg(test)]
mod testing;
pub mod threads;
pub mod ticks;
pub mod timeline;
pub mod tracer;
pub mod variance;
pub mod waits;
pub mod wakeup;

pub use counted::{Counted, counted};
pub use fold::Progress;
pub use folded::folded;
pub use histogram::Histogram;
pub use injection::{SelfTestResult, Verification, verify};
pub use interference::{Interference, interference};
pub use iterations::{Iterations, iterations};
pub use loops::watched;
pub use memory::{Memory, memory};
pub use paging::{Paging, paging};
pub use places::Places;
pub use probed::{Probed, probed};
pub use readings::{Readings, Wanted, sources, summarize};
pub use repeat::{Repeat, summarize_many};
pub use samples::{Measured, measure, measure_with_spectra};
pub use stopped::{Stopped, StoppedSecond, no_sample};
pub use stories::{LongestDetours, longest_detours};
pub use story::{DetourStory, StoryActivity, Victim};
pub use summary::{Breakdown, Sources, Summary};
pub use switch::{Switch, switch};
pub use timeline::Timeline;
pub use variance::{Variance, variance};
pub use wakeup::{Wakeup, wakeup};

use anechoic_recording::Clock;

/// Returns `part / whole`, and 0 if the whole is 0.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Rounds to a thousandth.
fn rounded(ns: f64) -> f64 {
    (ns * 1e3).round() / 1e3
}

/// Returns the rate per second over this many ticks, and 0 over none.
fn per_second(count: u64, ticks: u64, clock: &Clock) -> f64 {
    if ticks == 0 { 0.0 } else { count as f64 / clock.seconds(ticks) }
}
