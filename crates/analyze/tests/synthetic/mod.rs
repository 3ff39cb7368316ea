//! A made-up run of two CPUs at 2.5 GHz.

#![allow(dead_code, unused_imports, reason = "the tests and the bench use different parts")]

use anechoic_recording::run::{CpuRun, Run};
use anechoic_recording::testing;
pub use anechoic_recording::testing::activity;

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
        ..testing::cpu_run(cpu, (0, wall_ticks), SHORTEST)
    });
    Run {
        threshold_ticks: 150,
        trace: Some(testing::trace()),
        ..testing::run("detours", testing::clock(SECOND), cpus.to_vec())
    }
}
