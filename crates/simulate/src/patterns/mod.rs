//! Patterns of communication: what programs and MPI libraries do most, for any number of ranks.

pub(crate) mod collectives;
pub(crate) mod exchange;
mod grids;
pub(crate) mod program;

use crate::schedule::{Builder, LONGEST_BYTES, Schedule};
use crate::size::Size;
use anechoic_recording::{Problem, ProblemKind};
use exchange::{Chain, Exchange, Fold, Line, Shift, Swap, Tree};
use grids::{Front, Grid};
use program::{Part, Program};

/// A pattern that ranks repeat, a computation before each repetition.
#[derive(Debug, Clone, Copy)]
pub struct Pattern {
    /// Its name on the command line.
    pub name: &'static str,
    /// What ranks do, in one line.
    pub about: &'static str,
    /// Returns a round of an iteration, by the numbers of both; none after the last.
    round: fn(&Job, u32, u64) -> Option<Round>,
    /// Whether ranks of an iteration wait for ranks that are further in it: a wave front.
    pub(crate) is_front: bool,
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

/// No pattern has messages of another length after this number of rounds.
const ROUNDS: usize = 128;
/// Iterations after which every pattern repeats: a sweep begins at each corner.
const CORNERS: u32 = 4;

/// What all ranks do at the same place of their programs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Round {
    /// Each computes.
    Compute {
        /// For so many ns.
        ns: u64,
    },
    /// Each sends and receives messages.
    Exchange {
        /// Who sends to whom.
        messages: Messages,
        /// Length of each.
        bytes: u64,
    },
}

/// Who sends to whom.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Messages {
    Shift(Shift),
    Swap(Swap),
    Fold(Fold),
    Tree(Tree),
    Chain(Chain),
    Grid2(Grid<2>),
    Grid3(Grid<3>),
    Front(Front),
    Line(Line),
}

/// Does the same with the messages of a round, whatever their kind.
macro_rules! with_messages {
    ($messages:expr, $exchange:ident => $does:expr) => {
        match $messages {
            $crate::patterns::Messages::Shift($exchange) => $does,
            $crate::patterns::Messages::Swap($exchange) => $does,
            $crate::patterns::Messages::Fold($exchange) => $does,
            $crate::patterns::Messages::Tree($exchange) => $does,
            $crate::patterns::Messages::Chain($exchange) => $does,
            $crate::patterns::Messages::Grid2($exchange) => $does,
            $crate::patterns::Messages::Grid3($exchange) => $does,
            $crate::patterns::Messages::Front($exchange) => $does,
            $crate::patterns::Messages::Line($exchange) => $does,
        }
    };
}
pub(crate) use with_messages;

/// Returns a round of a pattern that computes first. `exchange` returns the messages of the rounds after that, by number,
/// and their bytes.
fn after_compute(
    job: &Job,
    number: u64,
    exchange: impl FnOnce(u64) -> Option<(Messages, u64)>,
) -> Option<Round> {
    match number.checked_sub(1) {
        None => Some(Round::Compute { ns: job.grain_ns }),
        Some(number) => {
            exchange(number).map(|(messages, bytes)| Round::Exchange { messages, bytes })
        }
    }
}

