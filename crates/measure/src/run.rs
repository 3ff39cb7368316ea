//! A run: what loops see on all asked CPUs, with the kernel's events beside it.
//!
//! The loops of a run go through rounds. A detour run has one round, in which all of them watch the
//! counter; the methods that take samples have one for each kernel and policy, and for each CPU
//! where those are measured one by one.

mod buffers;
mod calibrate;
mod describe;
mod detours;
mod fixed_time;
mod fixed_work;
mod housekeeper;
mod job;
mod kernel_side;
mod round;
mod schedule;
mod steady;
mod store;
mod work;
mod worker;

use crate::clock::{self, Anchor};
use crate::counters::Snapshot;
use crate::methods::Experiment;
use crate::{cpus, machine};
use anechoic_kernels::counter;
use anechoic_recording::run::{Outcome, OwnThread, Run, RunState};
use anechoic_recording::{Clock, Recorder, Series};
use buffers::{Arena, Lane, Taken};
use housekeeper::{Home, Housekeeper, free_cpus};
use job::{Lanes, Seen};
use kernel_side::KernelSide;
use round::{Hub, Round};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};
use store::Store;
use worker::{Report, Usage, Worker, name_of};

pub use calibrate::CalibrateError;
pub use worker::WorkerError;

/// From the choice of the common start to the start: room for opening the recording.
const LEAD: Duration = Duration::from_millis(200);
/// From the publication of a round's start to it.
const NOTICE: Duration = Duration::from_millis(20);

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The CPUs, ascending, at least one.
    pub cpus: Vec<u32>,
    /// What the loops do.
    pub task: Task,
    /// Whether kernel events are wanted.
    pub trace: bool,
    /// Measure with a TSC that is not invariant.
    pub allow_variant_tsc: bool,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// Version of the tool, for the record.
    pub tool_version: String,
    /// Which run of how many this is.
    pub repetition: Option<(u32, u32)>,
}

/// What the loops of a run do.
#[derive(Debug, Clone)]
pub enum Task {
    /// Watch the counter.
    Detours(Detours),
    /// Take samples.
    Samples(Experiment),
}

/// How to watch for detours.
#[derive(Debug, Clone)]
pub struct Detours {
    /// For how long.
    pub duration: Duration,
    /// A gap over this many nanoseconds is a detour; calibrated where absent.
    pub threshold_ns: Option<u64>,
    /// SCHED_FIFO instead of SCHED_OTHER.
    pub fifo: bool,
    /// Period of switching the events on and off, to measure what the tracer costs.
    pub alternate: Option<Duration>,
}

