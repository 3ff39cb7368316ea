//! A run: what the loops measure on all CPUs of an experiment, with the kernel's events.
//!
//! The loops go through rounds, one for each cell and block of the experiment. A detour run has one round, in
//! which all loops watch the counter.

mod adopt;
mod artefacts;
mod conduct;
mod describe;
mod error;
mod estimates;
mod finish;
mod home;
mod housekeeper;
mod hurry;
mod injectors;
mod kernel_side;
mod limit_looks;
mod paces;
mod patience;
mod plan;
mod program;
mod ranks;
mod schedule;
mod stacks;
mod stop_watch;
mod store;
mod tracing;
mod trial;
mod unsaved;
mod user_work;
mod waits;
mod wake_cost;
mod window;

pub use conduct::run;
pub use error::RunError;
pub use plan::{BETWEEN, Plan, Stage};
pub use program::{Subject, record};
