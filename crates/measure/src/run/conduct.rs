//! Conducts a run: starts the threads of the loops and takes them through the rounds.

use super::describe;
use super::error::RunError;
use super::finish::finish;
use super::home::{Home, free_cpus};
use super::housekeeper::Housekeeper;
use super::injectors::Injectors;
use super::kernel_side::KernelSide;
use super::patience::{Patience, release};
use super::plan::{BETWEEN, Plan, Stage};
use super::schedule::{Scheduled, schedule};
use super::store::Store;
use super::waits::Waits;
use crate::ensemble::{Agreed, Team};
use crate::scheduling::{LeftPolicy, leave_real_time};
use crate::timed::arenas::{Arenas, Stored};
use crate::timed::co_runner::CoRunners;
use crate::timed::job::Job;
use crate::timed::place::LoopPlace;
use crate::timed::round::{Hub, Round};
use crate::timed::sampling::Sampling;
use crate::timed::sinks::LoopBuffers;
use crate::timed::worker::{Report, Worker};
use anechoic_kernels::counter;
use anechoic_recording::run::{OwnThread, Run, RunState};
use anechoic_recording::{Problem, ProblemKind, Recorder, Series};
use anechoic_system::clock::{self, Anchor};
use anechoic_system::counters::Snapshot;
use anechoic_system::idle::Shallow;
use anechoic_system::{changes, cpus, huge_pages, machine, memory_nodes, rlimits, tracefs};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// Time from the choice of the common start to the start, for opening the recording.
const LEAD: Duration = Duration::from_millis(200);
/// Time from the publication of a round's start to the start.
const NOTICE: Duration = Duration::from_millis(20);
/// Time from the loops' reading of the kernel's counters to the start: enough for the reading, and for little
/// else.
const READING: Duration = Duration::from_millis(1);

/// Rounds with less expected time do not show how long later ones take.
const PACE_AFTER: Duration = Duration::from_secs(5);

/// Measures as planned and writes the recording to `dir`, which must be empty or not exist.
///
/// Ends early when `stop` becomes true; the recording is then complete up to that time.
///
/// # Errors
/// Returns what prevents the run from starting. Later problems (a full disk) become notes in the result.
pub fn run(
    plan: &Plan,
    dir: &Path,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(Stage),
) -> Result<Run, RunError> {
    tracefs::remove_leftovers();
    changes::undo_leftovers();
    if plan.experiment.changes_huge_pages() {
        huge_pages::hold()?;
    }
    let left = leave_real_time();
    let measured = plan.experiment.cpus();
    // First: to verify a CPU that is held takes long.
    Waits::begin(&measured).look(notify);
    cpus::verify(&measured)?;
    cpus::verify(&plan.experiment.wakers.values().copied().collect::<Vec<_>>())?;
    let clock = clock::calibrate(&measured, plan.allow_variant_tsc)?;
    let mut run = describe::run(plan, clock, machine::describe())?;
    if let Some(policy) = left.as_ref().map(LeftPolicy::name) {
        let note = "which its loops do not inherit: they ran under SCHED_OTHER or as asked; --fifo measures under SCHED_FIFO";
        run.notes.push(format!("anechoic was started under {policy}, {note}"));
    }
    let everywhere = cpus::allowed();
    let free = free_cpus(&run.machine, &plan.measured(), &plan.traced());
    let _home = Home::move_to(&free);
    let _bound = plan.experiment.memory_node.map(memory_nodes::bind).transpose()?;
    if plan.experiment.watch().is_none() {
        notify(Stage::Calibrating);
    }
    let Scheduled { places, rounds, series } = schedule(plan, &mut run, stop)?;
    refuse_limited(&rounds)?;
    let stored = match series.is_empty() {
        true => Stored::Gaps,
        false if plan.experiment.only_wakes() => Stored::WakeUps,
        false => Stored::Samples,
    };
    let mut arenas = Arenas::make(&places, stored)?;
    if !arenas.locked() {
        run.notes.push("buffers are touched but not locked (limit on locked memory)".to_owned());
    }
    let lanes = arenas.lanes();
    let mut kernel = KernelSide::open(plan, &mut run);
    let marker = kernel.marker();
    let injectors = Injectors::prepare(plan, &run.clock, &marker)?;
    if plan.experiment.needs_events && run.trace.is_none() {
        return Err(no_events(&run).into());
    }
    let co_runners = CoRunners::spawn(&plan.experiment)?;
    let described = |tid| OwnThread::new(tid, "co-runner");
    run.own_threads.extend(co_runners.threads().map(described));
    let hub = Hub::new(marker);
    let (free, everywhere) = (&free[..], &everywhere[..]);
    let (hub, rounds, lanes) = (&hub, &rounds[..], &lanes[..]);
    let (co_runners, is_guest) = (&co_runners, run.machine.hypervisor.is_some());
    let loops =
        Loops { plan, dir, stop, free, everywhere, hub, rounds, lanes, co_runners, is_guest };
    thread::scope(|scope| loops.run(scope, &mut run, series, (&mut kernel, injectors), notify))?;
    Ok(run)
}