impl Plan {
    /// What is measured, as recordings name it.
    fn method(&self) -> &'static str {
        match &self.task {
            Task::Detours(_) => describe::DETOURS,
            Task::Samples(asked) => asked.method.id,
        }
    }

    fn alternate(&self) -> Option<Duration> {
        match &self.task {
            Task::Detours(detours) => detours.alternate,
            Task::Samples(_) => None,
        }
    }
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
    Worker(#[from] WorkerError),
    /// There is no such work kernel.
    #[error("there is no work kernel '{asked}'; `anechoic measure kernels` lists those there are")]
    Kernel {
        /// What was asked.
        asked: String,
    },
    /// A series of no samples.
    #[error("0 repetitions measure nothing; ask for at least one")]
    NoSamples,
    /// A kernel's work cannot be set to the asked duration.
    #[error(transparent)]
    Calibrate(#[from] CalibrateError),
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
    /// The kernels are being calibrated.
    Calibrating,
    /// The loops start; progress may be drawn only if a CPU is left for it.
    Started {
        /// How long it will take, undisturbed.
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
    let mut run = describe::run(plan, clock, machine::describe())?;
    let free = free_cpus(&plan.cpus);
    let _home = Home::move_to(&free);
    let (rounds, series) = schedule(plan, &run, notify)?;
    let mut arenas = Arenas::make(plan, &series)?;
    if !arenas.locked() {
        run.notes.push("buffers are touched but not locked (limit on locked memory)".to_owned());
    }
    let lanes = arenas.lanes();
    let mut kernel = KernelSide::open(plan, &mut run);
    let hub = Hub::default();
    let loops = Loops { plan, dir, stop, free: &free, hub: &hub, rounds: &rounds, lanes: &lanes };
    thread::scope(|scope| loops.run(scope, &mut run, series, &mut kernel, notify))?;
    Ok(run)
}

fn schedule(
    plan: &Plan,
    run: &Run,
    notify: &mut dyn FnMut(Stage),
) -> Result<(Vec<Round>, Vec<Series>), RunError> {
    match &plan.task {
        Task::Detours(asked) => Ok((schedule::detours(asked, &plan.cpus, run), Vec::new())),
        Task::Samples(asked) => {
            notify(Stage::Calibrating);
            schedule::samples(asked, &plan.cpus, run)
        }
    }
}

/// The memory of all loops.
struct Arenas {
    /// CPU, gaps, samples of each loop.
    of_loops: Vec<(Option<u32>, Arena<anechoic_kernels::detour::Gap>, Option<Arena<Taken>>)>,
}

impl Arenas {
    fn make(plan: &Plan, series: &[Series]) -> Result<Self, RunError> {
        let unpinned = series.iter().any(|series| series.cpu.is_none());
        let loops = plan.cpus.iter().map(|&cpu| Some(cpu)).chain(unpinned.then_some(None));
        let count = plan.cpus.len() + usize::from(unpinned);
        let refused = |error| RunError::Memory { cpus: count, error };
        let make = |cpu| {
            let samples = (!series.is_empty()).then(|| Arena::new(count)).transpose();
            Ok((cpu, Arena::new(count).map_err(refused)?, samples.map_err(refused)?))
        };
        Ok(Arenas { of_loops: loops.map(make).collect::<Result<_, RunError>>()? })
    }

    fn locked(&self) -> bool {
        let locked = |samples: &Option<Arena<Taken>>| samples.as_ref().is_none_or(|s| s.locked);
        self.of_loops.iter().all(|(_, gaps, samples)| gaps.locked && locked(samples))
    }

    fn lanes(&mut self) -> Vec<Lanes<'_>> {
        let lanes = self.of_loops.iter_mut().map(|(cpu, gaps, samples)| Lanes {
            cpu: *cpu,
            gaps: Lane::new(gaps),
            samples: samples.as_mut().map(Lane::new),
        });
        lanes.collect()
    }
}

/// The loops of a run and what they share.
#[derive(Clone, Copy)]
struct Loops<'r, 'a> {
    plan: &'r Plan,
    dir: &'r Path,
    stop: &'r AtomicBool,
    free: &'r [u32],
    hub: &'r Hub,
    rounds: &'r [Round],
    lanes: &'r [Lanes<'a>],
}

type Handle<'s> = ScopedJoinHandle<'s, Result<Report, WorkerError>>;

