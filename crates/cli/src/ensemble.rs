//! A run by all ranks of a parallel job. The first rank on each host measures, or every rank in methods with
//! phases; rank 0 merges and prints.

use crate::ask;
use crate::measure::{MethodArgs, MethodOfRanks};
use crate::merge;
use crate::progress::Busy;
use crate::run_args::RunArgs;
use crate::setup::{self, SetupArgs, explained};
use crate::stop;
use anechoic_analyze::cluster::{ClusterBuilder, HostSummary};
use anechoic_measure::ensemble::directory::{Patience, SharedDirectory};
use anechoic_measure::ensemble::launched::Launched;
use anechoic_measure::ensemble::{EnsembleError, Placement, Team, follow, host_name};
use anechoic_measure::run::Plan;
use anechoic_recording::{Problem, ProblemKind, create_dir_all};
use anechoic_report::more;
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
    fn by(team: &Team, problem: Option<&Problem>, summary: Option<HostSummary>) -> Self {
        let host = team.placement.parallel.host.clone();
        let trouble = problem.map(|problem| (problem.kind.exit_code(), problem.to_string()));
        Self { host, trouble, summary }
    }

    fn json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Decodes the reports of all ranks, at rank 0.
    fn all(gathered: &[Vec<u8>]) -> Result<Vec<Self>, Problem> {
        let read = |(rank, report): (usize, &Vec<u8>)| {
            serde_json::from_slice(report)
                .map_err(|error| EnsembleError::Version { rank, why: error.to_string() })
        };
        Ok(gathered.iter().enumerate().map(read).collect::<Result<_, _>>()?)
    }
}

/// Joins the job that the environment describes, through the given shared directory.
pub(crate) fn run_from_env(args: &RunArgs, join: &JoinArgs) -> Result<ExitCode, Problem> {
    let launched = Launched::from_env()?;
    let (rank, stop, dir) = (launched.rank, stop::flag()?, args.setup.dir());
    let patience = Patience { others: join.patience, work: args.watch.duration };
    let joined = || -> Result<ExitCode, Problem> {
        let ensemble = SharedDirectory::join(&dir, launched, patience, stop.clone());
        let ensemble = Arc::new(ensemble?);
        let placement = Placement::gather(&*ensemble, env!("CARGO_PKG_VERSION"))?;
        let team = Team { ensemble, placement, meetings: None };
        together(args, &team, &dir, &stop)
    };
    joined().map_err(|error| match rank {
        0 => error,
        rank => error.about(format_args!("rank {rank} on {}", host_name())),
    })
}

/// Takes part in a run by all ranks. Rank 0 chooses the directory of the data set, and prints.
///
/// # Errors
/// Returns what stopped this rank after the start. Rank 0 alone prints what stopped any rank before it.
pub fn run_in(args: &RunArgs, team: &Team) -> Result<ExitCode, Problem> {
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
pub fn measure_in(MethodOfRanks(args): &MethodOfRanks, team: &Team) -> Result<ExitCode, Problem> {
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
    let quiet = args.setup.quiet || placement.rank > 0;
    let unexplained = if placement.leads() {
        setup::measure(&plan, &host_dir, &stop, quiet)?;
        explained(&host_dir, quiet).err()
    } else {
        // Adopting moves this directory into the host's recording.
        let own_dir = placement.rank_dir(&host_dir, placement.rank);
        anechoic_measure::run::run(&plan, &own_dir, &stop, &mut |_| {})?;
        None
    };
    let report = RankReport::by(team, unexplained.as_ref(), None);
    match team.ensemble.gather(&report.json())? {
        Some(all) => match print_errors(&RankReport::all(&all)?) {
            0 => args.show(&dir),
            code => Ok(code.into()),
        },
        None => Ok(report.trouble.map_or(0, |(code, _)| code).into()),
    }
}

/// Returns what this rank must measure.
fn own_rank(args: &MethodArgs, team: &Team) -> Result<Plan, Problem> {
    let placement = &team.placement;
    if args.setup.asked_cpus().is_some() {
        let why = "the launcher assigns CPUs to the ranks";
        return Err(ProblemKind::Usage.problem(why, "remove --cpus"));
    }
    let here = &placement.parallel.here;
    let at = here.iter().position(|rank| rank.rank == placement.rank);
    let own = at.and_then(|at| placement.own_cpus().get(at).copied()).unwrap_or(0);
    args.plan(vec![own], Some(team.clone()))
}

/// Returns the directory of the data set, which is the same for all ranks wherever they were started; or the
/// exit code of all ranks if rank 0 has no usable directory.
fn agreed_dir(setup: &SetupArgs, team: &Team) -> Result<Result<PathBuf, u8>, Problem> {
    let first = team.placement.rank == 0;
    let chosen = if first { choose(setup) } else { Ok(PathBuf::new()) };
    let answer = chosen.as_ref().map_err(|problem| problem.kind.exit_code());
    let answer = serde_json::to_vec(&answer.map(|dir| dir.to_string_lossy())).unwrap_or_default();
    let answer = serde_json::from_slice(&team.ensemble.broadcast(&answer)?)
        .map_err(|error| EnsembleError::Version { rank: 0, why: error.to_string() })?;
    chosen.map(|_| answer)
}

fn choose(setup: &SetupArgs) -> Result<PathBuf, Problem> {
    if setup.no_save {
        let why = "the ranks of a job keep their recordings, which rank 0 merges";
        return Err(ProblemKind::Usage.problem(why, "remove --no-save"));
    }
    let dir = std::path::absolute(setup.dir())?;
    verify_free(&dir)?;
    Ok(dir)
}

/// Checks that a directory is empty or does not exist.
fn verify_free(dir: &Path) -> Result<(), Problem> {
    match fs::read_dir(dir).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Problem::not_empty(dir)),
        Err(_) => create_dir_all(dir).map_err(|source| Problem::cannot_write_to(dir, &source)),
    }
}

