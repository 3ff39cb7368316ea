//! One CPU's detours, taken one by one: everything a summary says of them, in one pass.

use crate::blocks::{Blocks, SHORTEST_BLOCK_NS};
use crate::curve::Curve;
use crate::fold::{CpuLoops, Fold};
use crate::lengths::LengthsOf;
use crate::loops::{wall_ticks, watched_from_to};
use crate::split::SplitDetour;
use anechoic_recording::run::CpuRun;
use anechoic_recording::{DetourView, Loops, Run, Stint};

/// The lost time of all CPUs.
#[derive(Debug, Clone)]
pub(crate) struct LostTime {
    /// Each CPU, in the order of the run.
    pub(crate) cpus: Vec<DetoursOf>,
    /// Rate and noise against the threshold, of all of them.
    pub(crate) curve: Curve,
}

impl LostTime {
    /// Nothing yet.
    pub(crate) fn new(run: &Run, loops: &Loops) -> Self {
        Self { cpus: vec![], curve: Curve::new(loops.threshold_ticks(), &run.clock) }
    }
}

impl Fold for LostTime {
    fn begin_cpu(&mut self, cpu: &CpuLoops<'_>) {
        self.cpus.push(DetoursOf::new(cpu));
    }

    fn detour(&mut self, detour: &SplitDetour<'_>) {
        let Some(cpu) = self.cpus.last_mut() else { return };
        let view = &detour.view;
        cpu.add(view);
        // Series have thresholds of their own: all have seen only what is over the highest.
        let of_series = cpu.stints[view.stint].series.is_some();
        if !of_series || view.gap_ticks() > self.curve.threshold_ticks() {
            self.curve.add(view.gap_ticks(), view.lost_ticks);
        }
    }
}

/// What is added up over one CPU's detours.
#[derive(Debug, Clone)]
pub(crate) struct DetoursOf {
    cpu: u32,
    /// When its loops ran, in time order.
    stints: Vec<Stint>,
    /// What must be added to a time in each stint to have it on the axis of the blocks.
    shifts: Vec<i128>,
    /// Sum of the whole gaps, the loop's own iteration in each included.
    gap_ticks: u64,
    lengths: LengthsOf,
    blocks: Blocks,
    /// Start and end of the loops on the axis of the blocks.
    first_ticks: u64,
    last_ticks: u64,
}

impl DetoursOf {
    /// Nothing yet, of one CPU.
    fn new(of: &CpuLoops<'_>) -> Self {
        match of.stints {
            [stint @ Stint { series: None, .. }] => Self::of_run(of.run, of.cpu, stint),
            stints => Self::of_series(of.run, of.cpu, stints, of.loops),
        }
    }

    /// Of one loop that ran all the time: blocks are blocks of the run's time.
    fn of_run(run: &Run, cpu: &CpuRun, stint: &Stint) -> Self {
        // The same blocks for all CPUs, so that they can be resampled together.
        let blocks = (begin_of_all(run), run.end_ticks);
        Self::empty(run, cpu, (vec![*stint], vec![0]), blocks, watched_from_to(run, cpu))
    }

    /// Of the loops of several series: blocks are blocks of the time that they ran, without the
    /// pauses between them.
    fn of_series(run: &Run, cpu: &CpuRun, stints: &[Stint], loops: &Loops) -> Self {
        let before = |place: usize| i128::from(wall_ticks(&stints[..place]));
        let shifts = (0..stints.len()).map(|at| before(at) - i128::from(stints[at].first_ticks));
        let longest = loops.by_cpu(run).map(|(_, stints)| wall_ticks(stints)).max().unwrap_or(0);
        let placed = (stints.to_vec(), shifts.collect());
        Self::empty(run, cpu, placed, (0, longest), (0, wall_ticks(stints)))
    }

    fn empty(
        run: &Run,
        cpu: &CpuRun,
        (stints, shifts): (Vec<Stint>, Vec<i128>),
        blocks: (u64, u64),
        bounds: (u64, u64),
    ) -> Self {
        Self {
            cpu: cpu.cpu,
            stints,
            shifts,
            gap_ticks: 0,
            lengths: LengthsOf::default(),
            blocks: Blocks::new(blocks.0, blocks.1, run.clock.ticks(SHORTEST_BLOCK_NS)),
            first_ticks: bounds.0,
            last_ticks: bounds.1,
        }
    }

    /// Adds the CPU's next detour.
    fn add(&mut self, detour: &DetourView<'_>) {
        self.gap_ticks = self.gap_ticks.saturating_add(detour.gap_ticks());
        self.lengths.add(detour.lost_ticks);
        let end = i128::from(detour.end_ticks) + self.shifts[detour.stint];
        let end = u64::try_from(end).unwrap_or(0);
        self.blocks.add(end.saturating_sub(detour.lost_ticks), end);
        if self.stints[detour.stint].series.is_none() {
            self.last_ticks = self.last_ticks.max(detour.end_ticks);
        }
    }

    /// The CPU.
    pub(crate) fn cpu(&self) -> u32 {
        self.cpu
    }

    /// Ticks that its loops ran.
    pub(crate) fn wall_ticks(&self) -> u64 {
        self.last_ticks.saturating_sub(self.first_ticks)
    }

    /// Ticks of all gaps, one iteration of the loop in each included.
    pub(crate) fn gap_ticks(&self) -> u64 {
        self.gap_ticks
    }

    /// What is subtracted from each gap, in ticks; where series differ, what is at most.
    pub(crate) fn shortest_gap_ticks(&self) -> u64 {
        self.stints.iter().map(|stint| stint.shortest_gap_ticks).max().unwrap_or(0)
    }

    /// Whether the loops did work beside reading the counter.
    pub(crate) fn of_work(&self) -> bool {
        self.stints.iter().all(|stint| stint.series.is_some())
    }

    /// How long the detours were.
    pub(crate) fn lengths(&self) -> &LengthsOf {
        &self.lengths
    }

    /// Lost ticks of each equal block of the time that was measured.
    pub(crate) fn lost_by_block(&self) -> &[u64] {
        self.blocks.up_to(self.last_ticks)
    }

    /// How long such a block lasts, in ticks.
    pub(crate) fn block_ticks(&self) -> u64 {
        self.blocks.length_ticks()
    }
}

/// When the loops began: later than the run's origin where opening the recording took long.
fn begin_of_all(run: &Run) -> u64 {
    run.cpus.iter().map(|cpu| cpu.first_ticks).min().unwrap_or(run.start_ticks)
}
