//! `anechoic-mpi simulate`: all ranks of a job simulate together, and rank 0 prints.

use super::{Given, PredictArgs, SimulateArgs};
use crate::ensemble::called_off;
use crate::exit;
use crate::show::Printer;
use crate::stop;
use anechoic_measure::ensemble::{EnsembleError, Team};
use anechoic_recording::Problem;
use anechoic_simulate::{Ranks, Together};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// Takes part in a simulation by all ranks. Every rank reads the inputs; rank 0 prints the result, or what stopped any rank.
///
/// # Errors
/// Returns what stopped this rank alone.
pub fn simulate_in(SimulateArgs(args): &SimulateArgs, team: &Team) -> Result<ExitCode, Problem> {
    let (stop, is_first) = (stop::flag()?, team.placement.rank == 0);
    let opened = open(args, is_first);
    if let Some(code) = called_off(team, opened.as_ref().err())? {
        return Ok(code.into());
    }
    let (given, printer) = opened?;
    let ranks = RanksOfTeam::gather(team)?;
    let found = given.compute(args, Some(&stop), Ranks::together(&ranks));
    let code = match (printer, found) {
        (_, Err(problem)) if ranks.are_lost() => return Err(problem),
        (Some(_), Err(problem)) => exit::print_error(&problem),
        (Some(printer), found) => {
            given.inputs.report_unread().max(given.show(args, printer, found)?)
        }
        (None, _) => 0, // rank 0 decides
    };
    let code = team.ensemble.broadcast(&[code])?;
    Ok(code.first().copied().unwrap_or(0).into())
}

/// Opens the inputs, and the output if this rank prints.
fn open(args: &PredictArgs, prints: bool) -> Result<(Given, Option<Printer>), Problem> {
    let given = Given::open(args)?;
    given.refuse_programs(args)?;
    Ok((given, prints.then(|| args.show.printer()).transpose()?))
}

/// The ranks of a team, as a simulation needs them.
#[derive(Debug)]
struct RanksOfTeam<'a> {
    team: &'a Team,
    /// The host of each rank.
    hosts: Vec<String>,
    /// Whether the ranks lost contact.
    lost: AtomicBool,
}

impl<'a> RanksOfTeam<'a> {
    /// Asks all ranks for their hosts.
    fn gather(team: &'a Team) -> Result<Self, Problem> {
        let mut ranks = Self { team, hosts: vec![], lost: AtomicBool::new(false) };
        ranks.hosts = ranks.exchange(&team.placement.parallel.host)?;
        Ok(ranks)
    }

    fn are_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    fn send(&self, mine: &str) -> Result<Vec<String>, EnsembleError> {
        let all = self.team.ensemble.gather(mine.as_bytes())?;
        let all = all.map(|all| all.join(&b'\n')).unwrap_or_default();
        let all = self.team.ensemble.broadcast(&all)?;
        let lines = all.split(|&byte| byte == b'\n');
        let lines: Vec<String> =
            lines.map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        match lines.len() == self.size() {
            true => Ok(lines),
            false => Err(EnsembleError::Lost { why: "data changed on the way".to_owned() }),
        }
    }
}

impl Together for RanksOfTeam<'_> {
    fn rank(&self) -> usize {
        self.team.placement.rank as usize
    }

    fn size(&self) -> usize {
        self.team.placement.parallel.ranks as usize
    }

    fn name(&self, rank: usize) -> String {
        format!("rank {rank} on {}", self.hosts.get(rank).map_or("?", String::as_str))
    }

    /// Ranks that may use the same CPUs divide them.
    fn threads(&self) -> usize {
        let placement = &self.team.placement;
        let here = &placement.parallel.here;
        let own = here.iter().find(|rank| rank.rank == placement.rank);
        let own = own.map_or(&[][..], |own| &own.cpus);
        let shares = |cpus: &[u32]| cpus.iter().any(|cpu| own.contains(cpu));
        let sharing = here.iter().filter(|rank| shares(&rank.cpus)).count();
        (own.len() / sharing.max(1)).max(1)
    }

    fn exchange(&self, mine: &str) -> Result<Vec<String>, Problem> {
        self.send(mine).map_err(|error| {
            self.lost.store(true, Ordering::Relaxed);
            error.into()
        })
    }
}