/// Runs all ranks, from the agreed directory to the merged result.
fn together(
    args: &RunArgs,
    team: &Team,
    dir: &Path,
    stop: &AtomicBool,
) -> Result<ExitCode, Problem> {
    let host_dir = team.placement.host_dir(dir);
    let plan = part(args, team, &host_dir);
    if let Some(code) = called_off(team, &RankReport::by(team, plan.as_ref().err(), None))? {
        return Ok(code.into());
    }
    let quiet = args.setup.quiet || team.placement.rank > 0;
    // A rank that fails in here has missed collective steps of the others, so it can only leave.
    let measured = match plan? {
        Some(plan) => setup::measure(&plan, &host_dir, stop, quiet).map(|()| true)?,
        None => follow(team, args.watch.duration, stop).map(|()| false)?,
    };
    let report = match measured.then(|| add_up(&host_dir, quiet)).transpose() {
        Ok(summary) => RankReport::by(team, None, summary),
        Err(problem) => RankReport::by(team, Some(&problem), None),
    };
    match team.ensemble.gather(&report.json()) {
        Ok(Some(all)) => show(args, &RankReport::all(&all)?, dir),
        Ok(None) => Ok(report.trouble.map_or(0, |(code, _)| code).into()),
        Err(error) if team.placement.rank == 0 => {
            let (problem, dir) = (Problem::from(error), dir.display());
            let saved = format!("the saved recordings are in {dir}");
            let remedy = format!("{saved}; merge them with `anechoic merge {dir}`");
            Err(Problem { remedy, ..problem })
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the plan of this rank, or `None` if another rank measures this host.
fn part(args: &RunArgs, team: &Team, host_dir: &Path) -> Result<Option<Plan>, Problem> {
    let placement = &team.placement;
    if args.repeat > 1 {
        let why = "--repeat works for a single process only";
        return Err(ProblemKind::Usage.problem(why, "start the whole job several times"));
    }
    if args.stop_on.is_some() {
        let why = "--stop-on works for a single process only: the hosts of a job end together";
        return Err(ProblemKind::Usage.problem(why, "leave it out, or measure each host by itself"));
    }
    if args.hist.asked() {
        let why = "--hist works for a single process only";
        let remedy = "leave it out, then run `anechoic summary --hist` on the data set";
        return Err(ProblemKind::Usage.problem(why, remedy));
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
        let why = format!(
            "none of the CPUs {asked} can be measured here: the launcher gave the ranks of this host {given}, and this rank may \
             use {usable}"
        );
        return Err(ProblemKind::Usage.problem(why, "choose some of these with --cpus"));
    }
    let exists = host_dir.exists();
    verify_free(host_dir)?;
    if !exists {
        let _ = fs::remove_dir(host_dir); // the recording makes its own
    }
    Ok(Some(Plan { team: Some(team.clone()), ..args.plan(measured)? }))
}

/// Agrees whether any rank cannot do its part. If so, nobody starts, rank 0 prints why, and all return this
/// exit code.
fn called_off(team: &Team, mine: &RankReport) -> Result<Option<u8>, Problem> {
    let all = team.ensemble.gather(&mine.json())?;
    let code = match all {
        Some(all) => print_errors(&RankReport::all(&all)?),
        None => 0,
    };
    let code = team.ensemble.broadcast(&[code])?;
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
    if let Some(more) = more(troubles.len(), MOST_PRINTED, "rank", "ranks") {
        eprintln!("anechoic: and {more}");
    }
    troubles.iter().map(|&(_, _, code, _)| code).max().unwrap_or(0)
}

/// Attributes the detours of this host and sums them up.
fn add_up(host_dir: &Path, quiet: bool) -> Result<HostSummary, Problem> {
    let recording = explained(host_dir, quiet)?;
    let _busy = Busy::with("adding up", quiet);
    HostSummary::of(&recording)
}

/// Merges the summaries of the hosts, saves the result and prints it.
fn show(args: &RunArgs, all: &[RankReport], dir: &Path) -> Result<ExitCode, Problem> {
    let worst = print_errors(all);
    let mut cluster = ClusterBuilder::new();
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
