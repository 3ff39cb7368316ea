//! `anechoic-mpi ranks`: shows where the ranks of a job run and how long a meeting takes.

use anechoic_measure::ensemble::{EnsembleError, Team};
use anechoic_recording::Problem;
use anechoic_recording::parallel::Meeting;
use anechoic_system::cpus;
use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

/// The number of meetings of each kind that are timed.
const MEETINGS: usize = 100;
/// Bytes that rank n contributes, per n, to check that data arrives intact; rank 0 contributes none.
const GIVEN_BYTES: usize = 100_000;

/// Show where the ranks run and how long they take to meet
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  mpirun -n 4 anechoic-mpi ranks")]
pub(crate) struct RanksArgs {}

/// Prints the table at rank 0.
pub(crate) fn run(team: &Team) -> Result<ExitCode, Problem> {
    exchange(team)?;
    let placement = &team.placement;
    let place = placement.parallel.here.iter().position(|rank| rank.rank == placement.rank);
    let own = place.and_then(|place| placement.own_cpus().get(place).copied());
    let allowed = place.map(|place| cpus::list(&placement.parallel.here[place].cpus));
    let (own, allowed) = (own.unwrap_or(0), allowed.unwrap_or_default());
    let line =
        format!("{:>5}  {own:>4}  {allowed:10}  {}", placement.rank, placement.parallel.host);
    let lines = team.ensemble.gather(line.as_bytes())?;
    let [barrier, allreduce] = [Meeting::Barrier, Meeting::Allreduce].map(|kind| time(team, kind));
    let (barrier, allreduce) = (barrier?, allreduce?);
    let Some(lines) = lines else { return Ok(ExitCode::SUCCESS) };
    let mut out = io::stdout().lock();
    let parallel = &placement.parallel;
    writeln!(out, "{} · ranks {} · hosts {}\n", parallel.through, parallel.ranks, parallel.hosts)?;
    writeln!(out, " rank   CPU  of          host")?;
    for line in lines {
        writeln!(out, "{}", String::from_utf8_lossy(&line))?;
    }
    writeln!(out)?;
    writeln!(out, "barrier    {} µs (median of {MEETINGS} at rank 0)", micros(barrier))?;
    writeln!(out, "allreduce  {} µs", micros(allreduce))?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Sends a different number of bytes from each rank to rank 0 and from there to all, and checks that they
/// arrive unchanged.
fn exchange(team: &Team) -> Result<(), EnsembleError> {
    let given = |rank: u32| vec![rank as u8; rank as usize * GIVEN_BYTES];
    let spoilt = || EnsembleError::Lost { why: "data changed on the way".to_owned() };
    let gathered = team.ensemble.gather(&given(team.placement.rank))?;
    let right =
        gathered.as_ref().is_none_or(|all| (0..).zip(all).all(|(rank, got)| *got == given(rank)));
    let last = gathered.and_then(|all| all.into_iter().next_back()).unwrap_or_default();
    let received = team.ensemble.broadcast(&last)?;
    team.ensemble.meet()?;
    let same = received == given(team.placement.parallel.ranks - 1);
    if right && same { Ok(()) } else { Err(spoilt()) }
}

/// Returns the median time that this rank spends in a meeting.
fn time(team: &Team, meeting: Meeting) -> Result<Duration, EnsembleError> {
    let lost = || EnsembleError::Lost { why: format!("a {} failed", meeting.name()) };
    let meetings = team.meetings.as_ref().ok_or_else(lost)?;
    let mut times = Vec::new();
    for _ in 0..MEETINGS {
        let begun = Instant::now();
        let mut look = || {
            thread::yield_now(); // there may be more ranks than CPUs
            true
        };
        if !meetings.meet(meeting, &mut look) {
            return Err(lost());
        }
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
}

fn micros(time: Duration) -> String {
    format!("{:.1}", time.as_nanos() as f64 / 1e3)
}
