//! The processes that measure together: one for every rank of a parallel job.

pub mod directory;
pub mod launched;
mod placement;
mod steps;

use anechoic_recording::parallel::Meeting;
use anechoic_recording::{Problem, ProblemKind};
use std::fmt::Debug;
use std::sync::Arc;

pub use placement::Placement;
pub use steps::follow;

/// Why ranks could not come together.
#[derive(Debug)]
pub enum EnsembleError {
    /// What joins them failed.
    Lost {
        /// In the words of what joins them, and what would help.
        why: String,
    },
    /// What another rank sent cannot be read.
    Version {
        /// The rank.
        rank: usize,
        /// Why not.
        why: String,
    },
}

impl EnsembleError {
    fn problem(&self) -> Problem {
        match self {
            Self::Lost { why } => {
                ProblemKind::Unavailable.problem(format!("the ranks lost each other: {why}"), "")
            }
            Self::Version { rank, why } => ProblemKind::Unavailable.problem(
                format!("rank {rank} sent what cannot be read ({why})"),
                "start the same version of anechoic on all hosts",
            ),
        }
    }
}

anechoic_recording::error_from_problem!(EnsembleError);

/// How the ranks of a job come together, outside of what is measured.
///
/// Every rank calls the same functions in the same order. None of them spins: who waits, sleeps, and is woken
/// by a signal that ends the run (an implementation is given the same flag as the run): then it is `Lost`.
pub trait Ensemble: Debug + Send + Sync {
    /// What joins the ranks, for the record: `shared directory`, or the MPI library in its own words.
    fn through(&self) -> String;

    /// This rank, from 0.
    fn rank(&self) -> u32;

    /// Ranks of the job.
    fn size(&self) -> u32;

    /// What each rank gave, in the order of ranks, at rank 0; `None` at the others.
    ///
    /// # Errors
    /// [`EnsembleError::Lost`].
    fn gather(&self, mine: &[u8]) -> Result<Option<Vec<Vec<u8>>>, EnsembleError>;

    /// What rank 0 gives, at every rank; what the others give is not looked at.
    ///
    /// # Errors
    /// [`EnsembleError::Lost`].
    fn broadcast(&self, of_first: &[u8]) -> Result<Vec<u8>, EnsembleError>;

    /// Returns when all ranks have come.
    ///
    /// # Errors
    /// [`EnsembleError::Lost`].
    fn meet(&self) -> Result<(), EnsembleError> {
        self.gather(&[])?;
        self.broadcast(&[])?;
        Ok(())
    }
}

/// The ranks that measure together, and where this one is among them.
#[derive(Debug, Clone)]
pub struct Team {
    /// How they come together.
    pub ensemble: Arc<dyn Ensemble>,
    /// Where they are.
    pub placement: Placement,
    /// How they meet at the end of a phase; absent where they cannot.
    pub meetings: Option<Arc<dyn Meetings>>,
}

/// How the ranks of a job meet inside of what is measured, at the end of each phase.
pub trait Meetings: Debug + Send + Sync {
    /// Comes to the meeting and waits for all ranks, looking on all the while: `look` is called again and again, and
    /// says false where waiting is to end.
    ///
    /// Returns whether all have come. After a `false` this rank meets no more.
    fn meet(&self, meeting: Meeting, look: &mut dyn FnMut() -> bool) -> bool;
}
