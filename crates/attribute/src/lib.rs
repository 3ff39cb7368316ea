//! From detours and kernel events to named activities.
//!
//! [`attribute`] derives the `activities` table of a recording again. The way of one event:
//! `merge` brings it in time order, `lane` finds the detour that it falls into, `apply` does to
//! the `scene` of that detour what the event says, `label` asks the [`CLAIMS`] whose each frame
//! is, and `steal` adds what the host says it took.

#![forbid(unsafe_code)]

mod alignment;
mod apply;
mod audit;
mod causes;
mod claims;
pub mod engine;
pub mod frame;
mod input;
mod known;
mod label;
mod lane;
mod live;
mod merge;
mod names;
mod own_time;
mod read;
mod scene;
mod steal;
mod tick;
mod track;

pub use claims::{CLAIMS, Claim, ClaimOf};
pub use input::{CpuInput, Feed, Input};
pub use known::Known;
pub use live::{Explained, Live};
pub use names::Names;
pub use read::attribute;
