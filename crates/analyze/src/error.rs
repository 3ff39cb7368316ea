//! Why a recording could not be summarised.

use anechoic_recording::ReadError;
use std::path::PathBuf;

/// Why a recording could not be summarised.
#[derive(Debug, thiserror::Error)]
pub enum AnalyzeError {
    /// Sources were asked for, and there are none.
    #[error(
        "{} has no attribution ({why}); {}", dir.display(),
        if *.has_events { "run `anechoic attribute` on it first" }
        else { "measure again where kernel events can be recorded; `anechoic check` says what is missing" }
    )]
    NotAttributed {
        /// The recording.
        dir: PathBuf,
        /// Why there is none.
        why: String,
        /// Whether it has events that it can be derived from.
        has_events: bool,
    },
    /// The derived tables are not of these detours.
    #[error(
        "{}: the activities hold more time than the detours that they lie in; derive them again with `anechoic attribute`",
        dir.display()
    )]
    Mismatch {
        /// The recording.
        dir: PathBuf,
    },
    /// Lost time was asked for, and only whole samples were timed.
    #[error(
        "{}: the gaps inside its samples were not watched, so lost time is not known; measure without --pure, or see `anechoic summary` for the samples",
        dir.display()
    )]
    NotWatched {
        /// The recording.
        dir: PathBuf,
    },
    /// Injected noise was asked for, and there is none that can be compared with what the loop saw.
    #[error("{}: {why}; make a recording with `anechoic inject --verify`", dir.display())]
    NotInjected {
        /// The recording.
        dir: PathBuf,
        /// What it is instead.
        why: &'static str,
    },
    /// A file is damaged or cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}
