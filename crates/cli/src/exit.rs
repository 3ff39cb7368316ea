//! Exit codes: 0 success, 1 warning, 2 a limit is exceeded, 3 no verdict, 64 and above for what prevented an answer.

use crate::terminal;
use anechoic_analyze::injection::Verdict;
use anechoic_analyze::{Stopped, Summary};
use anechoic_recording::{Problem, ProblemKind};
use anechoic_report::results::Found;

/// There is a result, and something in it that the user must know.
pub(crate) const WARNING: u8 = 1;
/// A limit that the user set is exceeded, in `gate` or by what ended a run. rtla ends so at its stop condition.
pub(crate) const FAILED: u8 = 2;
/// Nothing usable was measured.
pub(crate) const NO_VERDICT: u8 = ProblemKind::NoVerdict.exit_code();
/// The command line is wrong.
pub const USAGE: u8 = ProblemKind::Usage.exit_code();

/// Returns the exit code for a verdict.
pub(crate) fn verdict_code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Good => 0,
        Verdict::Warning => WARNING,
        Verdict::Failed => FAILED,
        Verdict::Nothing => NO_VERDICT,
    }
}

/// Returns the exit code of a run, given its summary.
pub(crate) fn summary_code(found: &Found) -> u8 {
    let stopped = found.get::<Summary>().and_then(|summary| summary.stopped.as_ref());
    let least = if stopped.is_some_and(Stopped::found) { FAILED } else { 0 };
    verdict_code(found.verdict()).max(least)
}

/// Prints the problem on one line of stderr and returns its exit code. A closed pipe is no problem: its reader has
/// all it wanted.
pub(crate) fn print_error(problem: &Problem) -> u8 {
    if problem.kind != ProblemKind::ReaderGone {
        terminal::print_note(format_args!("anechoic: {problem}"));
    }
    problem.kind.exit_code()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::builders;
    use anechoic_measure::inject::{Injection, Replay, Timing};
    use anechoic_recording::injection::InjectionKind;
    use anechoic_recording::{Recorder, Recording, Run};
    use anechoic_system::cpus;
    use anechoic_system::steal::StealError;
    use anechoic_system::tracefs::TraceError;
    use std::path::Path;
    use std::time::Duration;

    /// A recording of detours of two loops that never ran at the same time, without kernel events.
    fn recording(dir: &Path) -> Recording {
        let cpus = [(0, (0, 1_000)), (1, (2_000, 3_000))];
        let cpus = cpus.map(|(cpu, ticks)| builders::cpu_run(cpu, ticks, 10)).to_vec();
        let run: Run = builders::run("detours", builders::clock(1_000_000_000), cpus);
        Recorder::create(dir, &run).expect("a new directory").finish(&run).expect("there is room");
        Recording::open(dir).expect("just written")
    }

    /// The same with another `run.json`, and no checksum of it.
    fn changed(dir: &Path, change: impl Fn(String) -> String) -> Problem {
        recording(dir);
        std::fs::remove_file(dir.join("SHA256SUMS")).expect("it has checksums");
        let text = std::fs::read_to_string(dir.join("run.json")).expect("it has one");
        std::fs::write(dir.join("run.json"), change(text)).expect("it can be written");
        Recording::open(dir).expect_err("it was changed")
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
        let cases: [(&str, ProblemKind, Problem); 17] = [
            ("absent", ProblemKind::NoInput, Recording::open(&at("none")).expect_err("")),
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
                anechoic_analyze::sources(&whole).expect_err(""),
            ),
            (
                "not injected",
                ProblemKind::NoVerdict,
                anechoic_analyze::verify(&whole, None).expect_err(""),
            ),
            (
                "no host",
                ProblemKind::NoInput,
                anechoic_analyze::cluster::ClusterBuilder::new().finish().expect_err(""),
            ),
            ("no window", ProblemKind::NoVerdict, phases.expect_err("no window")),
            (
                "other method",
                ProblemKind::Data,
                anechoic_predict::ticks::table_of(&whole).expect_err(""),
            ),
            ("no table", ProblemKind::NoInput, ticks(&at("none"))),
            ("bad table", ProblemKind::Data, ticks(&at("times.csv"))),
            ("nothing named", ProblemKind::Usage, anechoic_predict::bsp::bsp(&[]).expect_err("")),
            ("no such CPU", ProblemKind::Usage, cpus::verify(&[60_000]).expect_err("")),
            (
                "noise there",
                ProblemKind::Usage,
                injection(vec![60_000]).check(true).expect_err("").into(),
            ),
            (
                "no detours",
                ProblemKind::Data,
                Replay::read(&whole, Duration::ZERO, longest).expect_err(""),
            ),
            ("no tracefs", ProblemKind::Unavailable, TraceError::no_tracefs().into()),
            ("no BPF", ProblemKind::Unavailable, StealError::not_permitted("x").into()),
        ];
        for (name, kind, error) in cases {
            assert_eq!(error.kind, kind, "case: {name}: {error}");
            assert!(!error.why.is_empty() && !error.remedy.is_empty(), "case: {name}: {error:?}");
        }
    }
}
