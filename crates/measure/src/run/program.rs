//! Records what interrupts a program of the user: the kernel's events on all CPUs while it runs, without loops.

mod last_part;
mod stolen;
mod watcher;

use super::describe;
use super::error::RunError;
use super::kernel_side::KernelSide;
use super::plan::{Plan, Stage};
use super::store::Store;
use super::trial;
use crate::monitor::boottime_ns;
use anechoic_attribute::program::{self, REFILL_FUNCTION, Watch};
use anechoic_kernels::counter;
use anechoic_recording::run::{CpuTime, DrainPolicy, EventCost, Program, Run, RunState};
use anechoic_recording::stop::StopCondition;
use anechoic_recording::{
    Detour, EventKind, Problem, ProblemKind, Recorder, Recording, WriteError, in_words,
};
use anechoic_system::clock::{self, Anchor};
use anechoic_system::counters::Snapshot;
use anechoic_system::tracefs::Marker;
use anechoic_system::{changes, cpus, machine, tracefs};
use std::fs;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::{Duration, Instant};
use stolen::Stolen;
use watcher::Watcher;

/// The longest sleep while the program runs, where its end wakes this thread.
const NAP: Duration = Duration::from_secs(1);
/// The same where it does not.
const SHORT_NAP: Duration = Duration::from_millis(20);
/// Pause between two looks at whether a condition ends the recording.
const LOOK: Duration = Duration::from_millis(100);
/// An event that happened this long ago can be read: also one whose writing was interrupted.
const WRITTEN: Duration = Duration::from_millis(1);

/// A program that can be recorded.
pub trait Subject {
    /// Is given what leads to marks of the program, before it begins.
    ///
    /// # Errors
    /// Fails if the program needs marks and the kernel cannot record them.
    fn mark_with(&mut self, _marker: Marker) -> Result<(), Problem> {
        Ok(())
    }

    /// Starts it, unless it runs already; returns its name and, if it runs already, its threads.
    ///
    /// # Errors
    /// Fails if it cannot be started or has ended.
    fn begin(&mut self) -> Result<Program, Problem>;

    /// Returns the processes whose descendants it is, as far as they are known.
    fn processes(&self) -> Vec<i32> {
        vec![]
    }

    /// Returns what can be read once it has ended, if there is such a thing.
    fn end(&self) -> Option<BorrowedFd<'_>>;

    /// Returns how much longer it is recorded at most, if that is known.
    fn left(&self) -> Option<Duration>;

    /// Returns how the recording ends if it does now: the program has ended, or has been recorded for long enough.
    fn over(&mut self) -> Option<RunState>;

    /// Returns its CPU time since it was started, or since the recording of it began, as the kernel counted it; `None` if that
    /// is not known.
    fn cpu_time(&self) -> Option<CpuTime>;

    /// Returns what it returned, as a shell shows it, once it has ended and if this process started it.
    fn exit_code(&self) -> Option<u8>;
}

