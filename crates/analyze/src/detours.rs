//! One CPU's detours, taken one by one: everything a summary says of them, in one pass.

use crate::blocks::{Blocks, SHORTEST_BLOCK_NS};
use crate::curve::Curve;
use crate::lengths::LengthsOf;
use crate::longest::{Longest, LongestOf};
use crate::loops::{Loops, wall_ticks};
use anechoic_recording::run::{CpuRun, RunState};
use anechoic_recording::{Clock, Detour, Run, Stint};

/// What is added up over one CPU's detours.
#[derive(Debug, Clone)]
pub struct DetoursOf {
    cpu: u32,
    /// When its loops ran, in time order.
    stints: Vec<Stint>,
    /// What must be added to a time in each stint to have it on the axis of the blocks.
    shifts: Vec<i128>,
    /// Detours so far, those of no stint included.
    index: u64,
    /// Sum of the whole gaps, the loop's own iteration in each included.
    gap_ticks: u64,
    lengths: LengthsOf,
    blocks: Blocks,
    curve: Curve,
    longest: LongestOf,
    /// Start and end of the loops on the axis of the blocks.
    first_ticks: u64,
    last_ticks: u64,
}

impl DetoursOf {
    /// Nothing yet, of one CPU of `run`, whose stints are among `loops`.
    #[must_use]
    pub fn new(run: &Run, cpu: &CpuRun, stints: &[Stint], loops: &Loops) -> Self {
        match stints {
            [stint @ Stint { series: None, .. }] => Self::of_run(run, cpu, stint),
            _ => Self::of_series(run, cpu, stints, loops),
        }
    }

    /// Of one loop that ran all the time: blocks are blocks of the run's time.
    fn of_run(run: &Run, cpu: &CpuRun, stint: &Stint) -> Self {
        let cut_off = run.state == RunState::Running || cpu.last_ticks <= cpu.first_ticks;
        let (first, last) = if cut_off {
            (run.start_ticks, run.end_ticks)
        } else {
            (cpu.first_ticks, cpu.last_ticks)
        };
        let shortest_gap_ticks = shortest_gap(cpu, &run.clock, run.threshold_ticks);
        let stint = Stint { shortest_gap_ticks, ..*stint };
        // Of a run that was cut off, only the time up to its last stored detour is known.
        let bounds = (first, if cut_off { first } else { last });
        // The same blocks for all CPUs, so that they can be resampled together.
        let blocks = (begin_of_all(run), run.end_ticks);
        Self::empty(run, cpu, vec![stint], vec![0], blocks, bounds, run.threshold_ticks)
    }

    /// Of the loops of several series: blocks are blocks of the time that they ran, without the
    /// pauses between them.
    fn of_series(run: &Run, cpu: &CpuRun, stints: &[Stint], loops: &Loops) -> Self {
        let before = |place: usize| i128::from(wall_ticks(&stints[..place]));
        let shifts = (0..stints.len()).map(|at| before(at) - i128::from(stints[at].first_ticks));
        let (shifts, bounds) = (shifts.collect(), (0, wall_ticks(stints)));
        let blocks = (0, loops.longest_wall_ticks());
        Self::empty(run, cpu, stints.to_vec(), shifts, blocks, bounds, loops.threshold_ticks())
    }

    fn empty(
        run: &Run,
        cpu: &CpuRun,
        stints: Vec<Stint>,
        shifts: Vec<i128>,
        blocks: (u64, u64),
        bounds: (u64, u64),
        threshold_ticks: u64,
    ) -> Self {
        Self {
            cpu: cpu.cpu,
            stints,
            shifts,
            index: 0,
            gap_ticks: 0,
            lengths: LengthsOf::default(),
            blocks: Blocks::new(blocks.0, blocks.1, run.clock.ticks(SHORTEST_BLOCK_NS)),
            curve: Curve::new(threshold_ticks, &run.clock),
            longest: LongestOf::default(),
            first_ticks: bounds.0,
            last_ticks: bounds.1,
        }
    }

    /// Adds the CPU's next detour. One that lies in no stint is no loop's.
    pub fn add(&mut self, detour: &Detour) {
        let index = self.index;
        self.index += 1;
        let (start_ticks, end_ticks) = (detour.start_ticks, detour.end_ticks);
        let Some(place) = Stint::around(&self.stints, start_ticks, end_ticks) else { return };
        let stint = self.stints[place];
        let gap = end_ticks.saturating_sub(start_ticks);
        let lost = gap.saturating_sub(stint.shortest_gap_ticks);
        self.gap_ticks = self.gap_ticks.saturating_add(gap);
        self.lengths.add(lost);
        let end = u64::try_from(i128::from(end_ticks) + self.shifts[place]).unwrap_or(0);
        self.blocks.add(end.saturating_sub(lost), end);
        // Series have thresholds of their own: all have seen only what is over the highest.
        if stint.series.is_none() || gap > self.curve.threshold_ticks() {
            self.curve.add(gap, lost);
        }
        let cpu = self.cpu;
        self.longest.add(Longest { lost_ticks: lost, cpu, index, start_ticks, end_ticks });
        if stint.series.is_none() {
            self.last_ticks = self.last_ticks.max(end_ticks);
        }
    }

    /// The CPU.
    #[must_use]
    pub fn cpu(&self) -> u32 {
        self.cpu
    }

    /// Ticks that its loops ran.
    #[must_use]
    pub fn wall_ticks(&self) -> u64 {
        self.last_ticks.saturating_sub(self.first_ticks)
    }

    /// Ticks of all gaps, one iteration of the loop in each included.
    #[must_use]
    pub fn gap_ticks(&self) -> u64 {
        self.gap_ticks
    }

    /// What is subtracted from each gap, in ticks; where series differ, what is at most.
    #[must_use]
    pub fn shortest_gap_ticks(&self) -> u64 {
        self.stints.iter().map(|stint| stint.shortest_gap_ticks).max().unwrap_or(0)
    }

    /// Whether the loops did work beside reading the counter.
    #[must_use]
    pub fn of_work(&self) -> bool {
        self.stints.iter().all(|stint| stint.series.is_some())
    }

    /// How long the detours were.
    #[must_use]
    pub fn lengths(&self) -> &LengthsOf {
        &self.lengths
    }

    /// Lost ticks of each equal block of the time that was measured.
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
pub(crate) fn shortest_gap(cpu: &CpuRun, clock: &Clock, threshold_ticks: u64) -> u64 {
    let known = cpu.shortest_gap_ticks > 0 && cpu.shortest_gap_ticks <= threshold_ticks;
    if known { cpu.shortest_gap_ticks } else { clock.read_min_ticks }
}

/// When the loops began: later than the run's origin where opening the recording took long.
fn begin_of_all(run: &Run) -> u64 {
    run.cpus.iter().map(|cpu| cpu.first_ticks).min().unwrap_or(run.start_ticks)
}
