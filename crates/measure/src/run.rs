//! The main job: detours of all asked CPUs at once, with the kernel's events beside them.

mod buffers;
mod describe;
mod housekeeper;
mod kernel_side;
mod store;
mod victim;

use crate::clock::{self, Anchor};
use crate::counters::Snapshot;
use crate::{cpus, machine};
use anechoic_kernels::counter;
use anechoic_recording::run::{CpuRun, Run, RunState};
use anechoic_recording::{Clock, Recorder};
use buffers::{Arena, Lane};
use housekeeper::{Home, Housekeeper, free_cpus};
use kernel_side::KernelSide;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use store::Store;
use victim::{Orders, Rendezvous, Seen};

pub use victim::VictimError;

/// From the choice of the common start to the start: room for opening the recording.
const LEAD: Duration = Duration::from_millis(200);
/// From the publication of the start to the start.
const NOTICE: Duration = Duration::from_millis(20);
/// Longest time that a loop goes without a look at the common end.
const SLICE: Duration = Duration::from_millis(20);

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The CPUs, ascending, at least one.
    pub cpus: Vec<u32>,
    /// For how long.
    pub duration: Duration,
    /// A gap over this many nanoseconds is a detour; calibrated where absent.
    pub threshold_ns: Option<u64>,
    /// SCHED_FIFO instead of SCHED_OTHER.
    pub fifo: bool,
    /// Whether kernel events are wanted.
    pub trace: bool,
    /// Period of switching the events on and off, to measure what the tracer costs.
    pub alternate: Option<Duration>,
    /// Measure with a TSC that is not invariant.
    pub allow_variant_tsc: bool,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// Version of the tool, for the record.
    pub tool_version: String,
    /// Which run of how many this is.
    pub repetition: Option<(u32, u32)>,
}

/// Why a run did not take place. Whatever happens after its start ends up in the recording.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A CPU cannot be measured.
    #[error(transparent)]
    Cpu(#[from] cpus::CpuError),
    /// The counter cannot be used.
    #[error(transparent)]
    Clock(#[from] clock::ClockError),
    /// A loop could not start.
    #[error(transparent)]
    Victim(#[from] VictimError),
    /// The recording cannot be written.
    #[error(transparent)]
    Write(#[from] anechoic_recording::WriteError),
    /// No memory for the buffers.
    #[error("no memory for the buffers of {cpus} CPUs: {error}; measure fewer with --cpus")]
    Memory {
        /// CPUs asked for.
        cpus: usize,
        /// The kernel's reason.
        error: rustix::io::Errno,
    },
    /// Thresholds below one iteration of the loop make every iteration a detour.
    #[error(
        "a threshold of {asked_ns} ns is not above one iteration of the loop ({iteration_ns} ns on this machine); ask for at least {least_ns} ns"
    )]
    Threshold {
        /// What was asked.
        asked_ns: u64,
        /// What an iteration takes.
        iteration_ns: u64,
        /// The least that makes sense.
        least_ns: u64,
    },
}

/// What a run tells while it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// The loops start; progress may be drawn only if a CPU is left for it.
    Started {
        /// How long it will take.
        total: Duration,
        /// Whether a CPU is left that is not measured.
        may_draw: bool,
    },
    /// This much has passed; comes only where drawing disturbs nothing.
    Passed(Duration),
    /// The loops are over; what they saw is being saved.
    Saving,
}

/// Measures as planned and writes the recording to `dir`, which must not exist or be empty.
///
/// Ends early when `stop` becomes true; what was measured until then is complete.
///
/// # Errors
/// Whatever keeps the run from starting. Later trouble (a full disk) is a note in the result.
pub fn run(
    plan: &Plan,
    dir: &Path,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(Stage),
) -> Result<Run, RunError> {
    cpus::verify(&plan.cpus)?;
    let clock = clock::calibrate(&plan.cpus, plan.allow_variant_tsc)?;
    let machine = machine::describe();
    let mut run = describe::run(plan, clock, machine)?;
    let free = free_cpus(&plan.cpus);
    let _home = Home::move_to(&free);
    let mut arenas = make_arenas(plan.cpus.len())?;
    if arenas.iter().any(|arena| !arena.locked) {
        run.notes.push("buffers are touched but not locked (limit on locked memory)".to_owned());
    }
    let lanes: Vec<Lane<'_>> =
        plan.cpus.iter().zip(&mut arenas).map(|(&cpu, arena)| Lane::new(cpu, arena)).collect();
    let mut kernel = KernelSide::open(plan, &mut run);
    let meet = Rendezvous::default();
    thread::scope(|scope| {
        let mut loops = Vec::new();
        for lane in &lanes {
            let (orders, meet) = (orders(plan, &run, lane.cpu()), &meet);
            let spawned = thread::Builder::new()
                .name(format!("loop {}", lane.cpu()))
                .spawn_scoped(scope, move || victim::run(orders, meet, lane));
            let refused = |error| VictimError::Spawn { cpu: orders.cpu, error };
            loops.push(spawned.map_err(refused).inspect_err(|_| meet.call_off())?);
        }
        let begun = begin(&mut run, dir, &meet, plan);
        let watched = begun.map(|begun| {
            let (mut store, begin) = begun?;
            let mut keeper = Housekeeper {
                plan,
                stop,
                free: &free,
                meet: &meet,
                lanes: &lanes,
                begin,
                drained: Instant::now(),
            };
            keeper.watch(&mut run, &mut kernel, &mut store, notify);
            Some((store, begin))
        });
        let seen: Vec<Result<Seen, VictimError>> = loops.into_iter().map(join).collect();
        let watched = watched?;
        let seen: Vec<Seen> = seen.into_iter().collect::<Result<_, _>>()?;
        let (mut store, begin) = watched.expect("called off only if a loop failed");
        notify(Stage::Saving);
        store.append(&Snapshot::take(&plan.cpus, counter::ordered).counters);
        kernel.stop(&mut run, begin, &mut store);
        lanes.iter().for_each(|lane| store.detours(lane));
        finish(&mut run, seen, begin, store)
    })?;
    Ok(run)
}

