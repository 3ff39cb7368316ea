//! Exit codes: 0 fine, 1 warning, 3 no verdict, 64 and up what kept us from an answer.

use anechoic_measure::run::RunError;
use anechoic_recording::{OpenError, ReadError, WriteError};
use std::io::ErrorKind;
use std::process::ExitCode;

/// A result, with something in it that the user must know.
pub const WARNING: u8 = 1;
/// Nothing was really measured.
pub const NO_VERDICT: u8 = 3;
/// The command line is wrong.
pub const USAGE: u8 = 64;
/// The input is broken.
pub const DATA: u8 = 65;
/// Something is not there.
pub const NO_INPUT: u8 = 66;
/// The system does not offer what is needed.
pub const UNAVAILABLE: u8 = 69;
/// A file cannot be written.
pub const CANNOT_WRITE: u8 = 73;

/// An error of the command line itself that the parser cannot see.
#[derive(Debug)]
pub struct Usage(pub String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Says the error in one line on stderr and gives its exit code. A reader that closed the pipe
/// has what it wanted.
pub fn report(error: &anyhow::Error) -> ExitCode {
    let io = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind)
    };
    if error.chain().filter_map(io).any(|kind| kind == ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    eprintln!("anechoic: {error:#}");
    ExitCode::from(code(error))
}

fn code(error: &anyhow::Error) -> u8 {
    if error.is::<Usage>() {
        return USAGE;
    }
    if let Some(error) = error.downcast_ref::<OpenError>() {
        return open_code(error);
    }
    match error.downcast_ref::<RunError>() {
        Some(RunError::Cpu(_) | RunError::Threshold { .. }) => USAGE,
        Some(RunError::Write(_)) => CANNOT_WRITE,
        Some(_) => UNAVAILABLE,
        None if error.is::<WriteError>() => CANNOT_WRITE,
        None if error.is::<ReadError>() => DATA,
        None => UNAVAILABLE,
    }
}

fn open_code(error: &OpenError) -> u8 {
    match error {
        OpenError::NoRecording { .. } | OpenError::NoneFound { .. } => NO_INPUT,
        OpenError::Newer { .. } | OpenError::Read(_) => DATA,
    }
}
