//! Why a run did not take place. Whatever happens after its start ends up in the recording.

use crate::ensemble::EnsembleError;
use crate::inject::InjectError;
use anechoic_recording::{Problem, ProblemKind, WriteError};

/// Why a run did not take place.
#[derive(Debug)]
pub enum RunError {
    /// The requested noise cannot be made.
    Inject(InjectError),
    /// Any other reason.
    Other(Problem),
}

impl RunError {
    fn problem(&self) -> Problem {
        match self {
            Self::Inject(error) => error.into(),
            Self::Other(problem) => problem.clone(),
        }
    }
}

anechoic_recording::error_from_problem!(RunError);

impl From<InjectError> for RunError {
    fn from(error: InjectError) -> Self {
        Self::Inject(error)
    }
}

macro_rules! other {
    ($($error:ty),*) => { $(
        impl From<$error> for RunError {
            fn from(error: $error) -> Self {
                Self::Other(error.into())
            }
        }
    )* };
}

other!(Problem, EnsembleError, WriteError);

/// Returns the problem of a series without samples.
pub(crate) fn no_samples() -> Problem {
    ProblemKind::Usage.problem("0 repetitions measure nothing", "ask for at least one")
}
