//! One pass over the detours of a recording for everything that is computed from them.

use crate::split::{Split, SplitDetour};
use anechoic_recording::run::CpuRun;
use anechoic_recording::{Loops, Problem, Recording, Run, Stint, Strays};

/// The CPU whose detours follow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CpuLoops<'a> {
    pub(crate) run: &'a Run,
    pub(crate) cpu: &'a CpuRun,
    /// Times in which its loops ran, in order.
    pub(crate) stints: &'a [Stint],
    /// Times in which the loops of all CPUs ran.
    pub(crate) loops: &'a Loops,
}

/// Processes detours one by one, CPU by CPU in the order of the run, and in time order for each CPU.
pub(crate) trait Fold {
    /// Begins the detours of this CPU.
    fn begin_cpu(&mut self, _cpu: &CpuLoops<'_>) {}

    /// Processes the next detour of the CPU.
    fn detour(&mut self, detour: &SplitDetour<'_>);

    /// Ends the detours of the CPU.
    fn end_cpu(&mut self, _cpu: &CpuLoops<'_>) {}
}

/// Progress of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Number of detours that were read.
    pub read: u64,
    /// Number of detours according to the recording; 0 if the run was cut off before it counted them.
    pub expected: u64,
}

/// Number of detours between two reports of progress.
const STEP: u64 = 1 << 16;

/// Passes the detours of all measured CPUs to all `folds`; returns the activities that belong to no detour.
///
/// The tables `detours` and `activities` are read once, one row group at a time.
///
/// # Errors
///
/// A table is damaged.
pub(crate) fn read_once(
    recording: &Recording,
    loops: &Loops,
    folds: &mut [&mut dyn Fold],
    progress: &mut dyn FnMut(Progress),
) -> Result<Strays, Problem> {
    let (run, _opened) = (recording.run(), recording.keep_open());
    let expected = run.cpus.iter().map(|cpu| cpu.detours).fold(0, u64::saturating_add);
    let (mut strays, mut split, mut before) = (Strays::default(), Split::default(), 0);
    for (cpu, stints) in loops.by_cpu(run) {
        let here = CpuLoops { run, cpu, stints, loops };
        folds.iter_mut().for_each(|fold| fold.begin_cpu(&here));
        let mut detours = recording.detours_of(cpu.cpu, stints);
        while let Some(view) = detours.next_detour()? {
            if view.index % STEP == 0 {
                progress(Progress { read: before + view.index, expected });
            }
            let detour = split.split(view);
            folds.iter_mut().for_each(|fold| fold.detour(&detour));
        }
        before += detours.rows_read();
        let cpu_strays = detours.finish()?;
        strays.activities += cpu_strays.activities;
        strays.self_ticks = strays.self_ticks.saturating_add(cpu_strays.self_ticks);
        folds.iter_mut().for_each(|fold| fold.end_cpu(&here));
    }
    progress(Progress { read: before, expected });
    Ok(strays)
}
