//! A made-up run of two CPUs at 2.5 GHz.

use crate::builders;
pub use crate::builders::activity;
use anechoic_recording::run::{CpuRun, Run};

/// Ticks of a second.
pub const SECOND: u64 = 2_500_000_000;
/// Ticks of a microsecond.
pub const MICRO: u64 = 2_500;
/// What is subtracted from every gap.
pub const SHORTEST: u64 = 24;

/// A complete run of two CPUs, as long as given in counter ticks, with kernel events.
pub fn run(wall_ticks: u64) -> Run {
    let cpus = [0, 1].map(|cpu| CpuRun {
        iterations: wall_ticks / 25,
        ..builders::cpu_run(cpu, (0, wall_ticks), SHORTEST)
    });
    Run {
        threshold_ticks: 150,
        trace: Some(builders::trace()),
        ..builders::run("detours", builders::clock(SECOND), cpus.to_vec())
    }
}
