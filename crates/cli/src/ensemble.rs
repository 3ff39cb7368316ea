//! A run by all ranks of a parallel job. The first rank on each host measures, or every rank in methods with
//! phases; rank 0 merges and prints.

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

/// The largest number of ranks whose errors are printed.
const MOST_PRINTED: usize = 8;

// Options that let a run find the other ranks of its job. No doc comment: clap would print it as the
// command's help.
#[derive(Debug, clap::Args)]
pub(crate) struct JoinArgs {
    /// Measure together with the other ranks of a parallel job, on all its hosts: start this same command
    /// line on each rank with any launcher. A rank takes its number from Open MPI, MPICH and other PMI
    /// launchers, MVAPICH2, PALS, Flux, jsrun or Slurm, or from ANECHOIC_RANK and ANECHOIC_SIZE. The ranks
    /// meet in the directory given by -o, which all hosts must share
    #[arg(long, requires = "output")]
    pub rank_from_env: bool,
    /// With --rank-from-env: how long ranks wait for each other, in addition to the time they measure
    #[arg(long, value_parser = ask::duration, value_name = "TIME", default_value = "60s", requires = "rank_from_env", allow_hyphen_values = true)]
    patience: Duration,
}

/// What a rank reports to rank 0.
#[derive(Debug, Default, Serialize, Deserialize)]
struct RankReport {
    host: String,
    /// The exit code and the reason, if the rank failed to do its part.
    trouble: Option<(u8, String)>,
    /// The summary of the host, from the rank that measured it.
    summary: Option<HostSummary>,
}

impl RankReport {
    fn by(team: &Team, error: Option<&anyhow::Error>, summary: Option<HostSummary>) -> Self {
        let host = team.placement.parallel.host.clone();
        let trouble = error.map(|error| (exit::code(error), error.to_string()));
        Self { host, trouble, summary }
    }

    fn json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Decodes the reports of all ranks, at rank 0.
    fn all(gathered: &[Vec<u8>]) -> anyhow::Result<Vec<Self>> {
        let read = |(rank, report): (usize, &Vec<u8>)| {
            serde_json::from_slice(report)
                .map_err(|error| EnsembleError::Version { rank, why: error.to_string() })
        };
        gathered.iter().enumerate().map(read).collect::<Result<_, _>>().map_err(of_ranks)
    }
}

