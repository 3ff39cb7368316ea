//! A run by all ranks of a parallel job: the first rank of each host measures, or each rank where they take part in
//! phases; rank 0 adds up and tells.

use crate::ask;
use crate::exit::{self, Usage};
use crate::measure::{MethodArgs, MethodOfRanks};
use crate::merge;
use crate::progress::Busy;
use crate::run_args::RunArgs;
use crate::setup::{SetupArgs, record};
use crate::stop;
use anechoic_analyze::cluster::{ClusterOf, HostSummary};
use anechoic_measure::ensemble::directory::{JoinError, Patience, SharedDirectory};
use anechoic_measure::ensemble::launched::Launched;
use anechoic_measure::ensemble::{EnsembleError, Placement, Team, follow};
use anechoic_measure::run::{Plan, RunError};
use anechoic_recording::{Problem, WriteError};
use anechoic_report::results::Found;
use anechoic_report::results::cluster::CLUSTER;
use anechoic_system::cpus;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Ranks whose trouble is told, at most.
const MOST_TOLD: usize = 8;

// How a run finds the other ranks of its job. No doc comment: it would become the help of the command.
#[derive(Debug, clap::Args)]
pub(crate) struct JoinArgs {
    /// Measure together with the other ranks of a parallel job, on all hosts: any launcher starts them, each with this
    /// command line. A rank learns its number from Open MPI, MPICH and other PMI launchers, MVAPICH2, PALS, Flux, jsrun
    /// or Slurm, or from ANECHOIC_RANK and ANECHOIC_SIZE; they meet in the directory of -o, which all hosts must share
    #[arg(long, requires = "output")]
    pub rank_from_env: bool,
    /// With --rank-from-env: how long ranks wait for each other, beyond the time they measure
    #[arg(long, value_parser = ask::duration, value_name = "TIME", default_value = "60s", requires = "rank_from_env", allow_hyphen_values = true)]
    patience: Duration,
}

/// What a rank tells rank 0.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Told {
    host: String,
    /// Its exit code, and why, where it could not do its part.
    trouble: Option<(u8, String)>,
    /// Of the rank that measured for its host.
    summary: Option<HostSummary>,
}

impl Told {
    fn by(team: &Team, error: Option<&anyhow::Error>, summary: Option<HostSummary>) -> Self {
        let host = team.placement.parallel.host.clone();
        let trouble = error.map(|error| (exit::code(error), error.to_string()));
        Self { host, trouble, summary }
    }

    fn json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// What all ranks told, at rank 0.
    fn all(gathered: &[Vec<u8>]) -> anyhow::Result<Vec<Self>> {
        let read = |(rank, told): (usize, &Vec<u8>)| {
            serde_json::from_slice(told)
                .map_err(|error| EnsembleError::Version { rank, why: error.to_string() })
        };
        gathered.iter().enumerate().map(read).collect::<Result<_, _>>().map_err(of_ranks)
    }
}

/// Takes part in the job that the environment tells of, through the directory that is asked for.
pub(crate) fn run_from_env(args: &RunArgs, join: &JoinArgs) -> anyhow::Result<ExitCode> {
    let launched = Launched::from_env().map_err(Problem::from)?;
    let (rank, stop, dir) = (launched.rank, stop::flag()?, args.setup.dir());
    let patience = Patience { others: join.patience, work: args.duration };
    let joined = || -> anyhow::Result<ExitCode> {
        let ensemble = SharedDirectory::join(&dir, launched, patience, stop.clone());
        let ensemble = Arc::new(ensemble.map_err(of_join)?);
        let placement = Placement::of(&*ensemble, env!("CARGO_PKG_VERSION")).map_err(of_ranks)?;
        let team = Team { ensemble, placement, meetings: None };
        together(args, &team, &dir, &stop)
    };
    joined().map_err(|error| match rank {
        0 => error,
        rank => {
            let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
            let told = format!("rank {rank} on {host}: {error}");
            error.context(told)
        }
    })
}

fn of_ranks(error: EnsembleError) -> anyhow::Error {
    RunError::from(error).into()
}

fn of_join(error: JoinError) -> anyhow::Error {
    match error {
        JoinError::Write(error) => RunError::Write(error).into(),
        JoinError::Ensemble(error) => of_ranks(error),
        JoinError::CalledOff => RunError::CalledOff.into(),
        error => Problem::from(error).into(),
    }
}

