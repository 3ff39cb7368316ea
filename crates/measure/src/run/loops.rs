//! The loops of a run: their threads, and one round after the other.

use super::finish::finish;
use super::housekeeper::Housekeeper;
use super::injectors::Injectors;
use super::job::Lanes;
use super::kernel_side::KernelSide;
use super::place::Place;
use super::round::{Hub, Round};
use super::store::Store;
use super::worker::{Report, Worker, WorkerError};
use super::{Plan, RunError, Stage, Task, describe};
use crate::ensemble::Team;
use anechoic_kernels::counter;
use anechoic_recording::run::{OwnThread, Run, RunState};
use anechoic_recording::{Clock, Recorder, Series};
use anechoic_system::clock::Anchor;
use anechoic_system::counters::Snapshot;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// From the choice of the common start to the start: room for opening the recording.
const LEAD: Duration = Duration::from_millis(200);
/// From the publication of a round's start to it.
const NOTICE: Duration = Duration::from_millis(20);
/// From the loops' reading of the kernel's counters to the start: room for the reading, and little else in it.
const READING: Duration = Duration::from_millis(1);

/// From the end of one round to the start of the next, about: for what is told of the length of a run.
const BETWEEN: Duration = Duration::from_millis(40);

/// The loops of a run and what they share.
#[derive(Clone, Copy)]
pub(super) struct Loops<'r, 'a> {
    pub(super) plan: &'r Plan,
    pub(super) dir: &'r Path,
    pub(super) stop: &'r AtomicBool,
    /// CPUs that are not measured.
    pub(super) free: &'r [u32],
    /// CPUs that the loop that is not pinned may use.
    pub(super) everywhere: &'r [u32],
    pub(super) hub: &'r Hub,
    pub(super) rounds: &'r [Round],
    pub(super) lanes: &'r [Lanes<'a>],
}

type Handle<'s> = ScopedJoinHandle<'s, Result<Report, WorkerError>>;

