//! Why phases could not be compared with what was predicted.

use anechoic_recording::Problem;
use std::path::PathBuf;

/// Why a bulk-synchronous job could not be compared with its prediction.
#[derive(Debug, thiserror::Error)]
pub enum BspError {
    /// The recording is of another method.
    #[error("{} holds {method}, not phases of a parallel job; measure with `anechoic measure bsp`", dir.display())]
    NotPhases {
        /// The recording.
        dir: PathBuf,
        /// What was measured.
        method: String,
    },
    /// Nothing was named.
    #[error("no recording; name one of `anechoic measure bsp`")]
    Nothing,
    /// There is no recording, or it cannot be opened or read.
    #[error(transparent)]
    Read(#[from] Problem),
}