/// Joins the job that the environment describes, through the given shared directory.
pub(crate) fn run_from_env(args: &RunArgs, join: &JoinArgs) -> anyhow::Result<ExitCode> {
    let launched = Launched::from_env().map_err(Problem::from)?;
    let (rank, stop, dir) = (launched.rank, stop::flag()?, args.setup.dir());
    let patience = Patience { others: join.patience, work: args.duration };
    let joined = || -> anyhow::Result<ExitCode> {
        let ensemble = SharedDirectory::join(&dir, launched, patience, stop.clone());
        let ensemble = Arc::new(ensemble.map_err(of_join)?);
        let placement =
            Placement::gather(&*ensemble, env!("CARGO_PKG_VERSION")).map_err(of_ranks)?;
        let team = Team { ensemble, placement, meetings: None };
        together(args, &team, &dir, &stop)
    };
    joined().map_err(|error| match rank {
        0 => error,
        rank => {
            let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
            let text = format!("rank {rank} on {host}: {error}");
            error.context(text)
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

/// Takes part in a run by all ranks. Rank 0 chooses the directory of the data set, and prints.
///
/// # Errors
/// Returns what stopped this rank after the start. Rank 0 alone prints what stopped any rank before it.
pub fn run_in(args: &RunArgs, team: &Team) -> anyhow::Result<ExitCode> {
    let stop = stop::flag()?;
    match agreed_dir(&args.setup, team)? {
        Ok(dir) => together(args, team, &dir, &stop),
        Err(code) => Ok(code.into()),
    }
}

/// Takes part in a method that all ranks measure together. Rank 0 chooses the directory of the data set, and
/// prints.
///
/// # Errors
/// Returns the same errors as [`run_in`].
pub fn measure_in(MethodOfRanks(args): &MethodOfRanks, team: &Team) -> anyhow::Result<ExitCode> {
    let stop = stop::flag()?;
    let dir = match agreed_dir(&args.setup, team)? {
        Ok(dir) => dir,
        Err(code) => return Ok(code.into()),
    };
    let placement = &team.placement;
    let host_dir = placement.host_dir(&dir);
    let plan = own_rank(args, team);
    if let Some(code) = called_off(team, &RankReport::by(team, plan.as_ref().err(), None))? {
        return Ok(code.into());
    }
    let plan = plan?;
    if placement.leads() {
        record(&plan, &host_dir, &stop, args.setup.quiet || placement.rank > 0)?;
    } else {
        // Adopting moves this directory into the host's recording.
        let own_dir = placement.rank_dir(&host_dir, placement.rank);
        anechoic_measure::run::run(&plan, &own_dir, &stop, &mut |_| {})?;
    }
    let done = team.ensemble.gather(&RankReport::by(team, None, None).json()).map_err(of_ranks)?;
    match done {
        Some(_) => args.show(&dir),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Returns what this rank must measure.
fn own_rank(args: &MethodArgs, team: &Team) -> anyhow::Result<Plan> {
    let placement = &team.placement;
    if args.setup.asked_cpus().is_some() {
        let text = "the launcher assigns CPUs to the ranks; remove --cpus";
        return Err(Usage(text.to_owned()).into());
    }
    let here = &placement.parallel.here;
    let at = here.iter().position(|rank| rank.rank == placement.rank);
    let own = at.and_then(|at| placement.own_cpus().get(at).copied()).unwrap_or(0);
    args.plan(vec![own], Some(team.clone()))
}

/// Returns the directory of the data set, which is the same for all ranks wherever they were started; or the
/// exit code of all ranks if rank 0 has no usable directory.
fn agreed_dir(setup: &SetupArgs, team: &Team) -> anyhow::Result<Result<PathBuf, u8>> {
    let first = team.placement.rank == 0;
    let chosen = if first { choose(setup) } else { Ok(PathBuf::new()) };
    let answer = chosen.as_ref().map_err(exit::code);
    let answer = serde_json::to_vec(&answer.map(|dir| dir.to_string_lossy()))?;
    let answer = serde_json::from_slice(&team.ensemble.broadcast(&answer).map_err(of_ranks)?)?;
    chosen.map(|_| answer)
}

fn choose(setup: &SetupArgs) -> anyhow::Result<PathBuf> {
    let dir = std::path::absolute(setup.dir())?;
    verify_free(&dir)?;
    Ok(dir)
}

/// Checks that a directory is empty or does not exist.
fn verify_free(dir: &Path) -> Result<(), RunError> {
    match fs::read_dir(dir).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(WriteError::NotEmpty { dir: dir.to_owned() }.into()),
        Err(_) => fs::create_dir_all(dir)
            .map_err(|source| WriteError::Directory { dir: dir.to_owned(), source }.into()),
    }
}

/// Runs all ranks, from the agreed directory to the merged result.
fn together(
    args: &RunArgs,
    team: &Team,
    dir: &Path,
    stop: &AtomicBool,
) -> anyhow::Result<ExitCode> {
    let host_dir = team.placement.host_dir(dir);
    let plan = part(args, team, &host_dir);
    if let Some(code) = called_off(team, &RankReport::by(team, plan.as_ref().err(), None))? {
        return Ok(code.into());
    }
    let done = match plan? {
        Some(plan) => measure(args, &plan, &host_dir, stop),
        None => follow(team, args.duration, stop).map(|()| None).map_err(of_ranks),
    };
    let report = match done {
        Ok(summary) => RankReport::by(team, None, summary),
        // This rank has missed collective steps of the others, so it can only leave.
        Err(error) if error.is::<RunError>() => return Err(error),
        Err(error) => RankReport::by(team, Some(&error), None),
    };
    match team.ensemble.gather(&report.json()) {
        Ok(Some(all)) => show(args, &RankReport::all(&all)?, dir),
        Ok(None) => Ok(report.trouble.map_or(0, |(code, _)| code).into()),
        Err(error) if team.placement.rank == 0 => {
            let dir = dir.display();
            let text = format!(
                "{error}; the saved recordings are in {dir}; merge them with `anechoic merge {dir}`"
            );
            Err(of_ranks(error).context(text))
        }
        Err(error) => Err(of_ranks(error)),
    }
}

/// Returns the plan of this rank, or `None` if another rank measures this host.
fn part(args: &RunArgs, team: &Team, host_dir: &Path) -> anyhow::Result<Option<Plan>> {
    let placement = &team.placement;
    if args.repeat > 1 {
        return Err(Usage(
            "--repeat works for a single process only; start the whole job several times".into(),
        )
        .into());
    }
    if !placement.leads() {
        return Ok(None);
    }
    let given = placement.cpus();
    // A launcher may have bound this rank to fewer CPUs. The kernel drops CPUs that belong to another control
    // group.
    let _ = cpus::pin(&given);
    let usable = cpus::allowed();
    let asked = args.setup.asked_cpus().unwrap_or(&given);
    let measured: Vec<u32> =
        given.iter().copied().filter(|cpu| asked.contains(cpu) && usable.contains(cpu)).collect();
    if measured.is_empty() {
        let (asked, given, usable) = (cpus::list(asked), cpus::list(&given), cpus::list(&usable));
        return Err(Usage(format!(
            "none of the CPUs {asked} can be measured here: the launcher gave the ranks of this host {given}, and this rank may \
             use {usable}; choose some of these with --cpus"
        ))
        .into());
    }
    verify_free(host_dir)?;
    let plan = Plan { team: Some(team.clone()), ..args.plan(measured)? };
    Ok(Some(plan))
}

/// Agrees whether any rank cannot do its part. If so, nobody starts, rank 0 prints why, and all return this
/// exit code.
fn called_off(team: &Team, mine: &RankReport) -> anyhow::Result<Option<u8>> {
    let all = team.ensemble.gather(&mine.json()).map_err(of_ranks)?;
    let code = match all {
        Some(all) => print_errors(&RankReport::all(&all)?),
        None => 0,
    };
    let code = team.ensemble.broadcast(&[code]).map_err(of_ranks)?;
    Ok(code.first().copied().filter(|&code| code > 0))
}

/// Prints what went wrong on each rank and returns the highest of their exit codes.
fn print_errors(all: &[RankReport]) -> u8 {
    let mut troubles: Vec<(usize, &str, u8, &str)> = Vec::new();
    for (rank, report) in all.iter().enumerate() {
        troubles
            .extend(report.trouble.iter().map(|(code, why)| (rank, &*report.host, *code, &**why)));
    }
    for (rank, host, _, why) in troubles.iter().take(MOST_PRINTED) {
        match rank {
            0 => eprintln!("anechoic: {why}"),
            rank => eprintln!("anechoic: rank {rank} on {host}: {why}"),
        }
    }
    if troubles.len() > MOST_PRINTED {
        eprintln!("anechoic: and {} more ranks", troubles.len() - MOST_PRINTED);
    }
    troubles.iter().map(|&(_, _, code, _)| code).max().unwrap_or(0)
}

/// Measures this host for all its ranks.
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

/// Merges the summaries of the hosts, saves the result and prints it.
fn show(args: &RunArgs, all: &[RankReport], dir: &Path) -> anyhow::Result<ExitCode> {
    let worst = print_errors(all);
    let mut cluster = ClusterOf::new();
    for report in all {
        if let Some(summary) = &report.summary {
            cluster.add(summary.clone())?;
        } else if let Some((_, why)) = &report.trouble {
            cluster.leave_out(&report.host, why);
        }
    }
    let cluster = match cluster.finish() {
        Err(_) if worst > 0 => return Ok(worst.into()), // the reason is already printed
        cluster => cluster?,
    };
    merge::save(&cluster, dir)?;
    merge::show(&Found::of(&CLUSTER, cluster, &[]), worst, dir, args.json, false)
}
