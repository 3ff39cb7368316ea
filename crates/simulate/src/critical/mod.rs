//! The critical path: what the last rank waited for, back to the start, and the detours on the way.

mod hits;
mod path;
#[cfg(test)]
mod path_tests;

pub use path::PathTime;

use crate::ask::Ask;
use crate::engine::{Costs, Model, Outcome, simulate_at, simulate_with_log};
use crate::given::{Given, Sources};
use crate::noise::Noise;
use crate::schedule::Schedule;
use crate::size::Size;
use anechoic_recording::Problem;
use hits::Hit;
use path::Path;
use schemars::JsonSchema;
use serde::Serialize;

/// The critical path of larger jobs is not looked for: each event takes about 60 bytes.
pub(crate) const MOST_EVENTS: u64 = 10_000_000;
/// Detours on the path that are shown.
const SHOWN: usize = 5;

/// What the last rank waited for.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CriticalPath {
    /// What the time of the job consists of without noise.
    pub quiet: PathTime,
    /// The same in the simulation with this seed, whose slowdown is the median; of an even number, the lower one in the
    /// middle.
    pub noisy: PathTime,
    /// The seed.
    pub seed: u64,
    /// Number of ranks on the path of that simulation.
    pub ranks: u64,
    /// Number of detours on it; absent for noise that was not recorded.
    pub detours: Option<u64>,
    /// The time of each source on it, the most first; empty where sources are unknown.
    pub sources: Vec<PathSource>,
    /// The five detours that took most time of it, the costliest first.
    pub longest: Vec<PathDetour>,
}

/// The time of a source on a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PathSource {
    /// Identifier of the source.
    pub source: String,
    /// Name within the source; empty if there is only one.
    pub name: String,
    /// Its time, in ns.
    pub taken_ns: u64,
}

/// A detour on a path.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PathDetour {
    /// The recorded host.
    pub host: String,
    /// Its CPU.
    pub cpu: u32,
    /// When it was recorded, in ns from the start of the recording.
    pub recorded_ns: u64,
    /// Length of the whole detour, in ns.
    pub length_ns: u64,
    /// What it was, with most time first; empty where sources are unknown.
    pub sources: Vec<PathSource>,
    /// The simulated rank that it hit.
    pub rank: u32,
    /// When it first began in the simulation, in ns; negative if it was in progress at the start.
    pub simulated_ns: f64,
    /// How often the path met it: a recording repeats.
    pub times: u64,
    /// What the path lost by it in all, in ns.
    pub lost_ns: f64,
    /// How many ranks would have finished earlier if that rank had never met it: the same simulation.
    pub late_ranks: u64,
    /// Whether the rank that it hit is one of them.
    pub hit_is_late: bool,
    /// How much earlier the job would have finished, in ns; negative if later.
    pub cost_ns: f64,
}

/// Finds the critical path of the simulation with this seed. `progress` is called from time
/// to time with the number of events since; false ends the search.
///
/// # Errors
/// As [`simulate`](crate::simulate); a recording can no longer be read.
pub(crate) fn find(
    ask: &Ask,
    (schedule, size): (&Schedule, &Size),
    given: &Given,
    seed: u64,
    progress: &dyn Fn(u64) -> bool,
) -> Result<CriticalPath, Problem> {
    let network = ask.network_noise.as_ref().map(|network| network.with_seed(seed));
    let costs = Costs { parameters: ask.parameters, model: Model::Anechoic, network: None };
    let (_, quiet) = Finder { costs, schedule }.path(&mut Noise::Quiet, progress)?;
    let finder = Finder { costs: Costs { network: network.as_ref(), ..costs }, schedule };
    let noise = given.draw(ask, size, seed);
    let (outcome, path) = finder.path(&mut noise.clone(), progress)?;
    let hits = hits::find(&path, schedule, &finder.costs, &noise);
    let mut found = CriticalPath {
        quiet: quiet.time,
        noisy: path.time,
        seed,
        ranks: path.ranks.len() as u64,
        detours: hits.as_ref().map(|hits| hits.len() as u64),
        sources: vec![],
        longest: vec![],
    };
    let Some(hits) = hits else { return Ok(found) };
    let sources = given.sources_of(hits.iter().map(|hit| (hit.trace, hit.start_ns)))?;
    found.sources = hits::sum(&hits, &sources);
    for hit in hits.iter().take(SHOWN) {
        let late = finder.late_without(hit, &noise, &outcome, progress)?;
        found.longest.push(finder.detour(hit, &sources, given, late));
    }
    found.longest.sort_by(|a, b| b.cost_ns.total_cmp(&a.cost_ns));
    Ok(found)
}

