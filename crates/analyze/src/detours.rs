//! One CPU's detours, taken one by one: everything a summary says of them, in one pass.

use crate::blocks::{Blocks, SHORTEST_BLOCK_NS};
use crate::curve::Curve;
use crate::lengths::LengthsOf;
use crate::longest::{Longest, LongestOf};
use anechoic_recording::run::{CpuRun, RunState};
use anechoic_recording::{Clock, Detour, Run};

/// What is added up over one CPU's detours.
#[derive(Debug, Clone)]
pub struct DetoursOf {
    cpu: u32,
    shortest_gap_ticks: u64,
    /// Sum of the whole gaps, the loop's own iteration in each included.
    gap_ticks: u64,
    lengths: LengthsOf,
    blocks: Blocks,
    curve: Curve,
    longest: LongestOf,
    first_ticks: u64,
    last_ticks: u64,
}

impl DetoursOf {
    /// Nothing yet, of one CPU of `run`.
    #[must_use]
    pub fn new(run: &Run, cpu: &CpuRun) -> Self {
        let cut_off = run.state == RunState::Running || cpu.last_ticks <= cpu.first_ticks;
        let (first, last) = if cut_off {
            (run.start_ticks, run.end_ticks)
        } else {
            (cpu.first_ticks, cpu.last_ticks)
        };
        Self {
            cpu: cpu.cpu,
            shortest_gap_ticks: shortest_gap(cpu, &run.clock, run.threshold_ticks),
            gap_ticks: 0,
            lengths: LengthsOf::default(),
            // The same blocks for all CPUs, so that they can be resampled together.
            blocks: Blocks::new(
                begin_of_all(run),
                run.end_ticks,
                run.clock.ticks(SHORTEST_BLOCK_NS),
            ),
            curve: Curve::new(run.threshold_ticks, &run.clock),
            longest: LongestOf::default(),
            first_ticks: first,
            // Of a run that was cut off, only the time up to its last stored detour is known.
            last_ticks: if cut_off { first } else { last },
        }
    }

    /// Adds the CPU's next detour.
    pub fn add(&mut self, detour: &Detour) {
        let gap = detour.end_ticks.saturating_sub(detour.start_ticks);
        let lost = gap.saturating_sub(self.shortest_gap_ticks);
        let index = self.lengths.count();
        self.gap_ticks = self.gap_ticks.saturating_add(gap);
        self.lengths.add(lost);
        self.blocks.add(detour.end_ticks - lost, detour.end_ticks);
        self.curve.add(gap, lost);
        self.longest.add(Longest {
            lost_ticks: lost,
            cpu: self.cpu,
            index,
            start_ticks: detour.start_ticks,
            end_ticks: detour.end_ticks,
        });
        self.last_ticks = self.last_ticks.max(detour.end_ticks);
    }

    /// The CPU.
    #[must_use]
    pub fn cpu(&self) -> u32 {
        self.cpu
    }

    /// Ticks from the loop's start to its end.
    #[must_use]
    pub fn wall_ticks(&self) -> u64 {
        self.last_ticks.saturating_sub(self.first_ticks)
    }

    /// Ticks of all gaps, one iteration of the loop in each included.
    #[must_use]
    pub fn gap_ticks(&self) -> u64 {
        self.gap_ticks
    }

    /// What is subtracted from each gap, in ticks.
    #[must_use]
    pub fn shortest_gap_ticks(&self) -> u64 {
        self.shortest_gap_ticks
    }

    /// How long the detours were.
    #[must_use]
    pub fn lengths(&self) -> &LengthsOf {
        &self.lengths
    }

    /// Lost ticks of each equal block of the run's time that this loop measured.
    #[must_use]
    pub fn lost_by_block(&self) -> &[u64] {
        self.blocks.up_to(self.last_ticks)
    }

    /// How long such a block lasts, in ticks.
    #[must_use]
    pub fn block_ticks(&self) -> u64 {
        self.blocks.length_ticks()
    }

    /// Rate and noise against the threshold.
    #[must_use]
    pub fn curve(&self) -> &Curve {
        &self.curve
    }

    /// The longest detours.
    #[must_use]
    pub fn longest(&self) -> &LongestOf {
        &self.longest
    }
}

/// The shortest gap to subtract. A run that was cut off at once may not know it yet: then the
/// shortest of two plain counter reads takes its place.
fn shortest_gap(cpu: &CpuRun, clock: &Clock, threshold_ticks: u64) -> u64 {
    let known = cpu.shortest_gap_ticks > 0 && cpu.shortest_gap_ticks <= threshold_ticks;
    if known { cpu.shortest_gap_ticks } else { clock.read_min_ticks }
}

/// When the loops began: later than the run's origin where opening the recording took long.
fn begin_of_all(run: &Run) -> u64 {
    run.cpus.iter().map(|cpu| cpu.first_ticks).min().unwrap_or(run.start_ticks)
}
