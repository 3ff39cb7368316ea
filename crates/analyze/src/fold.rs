//! One pass over the detours of a recording serves everything that is added up of them.

use crate::split::{Split, SplitDetour};
use anechoic_recording::run::CpuRun;
use anechoic_recording::{Loops, Problem, Recording, Run, Stint, Strays};

/// A CPU whose detours come next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CpuLoops<'a> {
    pub(crate) run: &'a Run,
    pub(crate) cpu: &'a CpuRun,
    /// When its loops ran, in time order.
    pub(crate) stints: &'a [Stint],
    /// Those of all CPUs.
    pub(crate) loops: &'a Loops,
}

/// Adds up detours that come one by one, CPU by CPU in the order of the run, each CPU's in time order.
pub(crate) trait Fold {
    /// The detours of this CPU come next.
    fn begin_cpu(&mut self, _cpu: &CpuLoops<'_>) {}

    /// The next detour of the CPU.
    fn detour(&mut self, detour: &SplitDetour<'_>);

    /// That was the CPU's last detour.
    fn end_cpu(&mut self, _cpu: &CpuLoops<'_>) {}
}

/// How far a pass has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Detours that were read.
    pub read: u64,
    /// Detours that the recording has, by its own account; 0 where the run was cut off before it counted them.
    pub of: u64,
}

/// Number of detours from one report of progress to the next.
const STEP: u64 = 1 << 16;

/// Gives the detours of all measured CPUs to all `folds`; returns the activities that belong to none of them.
///
/// The tables `detours` and `activities` are read once, a row group at a time.
///
/// # Errors
/// A table is damaged.
pub(crate) fn read_once(
    recording: &Recording,
    loops: &Loops,
    folds: &mut [&mut dyn Fold],
    progress: &mut dyn FnMut(Progress),
) -> Result<Strays, Problem> {
    let run = recording.run();
    let of = run.cpus.iter().map(|cpu| cpu.detours).fold(0, u64::saturating_add);
    let (mut strays, mut split, mut before) = (Strays::default(), Split::default(), 0);
    for (cpu, stints) in loops.by_cpu(run) {
        let here = CpuLoops { run, cpu, stints, loops };
        folds.iter_mut().for_each(|fold| fold.begin_cpu(&here));
        let mut detours = recording.detours_of(cpu.cpu, stints);
        while let Some(view) = detours.next_detour()? {
            if view.index % STEP == 0 {
                progress(Progress { read: before + view.index, of });
            }
            let detour = split.split(view);
            folds.iter_mut().for_each(|fold| fold.detour(&detour));
        }
        before += detours.rows_read();
        let of_cpu = detours.finish()?;
        strays.activities += of_cpu.activities;
        strays.self_ticks = strays.self_ticks.saturating_add(of_cpu.self_ticks);
        folds.iter_mut().for_each(|fold| fold.end_cpu(&here));
    }
    progress(Progress { read: before, of });
    Ok(strays)
}
