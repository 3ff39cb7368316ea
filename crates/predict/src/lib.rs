//! Models of the cost of noise, which extend measurements to cases that were not measured.
//!
//! [`ticks`] is the serial model: the cost of periodic interrupts for one program. [`phases`] predicts the cost of
//! noise for a parallel job, and [`bsp`] compares that with a measured job. Nothing here prints.

#![forbid(unsafe_code)]

pub mod bsp;
pub mod phases;
pub mod ticks;