impl<'r> Loops<'r, '_> {
    /// Starts the loops, takes them through all rounds, and closes the recording.
    pub(super) fn run<'s>(
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
        injectors.describe(run);
        let watched = self.begin(run, series).inspect_err(|_| self.call_off(&handles));
        let watched = watched.map(|begun| {
            let Some((mut store, begin)) = begun else {
                self.call_off(&handles);
                return None;
            };
            let sides = (&mut *kernel, &mut injectors);
            self.go_through(&handles, run, sides, (&mut store, begin), notify);
            Some((store, begin))
        });
        let reports: Vec<Result<Report, WorkerError>> = handles.into_iter().map(join).collect();
        let watched = watched?;
        let reports: Vec<Report> = reports.into_iter().collect::<Result<_, _>>()?;
        let (mut store, begin) = watched.expect("called off only if a loop failed");
        notify(Stage::Saving);
        injectors.describe(run);
        drop(injectors);
        let measured = self.plan.measured();
        store.append(&Snapshot::take(&measured, counter::ordered).counters);
        kernel.stop(run, begin, &mut store);
        self.lanes.iter().for_each(|lanes| store.take(lanes));
        Ok(finish(run, &reports, begin, store, self.plan)?)
    }

    fn spawn<'s>(
        self,
        scope: &'s Scope<'s, 'r>,
        lane: usize,
        lanes: &'r Lanes<'_>,
    ) -> Result<Handle<'s>, WorkerError> {
        let place = lanes.place;
        let (cpus, name) = match &lanes.place {
            Place::Cpu(cpu) => (std::slice::from_ref(cpu), format!("loop {cpu}")),
            Place::Copy(cpu) => (std::slice::from_ref(cpu), format!("copy {cpu}")),
            Place::Any => (self.everywhere, "loop any".to_owned()),
        };
        let worker = Worker { lane, place, cpus, hub: self.hub, rounds: self.rounds };
        let spawned =
            thread::Builder::new().name(name).spawn_scoped(scope, move || worker.run(lanes));
        spawned.map_err(|error| WorkerError::Spawn { loop_of: place.name(), error })
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
        if self.hub.failed.load(Ordering::Acquire) > 0 {
            return Ok(None);
        }
        let cpus = &self.plan.cpus;
        let lead = self.plan.team.as_ref().map_or(Ok(LEAD), Team::start)?;
        run.start_ticks = counter::ordered() + ticks(lead, &run.clock);
        run.end_ticks = run.start_ticks.saturating_add(ticks(total(self.rounds), &run.clock));
        run.start_utc = now_utc(lead);
        let known = |(lane, &cpu)| describe::cpu(run, cpu, self.hub.thread_of(lane));
        run.cpus = cpus.iter().enumerate().map(known).collect();
        for (lane, job) in self.rounds.iter().flat_map(|round| &round.jobs) {
            if let Some(number) = job.series() {
                let of_job = series.iter_mut().find(|series| series.series == number);
                of_job.expect("every job has its series").tid = self.hub.thread_of(*lane);
            }
        }
        for (lane, lanes) in self.lanes.iter().enumerate() {
            let role = lanes.place.role().map(str::to_owned);
            let thread = |role| OwnThread { tid: self.hub.thread_of(lane), role };
            run.own_threads.extend(role.map(thread));
        }
        let recorder = Recorder::create(self.dir, run)?;
        let mut store = Store::new(recorder, cpus, self.plan.watcher.is_some());
        let anchor = Anchor::take();
        let snapshot = Snapshot::take(&self.plan.measured(), counter::ordered);
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
        (kernel, injectors): (&mut KernelSide, &mut Injectors),
        (store, begin): (&mut Store, Anchor),
        notify: &mut dyn FnMut(Stage),
    ) {
        let Loops { plan, stop, free, lanes, .. } = self;
        let mut keeper = Housekeeper { plan, stop, free, lanes, begin, drained: Instant::now() };
        if plan.watcher.is_some() {
            notify(Stage::Begun(Box::new(run.clone())));
        }
        notify(Stage::Started { total: total(self.rounds), may_draw: keeper.may_draw() });
        for (number, round) in self.rounds.iter().enumerate() {
            if run.state != RunState::Running {
                self.call_off(handles);
                // Other ranks may not have ended early: they wait at the end of each round.
                let left = self.rounds.len() - number;
                (0..left).for_each(|_| drop(plan.team.as_ref().map(Team::done)));
                return;
            }
            round.open.store(true, Ordering::Release);
            round.jobs.iter().for_each(|(lane, _)| handles[*lane].thread().unpark());
            while round.ready.load(Ordering::Acquire) < round.jobs.len() {
                thread::sleep(Duration::from_millis(1));
            }
            round.others_done.store(plan.team.is_none(), Ordering::Release);
            injectors.start(round, run);
            // The origin of time stays where it was said; a slow disk only moves the loops' start.
            let start = run.start_ticks.max(counter::ordered() + ticks(NOTICE, &run.clock));
            if matches!(plan.task, Task::Detours(_)) {
                run.end_ticks = start.saturating_add(ticks(round.expected, &run.clock));
                round.end.store(run.end_ticks, Ordering::Release);
            }
            let count_from = start.saturating_sub(ticks(READING, &run.clock));
            round.count_from.store(count_from, Ordering::Release);
            round.start.store(start, Ordering::Release);
            let later = total(&self.rounds[number + 1..]);
            keeper.watch(round, later, run, kernel, store, notify);
            injectors.stop(round);
            // Also where this run ended early: all ranks take the same steps.
            if let Some(Err(error)) = plan.team.as_ref().map(Team::done)
                && run.state == RunState::Running
            {
                run.state = RunState::Interrupted(error.to_string());
            }
            round.others_done.store(true, Ordering::Release);
        }
    }
}

/// Panics of a loop go on in the caller.
fn join<T>(handle: ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Ticks of a time; of one that is too long to count, the most there are.
pub(super) fn ticks(time: Duration, clock: &Clock) -> u64 {
    clock.ticks(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// How long all these rounds take, undisturbed.
fn total(rounds: &[Round]) -> Duration {
    let pauses = u32::try_from(rounds.len().saturating_sub(1)).unwrap_or(u32::MAX);
    let expected = rounds.iter().map(|round| round.expected);
    expected.fold(BETWEEN.saturating_mul(pauses), Duration::saturating_add)
}

/// UTC in a little while, to the microsecond.
pub(super) fn now_utc(later: Duration) -> String {
    let now = jiff::Timestamp::now();
    format!("{:.6}", now.checked_add(later).unwrap_or(now))
}