/// Refuses rounds that the kernel would end: it kills a process of which a thread runs under a real-time policy for longer
/// than RLIMIT_RTTIME allows.
fn refuse_limited(rounds: &[Round]) -> Result<(), Problem> {
    let spins = |job: &Job| job.priority().is_some() && job.keeps_busy();
    let real_time = |round: &&Round| round.jobs.iter().any(|(_, job)| spins(job));
    let longest = rounds.iter().filter(real_time).map(|round| round.expected).max();
    match (longest, longest.and_then(|_| rlimits::allow_real_time())) {
        (Some(longest), Some(limit)) if limit <= longest => {
            let why = format!(
                "loops under SCHED_FIFO run for {longest:?} without a pause, and the kernel kills a process that does so for \
                 {limit:?} (RLIMIT_RTTIME)"
            );
            let remedy = "raise the limit (prlimit --rttime=unlimited COMMAND, as root), or measure for less time";
            Err(ProblemKind::Unavailable.problem(why, remedy))
        }
        _ => Ok(()),
    }
}

/// Returns why there are no kernel events, and what would help.
fn no_events(run: &Run) -> Problem {
    let reason = run.not_available.iter().find(|missing| missing.what == "kernel events");
    let (why, remedy) = reason.map_or_else(Default::default, |missing| {
        (format!(": {}", missing.why), missing.remedy.clone())
    });
    let why = format!("without kernel events there is no direct cost of an interrupt{why}");
    ProblemKind::Unavailable.problem(why, remedy)
}

/// The loops of a run and what they share.
#[derive(Clone, Copy)]
struct Loops<'r, 'a> {
    plan: &'r Plan,
    dir: &'r Path,
    stop: &'r AtomicBool,
    /// The CPUs that are not measured.
    free: &'r [u32],
    /// The CPUs that the unpinned loop may use.
    everywhere: &'r [u32],
    hub: &'r Hub,
    rounds: &'r [Round],
    lanes: &'r [LoopBuffers<'a>],
    co_runners: &'r CoRunners,
    is_guest: bool,
}

/// A run whose loops are ready.
struct Begun {
    store: Store,
    /// The clocks just before the start.
    anchor: Anchor,
    /// The number of rounds of the host that has most.
    agreed_rounds: usize,
}

type Handle<'s> = ScopedJoinHandle<'s, Result<Report, Problem>>;