/// All patterns.
pub static PATTERNS: &[Pattern] = &[
    Pattern {
        name: "barrier",
        about: "dissemination barrier: log2 n rounds, each waits for both its messages",
        round: collectives::barrier,
        is_front: false,
    },
    Pattern {
        name: "bcast",
        about: "broadcast from rank 0 in a binomial tree",
        round: collectives::broadcast,
        is_front: false,
    },
    Pattern {
        name: "reduce",
        about: "reduction to rank 0 in a binomial tree",
        round: collectives::reduce,
        is_front: false,
    },
    Pattern {
        name: "allreduce-rd",
        about: "allreduce by recursive doubling: log2 n exchanges of the whole vector",
        round: collectives::recursive_doubling,
        is_front: false,
    },
    Pattern {
        name: "allreduce-ring",
        about: "allreduce on a ring: 2 (n - 1) steps of a part of the vector",
        round: collectives::ring,
        is_front: false,
    },
    Pattern {
        name: "allreduce-rabenseifner",
        about: "allreduce by recursive halving and doubling: 2 log2 n exchanges of ever smaller parts",
        round: collectives::rabenseifner,
        is_front: false,
    },
    Pattern {
        name: "alltoall-bruck",
        about: "all-to-all by Bruck: log2 n exchanges of half of all blocks",
        round: collectives::bruck,
        is_front: false,
    },
    Pattern {
        name: "alltoall-pairwise",
        about: "all-to-all in n - 1 steps, each with another pair of ranks",
        round: collectives::pairwise,
        is_front: false,
    },
    Pattern {
        name: "chain",
        about: "exchange with both neighbours on an open chain",
        round: grids::chain,
        is_front: false,
    },
    Pattern {
        name: "halo2d",
        about: "exchange with the 4 neighbours of a periodic grid, as square as the number of ranks allows",
        round: grids::halo_2d,
        is_front: false,
    },
    Pattern {
        name: "halo3d",
        about: "exchange with the 6 neighbours of a periodic grid, as cubic as the number of ranks allows",
        round: grids::halo_3d,
        is_front: false,
    },
    Pattern {
        name: "sweep",
        about: "wave fronts over a grid, from one corner after the other",
        round: grids::sweep,
        is_front: true,
    },
    Pattern {
        name: "pipeline",
        about: "each rank receives, computes and sends on to the next",
        round: grids::pipeline,
        is_front: true,
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
        self.check(job)?;
        let mut builder = Builder::new(job.ranks);
        let (operations, edges) = self.size(job)?;
        builder.reserve(operations, edges)?;
        let repeats = job.iterations.min(CORNERS);
        let iterations: Vec<Vec<Round>> =
            (0..repeats).map(|iteration| self.rounds(job, iteration).collect()).collect();
        for _ in 0..job.ranks {
            let mut program = Program::new(&mut builder);
            for rounds in iterations.iter().cycle().take(job.iterations as usize) {
                rounds.iter().for_each(|&round| add_round(&mut program, round));
            }
            program.finish()?;
            builder.end_rank()?;
        }
        builder.finish()
    }

    /// Refuses a job without ranks or iterations, or with messages that are too long.
    pub(crate) fn check(&self, job: &Job) -> Result<(), Problem> {
        if job.ranks == 0 || job.iterations == 0 {
            let why = "a job has at least one rank and one iteration";
            return Err(ProblemKind::Usage.problem(why, "give --ranks and --iterations above 0"));
        }
        match self.longest_message(job) {
            bytes if bytes > LONGEST_BYTES => {
                let why = format!("{bytes} bytes of a message are too long: at most 64 GiB");
                Err(ProblemKind::Usage.problem(why, "give fewer --bytes or --ranks"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the bytes of the longest message of a job.
    pub(crate) fn longest_message(&self, job: &Job) -> u64 {
        let bytes = self.rounds(job, 0).take(ROUNDS).map(|round| match round {
            Round::Compute { .. } => 0,
            Round::Exchange { bytes, .. } => bytes,
        });
        bytes.max().unwrap_or(0)
    }

    /// Returns how much a job is, without its schedule.
    pub(crate) fn measure(&self, job: &Job) -> Size {
        let mut size = Size {
            ranks: job.ranks,
            cpus: 1,
            operations: 0,
            messages: 0,
            bytes: 0,
            longest_ns: job.grain_ns,
        };
        let corners = job.iterations.min(CORNERS);
        for corner in 0..corners {
            let times = u64::from((job.iterations - corner).div_ceil(CORNERS));
            for round in self.rounds(job, corner) {
                let (operations, messages, bytes) = match round {
                    Round::Compute { ns: 0 } => (0, 0, 0),
                    Round::Compute { .. } => (u64::from(job.ranks), 0, 0),
                    Round::Exchange { messages, bytes } => {
                        let count = with_messages!(messages, exchange => exchange.messages());
                        (2 * count, count, count.saturating_mul(bytes))
                    }
                };
                let add = |sum: &mut u64, number: u64| {
                    *sum = sum.saturating_add(number.saturating_mul(times));
                };
                add(&mut size.operations, operations);
                add(&mut size.messages, messages);
                add(&mut size.bytes, bytes);
            }
        }
        size
    }

    /// Returns the rounds of an iteration.
    pub(crate) fn rounds(&self, job: &Job, iteration: u32) -> impl Iterator<Item = Round> {
        let (round, job) = (self.round, *job);
        (0..).map_while(move |number| round(&job, iteration, number))
    }

    /// Returns about how many operations and dependencies a job has, or refuses it.
    fn size(&self, job: &Job) -> Result<(usize, usize), Problem> {
        let most = crate::schedule::MOST_OPERATIONS as u64;
        let mut sample = Builder::new(job.ranks);
        sample.limit(2 * 16 * most / u64::from(job.ranks));
        let ranks = job.ranks.min(16);
        for _ in 0..ranks {
            let mut program = Program::new(&mut sample);
            self.rounds(job, 0)
                .take_while(|&round| {
                    add_round(&mut program, round);
                    !program.has_failed()
                })
                .count();
            program.finish().map_err(|problem| match sample.is_full() {
                true => self.too_many(job, "too many"),
                false => problem,
            })?;
            sample.end_rank()?;
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
}

/// Adds what a rank does in the first iteration of a pattern.
pub(crate) fn add(
    program: &mut Program<'_>,
    job: &Job,
    round: fn(&Job, u32, u64) -> Option<Round>,
) {
    (0..).map_while(|number| round(job, 0, number)).for_each(|round| add_round(program, round));
}

/// Adds what a rank does in a round.
fn add_round(program: &mut Program<'_>, round: Round) {
    match round {
        Round::Compute { ns } => program.compute(ns),
        Round::Exchange { messages, bytes } => {
            with_messages!(messages, exchange => add_exchange(program, exchange, bytes));
        }
    }
}

/// Adds the messages of a rank in a round.
fn add_exchange(program: &mut Program<'_>, exchange: impl Exchange, bytes: u64) {
    let (mut to, mut from) = (vec![], vec![]);
    exchange.sends(program.rank, |slot, peer| {
        to.push(Part { peer, bytes, tag: exchange.tag(slot) });
    });
    exchange.receives(program.rank, |peer, slot| {
        from.push(Part { peer, bytes, tag: exchange.tag(slot) });
    });
    program.exchange(&to, &from);
}
