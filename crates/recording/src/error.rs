//! Why a recording could not be written, opened or read.

use crate::problem::{Problem, ProblemKind, is_out_of_files, remedy_of};
use std::fmt::Display;
use std::io;
use std::path::{self, Path, PathBuf};

/// Why writing failed.
#[derive(Debug)]
pub enum WriteError {
    /// No space is left, or a quota is used up.
    Full {
        /// The file that did not fit.
        file: PathBuf,
        /// Number of rows of the table in complete parts, which stay readable.
        safe_rows: u64,
    },
    /// Any other reason.
    Other(Problem),
}

impl WriteError {
    fn problem(&self) -> Problem {
        match self {
            Self::Full { file, safe_rows } => {
                let file = file.display();
                let why =
                    format!("no space left for {file}: {safe_rows} rows of its table are safe");
                ProblemKind::CannotWrite.problem(why, "free space and measure again")
            }
            Self::Other(problem) => problem.clone(),
        }
    }
}

crate::error_from_problem!(WriteError);

impl From<Problem> for WriteError {
    fn from(problem: Problem) -> Self {
        Self::Other(problem)
    }
}

const FROM_A_COPY: &str = "restore it from a copy";
const ANOTHER_DIRECTORY: &str = "name a directory that anechoic wrote";

/// Constructors for problems with the files of a recording, and with its path.
impl Problem {
    /// The system refused to read a file.
    #[must_use]
    pub fn unreadable(file: &Path, source: &io::Error) -> Self {
        let kind = match source.kind() {
            _ if is_out_of_files(source) => ProblemKind::Unavailable,
            io::ErrorKind::OutOfMemory => ProblemKind::Unavailable,
            _ => ProblemKind::Data,
        };
        kind.problem(format!("cannot read {}: {source}", file.display()), remedy_of(source))
    }

    /// The system refused to write a file.
    #[must_use]
    pub fn unwritable(file: &Path, source: &io::Error) -> Self {
        if let Some(problem) = Self::inside(source) {
            return problem;
        }
        let kind = Self::from(source).kind;
        kind.problem(format!("cannot write {}: {source}", file.display()), remedy_of(source))
    }

    /// A directory cannot be created or written.
    #[must_use]
    pub fn cannot_write_to(dir: &Path, source: &io::Error) -> Self {
        use io::ErrorKind as Kind;
        if let Some(problem) = Self::inside(source) {
            return problem;
        }
        let why = format!("cannot write to {}: {source}", dir.display());
        let remedy = match source.kind() {
            Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => remedy_of(source),
            _ => "use a directory that you may write to",
        };
        ProblemKind::CannotWrite.problem(why, remedy)
    }

    /// A directory must be empty and is not.
    #[must_use]
    pub fn not_empty(dir: &Path) -> Self {
        let why = format!("{} is not empty", dir.display());
        ProblemKind::CannotWrite.problem(why, "use a new directory")
    }

    /// The content of a file has changed since it was written.
    pub(crate) fn checksum(file: &Path) -> Self {
        let file = file.display();
        let why = format!(
            "{file} does not match its checksum in SHA256SUMS: it is damaged or was changed"
        );
        ProblemKind::Data.problem(why, FROM_A_COPY)
    }

    /// A file of the recording is missing.
    pub(crate) fn missing(file: &Path) -> Self {
        ProblemKind::Data.problem(format!("{} is missing", file.display()), FROM_A_COPY)
    }

    /// A finished recording has a file without a checksum.
    pub(crate) fn unlisted(file: &Path) -> Self {
        let file = file.display();
        let why = format!(
            "{file} is not listed in SHA256SUMS, which must list every file of a finished recording"
        );
        ProblemKind::Data.problem(why, "restore both from a copy")
    }

    /// A file does not follow the format.
    #[must_use]
    pub fn damaged(file: &Path, why: impl Display) -> Self {
        let why = format!("{} is damaged: {why}", file.display());
        ProblemKind::Data.problem(why, FROM_A_COPY)
    }

    /// A table is compressed in a way that this program cannot read.
    pub(crate) fn codec(file: &Path, codec: impl Display) -> Self {
        let why =
            format!("{} is compressed with {codec}, which anechoic does not read", file.display());
        let remedy = "write the table again with zstd, snappy or no compression (in pandas: to_parquet(compression='zstd'))";
        ProblemKind::Data.problem(why, remedy)
    }

    /// There is no `run.json`.
    pub(crate) fn no_recording(path: &Path) -> Self {
        Self::nothing_at(path, |path| format!("{path} is not a recording: it has no run.json"))
    }

    /// Neither the path nor its subdirectories are recordings.
    #[must_use]
    pub fn no_recording_below(path: &Path) -> Self {
        Self::nothing_at(path, |path| {
            format!("no recording in {path} or up to two levels below it")
        })
    }

    /// The path does not exist, or has something else than a recording, as `why` describes.
    fn nothing_at(path: &Path, why: fn(path::Display<'_>) -> String) -> Self {
        let shown = path.display();
        let why = if path.exists() { why(shown) } else { format!("{shown} does not exist") };
        ProblemKind::NoInput.problem(why, ANOTHER_DIRECTORY)
    }

    /// The recording's format is newer than this version.
    pub(crate) fn newer(path: &Path, found: u64, known: u32) -> Self {
        let path = path.display();
        let why = format!(
            "{path} was written by a newer anechoic (format {found}; this one reads up to {known})"
        );
        ProblemKind::Data.problem(why, "update anechoic")
    }
}
