//! Attribution of made-up detours and events.

#![allow(clippy::unwrap_used, reason = "a test stops at the first error")]

mod killed;
mod live;
mod program;
mod program_tables;
mod properties;
mod recording;
mod scenarios;
mod sources;
mod stage;
mod stints;
mod wakeups;
mod whole;
