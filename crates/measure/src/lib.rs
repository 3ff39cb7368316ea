//! Timed loops on the live system: methods, the run, injected noise, ranks that measure together.

pub mod ensemble;
pub mod inject;
pub mod methods;
pub mod run;
pub mod self_test;