/// Records a program into `dir`, which must be empty or not exist. Detours are kept of `wanted` CPUs, or of all that it uses.
/// `notify` tells a watcher of the plan that the recording has begun, and its events. It has no detours: the watcher derives them.
///
/// # Errors
/// Returns what prevents the recording, before the program starts; or that it cannot be started.
pub fn record(
    plan: &Plan,
    dir: &Path,
    wanted: Option<&[u32]>,
    subject: &mut dyn Subject,
    notify: &mut dyn FnMut(Stage),
) -> Result<Run, RunError> {
    tracefs::remove_leftovers();
    changes::undo_leftovers();
    let clock = clock::calibrate(wanted.unwrap_or(&cpus::allowed()), plan.allow_variant_tsc)?;
    let mut run = describe::run(plan, clock, machine::describe())?;
    run.policy = "other".into(); // there is no loop under another
    let (mut kernel, own, costs) = open_kernel(plan, &mut run)?;
    let existed = dir.exists();
    let mut recorder = Recorder::create(dir, &run)?;
    let _held = Recording::open(dir)?.hold()?; // until it ends, nobody takes it for one that was cut off
    kernel.begin();
    let snapshot = Snapshot::take(&plan.program_cpus, counter::ordered);
    let begin = Anchor::take();
    run.start_ticks = counter::ordered();
    run.start_utc = describe::now_utc(Duration::ZERO);
    recorder.begin_at(&run);
    let mut store = Store::new(recorder, &[], plan, &run);
    store.append(&snapshot.counters);
    store.append(&snapshot.names);
    // Before the program begins, because the kernel's table of symbols is long.
    let refill = plan.stop_on.and_then(|_| tracefs::function_address(REFILL_FUNCTION));
    let mut stolen = Stolen::begin(&plan.program_cpus, run.machine.hypervisor.is_some());
    let program = match subject.mark_with(kernel.marker()).and_then(|()| subject.begin()) {
        Ok(program) => program,
        Err(problem) => {
            drop(store);
            discard(dir, existed);
            return Err(problem.into());
        }
    };
    let started = subject.processes().first().copied().filter(|_| own == cpus::thread_id());
    if let Some(&thread) = program.threads.first() {
        run.start_ticks = counter::ordered(); // where the account of its CPU time begins
        run.start_utc = describe::now_utc(Duration::ZERO);
        kernel.follow_stacks(&program.threads, &mut run);
        kernel.limits_of_process(thread);
    }
    run.notes.extend(moves_unknown(&run, &program));
    run.program = Some(asked((plan, wanted), (own, started), costs, program));
    let mut watcher = Watcher::new(plan, begin, notify);
    watcher.begun(&run);
    let (end_ticks, state) = watch(
        (plan, &snapshot, refill),
        subject,
        &mut kernel,
        &mut stolen,
        &mut run,
        (&mut store, &mut watcher),
    );
    let cpu_time = subject.cpu_time();
    note_end(&mut run, end_ticks.max(counter::ordered()));
    let end = Snapshot::take(&plan.program_cpus, counter::ordered);
    let cpu_time = cpu_time.map(|time| stolen.beside(time, [&snapshot, &end]));
    store.append(&end.counters);
    let cpu_time = last_part::close(&mut kernel, &mut run, &mut store, cpu_time);
    kernel.stop(&mut run, begin, &mut store);
    store.write_kept(&mut run);
    if let Some(program) = &mut run.program {
        (program.exit_code, program.cpu_time) = (subject.exit_code(), cpu_time);
    }
    finish(&mut run, begin, store, state)?;
    Ok(run)
}

/// Adds to a program what is asked of it, and what an event and a stack cost. The thread `own` starts it, as the process
/// `started` if that has the same number in events, unless it runs already.
fn asked(
    (plan, wanted): (&Plan, Option<&[u32]>),
    (own, started): (i32, Option<i32>),
    [event_cost, stack_cost]: [Option<EventCost>; 2],
    program: Program,
) -> Program {
    Program {
        started_by: program.threads.is_empty().then_some(own),
        process: started.filter(|_| program.threads.is_empty()),
        counted_cpus: wanted.unwrap_or_default().to_vec(),
        event_cost,
        stack_cost,
        marked: plan.marked(),
        late_ns: plan.late.map(|late| u64::try_from(late.as_nanos()).unwrap_or(u64::MAX)),
        ..program
    }
}

/// Begins to record the kernel's events. Returns also the number that this thread has in them, and what an event and
/// a stack cost.
fn open_kernel(
    plan: &Plan,
    run: &mut Run,
) -> Result<(KernelSide, i32, [Option<EventCost>; 2]), RunError> {
    let without_events = trial::make_rounds();
    let mut kernel = KernelSide::open(plan, run);
    let own = cpus::thread_id();
    if run.trace.is_some() {
        kernel.find_loops(&[own], run);
    }
    if run.trace.is_none() {
        return Err(no_events(run).into());
    }
    let own = kernel.thread(own);
    run.own_threads.iter_mut().for_each(|thread| thread.tid = kernel.thread(thread.tid));
    let costs = kernel.begin_costs(without_events.as_ref(), own, run);
    Ok((kernel, own, costs))
}

