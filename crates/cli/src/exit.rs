//! Exit codes: 0 success, 1 warning, 3 no verdict, 64 and above for what prevented an answer.

use anechoic_analyze::injection::Verdict;
use anechoic_measure::inject::{InjectError, ReplayError};
use anechoic_measure::run::{CalibrateError, RunError};
use anechoic_recording::{Problem, ProblemKind, WriteError};
use anechoic_system::cpus::CpuError;
use std::fmt::{Debug, Display};
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// There is a result, and something in it that the user must know.
pub(crate) const WARNING: u8 = 1;
/// Nothing usable was measured.
pub(crate) const NO_VERDICT: u8 = ProblemKind::NoVerdict.exit_code();
/// The command line is wrong.
pub const USAGE: u8 = ProblemKind::Usage.exit_code();
/// The system does not provide what is needed.
pub(crate) const UNAVAILABLE: u8 = ProblemKind::Unavailable.exit_code();
/// A file cannot be written.
pub(crate) const CANNOT_WRITE: u8 = ProblemKind::CannotWrite.exit_code();

/// Returns the exit code for a verdict.
pub(crate) fn verdict_code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Good => 0,
        Verdict::Warning => WARNING,
        Verdict::Nothing => NO_VERDICT,
    }
}

/// A usage error that the command-line parser cannot detect.
#[derive(Debug)]
pub struct Usage(pub String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

impl From<&Usage> for Problem {
    fn from(Usage(text): &Usage) -> Self {
        ProblemKind::Usage.problem(text, "")
    }
}

/// Prints the error on one line of stderr and returns its exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    ExitCode::from(print_error(error))
}

/// Prints the error like [`report`], for a caller that goes on. Our error messages already include their
/// causes. A closed pipe is not an error: its reader has all it wanted.
pub fn print_error(error: &anyhow::Error) -> u8 {
    let io = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind)
    };
    if error.chain().filter_map(io).any(|kind| kind == ErrorKind::BrokenPipe) {
        return 0;
    }
    let _ = writeln!(std::io::stderr(), "anechoic: {error}"); // fails if the terminal is gone
    code(error)
}

/// Prints a problem like [`print_error`].
pub(crate) fn print_problem(problem: &Problem) -> u8 {
    print_error(&problem.clone().into())
}

/// Returns the exit code of an error.
#[must_use]
pub fn code(error: &anyhow::Error) -> u8 {
    let run = error.downcast_ref().map(|error| match error {
        RunError::Cpu(_)
        | RunError::Threshold { .. }
        | RunError::TooShort { .. }
        | RunError::EveryCpu { .. }
        | RunError::NoSamples
        | RunError::TooLong { .. }
        | RunError::NoMeetings
        | RunError::Shared { .. }
        | RunError::Calibrate(CalibrateError::TooShort { .. }) => USAGE,
        RunError::Asked(problem) => problem.kind.exit_code(),
        RunError::Inject(error) => inject(error),
        RunError::CalledOff => NO_VERDICT,
        RunError::Write(_) => CANNOT_WRITE,
        RunError::Clock(_)
        | RunError::Worker(_)
        | RunError::Memory(_)
        | RunError::NoEvents { .. }
        | RunError::Ensemble(_) => UNAVAILABLE,
    });
    run.unwrap_or_else(|| problem(error).kind.exit_code())
}

/// Returns the problem behind an error: itself or what it converts to. Any other error comes from the system.
fn problem(error: &anyhow::Error) -> Problem {
    known::<Problem>(error)
        .or_else(|| known::<InjectError>(error))
        .or_else(|| known::<ReplayError>(error))
        .or_else(|| known::<CpuError>(error))
        .or_else(|| known::<Usage>(error))
        .or_else(|| known::<WriteError>(error))
        .or_else(|| known::<std::io::Error>(error))
        .unwrap_or_else(|| ProblemKind::Unavailable.problem(error.to_string(), ""))
}

/// Converts an error of type `E` to its problem.
fn known<E>(error: &anyhow::Error) -> Option<Problem>
where
    E: Debug + Display + Send + Sync + 'static,
    for<'a> Problem: From<&'a E>,
{
    error.downcast_ref::<E>().map(Problem::from)
}

