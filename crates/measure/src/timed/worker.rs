//! The thread of one loop: it joins each round that has a job for it, starts with the others, and keeps its
//! CPU busy until all of them have ended.

use super::between::PreparedAct;
use super::buffers::Sink;
use super::counting::Counting;
use super::gate::Gate;
use super::job::Job;
use super::place::LoopPlace;
use super::round::{Hub, Round};
use super::sampling::Workspaces;
use super::sinks::{Done, LoopBuffers, SeriesResult, Sinks};
use super::usage::Usage;
use super::waker::Waker;
use crate::experiment::Pages;
use crate::kernel::user::{self, Failure};
use crate::scheduling::block_signals;
use anechoic_kernels::counter;
use anechoic_kernels::detour::Watch;
use anechoic_recording::paging::Allocation;
use anechoic_recording::paging::counts::{SYSTEM_CALLS, VOLUNTARY_SWITCHES};
use anechoic_recording::run::{Ended, NotAvailable};
use anechoic_recording::{Loss, Problem, ProblemKind};
use anechoic_system::{counters, cpus, rights};
use std::collections::BTreeMap;
use std::hint::spin_loop;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// How long a loop that has ended waits for others that should end at the same time.
const PATIENCE: Duration = Duration::from_secs(2);

/// The thread of one loop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Worker<'r> {
    /// The lane of the loop.
    pub(crate) lane: usize,
    pub(crate) place: LoopPlace,
    /// The CPUs that it may run on: one, or all if the scheduler chooses.
    pub(crate) cpus: &'r [u32],
    pub(crate) hub: &'r Hub,
    pub(crate) rounds: &'r [Round],
    /// The pages of its workspaces.
    pub(crate) pages: Pages,
    /// Whether a hypervisor runs this machine.
    pub(crate) is_guest: bool,
}

/// The results of one loop in one round.
#[derive(Debug)]
pub(crate) struct LoopResult {
    pub(crate) lane: usize,
    pub(crate) place: LoopPlace,
    pub(crate) first_ticks: u64,
    pub(crate) last_ticks: u64,
    /// Number of gaps that were stored, and of those that found no room.
    pub(crate) gaps: (u64, u64),
    /// The state of the watch, if the job was to watch.
    pub(crate) watch: Option<Watch>,
    /// The outcome of the series, if the job was to take samples.
    pub(crate) series: Option<SeriesResult>,
    pub(crate) usage: Usage,
    /// The CPU at the end, which differs from the requested one if that was taken offline.
    pub(crate) last_cpu: u32,
    /// Whether the counter jumped back.
    pub(crate) jumped_back: bool,
    /// The memory of the series, if it had its own.
    pub(crate) allocation: Option<Allocation>,
    /// Events of the thread that were counted during the series, if it had no memory of its own.
    pub(crate) counts: BTreeMap<String, u64>,
    /// The user's function that it ran, if it did.
    pub(crate) user: Option<&'static str>,
}

/// The results of one loop in all its rounds.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) seen: Vec<LoopResult>,
    pub(crate) losses: Vec<Loss>,
    /// What the reader of the result must know.
    pub(crate) notes: Vec<String>,
    /// What could not be counted.
    pub(crate) not_counted: Vec<NotAvailable>,
}

