//! A whole simulation: the schedule without noise, and replicas with it.

use crate::ask::{Ask, Source};
use crate::critical::CriticalPath;
use crate::engine::{Model, Outcome};
use crate::given::{Given, NoiseFacts};
use crate::goal;
use crate::inputs::Inputs;
use crate::lateness::{self, Lateness};
use crate::median::{median_interval, sorted};
use crate::mpi_trace::TracedFacts;
use crate::network_noise::DrawnFacts;
use crate::noise::Noise;
use crate::parameters::Parameters;
use crate::ranks::Ranks;
use crate::replica::{Replica, ns, ratio};
use crate::runs::Runs;
use crate::schedule::Schedule;
use crate::size::Size;
use crate::tolerance::{self, Tolerance};
use crate::wave::{self, IdleWave};
use anechoic_analyze::stats::{Interval, mean, quantile};
use anechoic_predict::phases::SourceFacts;
use anechoic_recording::{Problem, ProblemKind};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A delay that differs less from what a rank lost is the same.
const NEAR: f64 = 0.05;

/// A simulated job.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Simulation {
    /// What ranks did.
    pub job: JobFacts,
    /// The network and its source.
    pub network: String,
    /// Its parameters.
    pub parameters: Parameters,
    /// Its noise: what messages take in files, and what that costs; absent if all messages cost the same.
    pub network_noise: Option<NetworkEffect>,
    /// The rules by which noise lengthens operations.
    pub model: Model,
    /// The noise of CPUs; absent if there was none.
    pub noise: Option<NoiseFacts>,
    /// When the last rank finished without noise, in ns.
    pub quiet_ns: f64,
    /// What noise did in each replica.
    pub replicas: Vec<Replica>,
    /// The slowdown over all replicas; absent without noise.
    pub slowdown: Option<Slowdown>,
    /// What single sources cost, the costliest first; empty where sources are unknown.
    pub sources: Vec<SourceEffect>,
    /// What the last rank waited for; absent without noise, for large jobs, and by the rules of LogGOPSim.
    pub critical_path: Option<CriticalPath>,
    /// What a single delay does to other ranks; absent without one, for large jobs, and by the rules of others.
    pub wave: Option<IdleWave>,
    /// How late ranks are over time in the simulation whose slowdown is the median; absent without noise, for large jobs, and
    /// by the rules of others.
    pub lateness: Option<Lateness>,
    /// How much may grow until the job is slower by the share that was asked for; absent if none was.
    pub tolerance: Option<Tolerance>,
    /// Whether it was ended before all was simulated. What is complete is the result, and notes name what is missing.
    pub ended_early: bool,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

impl Simulation {
    /// Notes that it was ended early, and what is missing or how much there is.
    fn end_early(&mut self, note: impl Display) {
        self.ended_early = true;
        self.notes.push(format!("ended early: {note}"));
    }
}

/// What a source costs: the same simulations without its time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SourceEffect {
    /// Identifier of the source.
    pub source: String,
    /// Name within the source; empty if there is only one.
    pub name: String,
    /// Its share of the lost time of the recordings.
    pub share: f64,
    /// Longest time that it took of a single detour, in ns.
    pub longest_ns: u64,
    /// Median slowdown without it.
    pub without: f64,
    /// What it adds to the slowdown: the median over pairs of simulations with the same seed.
    pub cost: f64,
    /// 95 % interval of that median; absent for fewer than 6 replicas.
    pub interval: Option<Interval>,
}

/// Noise of the network, and what it costs: the same simulations without it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NetworkEffect {
    /// The file of latencies, which replace L; absent if all messages have L.
    pub latencies: Option<DrawnFacts>,
    /// The file of gaps per byte, which replace G; absent if all messages have G.
    pub gaps_per_byte: Option<DrawnFacts>,
    /// Seed of the first replica. The others have the numbers that follow it.
    pub seed: u64,
    /// Median slowdown without it.
    pub without: f64,
    /// What it adds to the slowdown: the median over pairs of simulations with the same seed.
    pub cost: f64,
    /// 95 % interval of that median; absent for fewer than 6 replicas.
    pub interval: Option<Interval>,
}

/// What the ranks of a job did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JobFacts {
    /// The pattern, the file, or the directory of traces.
    pub name: String,
    /// Number of ranks.
    pub ranks: u32,
    /// Repetitions of the pattern; absent for a file.
    pub iterations: Option<u32>,
    /// Computation before each repetition, in ns; absent for a file.
    pub grain_ns: Option<u64>,
    /// Bytes of a message or vector; absent for a file.
    pub bytes: Option<u64>,
    /// Number of operations: sends, receives and computations.
    pub operations: u64,
    /// Number of messages.
    pub messages: u64,
    /// Bytes of all messages.
    pub message_bytes: u64,
    /// What was read from traces of MPI; absent if there are none.
    pub traced: Option<TracedFacts>,
}

