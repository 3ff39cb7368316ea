//! How noisy: each CPU, and all of them together.

use crate::blocks::interval;
use crate::detours::DetoursOf;
use crate::lengths::{Lengths, LengthsOf};
use crate::stats::{Interval, RESAMPLES};
use anechoic_recording::run::CpuRun;
use anechoic_recording::{Clock, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One measured CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuNoise {
    /// The CPU.
    pub cpu: u32,
    /// Class of equal CPUs, which share the shortest gap.
    pub class: String,
    /// From the loop's start to its end.
    pub wall_ns: u64,
    /// Lost time over wall time. With lost detours, at least this.
    pub noise: f64,
    /// Its 95 % interval; absent where the run was too short for one, or detours were lost.
    pub interval: Option<Interval>,
    /// Detours.
    pub detours: u64,
    /// Detours a second, at the run's threshold.
    pub rate_per_s: f64,
    /// How long they were; absent where there were none.
    pub lengths: Option<Lengths>,
    /// Shortest gap that this CPU's loop saw; absent of a run that was cut off.
    pub shortest_gap_ns: Option<f64>,
    /// What was subtracted from every gap: the shortest of the CPU's class.
    pub subtracted_ns: f64,
    /// Mean iteration of the undisturbed loop; absent of a run that was cut off or lost detours.
    pub iteration_ns: Option<f64>,
    /// Detours that found no free buffer, or no space on the disk.
    pub lost_detours: u64,
    /// Page faults of the loop: 0, or a bug.
    pub page_faults: u64,
    /// CPU that the loop was found on at the end, where that is another.
    pub ended_on: Option<u32>,
}

impl CpuNoise {
    /// What the sums over one CPU's detours say.
    pub(crate) fn of(cpu: &CpuRun, detours: &DetoursOf, clock: &Clock) -> Self {
        let known = cpu.iterations > 0;
        let (lengths, wall) = (detours.lengths(), detours.wall_ticks());
        Self {
            cpu: cpu.cpu,
            class: cpu.class.clone(),
            wall_ns: clock.ns(wall),
            noise: crate::share(lengths.sum_ticks(), wall),
            interval: interval(&[detours.lost_by_block()], detours.block_ticks())
                .filter(|_| cpu.lost_detours == 0),
            detours: lengths.count(),
            rate_per_s: crate::per_second(lengths.count(), wall, clock),
            lengths: lengths.lengths(clock),
            shortest_gap_ns: (known && !detours.of_work())
                .then(|| ns(cpu.own_shortest_gap_ticks, 1, clock)),
            subtracted_ns: ns(detours.shortest_gap_ticks(), 1, clock),
            iteration_ns: iteration_ns(cpu, detours, clock),
            lost_detours: cpu.lost_detours,
            page_faults: cpu.page_faults,
            ended_on: (known && cpu.last_cpu != cpu.cpu).then_some(cpu.last_cpu),
        }
    }
}

/// Mean of the iterations that were no detour, of a loop that only reads the counter.
fn iteration_ns(cpu: &CpuRun, detours: &DetoursOf, clock: &Clock) -> Option<f64> {
    if detours.of_work() {
        return None;
    }
    let undisturbed = cpu.iterations.checked_sub(detours.lengths().count())?;
    let time = detours.wall_ticks().checked_sub(detours.gap_ticks())?;
    (undisturbed > 0 && cpu.lost_detours == 0).then(|| ns(time, undisturbed, clock))
}

/// `ticks / count` in nanoseconds, to a thousandth: these are shorter than a few ticks.
fn ns(ticks: u64, count: u64, clock: &Clock) -> f64 {
    (clock.seconds(ticks) * 1e12 / count as f64).round() / 1e3
}

/// All measured CPUs together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TotalNoise {
    /// Sum of the CPUs' wall times.
    pub wall_ns: u64,
    /// Lost time over wall time. With lost detours, at least this.
    pub noise: f64,
    /// Its 95 % interval; absent where the run was too short for one, or detours were lost.
    pub interval: Option<Interval>,
    /// Detours.
    pub detours: u64,
    /// Detours a second of one CPU, the mean.
    pub rate_per_s: f64,
    /// How long they were; absent where there were none.
    pub lengths: Option<Lengths>,
    /// The CPU with the most noise; absent where there was none.
    pub worst_cpu: Option<u32>,
    /// Detours that found no free buffer, or no space on the disk.
    pub lost_detours: u64,
    /// Page faults of the loops: 0, or a bug.
    pub page_faults: u64,
}

impl TotalNoise {
    /// Of these CPUs. `cpus` and `detours` have the same order.
    pub(crate) fn of(cpus: &[CpuNoise], detours: &[DetoursOf], clock: &Clock) -> Self {
        let mut lengths = LengthsOf::default();
        detours.iter().for_each(|cpu| lengths.merge(cpu.lengths()));
        let wall = detours.iter().map(DetoursOf::wall_ticks).sum();
        let lost: Vec<&[u64]> = detours.iter().map(DetoursOf::lost_by_block).collect();
        let worst = cpus.iter().filter(|cpu| cpu.noise > 0.0);
        let lost_detours = cpus.iter().map(|cpu| cpu.lost_detours).sum();
        Self {
            wall_ns: clock.ns(wall),
            noise: crate::share(lengths.sum_ticks(), wall),
            interval: interval(&lost, detours.first().map_or(1, DetoursOf::block_ticks))
                .filter(|_| lost_detours == 0),
            detours: lengths.count(),
            rate_per_s: crate::per_second(lengths.count(), wall, clock),
            lengths: lengths.lengths(clock),
            worst_cpu: worst.max_by(|a, b| a.noise.total_cmp(&b.noise)).map(|cpu| cpu.cpu),
            lost_detours,
            page_faults: cpus.iter().map(|cpu| cpu.page_faults).sum(),
        }
    }
}

/// How intervals were made, and what they assume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalMethod {
    /// Equal blocks of time that the run was cut into.
    pub blocks: u64,
    /// How long a block lasted.
    pub block_ns: u64,
    /// Resamplings.
    pub resamples: u64,
    /// What is assumed, in words.
    pub assumes: String,
}

impl IntervalMethod {
    /// For this run.
    pub(crate) fn of(run: &Run, detours: &[DetoursOf]) -> Self {
        let blocks = detours.iter().map(|cpu| cpu.lost_by_block().len()).max().unwrap_or(0);
        Self {
            blocks: blocks as u64,
            block_ns: run.clock.ns(detours.first().map_or(0, DetoursOf::block_ticks)),
            resamples: RESAMPLES as u64,
            assumes: "95 % percentile interval of resampled blocks of time; assumes that blocks are alike and independent, so it does not cover events that happen only a few times in a run"
                .into(),
        }
    }
}
