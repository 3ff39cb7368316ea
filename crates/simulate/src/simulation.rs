//! A whole simulation: the schedule without noise, and replicas with it.

use crate::ask::{Ask, Source};
use crate::engine::{Model, Outcome, simulate};
use crate::noise::Noise;
use crate::noise::law::{Law, Streams};
use crate::noise::phase::{Phase, as_loggopsim, places};
use crate::noise::trace::Trace;
use crate::parameters::{PS, Parameters};
use crate::schedule::Schedule;
use crate::{goal, patterns};
use anechoic_analyze::stats::{Interval, mean, quantile};
use anechoic_predict::phases::{Host, HostFacts, Noise as Recorded};
use anechoic_recording::{Problem, ProblemKind};
use schemars::JsonSchema;
use serde::Serialize;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Replicas from which on the median has an interval of 95 %: 1 − 2·2^−6.
const FOR_INTERVAL: u64 = 6;
/// A delay that differs less from what a rank lost is the same.
const NEAR: f64 = 0.05;
/// Quantiles of the finishing times of ranks.
const QUANTILES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// A simulated job.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Simulation {
    /// What ranks did.
    pub job: JobFacts,
    /// The network and its source.
    pub network: String,
    /// Its parameters.
    pub parameters: Parameters,
    /// The rules by which noise lengthens operations: `anechoic` or `loggopsim`.
    pub model: &'static str,
    /// The noise; absent if there was none.
    pub noise: Option<NoiseFacts>,
    /// When the last rank finished without noise, in ns.
    pub quiet_ns: f64,
    /// What noise did in each replica.
    pub replicas: Vec<Replica>,
    /// The slowdown over all replicas; absent without noise.
    pub slowdown: Option<Slowdown>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// What the ranks of a job did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JobFacts {
    /// The pattern, or the file.
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
}

/// Where the noise is from.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NoiseFacts {
    /// The law in words; absent if it was recorded.
    pub law: Option<String>,
    /// The recorded hosts.
    pub hosts: Vec<HostFacts>,
    /// Which CPUs have the same noise at the same time: `host`, `independent` or `common`.
    pub phase: &'static str,
    /// Seed of the first replica. The others have the numbers that follow it.
    pub seed: u64,
}

/// What noise did in one simulation.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Replica {
    /// The seed of its noise.
    pub seed: u64,
    /// When the last rank finished, in ns.
    pub finish_ns: f64,
    /// The rank that finished last.
    pub last_rank: u32,
    /// Time relative to no noise.
    pub slowdown: f64,
    /// By how much noise lengthened what a rank did, in ns: the mean of all ranks.
    pub lost_ns: f64,
    /// The same of the rank that lost most.
    pub most_lost_ns: f64,
    /// Finishing times of ranks in ns: the first, a quarter, half, three quarters of them, and the last.
    pub finish_of_ranks_ns: Vec<f64>,
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
    /// By how much noise made the job longer, in ns: the mean of all replicas.
    pub delay_ns: f64,
    /// By how much it lengthened what a rank did, in ns: the mean of all ranks and replicas.
    pub lost_ns: f64,
    /// The same of the rank that lost most, the mean of all replicas.
    pub most_lost_ns: f64,
    /// What became of the noise.
    pub fate: Fate,
    /// The same replicas by the rules of LogGOPSim: their mean slowdown. Absent for noise that it cannot replay, and by
    /// its rules themselves.
    pub by_loggopsim: Option<f64>,
}

/// What became of noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The job is less late than a rank on average: noise fell into times in which ranks waited.
    Absorbed,
    /// The job is at most as late as the rank that lost most.
    PassedOn,
    /// The job is later than any rank by itself: ranks delayed each other in turn.
    Amplified,
}

impl Fate {
    /// Returns what became of noise that made a job so much longer.
    fn new(delay_ns: f64, lost_ns: f64, most_lost_ns: f64) -> Self {
        match delay_ns {
            _ if delay_ns < lost_ns * (1.0 - NEAR) => Self::Absorbed,
            _ if delay_ns > most_lost_ns * (1.0 + NEAR) => Self::Amplified,
            _ => Self::PassedOn,
        }
    }
}