/// The slowdown over all replicas.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Slowdown {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// 95 % interval of the median, which holds for any distribution; absent for fewer than 6 replicas.
    pub interval: Option<Interval>,
    /// Smallest.
    pub least: f64,
    /// Largest.
    pub most: f64,
    /// By how much noise made the job longer, in ns: the median of all replicas.
    pub delay_ns: f64,
    /// By how much it lengthened what a rank did, in ns: the mean of all ranks, the median of all replicas.
    pub lost_ns: f64,
    /// The same of the rank that lost most, the median of all replicas.
    pub most_lost_ns: f64,
    /// What became of the noise; absent with noise of the network, which takes no time of ranks, and for a delay on top of
    /// other noise.
    pub fate: Option<Fate>,
    /// The same replicas by the rules of LogGOPSim: their median slowdown. Absent for what these rules cannot simulate, and
    /// by these rules themselves.
    pub by_loggopsim: Option<f64>,
}

/// What became of noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It met no rank at work.
    Nothing,
    /// The job is less late than a rank that it hit: it fell into times in which ranks waited.
    Absorbed,
    /// The job is at most as late as the rank that lost most.
    PassedOn,
    /// The job is later than any rank by itself: ranks delayed each other in turn.
    Amplified,
}

impl Fate {
    /// Returns what became of noise that made a job so much longer. `usual_ns` is what it took from a rank that it hit.
    fn new(delay_ns: f64, usual_ns: f64, most_lost_ns: f64) -> Self {
        match delay_ns {
            _ if most_lost_ns == 0.0 => Self::Nothing,
            _ if delay_ns < usual_ns * (1.0 - NEAR) => Self::Absorbed,
            _ if delay_ns > most_lost_ns * (1.0 + NEAR) => Self::Amplified,
            _ => Self::PassedOn,
        }
    }
}

/// Simulates what is asked for in this process alone; see [`run_with`].
///
/// # Errors
/// As [`run_with`].
pub fn run(
    ask: &Ask,
    noise: &[PathBuf],
    progress: &(dyn Fn(u64, u64) -> bool + Sync),
) -> Result<Simulation, Problem> {
    run_with(ask, noise, Ranks::default(), progress)
}

/// Simulates what is asked for, with noise from recordings and text files of detours, together with other ranks. Replicas run
/// in as many threads as there are CPUs and memory. Results depend neither on the number of threads nor on that of ranks; only
/// the result of the first rank is whole. `progress` is called with the number of events so far and of all. When it returns
/// false, the replicas that are complete are the result.
///
/// # Errors
/// The schedule or the noise cannot be read or does not fit, ranks wait for each other, the schedule cannot be written, or
/// it was ended before a replica was complete. All ranks return the same problem.
pub fn run_with(
    ask: &Ask,
    noise: &[PathBuf],
    ranks: Ranks<'_>,
    progress: &(dyn Fn(u64, u64) -> bool + Sync),
) -> Result<Simulation, Problem> {
    let inputs = ranks.agree(Inputs::read(ask, noise))?;
    ranks.compare(|| inputs.digests(ask))?;
    let Inputs { work, traced, given, mut notes } = inputs;
    let size = work.size();
    let runs = ranks.agree(Runs::new(ask, &work, given.as_ref(), ranks, progress))?;
    if let Some((schedule, file)) = work.schedule().zip(ask.goal_out.as_ref()) {
        runs.at_first(|| write(schedule, file).map(Some))?;
    }
    notes.extend(work.inaccuracy(&ask.parameters));
    let quiet = ranks.agree(runs.simulate(ask.model, &mut Noise::Quiet, None))?;
    notes.extend(given.as_ref().and_then(|given| given.saturation(ask, &size, quiet.end_ps())));
    let mut found = Simulation {
        job: JobFacts::new(&ask.source, &size, traced),
        network: match &ask.changed {
            Some(file) => format!("{}, changed by {}", ask.network.source, file.display()),
            None => ask.network.source.into(),
        },
        parameters: ask.parameters,
        model: ask.model,
        network_noise: None,
        noise: given.as_ref().and_then(|given| given.facts(ask)),
        quiet_ns: ns(quiet.end_ps()),
        replicas: vec![],
        slowdown: None,
        sources: vec![],
        critical_path: None,
        wave: None,
        lateness: None,
        tolerance: None,
        ended_early: false,
        notes,
    };
    if let Some(given) = &given {
        add_noise(&runs, given, &quiet, &mut found)?;
    }
    if let Some(share) = ask.tolerate {
        add_tolerance(ask, &runs, given.as_ref(), share, &mut found)?;
    }
    Ok(found)
}

