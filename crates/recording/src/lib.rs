//! The recording: what was measured on one machine in one run, as a directory that any tool can read.
//!
//! `run.json` says what ran where; Parquet tables hold what was seen. Tables marked *measured*
//! are never rewritten; *derived* tables can be made again from them. FORMAT.md is the reference.

#![forbid(unsafe_code)]

pub mod attribution;
pub mod check;
pub mod clock;
pub mod event;
pub mod machine;
pub mod rows;
pub mod run;

pub use clock::Clock;
pub use event::{EVENTS, EventKind, EventSpec};
pub use rows::{Activity, ActivityKind, Counter, Detour, KernelEvent, Loss, Name, NameKind};
pub use run::Run;
