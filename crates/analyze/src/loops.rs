//! The loops of a recording for which the lost time is known.

use anechoic_recording::run::CpuRun;
use anechoic_recording::{Loops, Problem, ProblemKind, Recording, Run, Stint, methods};

/// Returns when the loops of a recording ran.
///
/// # Errors
///
/// Gaps in the samples of some CPU were not watched, or a file is damaged.
pub fn watched(recording: &Recording) -> Result<Loops, Problem> {
    let loops = recording.loops()?;
    if loops.some_cpu_unwatched() {
        return Err(not_watched(recording));
    }
    Ok(loops)
}

/// Returns the time in these stints, in ticks.
pub(crate) fn wall_ticks(stints: &[Stint]) -> u64 {
    let lengths = stints.iter().map(|stint| stint.last_ticks.saturating_sub(stint.first_ticks));
    lengths.fold(0, u64::saturating_add)
}

/// Returns when the loop of a detours run watched a CPU, in ticks. If the run was cut off, the end is that of what was
/// saved last, or of the last detour that was saved after that.
pub(crate) fn watched_from_to(run: &Run, cpu: &CpuRun) -> (u64, u64) {
    if cpu.last_ticks <= cpu.first_ticks {
        return (run.start_ticks, run.start_ticks);
    }
    (cpu.first_ticks, cpu.last_ticks)
}

/// Returns the time by which the lost time of a CPU is divided, in ticks: that in which the loop of a detours run watched
/// it, up to `last_ticks`, the end of the last detour; of a recorded program, that in which it executed or wanted to.
pub(crate) fn watched_ticks(run: &Run, cpu: &CpuRun, last_ticks: u64, lost_ticks: u64) -> u64 {
    if let Some(program) = &run.program {
        return program.ran_ticks(cpu.cpu).saturating_add(lost_ticks);
    }
    let (first, last) = watched_from_to(run, cpu);
    last.max(last_ticks).saturating_sub(first)
}

/// Returns CPU, start and end of each stint; without an end for a detours run that was cut off.
pub(crate) fn windows(loops: &Loops, run: &Run) -> Vec<(u32, u64, u64)> {
    let windows = loops.by_cpu(run).flat_map(|(cpu, stints)| {
        let without_end = cpu.iterations == 0 && run.program.is_none();
        let cut_off = move |stint: &Stint| stint.series.is_none() && without_end;
        stints.iter().map(move |stint| {
            let end = if cut_off(stint) { u64::MAX } else { stint.last_ticks };
            (cpu.cpu, stint.first_ticks, end)
        })
    });
    windows.collect()
}

/// Returns an error: lost time was requested, but only whole samples were timed.
fn not_watched(recording: &Recording) -> Problem {
    let (why, remedy) = match &*recording.run().method {
        methods::WAKEUP => (
            "its threads slept between wake-ups, so there is no lost time",
            "see `anechoic summary` for the wake-ups",
        ),
        methods::MEMORY | methods::PAGING | methods::SWITCH => (
            "its passes were timed as a whole, so the lost time is unknown",
            "see `anechoic summary` for the passes",
        ),
        methods::PACE => (
            "it has the samples of probes, which are no detours",
            "see `anechoic summary`, also with --json, for what was short",
        ),
        _ => (
            "gaps inside its samples were not watched, so the lost time is unknown",
            "measure without --pure, or see `anechoic summary` for the samples",
        ),
    };
    ProblemKind::NoVerdict.problem(why, remedy).about(recording.dir().display())
}