/// Adds what noise does: in replicas, by the rules of LogGOPSim, and without one source after the other.
fn add_noise(
    runs: &Runs<'_>,
    given: &Given,
    quiet: &Outcome,
    found: &mut Simulation,
) -> Result<(), Problem> {
    let (quiet_ps, quiet_by_loggopsim) = (quiet.end_ps(), runs.quiet_by_loggopsim());
    let (replicas, asked) = runs.replicas(given, quiet)?;
    let (mut by_loggopsim, mut without_network) = (vec![], vec![]);
    let mut by_source = vec![vec![]; runs.sources.len()];
    for replica in &replicas {
        found.replicas.push(replica.replica.clone());
        let both = replica.by_loggopsim_ps.zip(quiet_by_loggopsim);
        by_loggopsim.extend(both.map(|(end_ps, quiet_ps)| ratio(end_ps, quiet_ps)));
        without_network.extend(replica.without_network_ps.map(|end_ps| ratio(end_ps, quiet_ps)));
        for (slowdowns, &end_ps) in by_source.iter_mut().zip(&replica.without_ps) {
            slowdowns.push(ratio(end_ps, quiet_ps));
        }
    }
    if (replicas.len() as u64) < asked {
        found.end_early(format_args!("{} of {asked} simulations", replicas.len()));
    }
    by_loggopsim.truncate(if by_loggopsim.len() == replicas.len() { usize::MAX } else { 0 });
    let shares = if given.is_one_delay() { None } else { Some(runs.size.cpus) };
    found.slowdown = Slowdown::new(&found.replicas, quiet_ps, by_loggopsim, shares);
    let with: Vec<f64> = found.replicas.iter().map(|replica| replica.slowdown).collect();
    found.network_noise = runs.network_effect(&with, without_network);
    let is_delay_of_many = given.one_delay().is_some() && !given.is_one_delay();
    let has_fate = found.network_noise.is_none() && !is_delay_of_many;
    if let Some(slowdown) = found.slowdown.as_mut().filter(|_| !has_fate) {
        slowdown.fate = None;
    }
    let sources = runs.sources.iter().zip(by_source);
    found.sources = sources
        .filter_map(|((_, facts), without)| SourceEffect::new(facts.clone(), &with, without))
        .collect();
    found.sources.sort_by(|a, b| a.without.total_cmp(&b.without));
    if let Some(seed) = median_seed(&found.replicas).filter(|_| !runs.was_ended()) {
        found.critical_path = runs.at_first(|| runs.critical_path(given, seed))?;
        if !runs.was_ended() {
            found.lateness = runs.at_first(|| lateness::find(runs, given, seed))?;
        }
    }
    if runs.was_ended() && runs.has_path() && found.lateness.is_none() {
        found.end_early(match found.critical_path {
            None => "without the critical path and how late ranks are over time",
            Some(_) => "without how late ranks are over time",
        });
    }
    if !runs.was_ended() {
        found.wave = wave::find(runs, given, &found.replicas)?;
    }
    if given.one_delay().is_some() && !runs.has_path() {
        let why = match runs.ask.model {
            Model::Anechoic => "the job has more than 10 million events",
            _ => "--model chooses other rules",
        };
        found.notes.push(format!("the wave of the delay is not shown: {why}"));
    }
    if given.one_delay().is_some() && runs.size.cpus > 1 {
        found.notes.push("the delay hits CPU 0 of its rank, not the others".to_owned());
    }
    if runs.was_ended() && given.one_delay().is_some() && found.wave.is_none() {
        found.end_early("without the wave of the delay");
    }
    Ok(())
}

/// Adds how much may grow until the job is slower by this share.
fn add_tolerance(
    ask: &Ask,
    runs: &Runs<'_>,
    given: Option<&Given>,
    share: f64,
    found: &mut Simulation,
) -> Result<(), Problem> {
    let noise = given.map(|given| (given, &found.replicas[..]));
    let tolerance = match runs.was_ended() {
        true => None,
        false => match tolerance::find(ask, runs, noise, found.quiet_ns, share) {
            Err(_) if runs.was_ended() => None,
            tolerance => Some(tolerance?),
        },
    };
    if tolerance.is_none() {
        found.end_early("without how much may grow");
    }
    found.tolerance = tolerance;
    Ok(())
}

/// Writes a schedule to a file.
fn write(schedule: &Schedule, file: &Path) -> Result<(), Problem> {
    let failed = |error: std::io::Error| {
        let why = format!("cannot write {}: {error}", file.display());
        ProblemKind::CannotWrite.problem(why, "name a new file with --goal-out")
    };
    let mut out = BufWriter::new(File::create_new(file).map_err(failed)?);
    let written = match file.extension().is_some_and(|extension| extension == "bin") {
        true => goal::write_binary(schedule, &mut out),
        false => goal::write_text(schedule, &mut out),
    };
    written.and_then(|()| out.flush()).map_err(failed)
}