impl<'r> Loops<'r, '_> {
    fn run<'s>(
        self,
        scope: &'s Scope<'s, 'r>,
        run: &mut Run,
        series: Vec<Series>,
        kernel: &mut KernelSide,
        notify: &mut dyn FnMut(Stage),
    ) -> Result<(), RunError> {
        let mut handles = Vec::new();
        for (lane, lanes) in self.lanes.iter().enumerate() {
            let spawned = self.spawn(scope, lane, lanes);
            handles.push(spawned.inspect_err(|_| self.call_off(&handles))?);
        }
        let watched = self.begin(run, series).inspect_err(|_| self.call_off(&handles));
        let watched = watched.map(|begun| {
            let Some((mut store, begin)) = begun else {
                self.call_off(&handles);
                return None;
            };
            self.go_through(&handles, run, kernel, (&mut store, begin), notify);
            Some((store, begin))
        });
        let reports: Vec<Result<Report, WorkerError>> = handles.into_iter().map(join).collect();
        let watched = watched?;
        let reports: Vec<Report> = reports.into_iter().collect::<Result<_, _>>()?;
        let (mut store, begin) = watched.expect("called off only if a loop failed");
        notify(Stage::Saving);
        store.append(&Snapshot::take(&self.plan.cpus, counter::ordered).counters);
        kernel.stop(run, begin, &mut store);
        self.lanes.iter().for_each(|lanes| store.take(lanes));
        finish(run, &reports, begin, store)
    }

    fn spawn<'s>(
        self,
        scope: &'s Scope<'s, 'r>,
        lane: usize,
        lanes: &'r Lanes<'_>,
    ) -> Result<Handle<'s>, WorkerError> {
        let all = &self.plan.cpus;
        let place = self.plan.cpus.get(lane).map_or(all.as_slice(), std::slice::from_ref);
        let worker = Worker { lane, cpus: place, hub: self.hub, rounds: self.rounds };
        let name = lanes.cpu.map_or("loop any".to_owned(), |cpu| format!("loop {cpu}"));
        let spawned =
            thread::Builder::new().name(name).spawn_scoped(scope, move || worker.run(lanes));
        spawned.map_err(|error| WorkerError::Spawn { loop_of: name_of(place), error })
    }

    fn call_off(self, handles: &[Handle<'_>]) {
        self.rounds.iter().for_each(Round::call_off);
        handles.iter().for_each(|handle| handle.thread().unpark());
    }

    /// Waits for the loops to be prepared and opens the recording; none where a loop has failed.
    fn begin(
        self,
        run: &mut Run,
        mut series: Vec<Series>,
    ) -> Result<Option<(Store, Anchor)>, RunError> {
        while self.hub.prepared.load(Ordering::Acquire) < self.lanes.len() {
            thread::sleep(Duration::from_millis(1));
        }
        let cpus = &self.plan.cpus;
        run.start_ticks = counter::ordered() + ticks(LEAD, &run.clock);
        run.end_ticks = run.start_ticks + ticks(total(self.rounds), &run.clock);
        run.start_utc = now_utc(LEAD);
        if self.hub.failed.load(Ordering::Acquire) > 0 {
            return Ok(None);
        }
        let known = |(lane, &cpu)| describe::cpu(run, cpu, self.hub.thread_of(lane));
        run.cpus = cpus.iter().enumerate().map(known).collect();
        for series in &mut series {
            let lane = series.cpu.and_then(|cpu| cpus.iter().position(|&of| of == cpu));
            series.tid = self.hub.thread_of(lane.unwrap_or(cpus.len()));
        }
        if self.lanes.len() > cpus.len() {
            let tid = self.hub.thread_of(cpus.len());
            run.own_threads.push(OwnThread { tid, role: "loop that is not pinned".to_owned() });
        }
        let recorder = Recorder::create(self.dir, run)?;
        let mut store = Store::new(recorder, cpus);
        let anchor = Anchor::take();
        let snapshot = Snapshot::take(cpus, counter::ordered);
        store.append(&snapshot.counters);
        store.append(&snapshot.names);
        if !series.is_empty() {
            store.append(&series);
            store.complete_parts(); // whatever comes, the samples can be told apart
        }
        Ok(Some((store, anchor)))
    }

    /// Starts and watches one round after the other.
    fn go_through(
        self,
        handles: &[Handle<'_>],
        run: &mut Run,
        kernel: &mut KernelSide,
        (store, begin): (&mut Store, Anchor),
        notify: &mut dyn FnMut(Stage),
    ) {
        let Loops { plan, stop, free, lanes, .. } = self;
        let mut keeper = Housekeeper { plan, stop, free, lanes, begin, drained: Instant::now() };
        notify(Stage::Started { total: total(self.rounds), may_draw: keeper.may_draw() });
        for round in self.rounds {
            if run.state != RunState::Running {
                return self.call_off(handles);
            }
            round.open.store(true, Ordering::Release);
            round.jobs.iter().for_each(|(lane, _)| handles[*lane].thread().unpark());
            while round.ready.load(Ordering::Acquire) < round.jobs.len() {
                thread::sleep(Duration::from_millis(1));
            }
            // The origin of time stays where it was said; a slow disk only moves the loops' start.
            let start = run.start_ticks.max(counter::ordered() + ticks(NOTICE, &run.clock));
            if matches!(plan.task, Task::Detours(_)) {
                run.end_ticks = start + ticks(round.expected, &run.clock);
                round.end.store(run.end_ticks, Ordering::Release);
            }
            round.start.store(start, Ordering::Release);
            keeper.watch(round, run, kernel, store, notify);
        }
    }
}

/// Panics of a loop go on in the caller.
fn join<T>(handle: ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn ticks(time: Duration, clock: &Clock) -> u64 {
    clock.ticks(time.as_nanos() as u64)
}

/// How long all rounds take, undisturbed.
fn total(rounds: &[Round]) -> Duration {
    rounds.iter().map(|round| round.expected).fold(Duration::ZERO, Duration::saturating_add)
}

/// UTC in a little while, to the microsecond.
fn now_utc(later: Duration) -> String {
    let now = jiff::Timestamp::now();
    format!("{:.6}", now.checked_add(later).unwrap_or(now))
}

/// Completes `run` with what the loops saw and closes the recording.
fn finish(
    run: &mut Run,
    reports: &[Report],
    begin: Anchor,
    mut store: Store,
) -> Result<(), RunError> {
    run.clock.residual_ppm = begin.residual_ppm(Anchor::take(), run.clock.frequency_mhz);
    let seen = || reports.iter().flat_map(|report| &report.seen);
    run.end_ticks = seen().map(|seen| seen.last_ticks).max().unwrap_or(run.end_ticks);
    run.end_utc = Some(now_utc(Duration::ZERO));
    reports.iter().for_each(|report| store.append(&report.losses));
    for lane in 0..run.cpus.len() {
        let seen: Vec<&Seen> = seen().filter(|seen| seen.lane == lane).collect();
        describe::complete(&mut run.cpus[lane], &seen);
        let usage = seen.iter().map(|seen| seen.usage).fold(Usage::default(), Usage::and);
        let cpu = &run.cpus[lane];
        store.append(&usage.counters(cpu.cpu, cpu.first_ticks, cpu.last_ticks));
        notes_of(run, lane, &seen);
    }
    run.outcomes = seen().filter_map(outcome).collect();
    run.outcomes.sort_by_key(|outcome| outcome.series);
    if run.method == describe::DETOURS {
        subtract_shortest(run);
    }
    if let Some(error) = store.trouble() {
        run.state = RunState::Interrupted(format!("not all could be saved: {error}"));
    } else if run.state == RunState::Running {
        run.state = RunState::Complete;
    }
    Ok(store.finish(run)?)
}

fn outcome(seen: &Seen) -> Option<Outcome> {
    let series = seen.series?;
    Some(Outcome {
        series: series.series,
        first_ticks: seen.first_ticks,
        last_ticks: seen.last_ticks,
        samples: series.samples,
        lost: series.lost,
        wrong: series.wrong,
        ended: series.ended,
    })
}

/// The shortest gap of each class of CPUs is one iteration of its loops.
fn subtract_shortest(run: &mut Run) {
    for i in 0..run.cpus.len() {
        let same = run.cpus.iter().filter(|cpu| cpu.class == run.cpus[i].class);
        let shortest = same.map(|cpu| cpu.own_shortest_gap_ticks).min().unwrap_or(0);
        run.cpus[i].shortest_gap_ticks = describe::one_iteration(shortest, &run.clock);
    }
}

/// What the reader of a result must know of one loop.
fn notes_of(run: &mut Run, lane: usize, seen: &[&Seen]) {
    let cpu = run.cpus[lane].cpu;
    if let Some(moved) = seen.iter().find(|seen| seen.last_cpu != cpu) {
        let at = run.clock.seconds(moved.last_ticks.saturating_sub(run.start_ticks));
        run.notes.push(format!("CPU {cpu} went offline after {at:.1} s; its figures end there"));
    }
    if seen.iter().any(|seen| seen.jumped_back) {
        run.notes.push(format!("the counter of CPU {cpu} jumped back; its figures are doubtful"));
    }
    let n = run.cpus[lane].page_faults;
    if n > 0 {
        run.notes.push(format!("{n} page faults in the loop of CPU {cpu}: please report this"));
    }
}
