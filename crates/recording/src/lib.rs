//! The recording: what was measured on one machine in one run, as a directory that any tool can read.
//!
//! `run.json` describes what ran where; Parquet tables hold the measured data. *Measured* tables are never
//! rewritten; *derived* tables can be made again from them. docs/format.md is the reference.
//!
//! Opens a recording and sums the detours of each CPU:
//!
//! ```
//! use anechoic_recording::{Detour, Problem, Recording};
//! use std::path::Path;
//!
//! let recording = Recording::open(Path::new("../../fixtures/format-2"))?;
//! let clock = &recording.run().clock;
//! for cpu in &recording.run().cpus {
//!     let mut ticks = 0;
//!     for rows in recording.rows_of_cpu::<Detour>(cpu.cpu) {
//!         ticks += rows?.iter().map(|row| row.end_ticks - row.start_ticks).sum::<u64>();
//!     }
//!     println!("CPU {}: {} ns in detours", cpu.cpu, clock.ns(ticks));
//! }
//! # Ok::<(), Problem>(())
//! ```
//!
//! Prints what each source took, from the activities that attribution has derived:
//!
//! ```
//! use anechoic_recording::{Activity, Problem, Recording, sources};
//! use std::collections::BTreeMap;
//! use std::path::Path;
//!
//! let recording = Recording::open(Path::new("../../docs/examples/before"))?;
//! let mut ticks = BTreeMap::new();
//! for rows in recording.rows::<Activity>() {
//!     for row in rows? {
//!         *ticks.entry(row.source).or_insert(0) += row.self_ticks;
//!     }
//! }
//! for (source, ticks) in &ticks {
//!     let row = sources::SOURCES.iter().find(|row| row.id == &**source);
//!     let title = row.map_or(&**source, |row| row.title);
//!     println!("{title}: {} ns", recording.run().clock.ns(*ticks));
//! }
//! assert!(ticks.contains_key("timer-tick"));
//! # Ok::<(), Problem>(())
//! ```

#![forbid(unsafe_code)]

mod aliases;
pub mod attribution;
mod boundaries;
mod bounded;
mod cell;
pub mod check;
mod checksums;
pub mod clock;
mod columns;
mod derived;
mod durable;
mod error;
pub mod event;
mod field;
mod guard;
pub mod import;
mod inflated;
pub mod injection;
mod intervals;
mod loops;
mod losses;
pub mod machine;
pub mod memory;
mod merge;
pub mod methods;
mod news;
pub mod notes;
mod opened;
pub mod options;
mod pages;
pub mod paging;
pub mod parallel;
mod parameters;
mod part;
mod part_file;
mod pattern;
mod policy;
pub mod probes;
mod problem;
mod program;
pub mod rates;
mod read;
mod recorder;
mod recording;
mod redact;
mod row;
pub mod rows;
pub mod run;
mod scrub;
pub mod sources;
mod stint;
pub mod stop;
#[cfg_attr(not(target_os = "linux"), path = "no_strangers.rs")]
mod strangers;
pub mod switch;
mod table;
mod text;
pub mod topology;
pub mod trace;
pub mod tunable;
mod view;
pub mod wakeup;
pub mod who;
mod work;

pub use boundaries::Boundaries;
pub use bounded::read_file;
pub use cell::Cell;
pub use checksums::sha256;
pub use clock::Clock;
pub use derived::{DerivedWriter, Held};
pub use durable::{
    create as create_file, create_dir_all, create_nothing_more, create_own_dir, replace_file,
};
pub use error::WriteError;
pub use event::{EVENTS, EventKind, EventSpec, KERNEL_FUNCTION, NameKind};
pub use intervals::Intervals;
pub use loops::Loops;
pub use losses::{Losses, LossesOf};
pub use merge::{Feed, Merge};
pub use news::News;
pub use opened::Opened;
pub use parameters::{Library, Parameters};
pub use policy::Policy;
pub use problem::{Problem, ProblemKind, in_words, is_control, remedy_of};
pub use program::{CLONE_THREAD, Lifetime, MarkKind, Marked, Members};
pub use read::Rows;
pub use recorder::Recorder;
pub use recording::{Recording, find, find_each, readers};
pub use row::{CpuRow, DerivedRow, EachTable, Row};
pub use rows::{
    Activity, ActivityKind, Counter, Delay, DelayKind, Detour, Fixed, Growth, KernelEvent,
    LengthCount, LoopPace, Loss, LossKind, Mark, Name, ProgramThread, Release, Sample, Series,
    Stack, VictimState, each_table,
};
pub use run::Run;
pub use stint::Stint;
#[cfg(target_os = "linux")]
pub use strangers::follow;
pub use strangers::{sudo_user, verify_code, verify_place};
pub use view::{DetourView, JoinedDetours, Strays};