impl Worker<'_> {
    /// Takes part in every round that has a job for this loop.
    pub(crate) fn run(self, lanes: &LoopBuffers<'_>) -> Result<Report, Problem> {
        let tid = cpus::thread_id();
        self.hub.begun(self.lane, tid);
        let prepared = self.prepare();
        let cpu = self.place.cpu().unwrap_or(0);
        let mut sinks = Sinks {
            gaps: Sink::new(&lanes.gaps, cpu),
            samples: lanes.samples.as_ref().map(|lane| Sink::new(lane, cpu)),
            paces: lanes.paces.as_ref().map(|lane| Sink::new(lane, cpu)),
        };
        let workspaces = prepared.and_then(|()| Ok((self.waker()?, self.workspaces()?)));
        self.hub.marker.mark();
        let workspaces = workspaces.and_then(|(waker, mut workspaces)| {
            self.warm_up(&mut workspaces, &mut sinks);
            let failure = user::failure().map(|why| why.problem("before anything was measured"));
            failure.map_or(Ok((waker, workspaces)), Err)
        });
        let (_waker, mut workspaces) = workspaces.inspect_err(|_| self.hub.prepared(true))?;
        let mut seen = Vec::with_capacity(self.rounds.len());
        let counting = Counting::open(self.jobs().map(|(_, job)| job), self.is_guest);
        self.hub.prepared(false);
        for (round, job) in self.jobs() {
            while !round.gate.open.load(Ordering::Acquire) {
                thread::park(); // sleeps, so as not to disturb the rounds of other CPUs
            }
            let workspaces = &mut workspaces;
            seen.extend(self.take_part(&round.gate, job, &mut sinks, workspaces, &counting));
        }
        let mut losses = sinks.gaps.finish();
        losses.extend(sinks.samples.into_iter().flat_map(Sink::finish));
        let notes = workspaces.notes();
        let not_counted = counting.not_available();
        Ok(Report { seen, losses, notes, not_counted })
    }

    fn jobs(&self) -> impl Iterator<Item = (&Round, &Job)> + Clone {
        self.rounds.iter().filter_map(|round| Some((round, round.job_of(self.lane)?)))
    }

    /// Allocates what the jobs need, and reports its pages and the threads that take the CPU of the loop.
    fn workspaces(&self) -> Result<Workspaces, Problem> {
        let sampling = self.jobs().filter_map(|(_, job)| job.sampling());
        let workspaces = Workspaces::for_largest(sampling, self.pages)?;
        self.hub.obtained(self.lane, workspaces.obtained());
        self.hub.take_its_cpu(workspaces.threads());
        Ok(workspaces)
    }

    /// Starts the thread that wakes this one, if a job needs it.
    fn waker(&self) -> Result<Option<Waker>, Problem> {
        let Some((calls, job)) = self.jobs().find_map(|(_, job)| Some((job.calls()?, job))) else {
            return Ok(None);
        };
        let waker = Waker::spawn(calls, &self.hub.marker)?;
        self.hub.take_its_cpu(vec![waker.thread(job.priority())]);
        Ok(Some(waker))
    }

    /// Runs the loop of each kernel once, on its smallest workspace.
    fn warm_up(&self, workspaces: &mut Workspaces, sinks: &mut Sinks<'_, '_>) {
        let mut jobs: Vec<&Job> = self.jobs().map(|(_, job)| job).collect();
        let kernel =
            |job: &Job| job.sampling().map(|job| (job.step.kernel.id(), job.between.is_empty()));
        let bytes = |job: &Job| job.sampling().map_or(0, |job| job.step.kernel.workspace_bytes());
        jobs.sort_by_key(|job| (kernel(job), bytes(job)));
        jobs.dedup_by_key(|job| kernel(job));
        jobs.into_iter().for_each(|job| job.warm_up(workspaces, sinks));
        for (_, job) in self.jobs() {
            if let Job::Probe(probing) = job
                && let Some(pages) = probing.obtained()
            {
                self.hub.obtained(self.lane, pages);
            }
        }
    }

    /// Blocks all blockable signals (the housekeeper takes them), pins the thread and checks that it may use
    /// its scheduling policies.
    fn prepare(&self) -> Result<(), Problem> {
        block_signals();
        cpus::pin(self.cpus)?;
        if let [cpu] = *self.cpus {
            let register = counter::current_cpu();
            check_number(cpu, cpus::current(), register)?;
        }
        if let Some(priority) = self.jobs().filter_map(|(_, job)| job.priority()).max() {
            let loop_of = self.place.name();
            cpus::set_policy(libc::SCHED_FIFO, priority)
                .and_then(|()| cpus::set_policy(libc::SCHED_OTHER, 0))
                .map_err(|error| {
                    let why = format!("{loop_of}: the kernel refuses SCHED_FIFO ({error})");
                    ProblemKind::Unavailable.problem(why, rights::fifo_remedy())
                })?;
        }
        Ok(())
    }

    /// Takes part in one round; returns `None` if the round was called off.
    fn take_part(
        &self,
        gate: &Gate,
        job: &Job,
        sinks: &mut Sinks<'_, '_>,
        workspaces: &mut Workspaces,
        counting: &Counting,
    ) -> Option<LoopResult> {
        if gate.is_called_off() {
            return None; // workspaces take time to prepare
        }
        let mut ready = match job.prepare(workspaces) {
            Ok(ready) => ready,
            Err(problem) => return self.sit_out(gate, job, &problem),
        };
        let mut allocation = ready.as_mut().and_then(|ready| ready.allocation.take());
        sinks.begin(job.series().unwrap_or(0));
        gate.ready.fetch_add(1, Ordering::AcqRel);
        let Before { ticks: read_ticks, usage: before, delay_ns: delay } =
            wait_for_start(gate, job.priority());
        if gate.is_called_off() {
            return None;
        }
        let (done, mut counts) = counting.run(job, ready, gate, sinks, &mut allocation)?;
        let Done { first_ticks, last_ticks, watch, series, jumped_back } = done;
        let left =
            series.is_some_and(|series| matches!(series.ended, Ended::Offline | Ended::Clock));
        if left && job.meets() {
            gate.end.fetch_min(counter::now(), Ordering::AcqRel); // the others would wait for it for ever
        }
        let mut usage = Usage::now().since(before);
        let samples = series.map_or(0, |series| series.samples);
        let user = self.user_function(job, samples, usage, &mut counts);
        if job.wanders() {
            let _ = cpus::pin(self.cpus); // if that CPU is gone, `last_cpu` shows it
        }
        let last_cpu = rustix::thread::sched_getcpu() as u32;
        usage.run_delay_ns = counters::own_run_delay_ns().zip(delay).map(|(now, then)| now - then);
        usage.read = Some((read_ticks, counter::now()));
        let gaps = (sinks.gaps.stored, sinks.gaps.lost);
        // Before the end of the round is seen, so that the last round reports it, too.
        workspaces.gave_up().into_iter().for_each(|why| self.hub.give_up(why));
        gate.done.fetch_add(1, Ordering::AcqRel);
        // On another CPU it would only disturb that CPU's loop.
        if self.place.cpu() == Some(last_cpu) && job.keeps_busy() {
            keep_busy(gate, job);
        }
        if job.priority().is_some() {
            let _ = cpus::set_policy(libc::SCHED_OTHER, 0); // cannot fail: lowering is always allowed
        }
        sinks.flush();
        let Worker { lane, place, .. } = *self;
        Some(LoopResult {
            lane,
            place,
            first_ticks,
            last_ticks,
            gaps,
            watch,
            series,
            usage,
            last_cpu,
            jumped_back,
            allocation,
            counts,
            user,
        })
    }

    /// Returns the name of the user's function that a job ran, if it did, and adds to its counts. If the function ended
    /// early, in the sample after these, that is reported.
    fn user_function(
        &self,
        job: &Job,
        samples: u64,
        usage: Usage,
        counts: &mut BTreeMap<String, u64>,
    ) -> Option<&'static str> {
        let name = job.sampling()?.step.kernel.user()?;
        counts.extend(usage.counts());
        if job.sampling()?.between.iter().any(PreparedAct::calls_the_system) {
            // Those of the tool between two calls are among them.
            counts.retain(|name, _| ![SYSTEM_CALLS, VOLUNTARY_SWITCHES].contains(&&**name));
        }
        if let Some(Failure { why, in_preparation }) = user::failure() {
            counts.clear(); // they have what ending it took
            let (on, sample) = (self.place.name(), samples + 1);
            let sample = format!("{why} in sample {sample} on {on}");
            self.hub.give_up(if in_preparation { why } else { sample });
        }
        Some(name)
    }

    /// Takes part in a round without measuring, because there is no memory for its series.
    fn sit_out(&self, gate: &Gate, job: &Job, problem: &Problem) -> Option<LoopResult> {
        gate.ready.fetch_add(1, Ordering::AcqRel);
        wait_for_start(gate, None);
        gate.done.fetch_add(1, Ordering::AcqRel);
        let sampling = job.sampling().filter(|_| !gate.is_called_off())?;
        let (series, ended) = (sampling.series, Ended::NoMemory);
        let refused = Some(problem.to_string());
        let now = counter::now();
        Some(LoopResult {
            lane: self.lane,
            place: self.place,
            first_ticks: now,
            last_ticks: now,
            gaps: (0, 0),
            watch: None,
            series: Some(SeriesResult { series, ended, ..SeriesResult::default() }),
            usage: Usage::default(),
            last_cpu: rustix::thread::sched_getcpu() as u32,
            jumped_back: false,
            allocation: Some(Allocation { refused, ..sampling.no_allocation() }),
            counts: BTreeMap::new(),
            user: None,
        })
    }
}

