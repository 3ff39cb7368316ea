//! Why there is nothing to model.

use anechoic_recording::ReadError;
use std::path::PathBuf;

/// Why a file or a recording could not be made a table.
#[derive(Debug, thiserror::Error)]
pub enum PredictError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}; name a CSV file", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A line of a file is not as it should be.
    #[error("{}:{line}: {why}", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what is wanted.
        why: String,
    },
    /// The recording is of another method.
    #[error(
        "{} holds {method}, not the serial experiment; measure with `anechoic measure serial`, or name tables with --times and --costs",
        dir.display()
    )]
    NotSerial {
        /// The recording.
        dir: PathBuf,
        /// What was measured.
        method: String,
    },
    /// Something that the model needs is not in the recording.
    #[error("{}: {what}; {remedy}", dir.display())]
    Lacks {
        /// The recording.
        dir: PathBuf,
        /// What is not there.
        what: String,
        /// What would help.
        remedy: String,
    },
    /// A file of the recording is damaged or cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}
