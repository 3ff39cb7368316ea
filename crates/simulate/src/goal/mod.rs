//! GOAL, the format of schedules that LogGOPSim reads: its text, and the binary form of its `txt2bin`.

mod binary;
mod labels;
mod text;
mod write;

pub use write::{write_binary, write_text};

use crate::schedule::Schedule;
use anechoic_recording::{Problem, ProblemKind};
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

/// The number that a binary file begins with.
const COOKIE: u64 = 4_223;

/// Reads a schedule from a file, which is text or binary.
///
/// # Errors
/// The file cannot be read, is cut off or malformed, or a rank or label that it names does not exist.
pub(crate) fn read(file: &Path) -> Result<Schedule, Problem> {
    let failed = |error: std::io::Error| {
        let why = format!("cannot read {}: {error}", file.display());
        ProblemKind::NoInput.problem(why, "name a GOAL file")
    };
    let open = File::open(file).map_err(failed)?;
    let length = open.metadata().map_err(failed)?.len();
    read_from(BufReader::with_capacity(1 << 20, open), length)
        .map_err(|problem| problem.about(file.display()))
}

/// Reads a schedule of this many bytes, which is text or binary.
///
/// # Errors
/// It is cut off or malformed, or a rank or label that it names does not exist.
pub fn read_from(
    mut input: impl std::io::BufRead + Seek,
    length: u64,
) -> Result<Schedule, Problem> {
    let mut head = vec![];
    let failed = |error: std::io::Error| {
        ProblemKind::NoInput.problem(format!("cannot read: {error}"), "name a GOAL file")
    };
    input.by_ref().take(8).read_to_end(&mut head).map_err(failed)?;
    if head == COOKIE.to_le_bytes() {
        return binary::read(input, length);
    }
    input.rewind().map_err(failed)?;
    text::read(input)
}
