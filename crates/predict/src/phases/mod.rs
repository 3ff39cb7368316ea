//! What noise costs a bulk-synchronous parallel job: a phase ends when its slowest rank does.
//!
//! Computed from the detours of recorded CPUs ([`Timeline`]). [`laws`] are closed-form brackets, and
//! [`recursion`] plays what lies between them.

mod bins;
mod closed_form;
mod law;
mod laws;
mod recursion;
mod runs;
mod sweep;
mod timeline;

pub use bins::RELATIVE_WIDTH;
pub use closed_form::ClosedForm;
pub use law::Law;
pub use laws::{Laws, laws};
pub use recursion::{Job, Tables};
pub use runs::{BUDGET, FEWEST_PHASES, RUNS, Recursion, recursion};
pub use timeline::{Host, Span, Timeline};
