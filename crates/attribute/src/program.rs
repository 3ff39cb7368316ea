//! The lost time of a recorded program: its detours, and for how long it executed, from the kernel's events alone.

mod by_thread;
mod contexts;
mod cpu_state;
mod holders;
mod lost_time;
mod releases;
mod threads;
mod timers;
mod watch;

pub use crate::names::REFILL_FUNCTION;
pub(crate) use by_thread::derive_threads;
pub use watch::Watch;

use crate::names::Names;
pub(crate) use lost_time::LostTime;

use anechoic_recording::run::{CpuRun, Run};
use anechoic_recording::{
    Detour, Feed, Held, KernelEvent, Lifetime, Loss, Members, Merge, Name, Problem, ProblemKind,
    Recording, methods,
};
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

/// Number of detours that are handed over at once.
const BATCH: usize = 128 * 1024;
/// How long a recording may be held by another process that has not begun to write detours before it is taken for the one that
/// records: a reader begins at once.
const BEGINS_WITHIN: Duration = Duration::from_secs(1);
/// Pause between two looks at that.
const NAP: Duration = Duration::from_millis(20);

/// Derives the detours of the program of `run` from the events of `recording` up to the end of the run, and describes in `run`
/// its CPUs and for how long it executed. `sink` is given the detours of the CPUs that count, those of each in time order.
///
/// `run` is newer than the description in the recording where that is still being made. Without a program nothing happens.
///
/// # Errors
/// Fails if the events cannot be read, or as `sink` does.
pub fn derive(
    recording: &Recording,
    run: &mut Run,
    sink: &mut dyn FnMut(&[Detour]) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let Some(program) = &run.program else { return Ok(()) };
    let wanted = program.counted_cpus.clone();
    let counts = |cpu: u32| wanted.is_empty() || wanted.contains(&cpu);
    let mut lost_time = lost_time(recording, run)?;
    let mut lifetime = Lifetime::new(program.started_by);
    let (mut found, mut numbers) = (Vec::new(), BTreeMap::<u32, u64>::new());
    play(recording, run, &mut lost_time, &mut |event, lost_time| {
        event.into_iter().for_each(|event| lifetime.event(event));
        found.extend(lost_time.found().filter(|detour| counts(detour.cpu)));
        if found.len() >= BATCH || event.is_none() {
            found.iter().for_each(|detour: &Detour| *numbers.entry(detour.cpu).or_default() += 1);
            sink(&found)?;
            found.clear();
        }
        Ok(())
    })?;
    let ran: Vec<_> = lost_time.ran().collect();
    let cpus = ran.iter().filter(|ran| counts(ran.cpu));
    run.cpus = cpus
        .map(|ran| describe(run, ran.cpu, numbers.get(&ran.cpu).copied().unwrap_or(0)))
        .collect();
    if let Some(program) = &mut run.program {
        program.lived_ticks = lifetime.ticks();
        program.threads_seen = lost_time.members().seen();
        program.ran = ran;
    }
    Ok(())
}

/// Returns what derives the lost time of the program of `run`, before the first event.
fn lost_time(recording: &Recording, run: &Run) -> Result<LostTime, Problem> {
    let program = run.program.as_ref().map(|program| Members::new(program).knowing(&run.threads));
    let mut lost_time = LostTime::new(program.unwrap_or_default(), &run.clock, run.start_ticks);
    lost_time.losses(recording.rows::<Loss>().each().collect::<Result<Vec<_>, _>>()?);
    let names = Names::new(recording.rows::<Name>().each().collect::<Result<Vec<_>, _>>()?);
    lost_time.timers().know_refills(names.refills());
    lost_time.timers().know_ticks(names.tick_functions());
    Ok(lost_time)
}

/// What takes what was found after each event, and after the last, where there is none.
type Step<'a> = dyn FnMut(Option<&KernelEvent>, &mut LostTime) -> Result<(), Problem> + 'a;

/// Passes the events of `recording` up to the end of `run` to `lost_time`.
fn play(
    recording: &Recording,
    run: &Run,
    lost_time: &mut LostTime,
    step: &mut Step<'_>,
) -> Result<(), Problem> {
    let events = |cpu| Box::new(recording.rows_of_cpu(cpu).each()) as Feed<'_, KernelEvent>;
    let online = run.machine.cpus.iter().map(|cpu| cpu.cpu);
    let mut events = Merge::new(online.map(events).collect())?;
    while let Some(event) = events.next_event()?.filter(|event| event.ticks <= run.end_ticks) {
        lost_time.event(&event);
        step(Some(&event), lost_time)?;
    }
    lost_time.finish(run.end_ticks);
    step(None, lost_time)
}

