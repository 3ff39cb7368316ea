//! What noise costs a bulk-synchronous parallel job: a phase ends when its slowest rank does.
//!
//! Computed from the detours of recorded CPUs ([`Noise`], [`Timeline`]). [`laws`] are closed-form brackets, and
//! [`recursion`] plays what lies between them. [`predict`] makes a [`PhaseModel`] of all.

mod bins;
mod closed_form;
mod costs;
mod delays;
mod fold;
mod law;
mod laws;
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
mod starts;
mod sweep;
mod tail;
mod taken;
mod text;
mod threads;
mod timeline;

pub use bins::RELATIVE_WIDTH;
pub use closed_form::ClosedForm;
pub use delays::Delays;
pub use law::Law;
pub use laws::{Laws, laws};
pub use model::{Ask, MOST_RANKS, predict, predict_with};
pub use options::{OPTIONS, length_ns};
pub use outcome::{
    Cell, GrainModel, HostFacts, Method, PhaseModel, Slowdown, SourceCost, SourceFacts,
};
pub use recorded::Noise;
pub use recursion::{Job, MOST_DETOURS, Tables};
pub use resample::RESAMPLES;
pub use runs::{BUDGET, FEWEST_PHASES, RUNS, Recursion, recursion};
pub use tail::{Extrapolated, Tail};
pub use text::read_text;
pub use timeline::{Host, LONGEST_NS, Span, Timeline};
