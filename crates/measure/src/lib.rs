//! Everything that touches the live system: CPUs, clock, kernel events, timed loops.

pub mod clock;
pub mod cpus;
pub mod perf;
pub mod steal;