impl<'r> Loops<'r, '_> {
    /// Starts the loops, takes them through all rounds, and closes the recording.
    fn run<'s>(
        self,
        scope: &'s Scope<'s, 'r>,
        run: &mut Run,
        series: Vec<Series>,
        (kernel, mut injectors): (&mut KernelSide, Injectors),
        notify: &mut dyn FnMut(Stage),
    ) -> Result<(), RunError> {
        let mut handles = Vec::new();
        for (lane, lanes) in self.lanes.iter().enumerate() {
            let spawned = self.spawn(scope, lane, lanes);
            handles.push(spawned.inspect_err(|_| self.call_off(&handles))?);
        }
        run.own_threads.extend(injectors.threads());
        let watched = self
            .begin(run, series, (kernel, &mut injectors), notify)
            .inspect_err(|_| self.call_off(&handles));
        let watched = watched.map(|begun| {
            let Some(mut begun) = begun else {
                self.call_off(&handles);
                return None;
            };
            let sides = (&mut *kernel, &mut injectors);
            self.go_through(&handles, run, sides, (&mut begun.store, begun.anchor), notify);
            Some(begun)
        });
        let reports: Vec<Result<Report, Problem>> = handles.into_iter().map(join).collect();
        let watched = watched?;
        let reports: Vec<Report> = reports.into_iter().collect::<Result<_, _>>()?;
        let begun = watched.expect("called off only if a loop failed");
        let Begun { mut store, anchor: begin, agreed_rounds } = begun;
        notify(Stage::Saving);
        injectors.describe(run);
        drop(injectors);
        let measured = self.plan.measured();
        store.append(&Snapshot::take(&measured, counter::ordered).counters);
        self.lanes.iter().for_each(|lanes| store.take(lanes, true));
        if store.suspects() {
            kernel.drain(run, &mut store);
        }
        store.judge();
        if let Some(before) = store.close_window(counter::ordered()) {
            kernel.begin_with(before);
        }
        if self.stop.load(Ordering::Acquire) && !store.keeps_last_part() {
            // What sent the signal may soon kill this process: what follows takes the longest part of a second.
            kernel.close(run, &mut store);
            kernel.drain_steal(begin, &mut store);
            store.checkpoint(run);
        }
        kernel.stop(run, begin, &mut store);
        finish(run, &reports, begin, store, self.plan)?;
        // Other hosts may have more rounds. Errors show at the ranks' next step.
        let of_others = self.rounds.len()..agreed_rounds;
        of_others.for_each(|_| drop(self.plan.team.as_ref().map(Team::done)));
        Ok(())
    }

    fn spawn<'s>(
        self,
        scope: &'s Scope<'s, 'r>,
        lane: usize,
        lanes: &'r LoopBuffers<'_>,
    ) -> Result<Handle<'s>, Problem> {
        let place = lanes.place;
        let (cpus, name) = match &lanes.place {
            LoopPlace::Cpu(cpu) => (std::slice::from_ref(cpu), format!("loop {cpu}")),
            LoopPlace::Copy(cpu) => (std::slice::from_ref(cpu), format!("copy {cpu}")),
            LoopPlace::Any => (self.everywhere, "loop any".to_owned()),
        };
        let pages = self.plan.experiment.pages;
        let (hub, rounds, is_guest) = (self.hub, self.rounds, self.is_guest);
        let worker = Worker { lane, place, cpus, hub, rounds, pages, is_guest };
        let spawned =
            thread::Builder::new().name(name).spawn_scoped(scope, move || worker.run(lanes));
        spawned.map_err(|error| {
            let why = format!("no thread for the loop of {}: {error}", place.name());
            let remedy = "raise the limit on processes (ulimit -u, pids.max) or measure fewer CPUs with --cpus";
            ProblemKind::Unavailable.problem(why, remedy)
        })
    }

    /// Ends the run before round `number`.
    fn give_up(self, handles: &[Handle<'_>], number: usize) {
        self.call_off(handles);
        release(self.hub, self.places());
        // Other ranks may not have ended early; they wait at the end of each round.
        let left = self.rounds.len() - number;
        (0..left).for_each(|_| drop(self.plan.team.as_ref().map(Team::done)));
    }

    fn call_off(self, handles: &[Handle<'_>]) {
        self.rounds.iter().for_each(|round| round.gate.call_off());
        handles.iter().for_each(|handle| handle.thread().unpark());
    }

    /// Returns the lane and the CPU of each loop.
    fn places(self) -> impl Iterator<Item = (usize, Option<u32>)> {
        self.lanes.iter().map(|lanes| lanes.place.cpu()).enumerate()
    }

    /// Waits until the loops are prepared and opens the recording; returns `None` if a loop has failed.
    fn begin(
        self,
        run: &mut Run,
        mut series: Vec<Series>,
        (kernel, injectors): (&mut KernelSide, &mut Injectors),
        notify: &mut dyn FnMut(Stage),
    ) -> Result<Option<Begun>, RunError> {
        let (mut patience, measured) =
            (Patience::for_preparation(self.stop), self.plan.experiment.cpus());
        let mut waits = Waits::begin(&measured);
        while self.hub.prepared.load(Ordering::Acquire) < self.lanes.len() {
            thread::sleep(Duration::from_millis(1));
            waits.look_now_and_then(notify);
            if let Some(why) = patience.over(true) {
                release(self.hub, self.places());
                if self.stop.load(Ordering::Acquire) {
                    return Err(Problem::called_off().into());
                }
                let why = waits.named(why);
                return Err(ProblemKind::Unavailable.problem(why, patience.remedy()).into());
            }
        }
        if self.hub.failed.load(Ordering::Acquire) > 0 {
            return Ok(None);
        }
        let own: Vec<i32> = (0..self.lanes.len()).map(|lane| self.hub.thread_of(lane)).collect();
        kernel.find_loops(&own, run);
        if self.plan.experiment.needs_events && run.trace.is_none() {
            return Err(no_events(run).into());
        }
        let threads: Vec<i32> = own.into_iter().map(|own| kernel.thread(own)).collect();
        run.own_threads.iter_mut().for_each(|thread| thread.tid = kernel.thread(thread.tid));
        injectors.rename(|own| kernel.thread(own));
        injectors.describe(run);
        let plan = self.plan;
        let cpus = plan.experiment.cpus();
        let own_rounds = self.rounds.len();
        let alone = Agreed { lead: LEAD, rounds: own_rounds };
        let team = self.plan.team.as_ref();
        let Agreed { lead, rounds } = team.map_or(Ok(alone), |team| team.start(own_rounds))?;
        run.start_ticks = counter::ordered() + run.clock.ticks_of(lead);
        run.end_ticks = run.start_ticks.saturating_add(run.clock.ticks_of(total(self.rounds)));
        run.start_utc = describe::now_utc(lead);
        let known = |(lane, &cpu)| describe::cpu(run, cpu, threads[lane]);
        run.cpus = cpus.iter().enumerate().map(known).collect();
        self.describe_series(&mut series, &threads);
        for (lane, lanes) in self.lanes.iter().enumerate() {
            let thread = |role| OwnThread::new(threads[lane], role);
            run.own_threads.extend(lanes.place.role().map(thread));
        }
        let beside = self.hub.beside().into_iter();
        run.own_threads.extend(beside.map(|own| OwnThread { tid: kernel.thread(own.tid), ..own }));
        run.notes.extend(self.hub.note_on_pages(plan.experiment.pages));
        let recorder = Recorder::create(self.dir, run)?;
        let mut store = Store::new(recorder, &cpus, plan, run);
        kernel.begin();
        let anchor = Anchor::take();
        let snapshot = Snapshot::take(&self.plan.measured(), counter::ordered);
        store.append(&snapshot.counters);
        store.append(&snapshot.names);
        if !series.is_empty() {
            store.append(&series);
            store.complete_parts(); // if the run is killed, each sample still has its series
        }
        Ok(Some(Begun { store, anchor, agreed_rounds: rounds }))
    }

    /// Adds to the series the threads of their loops, and the pages of those that share the memory of their loop.
    fn describe_series(self, series: &mut [Series], threads: &[i32]) {
        for (lane, job) in self.rounds.iter().flat_map(|round| &round.jobs) {
            let series = series.iter_mut().find(|series| job.series() == Some(series.series));
            let Some(series) = series else { continue };
            series.tid = threads[*lane];
            let shared = |sampling: &&Sampling| sampling.memory.is_none();
            let sampling = job.sampling().filter(shared);
            if sampling.is_some_and(|sampling| sampling.step.kernel.params().is_some()) {
                self.hub.pages_of(*lane).describe(&mut series.parameters);
            }
        }
    }

    /// Starts and watches one round after the other.
    fn go_through(
        self,
        handles: &[Handle<'_>],
        run: &mut Run,
        (kernel, injectors): (&mut KernelSide, &mut Injectors),
        (store, begin): (&mut Store, Anchor),
        notify: &mut dyn FnMut(Stage),
    ) {
        let Loops { plan, stop, free, lanes, .. } = self;
        let drained = Instant::now();
        let mut keeper =
            Housekeeper { plan, stop, free, lanes, hub: self.hub, begin, drained, pace: 1.0 };
        if plan.watcher.is_some() {
            notify(Stage::Begun(Box::new(run.clone())));
        }
        notify(Stage::Started { total: total(self.rounds), may_draw: keeper.may_draw() });
        for (number, round) in self.rounds.iter().enumerate() {
            if run.state != RunState::Running {
                return self.give_up(handles, number);
            }
            round.gate.open.store(true, Ordering::Release);
            round.jobs.iter().for_each(|(lane, _)| handles[*lane].thread().unpark());
            let mut patience = Patience::for_preparation(stop);
            while round.gate.ready.load(Ordering::Acquire) < round.jobs.len() {
                thread::sleep(Duration::from_millis(1));
                if let Some(why) = patience.over(true) {
                    run.state = RunState::Interrupted(why);
                    break;
                }
            }
            if run.state != RunState::Running {
                return self.give_up(handles, number);
            }
            round.gate.others_done.store(plan.team.is_none(), Ordering::Release);
            kernel.keep_off(round.events_off, run, store);
            let _shallow = round.shallow.then(Shallow::hold);
            injectors.start(round, run);
            self.co_runners.start(&round.co_runners);
            // The origin of time must stay as announced; a slow disk only delays the loops' start.
            let start = run.start_ticks.max(counter::ordered() + run.clock.ticks_of(NOTICE));
            if round.ends_on_time() {
                run.end_ticks = start.saturating_add(run.clock.ticks_of(round.expected));
                round.gate.end.store(run.end_ticks, Ordering::Release);
            }
            let count_from = start.saturating_sub(run.clock.ticks_of(READING));
            round.gate.count_from.store(count_from, Ordering::Release);
            round.gate.start.store(start, Ordering::Release);
            let later = total(&self.rounds[number + 1..]);
            keeper.pace = pace(&self.rounds[..number], start.saturating_sub(run.start_ticks), run);
            keeper.watch(round, later, run, kernel, store, notify);
            injectors.stop(round);
            self.co_runners.stop();
            match (self.hub.given_up(), &run.state) {
                (Some(why), RunState::Running) => run.state = RunState::Interrupted(why.clone()),
                (Some(why), _) => run.notes.push(why.clone()),
                (None, _) => {}
            }
            // Also after an early end, because all ranks take the same steps.
            if let Some(Err(error)) = plan.team.as_ref().map(Team::done)
                && run.state == RunState::Running
            {
                run.state = RunState::Interrupted(error.to_string());
            }
            round.gate.others_done.store(true, Ordering::Release);
        }
    }
}

/// Continues a loop's panic in the caller.
fn join<T>(handle: ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Returns how long these rounds took, relative to their expected time; 1 until there are enough of them.
fn pace(rounds: &[Round], took_ticks: u64, run: &Run) -> f64 {
    let expected = total(rounds).as_secs_f64();
    let enough = expected >= PACE_AFTER.as_secs_f64() && rounds.len() > 1;
    if enough { (run.clock.seconds(took_ticks) / expected).clamp(0.1, 10.0) } else { 1.0 }
}

/// Returns the total duration of these rounds without noise.
fn total(rounds: &[Round]) -> Duration {
    let pauses = u32::try_from(rounds.len().saturating_sub(1)).unwrap_or(u32::MAX);
    let expected = rounds.iter().map(|round| round.expected);
    expected.fold(BETWEEN.saturating_mul(pauses), Duration::saturating_add)
}
