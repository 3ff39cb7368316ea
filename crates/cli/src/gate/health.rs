//! The gate as a health check: the age of the newest recording, and one line for the program that watches.

use crate::terminal;
use anechoic_analyze::gate::{Gate, Outcome};
use anechoic_recording::{Problem, ProblemKind, Recording};
use anechoic_report::{HealthAge, gate_nagios, gate_npd, long_time, nagios_unknown, npd_unknown};
use clap::ValueEnum;
use jiff::Timestamp;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

/// A program that watches the health of machines. Each has its own exit codes and its own form of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Style {
    /// Nagios, Icinga and others: 0 OK, 2 CRITICAL, 3 UNKNOWN (undecided, too old or an error); values after |
    Nagios,
    /// Kubernetes' node-problem-detector: 0 no problem, 1 problem, 3 unknown; 80 bytes at most
    Npd,
}

impl Style {
    /// Returns the style that a command line asks for, also one with mistakes.
    pub(super) fn typed(typed: &[OsString]) -> Option<Self> {
        let mut words = typed.iter().map(|word| word.to_string_lossy());
        words.find(|word| word == "gate")?;
        let mut asked = None;
        while let Some(word) = words.next() {
            let value = match word.strip_prefix("--style") {
                Some("") => words.next().unwrap_or_default().into_owned(),
                Some(rest) => rest.trim_start_matches('=').to_owned(),
                None => continue,
            };
            asked = Self::from_str(&value, false).ok().or(asked);
        }
        asked
    }

    /// Prints the line of a gate, or of what prevented it, and returns the exit code. It does not depend on whether somebody
    /// reads the line; if it cannot be written, nothing is known.
    pub(super) fn print(self, judged: Result<(Gate, Option<Age>), Problem>) -> ExitCode {
        let (line, code) = match judged {
            Ok((gate, age)) => (self.line(&gate, age), self.code(gate.outcome)),
            Err(problem) => (self.unknown(&problem), UNKNOWN),
        };
        let mut out = terminal::stdout();
        let written = writeln!(out, "{line}").and_then(|()| out.flush());
        ExitCode::from(if written.is_ok() { code } else { UNKNOWN })
    }

    fn line(self, gate: &Gate, age: Option<Age>) -> String {
        let age = age.map(|Age(age)| age);
        match self {
            Self::Nagios => gate_nagios(gate, age),
            Self::Npd => gate_npd(gate, age),
        }
    }

    fn unknown(self, problem: &Problem) -> String {
        match self {
            Self::Nagios => nagios_unknown(&problem.to_string()),
            Self::Npd => npd_unknown(&problem.cause(), &problem.why),
        }
    }

    fn code(self, outcome: Outcome) -> u8 {
        match (self, outcome) {
            (_, Outcome::Pass) => 0,
            (Self::Npd, Outcome::Fail) => 1,
            (Self::Nagios, Outcome::Fail) => 2,
            (_, Outcome::Undecided) => UNKNOWN,
        }
    }
}

/// The exit code for what is not known, of all styles.
const UNKNOWN: u8 = 3;

/// How long ago the newest recording ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Age(HealthAge);

impl Age {
    /// Returns the age of the recording that was started last.
    ///
    /// # Errors
    /// Fails if it is older than `most`, or later than now: a clock was set, so its age is not known.
    pub(super) fn read(recordings: &[Recording], most: Duration) -> Result<Self, Problem> {
        let newest = recordings.iter().max_by_key(|recording| &recording.run().start_utc);
        let newest = newest.ok_or_else(|| ProblemKind::NoInput.problem("no recording", ""))?;
        let name = || newest.dir().display();
        let (start, end) = (&newest.run().start_utc, newest.run().end_utc.as_ref());
        let times =
            start.parse::<Timestamp>().and_then(|time| Ok((time, end.unwrap_or(start).parse()?)));
        let no_time = |_| ProblemKind::Data.problem("it has no time", "").about(name());
        let (start, end) = times.map_err(no_time)?;
        let last: Timestamp = start.max(end);
        let age = Duration::try_from(Timestamp::now().duration_since(last)).map_err(|_| {
            let why = "the newest recording is later than this machine's clock, which was set";
            let remedy = "correct the clock, or remove the recording";
            ProblemKind::NoVerdict.problem(why, remedy).about(name())
        })?;
        if age > most {
            let words = |time: Duration| long_time(nanoseconds(time));
            let why =
                format!("the newest recording ended {} ago, more than {}", words(age), words(most));
            let remedy = "check that measuring goes on (--max-age)";
            return Err(ProblemKind::NoVerdict.problem(why, remedy).about(name()));
        }
        let (age_ns, most_ns) = (nanoseconds(age), nanoseconds(most));
        Ok(Self(HealthAge { age_ns, most_ns }))
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_is_known_before_the_command_line_is_understood() {
        let cases: [(&[&str], Option<Style>); 8] = [
            (&["anechoic", "gate", "--style", "npd", "--bogus"], Some(Style::Npd)),
            (&["anechoic", "--color", "never", "gate", "x", "--style=nagios"], Some(Style::Nagios)),
            (&["anechoic", "gate", "--style", "xml"], None),
            (&["anechoic", "gate", "--style"], None),
            (&["anechoic", "gate", "--styles", "npd"], None),
            (&["anechoic", "gate", "x"], None),
            (&["anechoic", "run", "--style", "npd"], None),
            (&[], None),
        ];
        for (typed, expected) in cases {
            let typed: Vec<OsString> = typed.iter().map(OsString::from).collect();
            assert_eq!(Style::typed(&typed), expected, "{typed:?}");
        }
    }
}