impl JobFacts {
    fn new(source: &Source, size: &Size, traced: Option<TracedFacts>) -> Self {
        let (name, job) = match source {
            Source::Pattern(name, job) => ((*name).to_owned(), Some(job)),
            Source::Goal(file) | Source::Trace(file, _) => (file.display().to_string(), None),
        };
        Self {
            name,
            ranks: size.ranks,
            iterations: job.map(|job| job.iterations),
            grain_ns: job.map(|job| job.grain_ns),
            bytes: job.map(|job| job.bytes),
            operations: size.operations,
            messages: size.messages,
            message_bytes: size.bytes,
            traced,
        }
    }
}

impl Slowdown {
    /// Returns the slowdown over these replicas. `cpus` is the number of CPUs of a rank; absent if a single delay hits one
    /// rank, for which the mean of all ranks says nothing.
    fn new(
        replicas: &[Replica],
        quiet_ps: u64,
        by_loggopsim: Vec<f64>,
        cpus: Option<usize>,
    ) -> Option<Self> {
        let slowdowns = sorted(replicas.iter().map(|replica| replica.slowdown).collect());
        let over = |value: fn(&Replica) -> f64| {
            quantile(&sorted(replicas.iter().map(value).collect()), 0.5)
        };
        let delay_ns = over(|replica| replica.finish_ns)? - ns(quiet_ps);
        let lost_ns = over(|replica| replica.lost_ns)?;
        let most_lost_ns = over(|replica| replica.most_lost_ns)?;
        let usual_ns = cpus.map_or(most_lost_ns, |cpus| lost_ns / cpus as f64);
        Some(Self {
            mean: mean(&slowdowns)?,
            median: quantile(&slowdowns, 0.5)?,
            interval: median_interval(&slowdowns),
            least: *slowdowns.first()?,
            most: *slowdowns.last()?,
            delay_ns,
            lost_ns,
            most_lost_ns,
            fate: Some(Fate::new(delay_ns, usual_ns, most_lost_ns)),
            by_loggopsim: quantile(&sorted(by_loggopsim), 0.5),
        })
    }
}

impl SourceEffect {
    fn new(facts: SourceFacts, with: &[f64], without: Vec<f64>) -> Option<Self> {
        let SourceFacts { source, name, share, longest_ns } = facts;
        let (without, cost, interval) = cost(with, without)?;
        Some(Self { source, name, share, longest_ns, without, cost, interval })
    }
}

impl Runs<'_> {
    /// Returns the noise of the network and what it costs, given the slowdowns with it and without it.
    fn network_effect(&self, with: &[f64], without: Vec<f64>) -> Option<NetworkEffect> {
        let (without, cost, interval) = cost(with, without)?;
        let [latencies, gaps_per_byte] = self.ask.network_noise.as_ref()?.facts();
        let seed = self.ask.seed;
        Some(NetworkEffect { latencies, gaps_per_byte, seed, without, cost, interval })
    }
}

/// Returns the median of the slowdowns without something, and what it costs: the median over pairs, with its interval.
fn cost(with: &[f64], without: Vec<f64>) -> Option<(f64, f64, Option<Interval>)> {
    let costs = with.iter().zip(&without).map(|(with, without)| with - without);
    let costs = sorted(costs.collect());
    let interval = median_interval(&costs);
    Some((quantile(&sorted(without), 0.5)?, quantile(&costs, 0.5)?, interval))
}

/// Returns the seed of the replica whose slowdown is the median, of an even number the lower one in the middle.
fn median_seed(replicas: &[Replica]) -> Option<u64> {
    let mut by_slowdown: Vec<&Replica> = replicas.iter().collect();
    by_slowdown.sort_by(|a, b| a.slowdown.total_cmp(&b.slowdown));
    by_slowdown.get(by_slowdown.len().saturating_sub(1) / 2).map(|replica| replica.seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_noise() {
        let cases = [
            ("none at work", (0.0, 0.0, 0.0), Fate::Nothing),
            ("rounding", (1e-9, 0.0, 0.0), Fate::Nothing),
            ("in waits", (10.0, 100.0, 120.0), Fate::Absorbed),
            ("faster", (-5.0, 100.0, 120.0), Fate::Absorbed),
            ("as one rank", (99.0, 100.0, 100.0), Fate::PassedOn),
            ("as the worst", (120.0, 100.0, 120.0), Fate::PassedOn),
            ("in turn", (200.0, 100.0, 120.0), Fate::Amplified),
        ];
        for (name, (delay_ns, usual_ns, most_ns), expected) in cases {
            assert_eq!(Fate::new(delay_ns, usual_ns, most_ns), expected, "{name}");
        }
    }
}