/// Describes a CPU on which no loop ran.
pub(crate) fn describe(run: &Run, cpu: u32, detours: u64) -> CpuRun {
    let known = run.machine.cpus.iter().find(|known| known.cpu == cpu);
    CpuRun {
        cpu,
        tid: 0,
        class: known.map_or_else(|| run.machine.model.clone(), |known| known.class.clone()),
        first_ticks: run.start_ticks,
        last_ticks: run.end_ticks,
        iterations: 0,
        own_shortest_gap_ticks: 0,
        shortest_gap_ticks: 0,
        detours,
        lost_detours: 0,
        page_faults: 0,
        last_cpu: cpu,
    }
}

/// Returns whether this is the recording of a program that was killed, or still goes on, and whose detours are not derived.
#[must_use]
pub fn lacks_detours(recording: &Recording) -> bool {
    let run = recording.run();
    let derived = run.program.as_ref().is_some_and(|program| program.derived_after_kill);
    recording.cut_off() && run.method == methods::PROGRAM && !derived
}

/// Derives the detours of a recording for which [`lacks_detours`] holds, up to its last save; a recording without a save stays
/// as it is. Returns the recording as it is on disk then: it may have ended since it was opened, or another process may have
/// derived the detours, for which this one waits.
///
/// # Errors
/// Fails if the program is still being recorded, or if the recording cannot be read or written.
pub fn complete(recording: &Recording) -> Result<Recording, Problem> {
    let dir = recording.dir();
    let held = hold(recording)?;
    let recording = Recording::open(dir)?;
    let mut run = recording.run().clone();
    if !lacks_detours(&recording) || run.program.is_none() {
        return Ok(recording);
    }
    let mut table = recording.derive_detours().map_err(|error| only_readable(error.into()))?;
    derive(&recording, &mut run, &mut |detours| {
        let mut detours = detours.to_vec();
        detours.sort_by_key(|detour| detour.cpu); // stable, so that each CPU's stay in time order
        Ok(table.append(&detours)?)
    })?;
    table.finish()?;
    run.program.iter_mut().for_each(|program| program.derived_after_kill = true);
    recording.describe(&run)?;
    drop(held);
    Recording::open(dir)
}

/// Waits while another process derives the detours.
fn hold(recording: &Recording) -> Result<Held, Problem> {
    let mut writes = Instant::now(); // when it was last known to write detours, or may have begun to
    loop {
        if let Some(held) = recording.try_hold()? {
            return Ok(held);
        }
        if recording.has_begun_detours() {
            writes = Instant::now();
        }
        if writes.elapsed() > BEGINS_WITHIN {
            let why = "it is still being recorded";
            let problem = ProblemKind::Unavailable.problem(why, "try again when that has ended");
            return Err(problem.about(recording.dir().display()));
        }
        thread::sleep(NAP);
    }
}

/// Adds why a killed recording must be written to, and what helps who may not.
fn only_readable(problem: Problem) -> Problem {
    let remedy = "read it once as a user who may write to it, or copy it and read the copy";
    let why =
        format!("the recording was killed, and its detours are not derived yet: {}", problem.why);
    Problem { why, remedy: remedy.into(), ..problem }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::builders;
    use anechoic_recording::machine::Cpu;

    #[test]
    fn who_may_not_write_to_a_killed_recording_learns_why_that_is_needed() {
        let problem = only_readable(ProblemKind::Unavailable.problem("no permission", "be root"));
        let text = problem.to_string();
        assert!(text.contains("its detours are not derived yet: no permission; read it once as"));
    }

    /// On a hybrid processor each CPU is of its own class; one that the machine does not list is of the machine's model.
    #[test]
    fn a_cpu_is_of_the_class_that_the_machine_lists() {
        let mut run = builders::run("record", builders::clock(1_000_000_000), vec![]);
        let listed = |(cpu, class): (u32, &str)| Cpu { cpu, class: class.into(), ..Cpu::default() };
        run.machine.cpus = [(0, "fast"), (1, "slow")].map(listed).to_vec();
        let classes = [0, 1, 2].map(|cpu| describe(&run, cpu, 0).class);
        assert_eq!(classes, ["fast", "slow", "made up"]);
    }
}
