//! Derives named activities from detours and kernel events.
//!
//! [`attribute`] derives the `activities` table of a recording again. The path of one event: [`anechoic_recording::Merge`] puts it
//! in time order, `cpu_matcher` finds the detour that contains it, `apply` applies it to the `scene` of that detour,
//! `label` finds the source of each frame among the [`CLAIMS`], and `steal` adds the time that the host
//! reports to have taken.
//!
//! [`program`] derives the detours of a recorded program, which has no loop that records them.
//!
//! ```no_run
//! use anechoic_recording::{Activity, Problem, Recording};
//! use std::path::Path;
//!
//! let dir = Path::new("anechoic-20261121T080000");
//! anechoic_attribute::attribute(&Recording::open(dir)?)?;
//! for rows in Recording::open(dir)?.rows_of_cpu::<Activity>(1) {
//!     for row in rows? {
//!         println!("{} {}: {} ticks", row.source, row.name, row.self_ticks);
//!     }
//! }
//! # Ok::<(), Problem>(())
//! ```

#![forbid(unsafe_code)]

mod apply;
mod audit;
mod causes;
mod claims;
mod cpu_matcher;
pub mod engine;
pub mod frame;
mod input;
mod label;
mod live;
mod names;
mod own_time;
pub mod program;
mod quota;
mod read;
mod scene;
mod steal;
mod tick;
mod track;
mod victims;

pub use claims::{CLAIMS, Claim, ClaimOf, RunContext};
pub use input::{CpuInput, Feed, Input};
pub use live::{Explained, Live};
pub use names::Names;
pub use read::attribute;
