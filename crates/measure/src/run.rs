//! A run: what loops see on all CPUs of an experiment, with the kernel's events beside it.
//!
//! The loops go through rounds, one for each cell and block of the experiment. In a detour run there
//! is one round, in which all of them watch the counter.

mod adopt;
mod conduct;
mod describe;
mod error;
mod finish;
mod home;
mod housekeeper;
mod injectors;
mod kernel_side;
mod paces;
mod plan;
mod ranks;
mod schedule;
mod store;
mod unsaved;

pub use crate::calibrate::CalibrateError;
pub use crate::timed::worker::WorkerError;
pub use conduct::run;
pub use error::RunError;
pub use plan::{Plan, Stage};