/// Notes where the run ends, by all clocks.
fn note_end(run: &mut Run, end_ticks: u64) {
    run.end_ticks = end_ticks;
    run.end_utc = Some(describe::now_utc(Duration::ZERO));
    run.end_boottime_ns = Some(boottime_ns());
}

/// Compares the clocks with those at the begin, derives the detours from the events on disk, and completes the recording.
fn finish(run: &mut Run, begin: Anchor, mut store: Store, state: RunState) -> Result<(), RunError> {
    run.clock.residual_ppm = begin.residual_ppm(Anchor::take(), run.clock.frequency_millihertz);
    run.notes.extend(run.clock.rate_note());
    run.notes.extend(machine::changes(&run.machine));
    store.complete_parts();
    let events = Recording::open(store.dir())?;
    let mut met = run.stop_on.as_ref().and_then(|stop| stop.met);
    program::derive(&events, run, &mut |detours| {
        store.append(detours);
        if let Some(met) = met.as_mut().filter(|met| met.thread.is_none()) {
            // It may have gone on after it was seen.
            let is_met =
                |detour: &&Detour| (detour.cpu, detour.start_ticks) == (met.cpu, met.start_ticks);
            met.end_ticks =
                detours.iter().find(is_met).map_or(met.end_ticks, |found| found.end_ticks);
        }
        Ok(())
    })?;
    run.stop_on.iter_mut().for_each(|stop| stop.met = met);
    store.settle(run);
    run.state = store.trouble().map_or(state, not_saved);
    Ok(store.finish(run)?)
}

fn not_saved(error: &WriteError) -> RunState {
    RunState::Interrupted(format!("not everything could be saved: {}", in_words(error)))
}

/// Removes what was written before anything was measured; a directory that was there before stays, empty as it was.
fn discard(dir: &Path, existed: bool) {
    if !existed {
        let _ = fs::remove_dir_all(dir);
        return;
    }
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let _ = if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
}

