//! The row of an export format.

use super::Export;
use anechoic_analyze::Progress;
use anechoic_recording::options::{Answers, OptionRow};
use anechoic_recording::{Problem, ProblemKind, Recording, methods};
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
    /// Whether what it holds is the noise of a CPU, which a recorded program does not show.
    pub loops_only: bool,
    /// Whether it also holds the wake-ups of `measure wakeup`.
    pub wakeups: bool,
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
    /// The gaps of the recording were not watched, it is of a program and the format is not, it lacks one of the CPUs, or a file is damaged.
    pub fn exports<'a>(
        &self,
        recording: &'a Recording,
        cpus: Option<&[u32]>,
        answers: &'a Answers,
        progress: &'a dyn Fn(Progress),
    ) -> Result<Vec<Export<'a>>, Problem> {
        if self.loops_only && recording.run().program.is_some() {
            let why = "a recording of a program does not show the noise of a CPU, which this format holds";
            let remedy = "`anechoic run` measures that; csv, hdr-log, hgrm and perfetto hold the detours of a program";
            return Err(ProblemKind::Data.problem(why, remedy).about(recording.dir().display()));
        }
        if recording.run().method == methods::WAKEUP {
            return self.wakeup_exports(recording, cpus, answers, progress);
        }
        if self.holds == Holds::Wakeups {
            let why = "it is no recording of wake-ups, which this format holds";
            let remedy = "`anechoic measure wakeup` measures them";
            return Err(ProblemKind::Data.problem(why, remedy).about(recording.dir().display()));
        }
        let whole = Export::new(recording, self.holds == Holds::Summary, cpus, answers, progress)?;
        Ok(match self.holds {
            Holds::OneCpu => whole.by_cpu(),
            _ => vec![whole],
        })
    }

    /// Returns the files that it makes of a recording of wake-ups.
    fn wakeup_exports<'a>(
        &self,
        recording: &'a Recording,
        cpus: Option<&[u32]>,
        answers: &'a Answers,
        progress: &'a dyn Fn(Progress),
    ) -> Result<Vec<Export<'a>>, Problem> {
        if !self.wakeups {
            let why = "it is a recording of wake-ups, which this format does not hold";
            let remedy = "cyclictest, hdr-log, hgrm, openmetrics, perfetto and prometheus do";
            return Err(ProblemKind::Data.problem(why, remedy).about(recording.dir().display()));
        }
        let whole = Export::from_wakeups(recording, cpus, answers, progress)?;
        Ok(match self.holds {
            Holds::Detours | Holds::Wakeups if !self.has_times() => whole.by_kind()?,
            _ => vec![whole],
        })
    }

    /// Returns whether a file shows when each thing was.
    fn has_times(&self) -> bool {
        self.binary
    }
}

/// What one file of a format holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// The detours of one CPU; of several CPUs, each has a file of its own.
    OneCpu,
    /// The detours of all CPUs of a recording.
    Detours,
    /// The wake-ups of one kind, on all CPUs; of several kinds, each has a file of its own.
    Wakeups,
    /// The call stacks of a program, which few recordings have.
    Stacks,
    /// The summary of a recording.
    Summary,
}
