//! The processes that measure together, one for every rank of a parallel job.

pub mod directory;
pub mod launched;
mod placement;
mod steps;

use anechoic_recording::parallel::Meeting;
use anechoic_recording::{Problem, ProblemKind};
use std::fmt::Debug;
use std::sync::Arc;

pub use placement::{Placement, host_name};
pub(crate) use steps::Agreed;
pub use steps::follow;

/// Why the ranks could not communicate.
#[derive(Debug)]
pub enum EnsembleError {
    /// The transport failed.
    Lost {
        /// The transport's reason, and what would help.
        why: String,
    },
    /// A message from another rank cannot be decoded.
    Version {
        /// The number of that rank.
        rank: usize,
        /// The reason.
        why: String,
    },
}

impl EnsembleError {
    fn problem(&self) -> Problem {
        match self {
            Self::Lost { why } => ProblemKind::Unavailable
                .problem(format!("the ranks lost contact: {why}"), "start the whole job again"),
            Self::Version { rank, why } => ProblemKind::Unavailable.problem(
                format!("rank {rank} sent data that this version cannot read ({why})"),
                "start the same version of anechoic on all hosts",
            ),
        }
    }
}

anechoic_recording::error_from_problem!(EnsembleError);

/// How the ranks of a job communicate outside the measurement.
///
/// Every rank calls the same functions in the same order. Waiting ranks sleep instead of spinning. A signal
/// that ends the run also ends a wait, with `Lost`; the implementation gets the same stop flag as the run.
pub trait Ensemble: Debug + Send + Sync {
    /// Returns the name of the transport for the recording: `shared directory`, or the name of the MPI
    /// library.
    fn through(&self) -> String;

    /// Returns the number of this rank, from 0.
    fn rank(&self) -> u32;

    /// Returns the number of ranks in the job.
    fn size(&self) -> u32;

    /// Sends each rank's bytes to rank 0, where they are returned in rank order; the other ranks get `None`.
    ///
    /// # Errors
    /// [`EnsembleError::Lost`].
    fn gather(&self, mine: &[u8]) -> Result<Option<Vec<Vec<u8>>>, EnsembleError>;

    /// Sends rank 0's bytes to every rank; the argument of the other ranks is ignored.
    ///
    /// # Errors
    /// [`EnsembleError::Lost`].
    fn broadcast(&self, of_first: &[u8]) -> Result<Vec<u8>, EnsembleError>;

    /// Returns when all ranks have called it.
    ///
    /// # Errors
    /// [`EnsembleError::Lost`].
    fn meet(&self) -> Result<(), EnsembleError> {
        self.gather(&[])?;
        self.broadcast(&[])?;
        Ok(())
    }
}

/// The ranks that measure together, and the place of this rank among them.
#[derive(Debug, Clone)]
pub struct Team {
    /// How the ranks communicate.
    pub ensemble: Arc<dyn Ensemble>,
    /// Where the ranks run.
    pub placement: Placement,
    /// How they meet at the end of a phase; absent if they cannot.
    pub meetings: Option<Arc<dyn Meetings>>,
}

/// How the ranks of a job meet inside the measurement, at the end of each phase.
pub trait Meetings: Debug + Send + Sync {
    /// Joins the meeting and waits for all ranks. While waiting it calls `look` repeatedly and stops if that
    /// returns false.
    ///
    /// Returns whether all ranks have arrived. After `false`, this rank takes part in no further meeting.
    fn meet(&self, meeting: Meeting, look: &mut dyn FnMut() -> bool) -> bool;
}
