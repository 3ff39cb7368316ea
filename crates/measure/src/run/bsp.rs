//! Rounds of a bulk-synchronous job: one for each grain and kind of meeting.

use super::RunError;
use super::job::Job;
use super::loops::ticks;
use super::meeting::Threads;
use super::paces::{Paces, paces};
use super::place::one_each;
use super::round::Round;
use super::schedule::{Numbers, Rounds, Scheduled};
use super::stepping::Stepping;
use crate::ensemble::{Meetings, Team};
use crate::methods::bsp::{METHOD, Phases};
use crate::methods::{Experiment, Policy};
use anechoic_recording::parallel::{Parallel, Rank};
use anechoic_recording::run::Run;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Longest time between two looks of a rank that waits which is no detour: a step of a library's own work is
/// shorter, an interrupt longer.
const WAIT_LOOK: Duration = Duration::from_micros(2);

/// The ranks that this process has, and where they are among those of their host.
struct Ranks {
    parallel: Parallel,
    /// Place among the ranks of the host of this process's first one.
    first: usize,
    /// A CPU for each rank of the host.
    cpus: Vec<u32>,
    meetings: Arc<dyn Meetings>,
}

/// Rounds and series of the ranks on `cpus`, the CPUs of this process's ranks.
///
/// # Errors
/// [`RunError::NoSamples`], [`RunError::NoMeetings`], [`RunError::Shared`], and those of [`paces`].
pub(super) fn phases(
    asked: &Phases,
    cpus: &[u32],
    team: Option<&Team>,
    run: &mut Run,
    stop: &AtomicBool,
) -> Result<Scheduled, RunError> {
    let ranks = Ranks::of(cpus, team)?;
    let shared = |cpu: &u32| ranks.copies_on(*cpu) > 1;
    if let Some(&cpu) = cpus.iter().find(|cpu| asked.fifo && shared(cpu)) {
        return Err(RunError::Shared { cpu });
    }
    run.parallel = Some(ranks.parallel.clone());
    let mut paced = Vec::new();
    for &grain in &asked.grains {
        let experiment = ranks.experiment(asked, grain)?;
        let Paces { mut kernels, notes } = paces(&experiment, cpus, run, stop)?;
        run.notes.extend(notes);
        let (kernel, on) = kernels.pop().ok_or(RunError::NoSamples)?;
        paced.push((experiment, kernel, on));
    }
    let here = ranks.cpus.len() as u32;
    let numbers =
        Numbers { first: ranks.first as u32, of_process: cpus.len() as u32, of_host: here };
    let mut rounds = Rounds::numbered(run, numbers);
    let policy = if asked.fifo { Policy::Fifo } else { Policy::Other };
    for (experiment, kernel, on) in &paced {
        for &meeting in &asked.meetings {
            let job = |(lane, cpu): (usize, &u32)| {
                let copies = ranks.copies_on(*cpu);
                let which = (ranks.rank(lane), *cpu, copies, meeting);
                let work = rounds.phases(experiment, kernel, on[cpu], policy, which);
                let stepping = Stepping {
                    work,
                    meeting,
                    meetings: ranks.meetings.clone(),
                    wait_threshold_ticks: ticks(WAIT_LOOK, &rounds.run.clock),
                    alone: copies == 1,
                };
                (lane, Job::Step(stepping))
            };
            let jobs = cpus.iter().enumerate().map(job).collect();
            let phases = u32::try_from(experiment.samples).unwrap_or(u32::MAX);
            let grain = experiment.grain;
            rounds.push(Round::new(jobs, grain.saturating_mul(phases), Some(grain), None));
        }
    }
    let (rounds, series) = rounds.done();
    Ok(Scheduled { places: one_each(cpus), rounds, series })
}

impl Ranks {
    fn of(cpus: &[u32], team: Option<&Team>) -> Result<Self, RunError> {
        let Some(team) = team else { return Ok(Self::threads(cpus)) };
        let meetings = team.meetings.clone().ok_or(RunError::NoMeetings)?;
        let placement = &team.placement;
        let here = &placement.parallel.here;
        let first = here.iter().position(|rank| rank.rank == placement.rank).unwrap_or(0);
        let parallel = placement.parallel.clone();
        Ok(Ranks { parallel, first, cpus: placement.own_cpus(), meetings })
    }

    /// A thread of this process for each CPU.
    fn threads(cpus: &[u32]) -> Self {
        let rank = |(rank, &cpu)| Rank { rank, cpus: vec![cpu], tids: Vec::new() };
        let parallel = Parallel {
            through: "threads".to_owned(),
            ranks: cpus.len() as u32,
            hosts: 1,
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            here: (0..).zip(cpus).map(rank).collect(),
        };
        let meetings = Arc::new(Threads::new(cpus.len()));
        Ranks { parallel, first: 0, cpus: cpus.to_vec(), meetings }
    }

    /// The rank of this process's loop in a lane.
    fn rank(&self, lane: usize) -> u32 {
        self.parallel.here.get(self.first + lane).map_or(0, |rank| rank.rank)
    }

    /// How many ranks have this CPU.
    fn copies_on(&self, cpu: u32) -> u32 {
        self.cpus.iter().filter(|&&of| of == cpu).count() as u32
    }

    /// The work of one grain, as one of the methods with samples would do it.
    fn experiment(&self, asked: &Phases, grain: Duration) -> Result<Experiment, RunError> {
        let phases = asked.duration.as_nanos() / grain.as_nanos().max(1);
        let samples = u64::try_from(phases).unwrap_or(u64::MAX);
        if samples == 0 || asked.meetings.is_empty() {
            return Err(RunError::NoSamples);
        }
        let kernels = vec![asked.kernel.clone()];
        Ok(Experiment { kernels, grain, samples, ..Experiment::of(&METHOD) })
    }
}