/// The noise of a simulation, before phases are drawn.
#[derive(Debug)]
enum Given {
    Law(Law),
    Recorded { traces: Arc<Vec<Trace>>, cpus: Vec<usize>, hosts: Vec<HostFacts> },
}

/// Simulates what is asked for, with noise from recordings and text files of detours. `progress` is called with the number
/// of events so far and of all.
///
/// # Errors
/// The schedule or the noise cannot be read or does not fit, ranks wait for each other, or the schedule cannot be written.
pub fn run(
    ask: &Ask,
    noise: &[PathBuf],
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Simulation, Problem> {
    let schedule = schedule(&ask.source)?;
    if let Some(file) = &ask.goal_out {
        write(&schedule, file)?;
    }
    let (given, mut notes) = given(ask, noise)?;
    if let Some(given) = &given {
        check(given, ask, &schedule)?;
        notes.extend(saturation(given, &schedule));
    }
    let both = ask.model == Model::Anechoic && matches!(given, Some(Given::Recorded { .. }));
    let replicas = match &given {
        None => 0,
        // Nothing of it is drawn.
        Some(Given::Law(Law::Once { .. })) => 1,
        Some(_) => ask.replicas,
    };
    let each = schedule.len() as u64 + schedule.messages();
    let all = each * (1 + replicas * if both { 2 } else { 1 });
    let mut runs = 0;
    let mut simulated = |model: Model, mut noise: Noise| {
        let before = each * runs;
        runs += 1;
        simulate(&schedule, &ask.parameters, model, &mut noise, &mut |done, _| {
            progress((before + done).min(all), all);
        })
    };
    let quiet_ps = simulated(ask.model, Noise::Quiet)?.end_ps();
    let (mut found, mut by_loggopsim) = (vec![], vec![]);
    if let Some(given) = &given {
        for replica in 0..replicas {
            let seed = ask.seed.wrapping_add(replica);
            let noise = given.draw(&schedule, ask.phase, ask.model, seed);
            let outcome = simulated(ask.model, noise.clone())?;
            found.push(Replica::new(seed, &outcome, quiet_ps));
            if both {
                let other = simulated(Model::LogGopSim, noise)?;
                by_loggopsim.push(ratio(other.end_ps(), quiet_ps));
            }
        }
    }
    Ok(Simulation {
        job: JobFacts::new(&ask.source, &schedule),
        network: match &ask.changed {
            Some(file) => format!("{}, changed by {}", ask.network.source, file.display()),
            None => ask.network.source.into(),
        },
        parameters: ask.parameters,
        model: match ask.model {
            Model::Anechoic => "anechoic",
            Model::LogGopSim => "loggopsim",
        },
        noise: given.map(|given| given.facts(ask)),
        quiet_ns: quiet_ps as f64 / PS as f64,
        slowdown: Slowdown::new(&found, quiet_ps, &by_loggopsim),
        replicas: found,
        notes,
    })
}

fn ratio(end_ps: u64, quiet_ps: u64) -> f64 {
    if quiet_ps == 0 { 1.0 } else { end_ps as f64 / quiet_ps as f64 }
}

fn schedule(source: &Source) -> Result<Schedule, Problem> {
    match source {
        Source::Goal(file) => goal::read(file),
        Source::Pattern(name, job) => {
            let unknown =
                || ProblemKind::Usage.problem(format!("there is no pattern {name}"), "see --help");
            patterns::find(name).ok_or_else(unknown)?.schedule(job)
        }
    }
}

/// Writes a schedule to a file.
fn write(schedule: &Schedule, file: &Path) -> Result<(), Problem> {
    let failed = |error: std::io::Error| {
        let why = format!("cannot write {}: {error}", file.display());
        ProblemKind::CannotWrite
            .problem(why, "name a file in a directory that can be written, with --goal-out")
    };
    let mut out = BufWriter::new(File::create(file).map_err(failed)?);
    let written = match file.extension().is_some_and(|extension| extension == "bin") {
        true => goal::write_binary(schedule, &mut out),
        false => goal::write_text(schedule, &mut out),
    };
    written.and_then(|()| out.flush()).map_err(failed)
}

/// Returns the noise that was given, with notes on it.
fn given(ask: &Ask, noise: &[PathBuf]) -> Result<(Option<Given>, Vec<String>), Problem> {
    if let Some(law) = ask.law {
        return match noise.first() {
            None => Ok((Some(Given::Law(law)), vec![])),
            Some(place) => {
                let why = "noise is either drawn by --law or taken from recordings";
                Err(ProblemKind::Usage.problem(why, "give one of them").about(place.display()))
            }
        };
    }
    if noise.is_empty() {
        return Ok((None, vec![]));
    }
    let recorded = Recorded::read(noise, ask.length_ns)?;
    let cpus: Vec<usize> = recorded.hosts.iter().map(|host| host.cpus().len()).collect();
    let timelines = recorded.hosts.iter().flat_map(Host::cpus);
    let traces = timelines.map(|(_, timeline)| Trace::from_timeline(timeline));
    let traces = traces.collect::<Result<Vec<_>, Problem>>()?;
    if traces.iter().all(Trace::is_quiet) {
        let why = "the recordings have no detours";
        return Err(ProblemKind::NoVerdict.problem(why, "measure longer: `anechoic run -d 60s`"));
    }
    let hosts = recorded.hosts.iter().map(HostFacts::from_host).collect();
    Ok((Some(Given::Recorded { traces: Arc::new(traces), cpus, hosts }), recorded.notes))
}

/// Refuses noise that does not fit the schedule.
fn check(given: &Given, ask: &Ask, schedule: &Schedule) -> Result<(), Problem> {
    match given {
        Given::Law(Law::Once { cpu, .. }) if *cpu >= schedule.ranks() as usize => {
            let why = format!("there is no rank {cpu}: there are {}", schedule.ranks());
            Err(ProblemKind::Usage.problem(why, "give --on-rank below that"))
        }
        Given::Recorded { traces, .. } if ask.model == Model::LogGopSim => {
            let longest_ps = (schedule.longest_ns() * PS).max(ask.parameters.overhead_ps);
            match traces.iter().find(|trace| trace.too_long_for_loggopsim_ps() <= longest_ps) {
                None => Ok(()),
                Some(_) => {
                    let why =
                        "a recording is shorter than one operation, which LogGOPSim cannot place";
                    Err(ProblemKind::Data.problem(why, "measure longer, or leave --model out"))
                }
            }
        }
        _ => Ok(()),
    }
}

/// Returns a note if the recordings are too few for as many ranks: what decides is then their longest detour.
fn saturation(given: &Given, schedule: &Schedule) -> Option<String> {
    let Given::Recorded { traces, .. } = given else { return None };
    let detours: usize = traces.iter().map(Trace::len).sum();
    let ranks = schedule.ranks() as usize;
    (ranks > detours).then(|| {
        format!(
            "{ranks} ranks share {detours} recorded detours: what costs most is the longest of them, and no longer one can \
             occur"
        )
    })
}

impl Given {
    /// Draws the noise of a replica.
    fn draw(&self, schedule: &Schedule, phase: Phase, model: Model, seed: u64) -> Noise {
        let streams = schedule.ranks() as usize * schedule.cpus();
        match self {
            // Ranks, not CPUs, are named by --on-rank.
            Self::Law(Law::Once { cpu, at_ns, delay_ns }) => {
                let law =
                    Law::Once { cpu: cpu * schedule.cpus(), at_ns: *at_ns, delay_ns: *delay_ns };
                Noise::Law(Streams::new(law, streams, seed, false))
            }
            Self::Law(law) => Noise::Law(Streams::new(*law, streams, seed, phase == Phase::Common)),
            Self::Recorded { traces, cpus, .. } => {
                let places = match model {
                    Model::Anechoic => places(traces, cpus, streams, phase, seed),
                    Model::LogGopSim => as_loggopsim(traces, streams, phase, seed),
                };
                Noise::Recorded { traces: traces.clone(), places }
            }
        }
    }

    fn facts(self, ask: &Ask) -> NoiseFacts {
        let phase = match ask.phase {
            Phase::Host => "host",
            Phase::Independent => "independent",
            Phase::Common => "common",
        };
        let (law, hosts) = match self {
            Self::Law(law) => (Some(law.words()), vec![]),
            Self::Recorded { hosts, .. } => (None, hosts),
        };
        NoiseFacts { law, hosts, phase, seed: ask.seed }
    }
}

impl JobFacts {
    fn new(source: &Source, schedule: &Schedule) -> Self {
        let (name, job) = match source {
            Source::Pattern(name, job) => ((*name).to_owned(), Some(job)),
            Source::Goal(file) => (file.display().to_string(), None),
        };
        Self {
            name,
            ranks: schedule.ranks(),
            iterations: job.map(|job| job.iterations),
            grain_ns: job.map(|job| job.grain_ns),
            bytes: job.map(|job| job.bytes),
            operations: schedule.len() as u64,
            messages: schedule.messages(),
            message_bytes: schedule.bytes(),
        }
    }
}

impl Replica {
    fn new(seed: u64, outcome: &Outcome, quiet_ps: u64) -> Self {
        let ns = |ps: u64| ps as f64 / PS as f64;
        let mut finish: Vec<f64> = outcome.finish_ps.iter().map(|&ps| ns(ps)).collect();
        let lost: Vec<f64> = outcome.lost_ps.iter().map(|&ps| ns(ps)).collect();
        let end_ps = outcome.end_ps();
        let last = outcome.finish_ps.iter().position(|&finish_ps| finish_ps == end_ps);
        finish.sort_unstable_by(f64::total_cmp);
        Self {
            seed,
            finish_ns: ns(end_ps),
            last_rank: last.unwrap_or(0) as u32,
            slowdown: ratio(end_ps, quiet_ps),
            lost_ns: mean(&lost).unwrap_or(0.0),
            most_lost_ns: lost.iter().copied().fold(0.0, f64::max),
            finish_of_ranks_ns: QUANTILES
                .iter()
                .filter_map(|&share| quantile(&finish, share))
                .collect(),
        }
    }
}

impl Slowdown {
    fn new(replicas: &[Replica], quiet_ps: u64, by_loggopsim: &[f64]) -> Option<Self> {
        let mut slowdowns: Vec<f64> = replicas.iter().map(|replica| replica.slowdown).collect();
        slowdowns.sort_unstable_by(f64::total_cmp);
        let quiet_ns = quiet_ps as f64 / PS as f64;
        let over = |value: fn(&Replica) -> f64| {
            replicas.iter().map(value).sum::<f64>() / replicas.len() as f64
        };
        let delay_ns = over(|replica| replica.finish_ns) - quiet_ns;
        let lost_ns = over(|replica| replica.lost_ns);
        let most_lost_ns = over(|replica| replica.most_lost_ns);
        Some(Self {
            mean: mean(&slowdowns)?,
            median: quantile(&slowdowns, 0.5)?,
            interval: median_interval(&slowdowns),
            least: *slowdowns.first()?,
            most: *slowdowns.last()?,
            delay_ns,
            lost_ns,
            most_lost_ns,
            fate: Fate::new(delay_ns, lost_ns, most_lost_ns),
            by_loggopsim: mean(by_loggopsim),
        })
    }
}

/// Returns the 95 % interval of the median of independent values: the two of them, equally far from both ends, between
/// which the median lies with that probability, whatever their distribution.
fn median_interval(sorted: &[f64]) -> Option<Interval> {
    if (sorted.len() as u64) < FOR_INTERVAL {
        return None;
    }
    // As many values lie below the median as a fair coin shows heads.
    let count = sorted.len() as f64;
    let (mut chance, mut below, mut rank) = (-count * 2_f64.ln(), 0.0, 0_usize);
    loop {
        below += chance.exp();
        if below > 0.025 {
            break;
        }
        chance += ((count - rank as f64) / (rank as f64 + 1.0)).ln();
        rank += 1;
    }
    let low = rank.checked_sub(1)?;
    Some(Interval { low: sorted[low], high: sorted[sorted.len() - 1 - low] })
}
