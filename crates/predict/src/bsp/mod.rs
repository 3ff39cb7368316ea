//! A measured bulk-synchronous job compared with the recursion for the same phases.
//!
//! [`bsp`] reads the recordings of `anechoic measure bsp`, which contain every phase of every rank. It plays the
//! recursion of [`crate::phases`] on the detours of the same phases and explains the difference.

mod compare;
mod explain;
mod gather;
mod job;
mod model;
mod outcome;
mod play;
mod sources;
mod sums;
mod track;
mod undisturbed;
mod walk;

pub use model::bsp;
pub use outcome::{
    Alone, Basis, Brackets, Bsp, Cell, Estimate, Explanation, Happened, HostFacts, Part, Played,
    RankFacts, SourceTime, Undisturbed, Unexplained,
};
