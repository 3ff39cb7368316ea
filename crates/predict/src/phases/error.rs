//! Why there is no prediction.

use anechoic_recording::Problem;
use std::path::PathBuf;

/// Most ranks of a job.
pub const MOST_RANKS: u64 = 1_000_000_000;

/// Why what noise costs a parallel job could not be computed.
#[derive(Debug, thiserror::Error)]
pub enum PhasesError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}; name a recording, or a text file of detours", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A line of a text file is not as it should be.
    #[error("{}:{line}: {why}", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong, and what is wanted.
        why: String,
    },
    /// A text file does not tell how long was measured.
    #[error(
        "{}: how long was measured is not known; give --length, or a line \"# length_ns: NUMBER\" in the file",
        file.display()
    )]
    NoLength {
        /// The file.
        file: PathBuf,
    },
    /// The recording is of another method.
    #[error(
        "{} holds {method}, not detours; measure with `anechoic run`", dir.display()
    )]
    NotDetours {
        /// The recording.
        dir: PathBuf,
        /// What was measured.
        method: String,
    },
    /// The CPUs of a recording were not measured at the same time.
    #[error("{}: there is no time in which all its CPUs were measured; measure again", dir.display())]
    NoWindow {
        /// The recording.
        dir: PathBuf,
    },
    /// Nothing is known of a CPU.
    #[error("{}: all detours of CPU {cpu} were lost, so that its noise is not known; measure again", dir.display())]
    AllLost {
        /// The recording.
        dir: PathBuf,
        /// The CPU.
        cpu: u32,
    },
    /// Nothing was named, or nothing asked for.
    #[error("nothing to predict: {what}")]
    Nothing {
        /// What is missing, and what to name.
        what: &'static str,
    },
    /// A grain that no rank completes within what was recorded.
    #[error(
        "the grain of {grain_ns} ns is longer than the {free_ns} ns of free time that {host} recorded on CPU {cpu}; \
         ask for shorter grains, or measure for longer"
    )]
    Grain {
        /// The grain.
        grain_ns: u64,
        /// What there is of free time.
        free_ns: u64,
        /// The host.
        host: String,
        /// The CPU.
        cpu: u32,
    },
    /// No job has so many ranks.
    #[error("{ranks} ranks are out of range; ask for 1 to {MOST_RANKS}")]
    Ranks {
        /// What was asked.
        ranks: u64,
    },
    /// There is no recording, or it cannot be opened or read.
    #[error(transparent)]
    Read(#[from] Problem),
}
