//! Models that say what noise costs: from what was measured to what was not.
//!
//! [`ticks`] is the serial model: what periodic interrupts cost one program. Nothing here prints.

#![forbid(unsafe_code)]

mod error;
pub mod phases;
pub mod ticks;

pub use error::PredictError;
