//! A measurement by all ranks of a parallel job. The first rank on each host measures, or every rank in methods with
//! phases; rank 0 merges and prints.

mod joint;

use crate::ask;
use crate::merge;
use crate::method_args::{MethodArgs, MethodOfRanks};
use crate::progress::Busy;
use crate::run_args::RunArgs;
use crate::setup::{self, SetupArgs, explained};
use crate::show::Printer;
use crate::stop;
use crate::terminal;
use anechoic_measure::ensemble::directory::{Patience, SharedDirectory};
use anechoic_measure::ensemble::launched::Launched;
use anechoic_measure::ensemble::{EnsembleError, Placement, Team, follow, host_name};
use anechoic_measure::methods::Together;
use anechoic_measure::run::Plan;
use anechoic_recording::{Problem, ProblemKind, create_dir_all};
use anechoic_report::more;
use anechoic_system::cpus;
use joint::Joint;
use serde::de::DeserializeOwned;
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

/// What a rank reports to rank 0; `T` is the summary of a host.
#[derive(Debug, Default, Serialize, Deserialize)]
struct RankReport<T> {
    host: String,
    /// The exit code and the reason, if the rank failed to do its part.
    trouble: Option<(u8, String)>,
    /// The summary of the host, from the rank that measured it.
    summary: Option<T>,
}

