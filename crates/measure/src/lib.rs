//! Timed loops on the live system: methods, the run, injected noise, ranks that measure together.

mod calibrate;
pub mod ensemble;
pub mod experiment;
pub mod inject;
pub mod kernel;
pub mod methods;
pub mod run;
mod scheduling;
pub mod self_test;
mod timed;
