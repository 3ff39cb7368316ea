//! `anechoic-mpi network`: measures the parameters of the network between the first and the last rank.

mod link;
mod result;
mod series;

use crate::calls::Comm;
use crate::ensemble::MpiEnsemble;
use crate::print_error;
use anechoic_measure::ensemble::{EnsembleError, Team};
use anechoic_recording::{Problem, ProblemKind};
use link::Link;
use result::Found;
use std::fs::File;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Measure the network between the first and the last rank, for `anechoic simulate --params FILE`
///
/// Measures L, o, g, G, O and S of the LogGOPS model by messages between rank 0 and the last rank. Other ranks sleep. Takes
/// seconds.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  mpirun -n 2 --map-by node anechoic-mpi network -o net.params
  anechoic simulate --params net.params --pattern allreduce-rd --ranks 1024 noise")]
pub(crate) struct NetworkArgs {
    /// Write the parameters to this new file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Longest message, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 18, value_parser = clap::value_parser!(u64).range(64..=1 << 26))]
    largest: u64,
}

/// Measures, prints at rank 0 and writes the file there.
pub(crate) fn run(
    args: &NetworkArgs,
    team: &Team,
    ensemble: &MpiEnsemble,
) -> Result<ExitCode, Problem> {
    let parallel = &team.placement.parallel;
    let (rank, last) = (team.placement.rank, parallel.ranks - 1);
    if last == 0 {
        let remedy = "start it with two ranks: mpirun -n 2 anechoic-mpi network";
        return Err(ProblemKind::Usage.problem("one rank has no other to send messages to", remedy));
    }
    let hosts = team.ensemble.gather(parallel.host.as_bytes())?;
    let is_new = args.output.as_deref().map_or(Ok(()), is_new);
    let code = agreed(team, is_new)?;
    if code != ExitCode::SUCCESS {
        return Ok(code);
    }
    let comm = Comm::duplicate_world()?;
    let room = series::room(args.largest);
    let mut done = Ok(());
    if rank == 0 {
        eprintln!("measuring between rank 0 and rank {last}");
        let mut link = Link::new(comm, last, room, ensemble);
        let series = series::lead(&mut link, args.largest)?;
        drop(link);
        let hosts = hosts.unwrap_or_default();
        let host =
            |rank: Option<&Vec<u8>>| String::from_utf8_lossy(rank.map_or(&[], |x| x)).into_owned();
        let hosts = [host(hosts.first()), host(hosts.last())];
        done = series.and_then(|series| {
            let found = Found::new(&series, &parallel.through, last, hosts)?;
            show(&found, args.output.as_deref())
        });
    } else if rank == last {
        series::follow(&mut Link::new(comm, 0, room, ensemble))?;
    }
    Ok(agreed(team, done)?)
}

/// Prints the result, and writes the file.
fn show(found: &Found, output: Option<&Path>) -> Result<(), Problem> {
    if let Some(path) = output {
        let named = |error: std::io::Error| Problem::unwritable(path, &error);
        let mut file = File::create_new(path).map_err(named)?;
        file.write_all(found.file().as_bytes()).map_err(named)?;
    }
    let mut out = stdout().lock();
    out.write_all(found.screen(output).as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Refuses a file that exists.
fn is_new(path: &Path) -> Result<(), Problem> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let why = format!("{} already exists", path.display());
    Err(ProblemKind::CannotWrite.problem(why, "name a new file, or remove it"))
}

/// Prints rank 0's problem and returns its exit code at all ranks. They then end together.
fn agreed(team: &Team, done: Result<(), Problem>) -> Result<ExitCode, EnsembleError> {
    let code = match done {
        Err(problem) if team.placement.rank == 0 => {
            print_error(None, &problem);
            problem.kind.exit_code()
        }
        _ => 0,
    };
    let code = team.ensemble.broadcast(&[code])?;
    Ok(code.first().copied().unwrap_or(0).into())
}