fn inject(error: &InjectError) -> u8 {
    Problem::from(error).kind.exit_code()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_measure::inject::{Injection, Replay, Timing};
    use anechoic_recording::injection::InjectionKind;
    use anechoic_recording::{Recorder, Recording, Run, testing};
    use anechoic_system::cpus;
    use anechoic_system::steal::StealError;
    use anechoic_system::tracefs::TraceError;
    use std::path::Path;
    use std::time::Duration;

    /// A recording of detours of two loops that never ran at the same time, without kernel events.
    fn recording(dir: &Path) -> Recording {
        let cpus = [(0, (0, 1_000)), (1, (2_000, 3_000))];
        let cpus = cpus.map(|(cpu, ticks)| testing::cpu_run(cpu, ticks, 10)).to_vec();
        let run: Run = testing::run("detours", testing::clock(1_000_000_000), cpus);
        Recorder::create(dir, &run).expect("a new directory").finish(&run).expect("there is room");
        Recording::open(dir).expect("just written")
    }

    /// The same with another `run.json`, and no checksum of it.
    fn changed(dir: &Path, change: impl Fn(String) -> String) -> anyhow::Error {
        recording(dir);
        std::fs::remove_file(dir.join("SHA256SUMS")).expect("it has checksums");
        let text = std::fs::read_to_string(dir.join("run.json")).expect("it has one");
        std::fs::write(dir.join("run.json"), change(text)).expect("it can be written");
        Recording::open(dir).expect_err("it was changed").into()
    }

    fn injection(cpus: Vec<u32>) -> Injection {
        let period = Duration::from_millis(1);
        let timing = Timing::Periodic { period };
        Injection { kind: InjectionKind::Thread, timing, duration: period / 10, cpus }
    }

    #[test]
    fn errors_of_every_library_have_their_code_and_a_remedy() {
        let place = tempfile::tempdir().expect("a place for it");
        let at = |name: &str| place.path().join(name);
        let whole = recording(&at("whole"));
        std::fs::write(at("times.csv"), "processor\n").expect("it can be written");
        let newer = |text: String| {
            let mut run: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
            run["format_version"] = 99.into();
            run.to_string()
        };
        let ticks =
            |times: &Path| anechoic_predict::ticks::read_files(times, times).expect_err("no");
        let longest = Duration::MAX;
        let phases = anechoic_predict::phases::Noise::read(&[at("whole")], None);
        let io = |kind: ErrorKind| anyhow::Error::from(std::io::Error::from(kind));
        let cases: [(&str, ProblemKind, anyhow::Error); 17] = [
            ("absent", ProblemKind::NoInput, Recording::open(&at("none")).expect_err("").into()),
            ("damaged", ProblemKind::Data, changed(&at("damaged"), |_| "{".to_owned())),
            ("newer", ProblemKind::Data, changed(&at("newer"), newer)),
            (
                "full",
                ProblemKind::CannotWrite,
                Recorder::create(&at("whole"), whole.run()).err().expect("").into(),
            ),
            (
                "not attributed",
                ProblemKind::NoVerdict,
                anechoic_analyze::sources(&whole).expect_err("").into(),
            ),
            (
                "not injected",
                ProblemKind::NoVerdict,
                anechoic_analyze::verify(&whole, None).expect_err("").into(),
            ),
            (
                "no host",
                ProblemKind::NoInput,
                anechoic_analyze::cluster::ClusterOf::new().finish().expect_err("").into(),
            ),
            ("no window", ProblemKind::NoVerdict, phases.expect_err("no window").into()),
            (
                "other method",
                ProblemKind::Data,
                anechoic_predict::ticks::table_of(&whole).expect_err("").into(),
            ),
            ("no table", ProblemKind::NoInput, ticks(&at("none")).into()),
            ("bad table", ProblemKind::Data, ticks(&at("times.csv")).into()),
            (
                "nothing named",
                ProblemKind::Usage,
                anechoic_predict::bsp::bsp(&[]).expect_err("").into(),
            ),
            ("no such CPU", ProblemKind::Usage, cpus::verify(&[60_000]).expect_err("").into()),
            (
                "noise there",
                ProblemKind::Usage,
                injection(vec![60_000]).check(true).expect_err("").into(),
            ),
            (
                "no detours",
                ProblemKind::Data,
                Replay::read(&whole, Duration::ZERO, longest).expect_err("").into(),
            ),
            ("no tracefs", ProblemKind::Unavailable, Problem::from(TraceError::NoTracefs).into()),
            (
                "no BPF",
                ProblemKind::Unavailable,
                Problem::from(StealError::NotPermitted { doing: "x" }).into(),
            ),
        ];
        for (name, kind, error) in cases {
            let found = problem(&error);
            assert_eq!(found.kind, kind, "case: {name}: {error}");
            assert_eq!(code(&error), kind.exit_code(), "case: {name}");
            assert!(!found.why.is_empty() && !found.remedy.is_empty(), "case: {name}: {found:?}");
            assert_eq!(found.to_string(), error.to_string(), "case: {name}");
        }
        let codes = [ErrorKind::BrokenPipe, ErrorKind::StorageFull].map(|kind| code(&io(kind)));
        assert_eq!(codes, [0, 73]);
        let told = io(ErrorKind::Other).context("rank 3 on b");
        assert_eq!((code(&told), code(&anyhow::anyhow!("?"))), (73, 69));
    }
}