impl<T: Serialize + DeserializeOwned> RankReport<T> {
    fn by(team: &Team, problem: Option<&Problem>, summary: Option<T>) -> Self {
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

/// The report of a rank without a summary.
type Bare = RankReport<()>;

/// Joins the job that the environment describes, through the given shared directory.
pub(crate) fn run_from_env(args: &RunArgs, join: &JoinArgs) -> Result<ExitCode, Problem> {
    from_env(args, join)
}

/// Measures a method like [`run_from_env`].
pub(crate) fn measure_from_env(args: &MethodArgs, join: &JoinArgs) -> Result<ExitCode, Problem> {
    from_env(args, join)
}

fn from_env<J: Joint>(args: &J, join: &JoinArgs) -> Result<ExitCode, Problem> {
    let launched = Launched::from_env()?;
    let (rank, stop, dir) = (launched.rank, stop::flag()?, args.setup().dir());
    let patience = Patience { others: join.patience, work: args.longest_work() };
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
    match args.together() {
        Together::ByRank => each_rank(args, team, &dir, &stop),
        Together::Not | Together::ByHost => together(args, team, &dir, &stop),
    }
}

/// Takes part in a method whose ranks meet: every rank measures a CPU of its own.
fn each_rank(
    args: &MethodArgs,
    team: &Team,
    dir: &Path,
    stop: &AtomicBool,
) -> Result<ExitCode, Problem> {
    let placement = &team.placement;
    let host_dir = placement.host_dir(dir);
    let plan = own_rank(args, team);
    if let Some(code) = called_off(team, plan.as_ref().err())? {
        return Ok(code.into());
    }
    let plan = plan?;
    let quiet = args.setup.quiet || placement.rank > 0;
    let unexplained = if placement.leads() {
        setup::measure(&plan, &host_dir, stop, quiet)?;
        explained(&host_dir, quiet).err()
    } else {
        // Adopting moves this directory into the host's recording.
        let own_dir = placement.rank_dir(&host_dir, placement.rank);
        anechoic_measure::run::run(&plan, &own_dir, stop, &mut |_| {})?;
        None
    };
    let report = Bare::by(team, unexplained.as_ref(), None);
    match team.ensemble.gather(&report.json())? {
        Some(all) => match print_errors(&Bare::all(&all)?) {
            0 => args.show(dir),
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

/// Takes all ranks from the agreed directory to the merged result. The first rank of each host measures.
fn together<J: Joint>(
    args: &J,
    team: &Team,
    dir: &Path,
    stop: &AtomicBool,
) -> Result<ExitCode, Problem> {
    let leads = team.placement.leads();
    let host_dir = team.placement.host_dir(dir);
    let plan = part(args, team, &host_dir);
    // The plan of a rank that only follows shows how long to sleep, so that it cannot take part without one either.
    if let Some(code) = called_off(team, plan.as_ref().err())? {
        return Ok(code.into());
    }
    let plan = plan?;
    let quiet = args.setup().quiet || team.placement.rank > 0;
    // A rank that fails in here has missed collective steps of the others, so it can only leave.
    let summary = if leads {
        setup::measure(&plan, &host_dir, stop, quiet)?;
        Some(add_up::<J>(&host_dir, quiet)).transpose()
    } else {
        follow(team, &plan.experiment, stop)?;
        Ok(None)
    };
    let report = match summary {
        Ok(summary) => RankReport::by(team, None, summary),
        Err(problem) => RankReport::by(team, Some(&problem), None),
    };
    match team.ensemble.gather(&report.json()) {
        Ok(Some(all)) => show(args, RankReport::all(&all)?, dir),
        Ok(None) => Ok(report.trouble.map_or(0, |(code, _)| code).into()),
        Err(error) if team.placement.rank == 0 => {
            let (problem, dir) = (Problem::from(error), dir.display());
            let saved = format!("the saved recordings are in {dir}");
            let remedy = format!("{saved}; merge them with `anechoic {} {dir}`", J::MERGES);
            Err(Problem { remedy, ..problem })
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the plan of this rank's host.
fn part<J: Joint>(args: &J, team: &Team, host_dir: &Path) -> Result<Plan, Problem> {
    let placement = &team.placement;
    let given = placement.cpus();
    if placement.leads() {
        // A launcher may have bound this rank to fewer CPUs. The kernel drops CPUs that belong to another control
        // group.
        let _ = cpus::pin(&given);
    }
    let usable = if placement.leads() { cpus::allowed() } else { given.clone() };
    let asked = args.setup().asked_cpus().unwrap_or(&given);
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
    let plan = args.plan_of_host(measured)?;
    if placement.leads() {
        let exists = host_dir.exists();
        verify_free(host_dir)?;
        if !exists {
            let _ = fs::remove_dir(host_dir); // the recording makes its own
        }
    }
    Ok(Plan { team: Some(team.clone()), ..plan })
}

/// Agrees whether any rank cannot do its part. If so, nobody starts, rank 0 prints why, and all return this
/// exit code.
pub(crate) fn called_off(team: &Team, problem: Option<&Problem>) -> Result<Option<u8>, Problem> {
    let all = team.ensemble.gather(&Bare::by(team, problem, None).json())?;
    let code = match all {
        Some(all) => print_errors(&Bare::all(&all)?),
        None => 0,
    };
    let code = team.ensemble.broadcast(&[code])?;
    Ok(code.first().copied().filter(|&code| code > 0))
}

/// Prints what went wrong on each rank and returns the highest of their exit codes. What all ranks of a host report is
/// printed once, as that of the first of them.
fn print_errors<T>(all: &[RankReport<T>]) -> u8 {
    let mut troubles: Vec<(usize, &str, u8, &str)> = Vec::new();
    for (rank, report) in all.iter().enumerate() {
        let Some((code, why)) = &report.trouble else { continue };
        let same = |known: &&(usize, &str, u8, &str)| (known.1, known.3) == (&*report.host, &**why);
        if !troubles.iter().any(|known| same(&known)) {
            troubles.push((rank, &report.host, *code, why));
        }
    }
    for (rank, host, _, why) in troubles.iter().take(MOST_PRINTED) {
        match rank {
            0 => terminal::print_note(format_args!("anechoic: {why}")),
            rank => terminal::print_note(format_args!("anechoic: rank {rank} on {host}: {why}")),
        }
    }
    if let Some(more) = more(troubles.len(), MOST_PRINTED, "error", "errors") {
        terminal::print_note(format_args!("anechoic: and {more}"));
    }
    troubles.iter().map(|&(_, _, code, _)| code).max().unwrap_or(0)
}

/// Attributes the detours of this host and sums them up.
fn add_up<J: Joint>(host_dir: &Path, quiet: bool) -> Result<J::OfHost, Problem> {
    let recording = explained(host_dir, quiet)?;
    let _busy = Busy::with("adding up", quiet);
    J::sum_up(&recording)
}

/// Merges the summaries of the hosts, saves the result and prints it.
fn show<J: Joint>(
    args: &J,
    all: Vec<RankReport<J::OfHost>>,
    dir: &Path,
) -> Result<ExitCode, Problem> {
    let worst = print_errors(&all);
    let (mut hosts, mut left_out) = (vec![], vec![]);
    for report in all {
        match (report.summary, report.trouble) {
            (Some(summary), _) => hosts.push(summary),
            (None, Some((_, why))) => left_out.push((report.host, why)),
            (None, None) => {}
        }
    }
    let nobody = hosts.is_empty();
    let found = match J::merge(hosts, &left_out) {
        Err(_) if nobody && worst > 0 => return Ok(worst.into()), // the reason is already printed
        found => found?,
    };
    merge::save(&found, &dir.join(J::FILE))?;
    let printer = Printer::stdout(args.json(), false).quiet(args.setup().quiet);
    merge::show(&found, worst, dir, printer)
}