/// Returns what the time of a job without noise of CPUs consists of.
#[cfg(test)]
pub(crate) fn path_time(costs: Costs<'_>, schedule: &Schedule) -> PathTime {
    let path = Finder { costs, schedule }.path(&mut Noise::Quiet, &|_| true);
    path.expect("all is executed").1.time
}

/// The most simulations that a search takes.
pub(crate) const SIMULATIONS: u64 = 2 + SHOWN as u64;

/// Returns what reports to `progress` the events since its last call.
fn since(progress: &dyn Fn(u64) -> bool) -> impl FnMut(u64, u64) -> bool {
    let mut before = 0;
    move |done, _| {
        let added = done - before;
        before = done;
        progress(added)
    }
}

struct Finder<'a> {
    costs: Costs<'a>,
    schedule: &'a Schedule,
}

/// What a detour made late: the difference to the same simulation without it.
#[derive(Debug)]
struct Late {
    /// Ranks that would have finished earlier.
    ranks: u64,
    /// Whether the rank that it hit is one of them.
    hit_is_late: bool,
    /// How much earlier the last one would have, in ps.
    job_ps: i64,
}

impl Finder<'_> {
    /// Simulates and follows the critical path back.
    fn path(
        &self,
        noise: &mut Noise,
        progress: &dyn Fn(u64) -> bool,
    ) -> Result<(Outcome, Path), Problem> {
        let progress = &mut since(progress);
        let (outcome, log, latest) = simulate_with_log(self.costs, self.schedule, noise, progress)?;
        let end_ps = outcome.end_ps();
        let last = outcome.finish_ps.iter().position(|&finish_ps| finish_ps == end_ps).unwrap_or(0);
        let path = Path::back_from(log.setter(latest[last]), &log, self.schedule, &self.costs);
        Ok((outcome, path))
    }

    /// Repeats a simulation without a detour.
    fn late_without(
        &self,
        hit: &Hit,
        noise: &Noise,
        with: &Outcome,
        progress: &dyn Fn(u64) -> bool,
    ) -> Result<Late, Problem> {
        let mut noise = noise.without_detour(hit.stream, hit.detour);
        let (schedule, progress) = (self.schedule, &mut since(progress));
        let without = simulate_at(self.costs, schedule, &mut noise, progress)?;
        let rank = hit.stream / schedule.cpus();
        let pairs = with.finish_ps.iter().zip(&without.finish_ps);
        Ok(Late {
            ranks: pairs.filter(|(with, without)| with > without).count() as u64,
            hit_is_late: with.finish_ps[rank] > without.finish_ps[rank],
            job_ps: with.end_ps() as i64 - without.end_ps() as i64,
        })
    }

    /// Describes a detour.
    fn detour(&self, hit: &Hit, sources: &Sources, given: &Given, late: Late) -> PathDetour {
        let (host, cpu) = given.place(hit.trace);
        PathDetour {
            host,
            cpu,
            recorded_ns: hit.start_ns,
            length_ns: hit.length_ns,
            sources: hits::sources_of(hit, sources),
            rank: (hit.stream / self.schedule.cpus()) as u32,
            simulated_ns: hit.simulated_ps as f64 / 1e3,
            lost_ns: hit.lost_ps as f64 / 1e3,
            times: hit.times,
            late_ranks: late.ranks,
            hit_is_late: late.hit_is_late,
            cost_ns: late.job_ps as f64 / 1e3,
        }
    }
}
