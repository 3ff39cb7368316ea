//! Exit codes: 0 fine, 1 warning, 3 no verdict, 64 and up what kept us from an answer.

use anechoic_analyze::injection::Verdict;
use anechoic_measure::inject::{InjectError, ReplayError};
use anechoic_measure::run::{CalibrateError, RunError};
use anechoic_recording::{Problem, ProblemKind, WriteError};
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// A result, with something in it that the user must know.
pub const WARNING: u8 = 1;
/// Nothing was really measured.
pub const NO_VERDICT: u8 = ProblemKind::NoVerdict.exit_code();
/// The command line is wrong.
pub const USAGE: u8 = ProblemKind::Usage.exit_code();
/// The input is broken.
pub const DATA: u8 = ProblemKind::Data.exit_code();
/// The system does not offer what is needed.
pub const UNAVAILABLE: u8 = ProblemKind::Unavailable.exit_code();
/// A file cannot be written.
pub const CANNOT_WRITE: u8 = ProblemKind::CannotWrite.exit_code();

/// The code of what a verification comes to.
pub fn of(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Good => 0,
        Verdict::Warning => WARNING,
        Verdict::Nothing => NO_VERDICT,
    }
}

/// An error of the command line itself that the parser cannot see.
#[derive(Debug)]
pub struct Usage(pub String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Says the error in one line on stderr and gives its exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    ExitCode::from(tell(error))
}

/// The same for those who go on. Our errors say what is behind them themselves. A reader that closed the pipe has
/// what it wanted.
pub fn tell(error: &anyhow::Error) -> u8 {
    let io = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind)
    };
    if error.chain().filter_map(io).any(|kind| kind == ErrorKind::BrokenPipe) {
        return 0;
    }
    let _ = writeln!(std::io::stderr(), "anechoic: {error}"); // a terminal may be gone
    code(error)
}

/// The exit code of an error.
#[must_use]
pub fn code(error: &anyhow::Error) -> u8 {
    if error.is::<Usage>() {
        return USAGE;
    }
    let of = |code: Option<u8>| code.unwrap_or(UNAVAILABLE);
    let run = error.downcast_ref().map(|error| match error {
        RunError::Cpu(_)
        | RunError::Threshold { .. }
        | RunError::TooShort { .. }
        | RunError::Kernel { .. }
        | RunError::NoSamples
        | RunError::TooLong { .. }
        | RunError::NoMeetings
        | RunError::Shared { .. }
        | RunError::Calibrate(CalibrateError::TooShort { .. }) => USAGE,
        RunError::Inject(error) => inject(error),
        RunError::CalledOff => NO_VERDICT,
        RunError::Write(_) => CANNOT_WRITE,
        RunError::Clock(_)
        | RunError::Worker(_)
        | RunError::Memory { .. }
        | RunError::NoEvents { .. }
        | RunError::Ensemble(_)
        | RunError::Calibrate(CalibrateError::Noisy { .. }) => UNAVAILABLE,
    });
    let open = error.downcast_ref().map(kind);
    let injected = error.downcast_ref().map(inject);
    let replay = error.downcast_ref().map(|_: &ReplayError| DATA);
    let io = error.downcast_ref().map(|_: &std::io::Error| CANNOT_WRITE);
    let io = io.or(error.downcast_ref().map(|_: &WriteError| CANNOT_WRITE));
    of(io.or(run).or(injected).or(replay).or(open))
}

fn kind(problem: &Problem) -> u8 {
    problem.kind.exit_code()
}

fn inject(error: &InjectError) -> u8 {
    match error {
        InjectError::Cpu(_)
        | InjectError::Share { .. }
        | InjectError::EveryCpu
        | InjectError::NoRoom { .. }
        | InjectError::TooFast { .. }
        | InjectError::TooLong { .. }
        | InjectError::NotOffered(_) => USAGE,
        InjectError::Replay(_) => DATA,
        InjectError::RateLimit { .. }
        | InjectError::NotPermitted { .. }
        | InjectError::Refused { .. }
        | InjectError::System { .. } => UNAVAILABLE,
    }
}
