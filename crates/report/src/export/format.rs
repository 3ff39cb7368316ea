//! The row of an export format.

use super::{Export, FORMATS};
use anechoic_analyze::Progress;
use anechoic_recording::options::{Answers, OptionRow};
use anechoic_recording::{Problem, ProblemKind, Recording, Run, methods};
use std::io::Write;

/// An export format.
#[derive(Debug)]
pub struct Format {
    /// Its identifier: the name of the subcommand.
    pub id: &'static str,
    /// What it is, in one line.
    pub title: &'static str,
    /// Who reads it and what a file holds, in whole sentences.
    pub details: &'static str,
    /// The ending of the names of its files, without the dot.
    pub extension: &'static str,
    /// Whether its files are not text, so that no terminal shows them.
    pub binary: bool,
    /// What one file holds.
    pub holds: Holds,
    /// What the recordings that it takes are of.
    pub takes: &'static [Recorded],
    /// Its own options.
    pub options: &'static [OptionRow],
    /// Examples for the help, one a line.
    pub examples: &'static str,
    /// Writes one file.
    pub write: fn(&Export<'_>, &mut dyn Write) -> Result<(), Problem>,
}

impl Format {
    /// Returns the files that this format makes of a recording, or of these of its CPUs.
    ///
    /// # Errors
    /// The gaps of the recording were not watched, it is of something that the format does not hold, it lacks one of the CPUs, or a file is
    /// damaged.
    pub fn exports<'a>(
        &self,
        recording: &'a Recording,
        cpus: Option<&[u32]>,
        answers: &'a Answers,
        progress: &'a dyn Fn(Progress),
    ) -> Result<Vec<Export<'a>>, Problem> {
        let recorded = Recorded::from_run(recording.run());
        if !self.takes.contains(&recorded) {
            return Err(self.refused(recorded).about(recording.dir().display()));
        }
        if recorded == Recorded::WakeUps {
            let whole = Export::from_wakeups(recording, cpus, answers, progress)?;
            return match self.holds {
                Holds::Detours | Holds::Wakeups if !self.has_times() => whole.by_kind(),
                _ => Ok(vec![whole]),
            };
        }
        let whole = Export::new(recording, self.holds == Holds::Summary, cpus, answers, progress)?;
        Ok(match self.holds {
            Holds::OneCpu => whole.by_cpu(),
            _ => vec![whole],
        })
    }

    /// Returns why it does not take such a recording, what it takes, and which formats take the recording.
    fn refused(&self, recorded: Recorded) -> Problem {
        let taken: Vec<&str> = self.takes.iter().map(|recorded| recorded.name()).collect();
        let why = format!(
            "it is a recording of {}; this format holds recordings of {}",
            recorded.name(),
            taken.join(" or ")
        );
        let others = FORMATS.iter().filter(|format| format.takes.contains(&recorded));
        let ids: Vec<&str> = others.map(|format| format.id).collect();
        ProblemKind::Data.problem(why, format!("export it as {}", ids.join(", ")))
    }

    /// Returns whether a file shows when each thing was.
    fn has_times(&self) -> bool {
        self.binary
    }
}

/// What a recording is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// Loops that watch a CPU, or repeat work on it.
    Loops,
    /// A program, by the kernel's events.
    Program,
    /// Threads that sleep and measure how late they run.
    WakeUps,
    /// The kernel's counters, read by a monitor.
    Counters,
}

impl Recorded {
    pub(super) fn from_run(run: &Run) -> Self {
        match run.method.as_str() {
            methods::WAKEUP => Recorded::WakeUps,
            methods::RATES => Recorded::Counters,
            _ if run.program.is_some() => Recorded::Program,
            _ => Recorded::Loops,
        }
    }

    /// Returns its name, and the command that makes such recordings.
    fn name(self) -> &'static str {
        match self {
            Recorded::Loops => "loops (`anechoic run`)",
            Recorded::Program => "a program (`anechoic record`)",
            Recorded::WakeUps => "wake-ups (`anechoic measure wakeup`)",
            Recorded::Counters => "the kernel's counters (`anechoic monitor`)",
        }
    }
}

/// What one file of a format holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// The detours of one CPU; of several CPUs, each has a file of its own.
    OneCpu,
    /// The detours of all CPUs of a recording.
    Detours,
    /// The rows of a table of a recording.
    Rows,
    /// The wake-ups of one kind, on all CPUs; of several kinds, each has a file of its own.
    Wakeups,
    /// The call stacks of a program, which few recordings have.
    Stacks,
    /// The summary of a recording.
    Summary,
}
