//! Everything that touches the live system: CPUs, clock, kernel events, timed loops.

mod bpf;
pub mod check;
pub mod clock;
pub mod counters;
pub mod cpus;
pub mod ensemble;
pub mod inject;
pub mod machine;
pub mod methods;
pub mod perf;
pub mod run;
pub mod self_test;
pub mod steal;
pub mod tracefs;
