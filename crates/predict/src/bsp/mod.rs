//! A bulk-synchronous job as measured, beside what the recursion says of the same phases.
//!
//! [`bsp`] reads what `anechoic measure bsp` recorded of every phase of every rank. From the detours of the same
//! phases it plays [`crate::phases`]' recursion, and says where the two part.

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

pub use model::{bsp, read};
pub use outcome::{
    Alone, Basis, Brackets, Bsp, Cell, Estimate, Explanation, Happened, HostFacts, Part, Played,
    RankFacts, SourceTime, Undisturbed, Unexplained,
};
