//! Models that say what noise costs: from what was measured to what was not.
//!
//! [`ticks`] is the serial model: what periodic interrupts cost one program. [`phases`] says what noise costs a
//! parallel job, and [`bsp`] compares that with a job that was measured. Nothing here prints.

#![forbid(unsafe_code)]

pub mod bsp;
pub mod phases;
pub mod ticks;
