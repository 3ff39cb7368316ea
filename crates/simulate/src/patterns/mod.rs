//! Patterns of communication: what programs and MPI libraries do most, for any number of ranks.

pub(crate) mod alltoall;
pub(crate) mod collectives;
mod grids;
pub(crate) mod program;

use crate::schedule::{Builder, Schedule};
use anechoic_recording::{Problem, ProblemKind};
use program::Program;

/// A pattern that ranks repeat, a computation before each repetition.
#[derive(Debug, Clone, Copy)]
pub struct Pattern {
    /// Its name on the command line.
    pub name: &'static str,
    /// What ranks do, in one line.
    pub about: &'static str,
    /// Adds what a rank does in one iteration.
    iterate: fn(&mut Program<'_>, &Job),
}

/// The size of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Number of ranks, at least 1.
    pub ranks: u32,
    /// How often the pattern is repeated.
    pub iterations: u32,
    /// Computation of each rank before each repetition, in ns; in a sweep and a pipeline, between receiving and sending.
    pub grain_ns: u64,
    /// Bytes of a message; for a collective, of the whole vector of a rank; for an all-to-all, of the block for each rank.
    pub bytes: u64,
}

/// All patterns.
pub static PATTERNS: &[Pattern] = &[
    Pattern {
        name: "barrier",
        about: "dissemination barrier: log2 n rounds, each waits for both its messages",
        iterate: collectives::barrier,
    },
    Pattern {
        name: "bcast",
        about: "broadcast from rank 0 in a binomial tree",
        iterate: collectives::broadcast,
    },
    Pattern {
        name: "reduce",
        about: "reduction to rank 0 in a binomial tree",
        iterate: collectives::reduce,
    },
    Pattern {
        name: "allreduce-rd",
        about: "allreduce by recursive doubling: log2 n exchanges of the whole vector",
        iterate: collectives::recursive_doubling,
    },
    Pattern {
        name: "allreduce-ring",
        about: "allreduce on a ring: 2 (n - 1) steps of a part of the vector",
        iterate: collectives::ring,
    },
    Pattern {
        name: "allreduce-rabenseifner",
        about: "allreduce by recursive halving and doubling: 2 log2 n exchanges of ever smaller parts",
        iterate: collectives::rabenseifner,
    },
    Pattern {
        name: "alltoall-bruck",
        about: "all-to-all by Bruck: log2 n exchanges of half of all blocks",
        iterate: alltoall::bruck,
    },
    Pattern {
        name: "alltoall-pairwise",
        about: "all-to-all in n - 1 steps, each with another pair of ranks",
        iterate: alltoall::pairwise,
    },
    Pattern {
        name: "chain",
        about: "exchange with both neighbours on an open chain",
        iterate: grids::chain,
    },
    Pattern {
        name: "halo2d",
        about: "exchange with the 4 neighbours of a periodic grid, as square as the number of ranks allows",
        iterate: grids::halo_2d,
    },
    Pattern {
        name: "halo3d",
        about: "exchange with the 6 neighbours of a periodic grid, as cubic as the number of ranks allows",
        iterate: grids::halo_3d,
    },
    Pattern {
        name: "sweep",
        about: "wave fronts over a grid, from one corner after the other",
        iterate: grids::sweep,
    },
    Pattern {
        name: "pipeline",
        about: "each rank receives, computes and sends on to the next",
        iterate: grids::pipeline,
    },
];

/// Returns the names of all patterns with what they do.
pub(crate) fn names() -> Vec<(&'static str, &'static str)> {
    PATTERNS.iter().map(|pattern| (pattern.name, pattern.about)).collect()
}

/// Returns the pattern with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Pattern> {
    PATTERNS.iter().find(|pattern| pattern.name == name)
}

impl Pattern {
    /// Returns the schedule of a job.
    ///
    /// # Errors
    /// It has no ranks or iterations, or more operations than a schedule can have.
    pub fn schedule(&self, job: &Job) -> Result<Schedule, Problem> {
        if job.ranks == 0 || job.iterations == 0 {
            let why = "a job has at least one rank and one iteration";
            return Err(ProblemKind::Usage.problem(why, "give --ranks and --iterations above 0"));
        }
        let mut builder = Builder::new(job.ranks);
        let (operations, edges) = self.size(job)?;
        builder.reserve(operations, edges)?;
        for _ in 0..job.ranks {
            self.add_rank(job, job.iterations, &mut builder)?;
        }
        builder.finish()
    }

    /// Returns about how many operations and dependencies a job has, or refuses it.
    fn size(&self, job: &Job) -> Result<(usize, usize), Problem> {
        let most = crate::schedule::MOST_OPERATIONS as u64;
        let mut sample = Builder::new(job.ranks);
        sample.limit(2 * 16 * most / u64::from(job.ranks));
        let ranks = job.ranks.min(16);
        for _ in 0..ranks {
            self.add_rank(job, 1, &mut sample).map_err(|problem| match sample.is_full() {
                true => self.too_many(job, "too many"),
                false => problem,
            })?;
        }
        let (operations, edges) = sample.size();
        let times = u64::from(job.ranks) * u64::from(job.iterations);
        let all = |sampled: usize| (sampled as u64).saturating_mul(times) / u64::from(ranks);
        let (operations, edges) = (all(operations), all(edges).saturating_mul(5) / 4);
        if operations > most {
            return Err(self.too_many(job, &format!("about {operations}")));
        }
        Ok((operations as usize, edges as usize))
    }

    /// Returns the error of a job with too many operations; `count` is their number in words.
    fn too_many(&self, job: &Job, count: &str) -> Problem {
        let most = crate::schedule::MOST_OPERATIONS;
        let (name, ranks) = (self.name, job.ranks);
        let why = format!("{name} on {ranks} ranks has {count} operations, and at most {most} fit");
        ProblemKind::Usage.problem(why, "simulate fewer ranks or iterations")
    }

    fn add_rank(&self, job: &Job, iterations: u32, builder: &mut Builder) -> Result<(), Problem> {
        let mut program = Program::new(builder);
        for iteration in 0..iterations {
            program.iteration = iteration;
            (self.iterate)(&mut program, job);
        }
        program.finish()?;
        builder.end_rank()
    }
}
