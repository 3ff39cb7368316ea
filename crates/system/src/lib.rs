//! All contact with the live system except the timed loops: CPUs, clock, kernel events, BPF, perf, the machine.

pub mod bpf;
pub mod check;
pub mod clock;
pub mod counters;
pub mod cpus;
pub mod machine;
pub mod perf;
pub mod steal;
pub mod tracefs;
