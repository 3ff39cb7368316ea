//! What a result is computed from.

use super::found::{Findings, Found};
use anechoic_analyze::timeline::Budget;
use anechoic_recording::options::{Answers, OptionRow};
use anechoic_recording::{Problem, ProblemKind, Recording};
use std::any::Any;
use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::path::PathBuf;

/// What a result is computed from.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The recordings that it is of.
    pub recordings: &'a [&'a Recording],
    /// Files that are no recordings, of a prediction that takes them.
    pub files: &'a [PathBuf],
    /// What a prediction was asked for; absent where all is as usual.
    pub answers: Option<&'a Answers>,
    /// Recordings that could not be opened or read, of a result of several hosts.
    pub left_out: &'a [LeftOut],
    /// What was found of each of these recordings before.
    pub before: &'a [&'a Findings],
    /// What a report shows beside the result; absent elsewhere.
    pub page: Option<&'a Beside>,
    /// What is called while the result is computed, where somebody shows how far it has come.
    pub progress: Option<Progress<'a>>,
}

/// Is called now and then with how many steps of a computation are done, and how many there are.
#[derive(Clone, Copy)]
pub struct Progress<'a>(pub &'a dyn Fn(u64, u64));

impl fmt::Debug for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}

/// What is found beside a result, for a report.
#[derive(Debug)]
pub struct Beside {
    /// How much of a recording's timeline has room.
    pub budget: Budget,
    found: RefCell<Vec<Found>>,
}

impl Beside {
    /// Nothing found yet, and room for so much of a timeline.
    #[must_use]
    pub fn with_room(budget: Budget) -> Self {
        Self { budget, found: RefCell::default() }
    }

    /// Adds a result.
    pub(super) fn add(&self, found: Option<Found>) {
        self.found.borrow_mut().extend(found);
    }

    /// Takes the results out.
    #[must_use]
    pub fn take(&self) -> Vec<Found> {
        self.found.take()
    }
}

/// A recording that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Where it lies.
    pub place: PathBuf,
    /// Why it could not be read.
    pub why: String,
}

impl<'a> Input<'a> {
    /// These recordings alone.
    #[must_use]
    pub fn of(recordings: &'a [&'a Recording]) -> Self {
        let (files, left_out, before) = (&[], &[], &[]);
        Self { recordings, files, answers: None, left_out, before, page: None, progress: None }
    }

    /// The one recording of a result of one.
    ///
    /// # Errors
    /// Where there is none.
    pub fn one(&self) -> Result<&'a Recording, Problem> {
        self.recordings
            .first()
            .copied()
            .ok_or_else(|| ProblemKind::Usage.problem("no recording", "name one"))
    }

    /// What a prediction with these options was asked for, or is asked for usually.
    ///
    /// # Errors
    /// A default cannot be read.
    pub fn answers(&self, options: &[OptionRow]) -> Result<Cow<'a, Answers>, Problem> {
        match self.answers {
            Some(answers) => Ok(Cow::Borrowed(answers)),
            None => Answers::read(options, &[]).map(Cow::Owned),
        }
    }

    /// The results of this type that were found before, one a recording.
    pub fn found<T: Any>(&self) -> impl Iterator<Item = &'a T> + use<'a, T> {
        self.before.iter().filter_map(|found| found.iter().find_map(Found::get))
    }
}
