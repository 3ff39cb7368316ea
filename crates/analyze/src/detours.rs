//! Processes one CPU's detours one by one, for everything in a summary, in one pass.

use crate::blocks::{Parts, SHORTEST_PART_NS};
use crate::curve::Curve;
use crate::fold::{CpuLoops, Fold};
use crate::lengths::LengthsBuilder;
use crate::loops::wall_ticks;
use crate::split::SplitDetour;
use anechoic_recording::{DetourView, Loops, Run, Stint};

/// Lost time of all CPUs.
#[derive(Debug, Clone)]
pub(crate) struct LostTime {
    /// Each CPU, in the order of the run.
    pub(crate) cpus: Vec<DetoursBuilder>,
    /// Rate and noise as functions of the threshold, over all CPUs.
    pub(crate) curve: Curve,
}

impl LostTime {
    /// Returns empty sums.
    pub(crate) fn new(run: &Run, loops: &Loops) -> Self {
        Self { cpus: vec![], curve: Curve::new(loops.threshold_ticks(), &run.clock) }
    }

    /// Returns the lengths of the detours of all CPUs.
    pub(crate) fn lengths(&self) -> LengthsBuilder {
        let mut lengths = LengthsBuilder::default();
        self.cpus.iter().for_each(|cpu| lengths.merge(&cpu.lengths));
        lengths
    }
}

impl Fold for LostTime {
    fn begin_cpu(&mut self, cpu: &CpuLoops<'_>) {
        self.cpus.push(DetoursBuilder::new(cpu));
    }

    fn detour(&mut self, detour: &SplitDetour<'_>) {
        let Some(cpu) = self.cpus.last_mut() else { return };
        let view = &detour.view;
        cpu.add(view);
        // Series have thresholds of their own: all have seen only what is over the highest.
        let in_series = cpu.stints[view.stint].series.is_some();
        if !in_series || view.gap_ticks() > self.curve.threshold_ticks() {
            self.curve.add(view.gap_ticks(), view.lost_ticks);
        }
    }
}

/// Sums over one CPU's detours.
#[derive(Debug, Clone)]
pub(crate) struct DetoursBuilder {
    cpu: u32,
    /// Times in which its loops ran, in order.
    stints: Vec<Stint>,
    /// Offset of each stint to the time axis of the parts.
    shifts: Vec<i128>,
    /// Sum of whole gaps, including the loop's own iteration in each.
    pub(crate) gap_ticks: u64,
    pub(crate) lengths: LengthsBuilder,
    parts: Parts,
    /// For how long the recorded program executed on the CPU; absent for loops.
    ran_ticks: Option<u64>,
    /// End of the loops on the time axis of the parts, which begins with them.
    last_ticks: u64,
}

impl DetoursBuilder {
    /// Returns empty sums for one CPU.
    ///
    /// Its parts are parts of the time in which its loops ran, without pauses, from its own first tick: CPUs may be
    /// measured one after the other. Those that are measured together begin together, so that their parts are of the
    /// same time. All CPUs have parts of one length.
    fn new(here: &CpuLoops<'_>) -> Self {
        let (run, stints) = (here.run, here.stints);
        let before = |place: usize| i128::from(wall_ticks(&stints[..place]));
        let shifts = (0..stints.len()).map(|at| before(at) - i128::from(stints[at].first_ticks));
        Self {
            cpu: here.cpu.cpu,
            stints: stints.to_vec(),
            shifts: shifts.collect(),
            gap_ticks: 0,
            lengths: LengthsBuilder::default(),
            parts: parts_of_run(here),
            ran_ticks: run.program.as_ref().map(|program| program.ran_ticks(here.cpu.cpu)),
            last_ticks: wall_ticks(stints),
        }
    }

    /// Adds the CPU's next detour.
    fn add(&mut self, detour: &DetourView<'_>) {
        self.gap_ticks = self.gap_ticks.saturating_add(detour.gap_ticks());
        self.lengths.add(detour.lost_ticks);
        let end = i128::from(detour.end_ticks) + self.shifts[detour.stint];
        let end = u64::try_from(end).unwrap_or(0);
        self.parts.add(end.saturating_sub(detour.lost_ticks), end);
        if self.stints[detour.stint].series.is_none() {
            self.last_ticks = self.last_ticks.max(end);
        }
    }

    /// Returns the CPU.
    pub(crate) fn cpu(&self) -> u32 {
        self.cpu
    }

    /// Returns the ticks in which its loops ran; those in which a recorded program executed or wanted to.
    pub(crate) fn wall_ticks(&self) -> u64 {
        match self.ran_ticks {
            Some(ran) => ran.saturating_add(self.lengths.sum_ticks()),
            None => self.last_ticks,
        }
    }

    /// Returns the ticks subtracted from each gap; the largest if series differ.
    pub(crate) fn shortest_gap_ticks(&self) -> u64 {
        self.stints.iter().map(|stint| stint.shortest_gap_ticks).max().unwrap_or(0)
    }

    /// Returns whether the loops did work besides reading the counter.
    pub(crate) fn did_work(&self) -> bool {
        self.stints.iter().all(|stint| stint.series.is_some())
    }

    /// Returns the lost ticks of each equal part of the measured time. A program does not want a CPU in all of it, so that
    /// parts are not alike, and there are none.
    pub(crate) fn lost_by_part(&self) -> &[u64] {
        match self.ran_ticks {
            Some(_) => &[],
            None => self.parts.up_to(self.last_ticks),
        }
    }

    /// Returns the lost ticks of up to 50 equal blocks of the time in which its loops ran, also of a recorded program.
    pub(crate) fn lost_by_block(&self) -> Vec<u64> {
        self.parts.joined_up_to(self.last_ticks)
    }

    /// Returns the length of such a part, in ticks.
    pub(crate) fn part_ticks(&self) -> u64 {
        self.parts.length_ticks()
    }
}

/// Returns empty parts of the time of the loops of any CPU, from their first tick on.
pub(crate) fn parts_of_run(here: &CpuLoops<'_>) -> Parts {
    let run = here.run;
    let longest = here.loops.by_cpu(run).map(|(_, stints)| most_ticks(run, stints)).max();
    Parts::new(0, longest.unwrap_or(0), run.clock.ticks(SHORTEST_PART_NS))
}

/// Returns for how long loops ran, in ticks; at most, if the run was cut off before anything was known of them.
fn most_ticks(run: &Run, stints: &[Stint]) -> u64 {
    match stints {
        [Stint { series: None, first_ticks, last_ticks, .. }] if last_ticks <= first_ticks => {
            run.end_ticks.saturating_sub(*first_ticks)
        }
        _ => wall_ticks(stints),
    }
}
