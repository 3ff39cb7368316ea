//! The cost of noise for a bulk-synchronous parallel job, in which each phase ends when its slowest rank ends.
//!
//! It is computed from the detours of recorded CPUs ([`Noise`], [`Timeline`]). [`laws`] are closed-form brackets, and
//! [`recursion`] replays the recording, which lies between them. [`predict`] combines all in a [`PhaseModel`].

mod bins;
mod closed_form;
mod costs;
mod delays;
mod fold;
mod index;
mod law;
mod laws;
mod longest_detours;
mod model;
mod offsets;
mod options;
mod outcome;
mod pareto;
mod passes;
mod peaks;
mod recorded;
mod recorded_cpu;
mod recursion;
pub(crate) mod resample;
mod runs;
mod span;
mod starts;
mod sweep;
mod tail;
mod taken;
mod text;
mod timeline;
mod together;
#[cfg(test)]
mod walked_tests;
mod without;

pub use closed_form::ClosedForm;
pub use costs::culprits;
pub use law::Law;
pub use laws::{Laws, laws};
pub use model::{Ask, MOST_RANKS, predict, predict_with};
pub(crate) use options::RANKS;
pub use options::{OPTIONS, length_ns};
pub use outcome::{
    Cell, GrainModel, HostFacts, Method, PhaseModel, Slowdown, SourceCost, SourceFacts,
};
pub use recorded::Noise;
pub use recursion::{Job, Tables};
pub use runs::{BUDGET, Recursion, recursion};
pub use span::{LONGEST_NS, Span};
pub use tail::{Extrapolated, Tail};
pub use taken::SourceName;
pub use timeline::{Host, Timeline};

use anechoic_recording::{Problem, ProblemKind};

/// Returns an error: nothing was given, or nothing requested.
fn nothing(remedy: &str) -> Problem {
    ProblemKind::Usage.problem("nothing to predict", remedy)
}
