//! Why a recording could not be written, opened or read.

use crate::problem::{Problem, ProblemKind};
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

/// Why writing failed.
#[derive(Debug)]
pub enum WriteError {
    /// The directory holds something already.
    NotEmpty {
        /// The directory that was asked for.
        dir: PathBuf,
    },
    /// The directory cannot be made or written.
    Directory {
        /// The directory that was asked for.
        dir: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The disk has no room for a recording to begin.
    NoRoom {
        /// The directory that was asked for.
        dir: PathBuf,
        /// The least that must be free.
        kib: u64,
    },
    /// No space is left, or a quota is used up.
    Full {
        /// The file that did not fit.
        file: PathBuf,
        /// Rows of the table that lie in complete parts and stay readable.
        safe_rows: u64,
    },
    /// No space is left for what is derived from a measurement.
    NotDerived {
        /// The recording.
        dir: PathBuf,
    },
    /// The system refused for another reason.
    Io {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The caller handed rows over that do not follow those before.
    Order {
        /// The table.
        table: &'static str,
        /// The CPU.
        cpu: u32,
        /// Start of the row that is too early, or its end where that lies before its start.
        ticks: u64,
        /// End of the row before it.
        after: u64,
    },
    /// A row could not be encoded.
    Encode {
        /// The file.
        file: PathBuf,
        /// The encoder's reason.
        why: String,
    },
    /// What was to be extended cannot be read.
    Read(Problem),
}

impl WriteError {
    fn problem(&self) -> Problem {
        let (why, remedy) = match self {
            Self::NotEmpty { dir } => (
                format!("{} is not empty", dir.display()),
                "name a new directory, or empty it first".to_owned(),
            ),
            Self::Directory { dir, source } => (
                format!("cannot write to {}: {source}", dir.display()),
                "name a directory that you may write to".to_owned(),
            ),
            Self::NoRoom { dir, kib } => (
                format!(
                    "no space left in {}: a recording needs {kib} KiB to begin with",
                    dir.display()
                ),
                "free space, or name a directory elsewhere".to_owned(),
            ),
            Self::Full { file, safe_rows } => (
                format!(
                    "no space left for {}: {safe_rows} rows of its table are safe",
                    file.display()
                ),
                "free space and measure again".to_owned(),
            ),
            Self::NotDerived { dir } => {
                let dir = dir.display();
                (
                    format!(
                        "no space left to name the sources in {dir}: what was measured there is whole"
                    ),
                    format!("free space, and `anechoic attribute {dir}` names them"),
                )
            }
            Self::Io { file, source } => {
                (format!("cannot write {}: {source}", file.display()), String::new())
            }
            Self::Order { table, cpu, ticks, after } => (
                format!(
                    "rows of {table} on CPU {cpu} are out of order: \
                     one at tick {ticks} after one that ended at {after}"
                ),
                "append each CPU's rows in time order".to_owned(),
            ),
            Self::Encode { file, why } => {
                (format!("cannot encode {}: {why}", file.display()), String::new())
            }
            Self::Read(problem) => return problem.clone(),
        };
        ProblemKind::CannotWrite.problem(why, remedy)
    }
}

crate::error_from_problem!(WriteError);

impl From<Problem> for WriteError {
    fn from(problem: Problem) -> Self {
        Self::Read(problem)
    }
}

const FROM_A_COPY: &str = "restore it from a copy";
const ANOTHER_DIRECTORY: &str = "name a directory that anechoic wrote";

/// What is wrong with the files of a recording, and with the path of one.
impl Problem {
    /// The system refused to read a file.
    #[must_use]
    pub fn unreadable(file: &Path, source: &io::Error) -> Self {
        ProblemKind::Data.problem(format!("cannot read {}: {source}", file.display()), "")
    }

    /// The bytes of a file are not those that were written.
    pub(crate) fn checksum(file: &Path) -> Self {
        let file = file.display();
        let why =
            format!("{file} does not match its checksum in SHA256SUMS: it was damaged or changed");
        ProblemKind::Data.problem(why, FROM_A_COPY)
    }

    /// A file that belongs to the recording is not there.
    pub(crate) fn missing(file: &Path) -> Self {
        ProblemKind::Data.problem(format!("{} is missing", file.display()), FROM_A_COPY)
    }

    /// A finished recording has a file without checksum.
    pub(crate) fn unlisted(file: &Path) -> Self {
        let file = file.display();
        let why =
            format!("{file} is not listed in SHA256SUMS, as all of a finished recording must be");
        ProblemKind::Data.problem(why, "restore both from a copy")
    }

    /// A file is not what the format says.
    #[must_use]
    pub fn damaged(file: &Path, why: impl Display) -> Self {
        let why = format!("{} is damaged: {why}", file.display());
        ProblemKind::Data.problem(why, FROM_A_COPY)
    }

    /// There is no `run.json`.
    pub(crate) fn no_recording(path: &Path) -> Self {
        let why = format!("{} is no recording: it has no run.json", path.display());
        ProblemKind::NoInput.problem(why, ANOTHER_DIRECTORY)
    }

    /// Neither the path nor what lies in it is a recording.
    #[must_use]
    pub fn no_recording_below(path: &Path) -> Self {
        let why = format!("no recording in {}, nor one or two levels below it", path.display());
        ProblemKind::NoInput.problem(why, ANOTHER_DIRECTORY)
    }

    /// The recording's format is from the future.
    pub(crate) fn newer(path: &Path, found: u64, known: u32) -> Self {
        let path = path.display();
        let why = format!(
            "{path} was written by a newer anechoic (format {found}; this one reads up to {known})"
        );
        ProblemKind::Data.problem(why, "update anechoic")
    }
}
