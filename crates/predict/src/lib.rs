//! Models of the cost of noise, which extend measurements to cases that were not measured.
//!
//! [`ticks`] is the serial model: the cost of periodic interrupts for one program. [`phases`] predicts the cost of
//! noise for a parallel job, and [`bsp`] compares that with a measured job; [`laws`] are those of a single delay. Nothing
//! here prints.
//!
//! ```no_run
//! use anechoic_predict::phases::{Ask, Noise, OPTIONS, predict};
//! use anechoic_recording::{Problem, options::Answers};
//!
//! let noise = Noise::read(&["anechoic-20261121T080000".into()], None)?;
//! let model = predict(&noise, &Ask::read(&Answers::read(OPTIONS, &[])?)?)?;
//! println!("{} grains", model.grains.len());
//! # Ok::<(), Problem>(())
//! ```

#![forbid(unsafe_code)]

pub mod bsp;
pub mod laws;
pub mod phases;
pub mod ticks;