/// Panics of a loop go on in the caller.
fn join<T>(handle: thread::ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn make_arenas(cpus: usize) -> Result<Vec<Arena>, RunError> {
    let arenas = (0..cpus).map(|_| Arena::new(cpus)).collect::<Result<_, _>>();
    arenas.map_err(|error| RunError::Memory { cpus, error })
}

fn orders(plan: &Plan, run: &Run, cpu: u32) -> Orders {
    Orders {
        cpu,
        loops: plan.cpus.len(),
        threshold_ticks: run.threshold_ticks,
        slice_ticks: run.clock.ticks(SLICE.as_nanos() as u64),
        fifo: plan.fifo,
    }
}

/// Waits for the loops to be ready, opens the recording and publishes the common start.
/// Whatever fails calls the loops off; none where one of the loops has failed.
fn begin(
    run: &mut Run,
    dir: &Path,
    meet: &Rendezvous,
    plan: &Plan,
) -> Result<Option<(Store, Anchor)>, RunError> {
    while meet.ready.load(Ordering::Acquire) < plan.cpus.len() {
        thread::sleep(Duration::from_millis(1));
    }
    let ticks = |time: Duration, clock: &Clock| clock.ticks(time.as_nanos() as u64);
    run.start_ticks = counter::ordered() + ticks(LEAD, &run.clock);
    run.end_ticks = run.start_ticks + ticks(plan.duration, &run.clock);
    run.start_utc = now_utc(LEAD);
    if meet.failed.load(Ordering::Acquire) > 0 {
        meet.call_off();
        return Ok(None);
    }
    run.cpus = plan.cpus.iter().map(|&cpu| describe::cpu(run, cpu, meet.thread_of(cpu))).collect();
    let recorder = Recorder::create(dir, run).inspect_err(|_| meet.call_off())?;
    let mut store = Store::new(recorder, &plan.cpus);
    let anchor = Anchor::take();
    let snapshot = Snapshot::take(&plan.cpus, counter::ordered);
    store.append(&snapshot.counters);
    store.append(&snapshot.names);
    // The origin of time stays where it was said; a slow disk only moves the loops' start.
    let start = run.start_ticks.max(counter::ordered() + ticks(NOTICE, &run.clock));
    run.end_ticks = start + ticks(plan.duration, &run.clock);
    meet.end.store(run.end_ticks, Ordering::Release);
    meet.start.store(start, Ordering::Release);
    Ok(Some((store, anchor)))
}

/// UTC in a little while, to the microsecond.
fn now_utc(later: Duration) -> String {
    let now = jiff::Timestamp::now();
    format!("{:.6}", now.checked_add(later).unwrap_or(now))
}

/// Completes `run` with what the loops saw and closes the recording.
fn finish(run: &mut Run, seen: Vec<Seen>, begin: Anchor, mut store: Store) -> Result<(), RunError> {
    run.clock.residual_ppm = begin.residual_ppm(Anchor::take(), run.clock.frequency_mhz);
    run.end_ticks = seen.iter().map(|seen| seen.watch.last).max().unwrap_or(run.end_ticks);
    run.end_utc = Some(now_utc(Duration::ZERO));
    for seen in &seen {
        store.append(&seen.losses);
        store.append(&seen.usage.counters(seen));
        notes_of(run, seen);
    }
    for (cpu, seen) in run.cpus.iter_mut().zip(&seen) {
        complete(cpu, seen);
    }
    for i in 0..run.cpus.len() {
        let same = run.cpus.iter().filter(|cpu| cpu.class == run.cpus[i].class);
        let shortest = same.map(|cpu| cpu.own_shortest_gap_ticks).min().unwrap_or(0);
        run.cpus[i].shortest_gap_ticks = describe::one_iteration(shortest, &run.clock);
    }
    if let Some(error) = store.trouble() {
        run.state = RunState::Interrupted(format!("not all could be saved: {error}"));
    } else if run.state == RunState::Running {
        run.state = RunState::Complete;
    }
    Ok(store.finish(run)?)
}

/// What the reader of a result must know of one loop.
fn notes_of(run: &mut Run, seen: &Seen) {
    let cpu = seen.cpu;
    if seen.last_cpu != cpu {
        let at = run.clock.seconds(seen.watch.last.saturating_sub(run.start_ticks));
        run.notes.push(format!("CPU {cpu} went offline after {at:.1} s; its figures end there"));
    }
    if seen.jumped_back {
        run.notes.push(format!("the counter of CPU {cpu} jumped back; its figures are doubtful"));
    }
    let n = seen.usage.page_faults();
    if n > 0 {
        run.notes.push(format!("{n} page faults in the loop of CPU {cpu}: please report this"));
    }
}

fn complete(cpu: &mut CpuRun, seen: &Seen) {
    cpu.first_ticks = seen.first_ticks;
    cpu.last_ticks = seen.watch.last;
    cpu.iterations = seen.watch.iterations;
    cpu.own_shortest_gap_ticks = seen.watch.shortest;
    cpu.detours = seen.stored;
    cpu.lost_detours = seen.losses.iter().map(|loss| loss.count).sum();
    cpu.page_faults = seen.usage.page_faults();
    cpu.last_cpu = seen.last_cpu;
}
