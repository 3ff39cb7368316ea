//! The input of a result.

use super::found::{Findings, Found};
use anechoic_analyze::timeline::Budget;
use anechoic_recording::options::{Answers, OptionRow};
use anechoic_recording::{Problem, ProblemKind, Recording};
use anechoic_simulate::Ranks;
use std::any::Any;
use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::path::PathBuf;

/// The input that a result is computed from.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The recordings.
    pub recordings: &'a [&'a Recording],
    /// Files other than recordings, for a prediction that accepts them.
    pub files: &'a [PathBuf],
    /// The options of a prediction; absent if all have their defaults.
    pub answers: Option<&'a Answers>,
    /// Recordings that could not be read, for a result of several hosts.
    pub left_out: &'a [LeftOut],
    /// The results already computed for each of these recordings.
    pub before: &'a [&'a Findings],
    /// Collects what a report shows beside the result; absent elsewhere.
    pub page: Option<&'a Beside>,
    /// Called while the result is computed, to show progress; if it returns false, what is complete is the result.
    pub progress: Option<Progress<'a>>,
    /// The ranks that compute it together; this process alone elsewhere than in a parallel job.
    pub ranks: Ranks<'a>,
}

/// A function that is called from time to time with the number of finished steps and of all steps.
#[derive(Clone, Copy)]
pub struct Progress<'a>(pub &'a (dyn Fn(u64, u64) -> bool + Sync));

impl fmt::Debug for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}

/// Results that are computed together with another one, for a report.
#[derive(Debug)]
pub struct Beside {
    /// The size limit of a recording's timeline.
    pub budget: Budget,
    found: RefCell<Vec<Found>>,
}

impl Beside {
    /// Returns an empty collection with this size limit for a timeline.
    #[must_use]
    pub fn with_room(budget: Budget) -> Self {
        Self { budget, found: RefCell::default() }
    }

    /// Adds a result.
    pub(super) fn add(&self, found: Option<Found>) {
        self.found.borrow_mut().extend(found);
    }

    /// Takes all results out.
    #[must_use]
    pub fn take(&self) -> Vec<Found> {
        self.found.take()
    }
}

/// A recording that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path.
    pub place: PathBuf,
    /// Why it could not be read.
    pub why: String,
}

impl<'a> Input<'a> {
    /// Returns an input of these recordings only.
    #[must_use]
    pub fn from_recordings(recordings: &'a [&'a Recording]) -> Self {
        Self {
            recordings,
            files: &[],
            answers: None,
            left_out: &[],
            before: &[],
            page: None,
            progress: None,
            ranks: Ranks::default(),
        }
    }

    /// Returns the recording of a result that has one.
    ///
    /// # Errors
    /// There is no recording.
    pub fn one(&self) -> Result<&'a Recording, Problem> {
        self.recordings
            .first()
            .copied()
            .ok_or_else(|| ProblemKind::Usage.problem("no recording", "name one"))
    }

    /// Returns the values of these options, or their defaults.
    ///
    /// # Errors
    /// A default cannot be parsed.
    pub fn answers(&self, options: &[OptionRow]) -> Result<Cow<'a, Answers>, Problem> {
        match self.answers {
            Some(answers) => Ok(Cow::Borrowed(answers)),
            None => Answers::read(options, &[]).map(Cow::Owned),
        }
    }

    /// Returns the results of this type that were already computed, one for each recording.
    pub fn found<T: Any>(&self) -> impl Iterator<Item = &'a T> + use<'a, T> {
        self.before.iter().filter_map(|found| found.iter().find_map(Found::get))
    }
}