/// Waits until the recording is over, empties buffers that are half full, and saves at intervals what a kill would leave. If a
/// condition may end the recording, it looks for that. `start` is what the kernel had counted at the start, `refill` the function
/// that gives control groups new time. Returns when and how it ended.
fn watch(
    (plan, start, refill): (&Plan, &Snapshot, Option<u64>),
    subject: &mut dyn Subject,
    kernel: &mut KernelSide,
    stolen: &mut Stolen,
    run: &mut Run,
    (store, watcher): (&mut Store, &mut Watcher<'_>),
) -> (u64, RunState) {
    let mut saved = Instant::now();
    let watch = plan.stop_on.and_then(|condition| Watch::new(condition, run));
    store.watch_program(watch.map(|watch| watch.knowing_refills(refill)));
    loop {
        if let Some(state) = subject.over() {
            return (counter::ordered(), state);
        }
        if let Some(error) = store.trouble() {
            return (counter::ordered(), RunState::Interrupted(in_words(error)));
        }
        let awaits = plan.stop_on.is_some_and(|condition| condition != StopCondition::End);
        let looks = awaits || plan.stacks || watcher.watches();
        let nap = if subject.end().is_some() { NAP } else { SHORT_NAP };
        let nap = if looks { nap.min(LOOK) } else { nap };
        stolen.read();
        let to_save = plan.save_every.saturating_sub(saved.elapsed());
        let nap = nap.min(kernel.until_limits());
        let nap = subject.left().map_or(nap, |left| left.min(nap)).min(to_save);
        kernel.wait_for(nap, subject.end());
        run.limits = kernel.look_at_limits(|| subject.processes());
        let save = saved.elapsed() >= plan.save_every;
        let part_is_over = store.part_is_over(counter::ordered());
        if save || looks || kernel.half_full() || part_is_over == Some(true) {
            run.drain = DrainPolicy::HighWater;
            run.end_ticks = counter::ordered();
            kernel.drain(run, store);
        }
        let written_ticks = run.end_ticks.saturating_sub(run.clock.ticks_of(WRITTEN));
        store.look(written_ticks, run);
        watcher.tell(written_ticks, run, kernel, store);
        if store.stopped_by().is_some() {
            return (run.end_ticks, RunState::Complete); // it has what it was asked for
        }
        match part_is_over {
            Some(true) => last_part::begin((plan, start), subject, kernel, stolen, run, store),
            Some(false) => {}
            None if save => store.checkpoint(run),
            None => {}
        }
        if save {
            saved = Instant::now();
        }
    }
}

/// Returns why there are no kernel events, without which nothing is known of a program.
fn no_events(run: &Run) -> Problem {
    let reason = run.not_available.iter().find(|missing| missing.what == "kernel events");
    let (why, remedy) = reason.map_or_else(Default::default, |missing| {
        (format!(": {}", missing.why), missing.remedy.clone())
    });
    let why = format!("what interrupts a program is known from kernel events only{why}");
    ProblemKind::Unavailable.problem(why, remedy)
}

/// Returns that it is not known which threads were moved into or out of the control group, where the kernel does not report it.
fn moves_unknown(run: &Run, program: &Program) -> Option<String> {
    let missing = &run.trace.as_ref()?.missing;
    let attach = EventKind::CgroupAttach.spec();
    let name = format!("{}:{}", attach.system, attach.name);
    (program.cgroup.is_some() && missing.contains(&name)).then(|| {
        format!("this kernel has no event {name}: threads that were moved into or out of the control group count as before")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::builders;
    use anechoic_recording::run::{NotAvailable, ProgramCgroup, Trace};

    fn run(missing: &[&str]) -> Run {
        let missing = missing.iter().map(|name| (*name).to_owned()).collect();
        let trace = Trace {
            clock: "x86-tsc".into(),
            buffer_kb: 1,
            events: vec![],
            missing,
            alternate_ns: None,
        };
        let run = builders::run("record", builders::clock(1_000_000_000), vec![]);
        Run { trace: Some(trace), ..run }
    }

    fn cgroup() -> ProgramCgroup {
        ProgramCgroup { path: "/jobs".into(), ..ProgramCgroup::default() }
    }

    #[test]
    fn moves_are_unknown_where_a_group_is_recorded_and_the_kernel_does_not_report_them() {
        const ATTACH: &str = "cgroup:cgroup_attach_task";
        let program = |cgroup| Program { cgroup, ..Program::default() };
        for (missing, cgroup, unknown) in [
            (&[ATTACH][..], Some(cgroup()), true),
            (&[ATTACH], None, false),
            (&["sched:sched_switch"], Some(cgroup()), false),
        ] {
            let found = moves_unknown(&run(missing), &program(cgroup));
            assert_eq!(found.is_some_and(|note| note.contains(ATTACH)), unknown, "{missing:?}");
        }
    }

    #[test]
    fn without_events_their_reason_and_remedy_are_stated() {
        let missing = |what: &str| NotAvailable {
            what: what.into(),
            why: "no tracefs".into(),
            remedy: "mount it".into(),
        };
        let mut run = run(&[]);
        run.not_available = vec![missing("kernel events")];
        let text = no_events(&run).to_string();
        assert!(text.ends_with("known from kernel events only: no tracefs; mount it"), "{text}");
        run.not_available = vec![missing("steal")];
        assert!(!no_events(&run).to_string().contains("tracefs"));
    }

    #[test]
    fn only_what_was_there_before_is_kept() {
        let place = tempfile::tempdir().expect("a directory");
        for existed in [true, false] {
            let dir = place.path().join("recording");
            fs::create_dir_all(dir.join("parts")).expect("a directory");
            fs::write(dir.join("run.json"), "{}").expect("a file");
            discard(&dir, existed);
            assert_eq!(dir.exists(), existed);
            assert!(!existed || fs::read_dir(&dir).expect("a directory").next().is_none());
        }
    }
}
