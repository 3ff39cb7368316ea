//! The noise of each CPU and of all CPUs together.

use crate::blocks::{blocks, bounds};
use crate::detours::DetoursBuilder;
use crate::lengths::{Lengths, LengthsBuilder};
use crate::stats::{Bounds, Interval};
use anechoic_recording::run::CpuRun;
use anechoic_recording::{Clock, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The noise of one measured CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuNoise {
    /// The CPU.
    pub cpu: u32,
    /// Class of equal CPUs, which share the shortest gap.
    pub class: String,
    /// Time from the loop's start to its end; for a recorded program, the time in which it executed there or wanted to.
    pub wall_ns: u64,
    /// Lost time divided by wall time; a lower bound if detours were lost.
    pub noise: f64,
    /// Its 95 % interval; absent if the run was too short, if few events make up the noise, or if detours were lost.
    pub interval: Option<Interval>,
    /// The noise that it exceeds with a probability of 97.5 %, also without an interval; absent if the run was too
    /// short, or if there was no noise.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// Number of detours.
    pub detours: u64,
    /// Detours per second at the run's threshold.
    pub rate_per_s: f64,
    /// Lengths of the detours; absent without detours.
    pub lengths: Option<Lengths>,
    /// Shortest gap of this CPU's loop; absent if the run was cut off.
    pub shortest_gap_ns: Option<f64>,
    /// Time subtracted from every gap: the shortest of the CPU's class.
    pub subtracted_ns: f64,
    /// Mean iteration of the undisturbed loop; absent if the run was cut off or lost detours.
    pub iteration_ns: Option<f64>,
    /// Number of detours that found no free buffer, or no space on the disk.
    pub lost_detours: u64,
    /// Page faults of the loop: its memory is touched before, so there is one only where the kernel moves a page.
    pub page_faults: u64,
    /// CPU on which the loop ended, if it is another one.
    pub ended_on: Option<u32>,
}

impl CpuNoise {
    /// Returns the noise of one CPU from the sums over its detours.
    pub(crate) fn new(cpu: &CpuRun, detours: &DetoursBuilder, clock: &Clock) -> Self {
        let known = cpu.iterations > 0;
        let (lengths, wall) = (&detours.lengths, detours.wall_ticks());
        let Bounds { interval, at_least } = bounds(&[detours.lost_by_part()], detours.part_ticks());
        Self {
            cpu: cpu.cpu,
            class: cpu.class.clone(),
            wall_ns: clock.ns(wall),
            noise: crate::share(lengths.sum_ticks(), wall),
            interval: interval.filter(|_| cpu.lost_detours == 0),
            at_least,
            detours: lengths.count(),
            rate_per_s: crate::per_second(lengths.count(), wall, clock),
            lengths: lengths.lengths(clock),
            shortest_gap_ns: (known && !detours.did_work())
                .then(|| ns(cpu.own_shortest_gap_ticks, 1, clock)),
            subtracted_ns: ns(detours.shortest_gap_ticks(), 1, clock),
            iteration_ns: iteration_ns(cpu, detours, clock),
            lost_detours: cpu.lost_detours,
            page_faults: cpu.page_faults,
            ended_on: (known && cpu.last_cpu != cpu.cpu).then_some(cpu.last_cpu),
        }
    }
}

/// Returns the mean of the iterations that were not detours, for a loop that only reads the counter.
fn iteration_ns(cpu: &CpuRun, detours: &DetoursBuilder, clock: &Clock) -> Option<f64> {
    if detours.did_work() {
        return None;
    }
    let undisturbed = cpu.iterations.checked_sub(detours.lengths.count())?;
    let time = detours.wall_ticks().checked_sub(detours.gap_ticks)?;
    (undisturbed > 0 && cpu.lost_detours == 0).then(|| ns(time, undisturbed, clock))
}

/// Returns `ticks / count` in nanoseconds to a thousandth, because these times are shorter than a few ticks.
fn ns(ticks: u64, count: u64, clock: &Clock) -> f64 {
    (clock.seconds(ticks) * 1e12 / count as f64).round() / 1e3
}

/// All measured CPUs together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TotalNoise {
    /// Sum of the CPUs' wall times.
    pub wall_ns: u64,
    /// Lost time divided by wall time; a lower bound if detours were lost.
    pub noise: f64,
    /// Its 95 % interval; absent if the run was too short, if few events make up the noise, or if detours were lost.
    pub interval: Option<Interval>,
    /// The noise that it exceeds with a probability of 97.5 %, also without an interval; absent if the run was too
    /// short, or if there was no noise.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// Number of detours.
    pub detours: u64,
    /// Detours per second and CPU, the mean.
    pub rate_per_s: f64,
    /// Lengths of the detours; absent without detours.
    pub lengths: Option<Lengths>,
    /// The noisiest CPU; absent without noise.
    pub worst_cpu: Option<u32>,
    /// Number of detours that found no free buffer, or no space on the disk.
    pub lost_detours: u64,
    /// Page faults of the loops: their memory is touched before, so there is one only where the kernel moves a page.
    pub page_faults: u64,
}