/// Checks that a counter read names the CPU on which the thread is: a loop compares the two to notice that its CPU went
/// offline.
fn check_number(pinned: u32, kernel: u32, register: Option<u32>) -> Result<(), Problem> {
    match register {
        Some(number) if kernel == pinned && number != pinned & 0xfff => {
            let why = format!(
                "RDTSCP on CPU {pinned} names CPU {number}: the hypervisor does not keep TSC_AUX"
            );
            let remedy = "give the guest a CPU model with RDTSCP and RDPID";
            Err(ProblemKind::Unavailable.problem(why, remedy))
        }
        _ => Ok(()),
    }
}

/// Spins until all loops of the round have ended. Jobs without a common end are waited for as long as it
/// takes.
fn keep_busy(gate: &Gate, job: &Job) {
    let patience = job.ends_on_time().then(|| Instant::now() + PATIENCE);
    while !gate.all_over() && patience.is_none_or(|until| Instant::now() < until) {
        spin_loop();
    }
}

/// The kernel's counts for a loop's thread shortly before the start.
struct Before {
    /// The counter value before the counts were read.
    ticks: u64,
    usage: Usage,
    /// The time that the thread had waited in run queues.
    delay_ns: Option<u64>,
}

/// Waits for the common start.
fn wait_for_start(gate: &Gate, priority: Option<i32>) -> Before {
    let mut start = 0;
    while start == 0 {
        start = gate.start.load(Ordering::Acquire);
        spin_loop();
    }
    if let Some(priority) = priority {
        // The policy is raised only now, because a waiting FIFO loop would starve the thread that sets the
        // start. That it may be raised was checked in `prepare`.
        let _ = cpus::set_policy(libc::SCHED_FIFO, priority);
    }
    let _ = counters::own_run_delay_ns(); // touches what the next call will use
    let count_from = gate.count_from.load(Ordering::Acquire);
    while counter::now() < count_from {
        spin_loop();
    }
    let ticks = counter::now();
    let delay_ns = counters::own_run_delay_ns();
    let usage = Usage::now();
    while counter::now() < start {
        spin_loop();
    }
    Before { ticks, usage, delay_ns }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_register_that_names_another_cpu_is_refused() {
        let cases = [
            ("right", (3, 3, Some(3)), true),
            ("the register has the low 12 bits", (4_099, 4_099, Some(3)), true),
            ("no such register", (3, 3, None), true),
            ("not kept", (3, 3, Some(0)), false),
            ("the thread was moved", (3, 0, Some(0)), true),
        ];
        for (name, (pinned, kernel, register), fine) in cases {
            assert_eq!(check_number(pinned, kernel, register).is_ok(), fine, "case: {name}");
        }
        let here = cpus::current();
        cpus::pin(&[here]).expect("it runs here");
        assert!(check_number(here, cpus::current(), counter::current_cpu()).is_ok());
    }
}