/// Takes part in a run of all ranks. Rank 0 says where the data set goes, and prints.
///
/// # Errors
/// What keeps this rank from its part after the start; what any rank finds before is told by rank 0 alone.
pub fn run_in(args: &RunArgs, team: &Team) -> anyhow::Result<ExitCode> {
    let stop = stop::flag()?;
    match agreed_dir(&args.setup, team)? {
        Ok(dir) => together(args, team, &dir, &stop),
        Err(code) => Ok(code.into()),
    }
}

/// Takes part in a method that all ranks measure together. Rank 0 says where the data set goes, and prints.
///
/// # Errors
/// As of [`run_in`].
pub fn measure_in(MethodOfRanks(args): &MethodOfRanks, team: &Team) -> anyhow::Result<ExitCode> {
    let stop = stop::flag()?;
    let dir = match agreed_dir(&args.setup, team)? {
        Ok(dir) => dir,
        Err(code) => return Ok(code.into()),
    };
    let placement = &team.placement;
    let host_dir = placement.host_dir(&dir);
    let plan = own_rank(args, team);
    if let Some(code) = called_off(team, &Told::by(team, plan.as_ref().err(), None))? {
        return Ok(code.into());
    }
    let plan = plan?;
    if placement.leads() {
        record(&plan, &host_dir, &stop, args.setup.quiet || placement.rank > 0)?;
    } else {
        // It becomes part of the host's recording, and is not there any more then.
        let own_dir = placement.rank_dir(&host_dir, placement.rank);
        anechoic_measure::run::run(&plan, &own_dir, &stop, &mut |_| {})?;
    }
    let done = team.ensemble.gather(&Told::by(team, None, None).json()).map_err(of_ranks)?;
    match done {
        Some(_) => args.show(&dir),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// What this rank is to measure.
fn own_rank(args: &MethodArgs, team: &Team) -> anyhow::Result<Plan> {
    let placement = &team.placement;
    if args.setup.asked_cpus().is_some() {
        let text = "the launcher says which CPUs the ranks have; leave out --cpus";
        return Err(Usage(text.to_owned()).into());
    }
    let here = &placement.parallel.here;
    let at = here.iter().position(|rank| rank.rank == placement.rank);
    let own = at.and_then(|at| placement.own_cpus().get(at).copied()).unwrap_or(0);
    args.plan(vec![own], Some(team.clone()))
}

/// Where the data set goes: the same place for all ranks, wherever their launcher started them; or the exit code
/// of all, where rank 0 knows of none.
fn agreed_dir(setup: &SetupArgs, team: &Team) -> anyhow::Result<Result<PathBuf, u8>> {
    let first = team.placement.rank == 0;
    let chosen = if first { choose(setup) } else { Ok(PathBuf::new()) };
    let told = chosen.as_ref().map_err(exit::code);
    let told = serde_json::to_vec(&told.map(|dir| dir.to_string_lossy()))?;
    let told = serde_json::from_slice(&team.ensemble.broadcast(&told).map_err(of_ranks)?)?;
    chosen.map(|_| told)
}

fn choose(setup: &SetupArgs) -> anyhow::Result<PathBuf> {
    let dir = std::path::absolute(setup.dir())?;
    verify_free(&dir)?;
    Ok(dir)
}

/// A directory must not exist or be empty.
fn verify_free(dir: &Path) -> Result<(), RunError> {
    match fs::read_dir(dir).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(WriteError::NotEmpty { dir: dir.to_owned() }.into()),
        Err(_) => fs::create_dir_all(dir)
            .map_err(|source| WriteError::Directory { dir: dir.to_owned(), source }.into()),
    }
}

/// All ranks, from a directory to its merged result.
fn together(
    args: &RunArgs,
    team: &Team,
    dir: &Path,
    stop: &AtomicBool,
) -> anyhow::Result<ExitCode> {
    let host_dir = team.placement.host_dir(dir);
    let plan = part(args, team, &host_dir);
    if let Some(code) = called_off(team, &Told::by(team, plan.as_ref().err(), None))? {
        return Ok(code.into());
    }
    let done = match plan? {
        Some(plan) => measure(args, &plan, &host_dir, stop),
        None => follow(team, args.duration, stop).map(|()| None).map_err(of_ranks),
    };
    let told = match done {
        Ok(summary) => Told::by(team, None, summary),
        // It has not taken all the steps of the others, and can only leave.
        Err(error) if error.is::<RunError>() => return Err(error),
        Err(error) => Told::by(team, Some(&error), None),
    };
    match team.ensemble.gather(&told.json()) {
        Ok(Some(all)) => show(args, &Told::all(&all)?, dir),
        Ok(None) => Ok(told.trouble.map_or(0, |(code, _)| code).into()),
        Err(error) if team.placement.rank == 0 => {
            let dir = dir.display();
            let told =
                format!("{error}; what was saved is in {dir}: `anechoic merge {dir}` adds it up");
            Err(of_ranks(error).context(told))
        }
        Err(error) => Err(of_ranks(error)),
    }
}

/// What is to be done by this rank; nothing where another one measures for its host.
fn part(args: &RunArgs, team: &Team, host_dir: &Path) -> anyhow::Result<Option<Plan>> {
    let placement = &team.placement;
    if args.repeat > 1 {
        return Err(
            Usage("--repeat is for one process; start the whole job several times".into()).into()
        );
    }
    if !placement.leads() {
        return Ok(None);
    }
    let given = placement.cpus();
    // A launcher may have bound this rank to some of them. The kernel leaves out what another control group has.
    let _ = cpus::pin(&given);
    let usable = cpus::allowed();
    let asked = args.setup.asked_cpus().unwrap_or(&given);
    let measured: Vec<u32> =
        given.iter().copied().filter(|cpu| asked.contains(cpu) && usable.contains(cpu)).collect();
    if measured.is_empty() {
        let (asked, given, usable) = (cpus::list(asked), cpus::list(&given), cpus::list(&usable));
        return Err(Usage(format!(
            "none of the CPUs {asked} can be measured here: the ranks of this host were given {given}, and this one may \
             use {usable}; ask for some of these"
        ))
        .into());
    }
    verify_free(host_dir)?;
    let plan = Plan { team: Some(team.clone()), ..args.plan(measured)? };
    Ok(Some(plan))
}

/// Whether a rank cannot do its part: then none begins, rank 0 tells why, and this is the exit code of all.
fn called_off(team: &Team, mine: &Told) -> anyhow::Result<Option<u8>> {
    let all = team.ensemble.gather(&mine.json()).map_err(of_ranks)?;
    let code = match all {
        Some(all) => tell(&Told::all(&all)?),
        None => 0,
    };
    let code = team.ensemble.broadcast(&[code]).map_err(of_ranks)?;
    Ok(code.first().copied().filter(|&code| code > 0))
}

/// Says what went wrong at each rank, and gives the worst of their exit codes.
fn tell(all: &[Told]) -> u8 {
    let mut troubles: Vec<(usize, &str, u8, &str)> = Vec::new();
    for (rank, told) in all.iter().enumerate() {
        troubles.extend(told.trouble.iter().map(|(code, why)| (rank, &*told.host, *code, &**why)));
    }
    for (rank, host, _, why) in troubles.iter().take(MOST_TOLD) {
        match rank {
            0 => eprintln!("anechoic: {why}"),
            rank => eprintln!("anechoic: rank {rank} on {host}: {why}"),
        }
    }
    if troubles.len() > MOST_TOLD {
        eprintln!("anechoic: and {} more ranks", troubles.len() - MOST_TOLD);
    }
    troubles.iter().map(|&(_, _, code, _)| code).max().unwrap_or(0)
}

/// Measures for the ranks of this host.
fn measure(
    args: &RunArgs,
    plan: &Plan,
    host_dir: &Path,
    stop: &AtomicBool,
) -> anyhow::Result<Option<HostSummary>> {
    let quiet = args.setup.quiet || plan.team.as_ref().is_none_or(|team| team.placement.rank > 0);
    let recording = record(plan, host_dir, stop, quiet)?;
    let _busy = Busy::with("adding up", quiet);
    Ok(Some(HostSummary::of(&recording)?))
}

/// Adds up what the hosts told, keeps it, prints it.
fn show(args: &RunArgs, all: &[Told], dir: &Path) -> anyhow::Result<ExitCode> {
    let worst = tell(all);
    let mut cluster = ClusterOf::new();
    for told in all {
        if let Some(summary) = &told.summary {
            cluster.add(summary.clone())?;
        } else if let Some((_, why)) = &told.trouble {
            cluster.leave_out(&told.host, why);
        }
    }
    let cluster = match cluster.finish() {
        Err(_) if worst > 0 => return Ok(worst.into()), // why has been told
        cluster => cluster?,
    };
    merge::save(&cluster, dir)?;
    merge::show(&Found::of(&CLUSTER, cluster, &[]), worst, dir, args.json, false)
}