impl TotalNoise {
    /// Combines these CPUs; `cpus` and `detours` have the same order, and `lengths` are those of all of them.
    pub(crate) fn new(
        cpus: &[CpuNoise],
        detours: &[DetoursBuilder],
        lengths: &LengthsBuilder,
        clock: &Clock,
    ) -> Self {
        let wall = detours.iter().map(DetoursBuilder::wall_ticks).fold(0, u64::saturating_add);
        let lost: Vec<&[u64]> = detours.iter().map(DetoursBuilder::lost_by_part).collect();
        let part_ticks = detours.first().map_or(1, DetoursBuilder::part_ticks);
        let Bounds { interval, at_least } = bounds(&lost, part_ticks);
        let worst = cpus.iter().filter(|cpu| cpu.noise > 0.0);
        let lost_detours = cpus.iter().map(|cpu| cpu.lost_detours).fold(0, u64::saturating_add);
        Self {
            wall_ns: clock.ns(wall),
            noise: crate::share(lengths.sum_ticks(), wall),
            interval: interval.filter(|_| lost_detours == 0),
            at_least,
            detours: lengths.count(),
            rate_per_s: crate::per_second(lengths.count(), wall, clock),
            lengths: lengths.lengths(clock),
            worst_cpu: worst.max_by(|a, b| a.noise.total_cmp(&b.noise)).map(|cpu| cpu.cpu),
            lost_detours,
            page_faults: cpus.iter().map(|cpu| cpu.page_faults).fold(0, u64::saturating_add),
        }
    }
}

/// How the intervals are computed, and what they assume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalMethod {
    /// Number of equal blocks of time that the run was divided into.
    pub blocks: u64,
    /// Length of a block.
    pub block_ns: u64,
    /// The assumptions, in words.
    pub assumes: String,
}

impl IntervalMethod {
    /// Returns the method for this run.
    pub(crate) fn new(run: &Run, detours: &[DetoursBuilder]) -> Self {
        let parts = detours.iter().map(|cpu| cpu.lost_by_part().len()).max().unwrap_or(0);
        let blocks = blocks(parts);
        let wall = detours.iter().map(DetoursBuilder::wall_ticks).max().unwrap_or(0);
        Self {
            blocks,
            block_ns: run.clock.ns(wall.checked_div(blocks).unwrap_or(0)),
            assumes: ASSUMES.into(),
        }
    }
}

/// How the intervals are computed.
const ASSUMES: &str = "95 % by the spread of blocks of time, widened by the correlation between them (Politis & White 2004) and where few events make up the noise (Fay & Feuer 1997); no interval if fewer than eight of up to 1,000 parts of the run make up the spread, because longer events than any recorded may then decide the mean; assumes that the noise stays above or below its mean for no longer than a twelfth of the run";
