//! The `anechoic-mpi` command: one rank of an MPI job that measures. It has the options, screens and exit
//! codes of `anechoic`.

mod calls;
mod ensemble;
mod job;
mod launcher;
mod library;
mod meetings;
mod network;
mod ranks;

use anechoic_cli::{MethodOfRanks, OfRows, RunArgs, SimulateArgs};
use anechoic_recording::Problem;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use job::Job;
use launcher::{Launcher, Role};
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

/// Measure the operating-system noise of all hosts of a parallel job at the same time
///
/// Start it with the job's launcher: mpirun, mpiexec or srun.
#[derive(Debug, Parser)]
#[command(name = "anechoic-mpi", max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  mpirun -n 4 anechoic-mpi ranks             where the ranks are, and what it takes them to meet
  mpirun -n 2 anechoic-mpi network -o FILE   parameters of the network for anechoic simulate --params
  mpirun anechoic-mpi run -d 60s -o DIR      every CPU that the launcher gave, on all hosts
  srun --mpi=pmix -n 256 anechoic-mpi run    the same under Slurm; MPICH: --mpi=pmi2
  mpirun -n 2 anechoic-mpi measure bsp       ranks compute and meet: what noise costs them
  mpirun anechoic-mpi simulate --help        as anechoic simulate; ranks share the replicas";

#[derive(Debug, Subcommand)]
enum Command {
    Ranks(ranks::RanksArgs),
    Network(network::NetworkArgs),
    Run(Box<RunArgs>),
    /// Measure work that the ranks do together
    Measure(OfRows<MethodOfRanks>),
    Simulate(SimulateArgs),
}

fn main() -> ExitCode {
    let asked = parse();
    if let Err(shown) = &asked
        && !shown.use_stderr()
    {
        let _ = shown.print(); // help and version need no job
        return ExitCode::SUCCESS;
    }
    match launcher::role() {
        Ok(Role::Parent(code)) => code,
        Ok(Role::Rank(launcher)) => take_part(asked, launcher),
        Err(error) => print_error(None, &error),
    }
}

/// Parses the command line. The version includes the MPI library, because a binary is linked to one of them.
fn parse() -> Result<Cli, clap::Error> {
    let version = format!("{} ({})", env!("CARGO_PKG_VERSION"), library::library());
    let command = Cli::command().version(&*version.leak());
    Cli::from_arg_matches(&command.try_get_matches()?)
}

/// Does what the command line asks, together with the other ranks.
fn take_part(asked: Result<Cli, clap::Error>, launcher: Arc<Launcher>) -> ExitCode {
    let job = match Job::begin(launcher) {
        Ok(job) => job,
        Err(error) => return print_error(None, &error.into()),
    };
    let rank = job.rank();
    let done = match asked {
        Ok(cli) => run(&cli, &job),
        Err(wrong) => {
            // All ranks have the same error, so only rank 0 prints it.
            if rank == 0 {
                let typed: Vec<OsString> = std::env::args_os().collect();
                eprintln!("{}", anechoic_cli::explained(&wrong, &Cli::command(), &typed));
            }
            Ok(anechoic_cli::USAGE.into())
        }
    };
    match done {
        Ok(code) => job.end(code),
        Err(error) => {
            job.abandon();
            print_error(Some(rank), &error)
        }
    }
}

fn run(cli: &Cli, job: &Job) -> Result<ExitCode, Problem> {
    let team = job.team()?;
    match &cli.command {
        Command::Ranks(_) => ranks::run(&team),
        Command::Network(args) => network::run(args, &team, job.ensemble()),
        Command::Run(args) => anechoic_cli::run_in(args, &team),
        Command::Measure(OfRows(args)) => anechoic_cli::measure_in(args, &team),
        Command::Simulate(args) => anechoic_cli::simulate_in(args, &team),
    }
}

/// Prints the error of a rank in one line and returns its exit code.
fn print_error(rank: Option<u32>, error: &Problem) -> ExitCode {
    let rank = rank.map(|rank| format!("rank {rank}: ")).unwrap_or_default();
    eprintln!("anechoic-mpi: {rank}{error}");
    ExitCode::from(error.kind.exit_code())
}
