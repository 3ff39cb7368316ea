//! The simulations of one request: the schedule with the noise of each replica, with all noise and without some.

use crate::ask::Ask;
use crate::critical::{self, CriticalPath};
use crate::engine::{Costs, Ends, Model, Outcome, Progress, ended_early, simulate_with_ends};
use crate::given::Given;
use crate::network_noise::NetworkNoise;
use crate::noise::Noise;
use crate::noise::trace::Trace;
use crate::parameters::TIMES;
use crate::ranks::Ranks;
use crate::replica::Replica;
use crate::schedule::Schedule;
use crate::size::Size;
use crate::work::Work;
use anechoic_predict::phases::{SourceFacts, SourceName};
use anechoic_recording::{Problem, ProblemKind};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Memory that simulations at the same time may take, in bytes.
const MEMORY: u64 = 2 << 30;
/// What a rank takes of it: its clocks, noise and lists, and events that wait.
const PER_RANK: u64 = 300;

/// Simulations that it takes to find how late ranks are over time.
const FOR_LATENESS: u64 = 2;
/// How often a replica is usually repeated to find how far something may grow.
const TO_FIND_GROWTH: u64 = 8;

/// The simulations of one request.
pub(crate) struct Runs<'a> {
    pub(crate) ask: &'a Ask,
    work: &'a Work,
    pub(crate) size: Size,
    /// Sources without which each replica is repeated.
    pub(crate) sources: Vec<(SourceName, SourceFacts)>,
    /// Whether each replica is repeated by the rules of LogGOPSim.
    both: bool,
    progress: &'a (dyn Fn(u64, u64) -> bool + Sync),
    /// Events so far.
    done: AtomicU64,
    /// Events of all simulations.
    all: u64,
    /// What a simulation takes of memory, in bytes.
    memory: u64,
    /// The ranks that simulate it together.
    pub(crate) ranks: Ranks<'a>,
    /// Whether this rank was asked to stop.
    stopped: AtomicBool,
    /// Whether all ranks know that one of them was.
    ended: AtomicBool,
}

/// The simulations of a replica.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReplicaRuns {
    /// With all noise.
    pub(crate) replica: Replica,
    /// The end by the rules of LogGOPSim, in ps.
    pub(crate) by_loggopsim_ps: Option<u64>,
    /// The end without noise of the network, in ps; absent if there is none.
    pub(crate) without_network_ps: Option<u64>,
    /// The end without each source, in ps.
    pub(crate) without_ps: Vec<u64>,
}

impl<'a> Runs<'a> {
    /// Prepares the simulations.
    ///
    /// # Errors
    /// They need more memory than there is.
    pub(crate) fn new(
        ask: &'a Ask,
        work: &'a Work,
        given: Option<&Given>,
        ranks: Ranks<'a>,
        progress: &'a (dyn Fn(u64, u64) -> bool + Sync),
    ) -> Result<Self, Problem> {
        let size = work.size();
        let operations = work.schedule().map_or(0, |schedule| schedule.len() as u64);
        let memory = operations + PER_RANK * u64::from(size.ranks);
        check_memory(memory)?;
        let sources = given.map_or(vec![], |given| given.sources(ask));
        let suits = |given: &Given| given.suits_loggopsim(ask, &size);
        let both = ask.model == Model::Anechoic && given.is_some_and(suits);
        let without_network = u64::from(ask.network_noise.is_some());
        let each_replica = 1 + u64::from(both) + without_network + sources.len() as u64;
        // Of what all ranks simulate, each counts its part.
        let replicas = given.map_or(0, |given| given.replicas(ask)).div_ceil(ranks.size() as u64);
        let mut count = 1 + u64::from(both) + replicas * each_replica;
        if given.is_some() && has_path(ask, &size) {
            count += critical::SIMULATIONS + FOR_LATENESS;
            if given.is_some_and(|given| given.one_delay().is_some()) {
                count += 2 * replicas;
            }
        }
        if ask.tolerate.is_some() {
            let growing = 1 + (sources.len() + TIMES.len()) as u64;
            count += growing * TO_FIND_GROWTH * replicas.max(1);
        }
        let done = AtomicU64::new(0);
        let (stopped, ended) = (AtomicBool::new(false), AtomicBool::new(false));
        let all = count.saturating_mul(size.events());
        Ok(Self {
            ask,
            work,
            size,
            sources,
            both,
            progress,
            done,
            all,
            memory,
            ranks,
            stopped,
            ended,
        })
    }

