//! Why a recording could not be written, opened or read.

use std::io;
use std::path::PathBuf;

/// Why writing failed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The directory holds something already.
    #[error("{} is not empty; name a new directory, or empty it first", dir.display())]
    NotEmpty {
        /// The directory that was asked for.
        dir: PathBuf,
    },
    /// The directory cannot be made or written.
    #[error("cannot write to {}: {source}; name a directory that you may write to", dir.display())]
    Directory {
        /// The directory that was asked for.
        dir: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The disk has no room for a recording to begin.
    #[error(
        "no space left in {}: a recording needs {kib} KiB to begin with; free space, or name a directory elsewhere",
        dir.display()
    )]
    NoRoom {
        /// The directory that was asked for.
        dir: PathBuf,
        /// The least that must be free.
        kib: u64,
    },
    /// No space is left, or a quota is used up.
    #[error(
        "no space left for {}: {safe_rows} rows of its table are safe; free space and measure again",
        file.display()
    )]
    Full {
        /// The file that did not fit.
        file: PathBuf,
        /// Rows of the table that lie in complete parts and stay readable.
        safe_rows: u64,
    },
    /// No space is left for what is derived from a measurement.
    #[error(
        "no space left to name the sources in {dir}: what was measured there is whole; \
         free space, and `anechoic attribute {dir}` names them",
        dir = dir.display()
    )]
    NotDerived {
        /// The recording.
        dir: PathBuf,
    },
    /// The system refused for another reason.
    #[error("cannot write {}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The caller handed rows over that do not follow those before.
    #[error(
        "rows of {table} on CPU {cpu} are out of order: one at tick {ticks} after one that ended at {after}; \
         append each CPU's rows in time order"
    )]
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
    #[error("cannot encode {}: {why}", file.display())]
    Encode {
        /// The file.
        file: PathBuf,
        /// The encoder's reason.
        why: String,
    },
    /// What was to be extended cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Why a file of a recording could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system refused.
    #[error("cannot read {}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The bytes are not those that were written.
    #[error(
        "{} does not match its checksum in SHA256SUMS: it was damaged or changed; restore it from a copy",
        file.display()
    )]
    Checksum {
        /// The file.
        file: PathBuf,
    },
    /// A file that belongs to the recording is not there.
    #[error("{} is missing; restore it from a copy", file.display())]
    Missing {
        /// The file.
        file: PathBuf,
    },
    /// A finished recording has a file without checksum.
    #[error(
        "{} is not listed in SHA256SUMS, as all of a finished recording must be; restore both from a copy",
        file.display()
    )]
    Unlisted {
        /// The file.
        file: PathBuf,
    },
    /// The file is not what the format says.
    #[error("{} is damaged: {why}; restore it from a copy", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// Why a path could not be opened as a recording.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no `run.json`.
    #[error(
        "{} is no recording: it has no run.json; name a directory that anechoic wrote", path.display()
    )]
    NoRecording {
        /// What was asked for.
        path: PathBuf,
    },
    /// Neither the path nor what lies in it is a recording.
    #[error(
        "no recording in {}, nor one or two levels below it; name a directory that anechoic wrote",
        path.display()
    )]
    NoneFound {
        /// What was asked for.
        path: PathBuf,
    },
    /// The format is from the future.
    #[error(
        "{} was written by a newer anechoic (format {found}; this one reads up to {known}); update anechoic",
        path.display()
    )]
    Newer {
        /// The recording.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// The newest format that this code reads.
        known: u32,
    },
    /// One of its files is damaged or cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}
