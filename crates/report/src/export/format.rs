//! The row of an export format.

use super::Export;
use anechoic_analyze::Progress;
use anechoic_recording::options::{Answers, OptionRow};
use anechoic_recording::{Problem, ProblemKind, Recording};
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
        let whole = Export::new(recording, self.holds == Holds::Summary, cpus, answers, progress)?;
        Ok(match self.holds {
            Holds::OneCpu => whole.by_cpu(),
            Holds::Detours | Holds::Stacks | Holds::Summary => vec![whole],
        })
    }
}

/// What one file of a format holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// The detours of one CPU; of several CPUs, each has a file of its own.
    OneCpu,
    /// The detours of all CPUs of a recording.
    Detours,
    /// The call stacks of a program, which few recordings have.
    Stacks,
    /// The summary of a recording.
    Summary,
}