    /// Simulates once.
    pub(crate) fn simulate(
        &self,
        model: Model,
        noise: &mut Noise,
        network: Option<&NetworkNoise>,
    ) -> Result<Outcome, Problem> {
        self.simulate_with(Costs { parameters: self.ask.parameters, model, network }, noise)
    }

    /// Simulates once, with other parameters of the network.
    pub(crate) fn simulate_with(
        &self,
        costs: Costs<'_>,
        noise: &mut Noise,
    ) -> Result<Outcome, Problem> {
        self.reporting(|progress| self.work.simulate(costs, noise, progress))
    }

    /// Reports the events of a simulation.
    fn reporting<T>(&self, simulate: impl FnOnce(Progress<'_>) -> T) -> T {
        let mut before = 0;
        let progress = &mut |done: u64, _| {
            let added = done - before;
            before = done;
            self.report(added)
        };
        let outcome = simulate(progress);
        self.report(self.size.events().saturating_sub(before));
        outcome
    }

    /// Reports events, and returns whether to go on.
    fn report(&self, events: u64) -> bool {
        let done = self.done.fetch_add(events, Ordering::Relaxed) + events;
        let goes_on = (self.progress)(done.min(self.all), self.all);
        self.stopped.fetch_or(!goes_on, Ordering::Relaxed);
        goes_on
    }

    /// Returns whether this rank was asked to stop.
    pub(crate) fn must_stop(&self) -> bool {
        !self.report(0) || self.stopped.load(Ordering::Relaxed)
    }

    /// Returns whether it was ended early, which all ranks know at the same step.
    pub(crate) fn was_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Has the first rank alone do something, which is none at the others.
    pub(crate) fn at_first<T>(
        &self,
        work: impl FnOnce() -> Result<Option<T>, Problem>,
    ) -> Result<Option<T>, Problem> {
        let found = self.ranks.agree(if self.ranks.is_first() { work() } else { Ok(None) })?;
        let ended = self.ranks.any(self.must_stop())?;
        self.ended.fetch_or(ended, Ordering::Relaxed);
        Ok(found)
    }

    /// Simulates all replicas. Returns those that are complete, and how many were asked for.
    pub(crate) fn replicas(
        &self,
        given: &Given,
        quiet: &Outcome,
    ) -> Result<(Vec<ReplicaRuns>, u64), Problem> {
        let count = given.replicas(self.ask);
        let without = self.sources.iter().map(|(name, _)| given.without(name).map(Arc::new));
        let without: Vec<Arc<Vec<Trace>>> = self.ranks.agree(without.collect())?;
        let replicas = self.in_threads(count as usize, |number| {
            let seed = self.ask.seed.wrapping_add(number as u64);
            self.replica(given, quiet, &without, seed)
        })?;
        let complete: Vec<ReplicaRuns> = replicas.into_iter().flatten().collect();
        if complete.is_empty() { Err(ended_early()) } else { Ok((complete, count)) }
    }

    /// Does work at all ranks, in as many threads as there are CPUs and memory, and returns the results in order. What is
    /// missing was left out because it was ended early.
    pub(crate) fn in_threads<T: Send + Serialize + DeserializeOwned>(
        &self,
        count: usize,
        work: impl Fn(usize) -> Result<T, Problem> + Sync,
    ) -> Result<Vec<Option<T>>, Problem> {
        let most = (MEMORY / self.memory.max(1)).max(1) as usize;
        let (found, ended) = self.ranks.share(count, most, || self.must_stop(), work)?;
        self.ended.fetch_or(ended, Ordering::Relaxed);
        Ok(found)
    }

    fn replica(
        &self,
        given: &Given,
        quiet: &Outcome,
        without: &[Arc<Vec<Trace>>],
        seed: u64,
    ) -> Result<ReplicaRuns, Problem> {
        let noise = given.draw(self.ask, &self.size, seed);
        let network = self.ask.network_noise.as_ref().map(|network| network.with_seed(seed));
        let (model, network) = (self.ask.model, network.as_ref());
        let outcome = self.simulate(model, &mut noise.clone(), network)?;
        let replica = Replica::new(seed, &outcome, quiet);
        drop(outcome);
        let mut by_loggopsim_ps = None;
        if self.both {
            // What its rules cannot simulate is left out: nobody asked for them.
            match self.simulate(Model::LogGopSim, &mut noise.clone(), network) {
                Ok(other) => by_loggopsim_ps = Some(other.end_ps()),
                Err(problem) if self.must_stop() => return Err(problem),
                Err(_) => {}
            }
        }
        let mut without_network_ps = None;
        if network.is_some() {
            let without = self.simulate(model, &mut noise.clone(), None)?;
            without_network_ps = Some(without.end_ps());
        }
        let mut without_ps = vec![];
        for traces in without {
            let mut noise = noise.with_traces(traces);
            without_ps.push(self.simulate(model, &mut noise, network)?.end_ps());
        }
        Ok(ReplicaRuns { replica, by_loggopsim_ps, without_network_ps, without_ps })
    }

    /// Returns the end by the rules of LogGOPSim without noise, in ps, if replicas are repeated by them.
    pub(crate) fn quiet_by_loggopsim(&self) -> Option<u64> {
        let quiet = || self.simulate(Model::LogGopSim, &mut Noise::Quiet, None).ok();
        self.both.then(quiet).flatten().map(|outcome| outcome.end_ps())
    }

    /// Returns the schedule of a job that is small enough to look at each of its operations; none by the rules of others.
    pub(crate) fn small_schedule(&self) -> Option<&Schedule> {
        self.work.schedule().filter(|_| self.has_path())
    }

    /// Returns the longest message that its sender does not wait for, in bytes.
    pub(crate) fn eager_bytes(&self) -> u64 {
        self.ask.parameters.eager_bytes
    }

    /// Simulates with a single delay and without it. Returns both outcomes, with the ends of all operations.
    pub(crate) fn ends_with_and_without_delay(
        &self,
        schedule: &Schedule,
        given: &Given,
        seed: u64,
    ) -> Result<[Ends; 2], Problem> {
        let noise = given.draw(self.ask, &self.size, seed);
        let network = self.ask.network_noise.as_ref().map(|network| network.with_seed(seed));
        let ends = |noise: Noise| self.ends(schedule, noise, network.as_ref());
        Ok([ends(noise.clone())?, ends(noise.without_delay())?])
    }

    /// Simulates with all noise and without any. Returns both outcomes, with the ends of all operations.
    pub(crate) fn ends_with_and_without_noise(
        &self,
        schedule: &Schedule,
        given: &Given,
        seed: u64,
    ) -> Result<[Ends; 2], Problem> {
        let noise = given.draw(self.ask, &self.size, seed);
        let network = self.ask.network_noise.as_ref().map(|network| network.with_seed(seed));
        let with = self.ends(schedule, noise, network.as_ref())?;
        Ok([with, self.ends(schedule, Noise::Quiet, None)?])
    }

    fn ends(
        &self,
        schedule: &Schedule,
        mut noise: Noise,
        network: Option<&NetworkNoise>,
    ) -> Result<Ends, Problem> {
        let costs = Costs { parameters: self.ask.parameters, model: Model::Anechoic, network };
        self.reporting(|progress| simulate_with_ends(costs, schedule, &mut noise, progress))
    }

    /// Returns whether the critical path is looked for.
    pub(crate) fn has_path(&self) -> bool {
        has_path(self.ask, &self.size)
    }

    /// Finds the critical path of the replica with this seed; none of large jobs and by the rules of LogGOPSim.
    pub(crate) fn critical_path(
        &self,
        given: &Given,
        seed: u64,
    ) -> Result<Option<CriticalPath>, Problem> {
        let Some(schedule) = self.small_schedule() else {
            return Ok(None);
        };
        let place = (schedule, &self.size);
        let path = critical::find(self.ask, place, given, seed, &|events| self.report(events));
        match path {
            Err(_) if self.must_stop() => Ok(None),
            path => path.map(Some),
        }
    }
}

/// Refuses what is larger than the memory of this machine, before it begins.
fn check_memory(bytes: u64) -> Result<(), Problem> {
    let fits = |bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
    if usize::try_from(bytes).is_ok_and(fits) {
        return Ok(());
    }
    let why = format!("the simulation needs about {} GiB of memory", (bytes >> 30).max(1));
    Err(ProblemKind::Usage.problem(why, "simulate fewer ranks or iterations"))
}

/// Returns whether the critical path is looked for.
fn has_path(ask: &Ask, size: &Size) -> bool {
    ask.model == Model::Anechoic && size.events() <= critical::MOST_EVENTS
}
