//! The ranks of this process in an experiment whose loops meet.

use super::plan::Plan;
use crate::ensemble::{Meetings, host_name};
use crate::experiment::Policy;
use crate::timed::threads::Threads;
use anechoic_recording::parallel::{Parallel, Rank};
use anechoic_recording::{Problem, ProblemKind};
use std::sync::Arc;

/// The ranks of this process, and their place among those of the host.
pub(super) struct Ranks {
    pub(super) parallel: Parallel,
    /// Index of this process's first rank among those of the host.
    pub(super) first: usize,
    /// The CPU of each rank of the host.
    pub(super) cpus: Vec<u32>,
    pub(super) meetings: Arc<dyn Meetings>,
}

fn no_meetings() -> Problem {
    let why = "ranks that communicate through a shared directory cannot meet at the end of a phase";
    let remedy = "start `anechoic-mpi measure bsp` under mpirun, or `anechoic measure bsp` with threads as ranks";
    ProblemKind::Usage.problem(why, remedy)
}

impl Ranks {
    /// Returns the ranks of a plan; `None` if its loops do not meet.
    ///
    /// # Errors
    /// Fails if the ranks cannot meet, or would block each other under SCHED_FIFO.
    pub(super) fn for_plan(plan: &Plan) -> Result<Option<Self>, Problem> {
        if !plan.experiment.meets() {
            return Ok(None);
        }
        let cpus = plan.experiment.cpus();
        let Some(team) = &plan.team else { return Ok(Some(Self::threads(&cpus))) };
        let meetings = team.meetings.clone().ok_or_else(no_meetings)?;
        let placement = &team.placement;
        let here = &placement.parallel.here;
        let first = here.iter().position(|rank| rank.rank == placement.rank).unwrap_or(0);
        let parallel = placement.parallel.clone();
        let ranks = Ranks { parallel, first, cpus: placement.own_cpus(), meetings };
        let fifo = plan.experiment.policies().contains(&Policy::FIFO);
        match cpus.iter().find(|&&cpu| fifo && ranks.copies_on(cpu) > 1) {
            Some(&cpu) => {
                let why = format!(
                    "several ranks are on CPU {cpu}: under SCHED_FIFO each would block the others"
                );
                Err(ProblemKind::Usage.problem(why, "start fewer ranks, or remove --fifo"))
            }
            None => Ok(Some(ranks)),
        }
    }

    /// Creates ranks that are threads of this process, one per CPU.
    fn threads(cpus: &[u32]) -> Self {
        let rank = |(rank, &cpu)| Rank { rank, cpus: vec![cpu], tids: Vec::new() };
        let parallel = Parallel {
            job: None,
            through: "threads".to_owned(),
            ranks: cpus.len() as u32,
            hosts: 1,
            host: host_name(),
            here: (0..).zip(cpus).map(rank).collect(),
        };
        let meetings = Arc::new(Threads::new(cpus.len()));
        Ranks { parallel, first: 0, cpus: cpus.to_vec(), meetings }
    }

    /// Returns the rank of this process's loop in a lane.
    pub(super) fn rank(&self, lane: usize) -> u32 {
        self.parallel.here.get(self.first + lane).map_or(0, |rank| rank.rank)
    }

    /// Returns how many ranks run on this CPU.
    pub(super) fn copies_on(&self, cpu: u32) -> u32 {
        self.cpus.iter().filter(|&&other| other == cpu).count() as u32
    }
}
