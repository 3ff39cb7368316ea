//! The row of an import format.

use super::recorded::{Recorded, write};
use super::{Imported, Lines};
use crate::options::{Answers, OptionRow, Value};
use crate::problem::{Problem, ProblemKind};
use std::path::Path;

/// An import format.
#[derive(Debug)]
pub struct Importer {
    /// Its identifier: the name of the subcommand.
    pub id: &'static str,
    /// What it is, in one line.
    pub title: &'static str,
    /// What a file must hold, in whole sentences.
    pub details: &'static str,
    /// Its own options.
    pub options: &'static [OptionRow],
    /// Examples for the help, one a line.
    pub examples: &'static str,
    /// How a file is read.
    pub read: Read,
}

/// How a file is read.
#[derive(Debug, Clone, Copy)]
pub enum Read {
    /// Passes on the detours in it; they become one recording.
    Detours(fn(&mut Lines, &Answers, &mut Imported) -> Result<(), Problem>),
    /// Returns whole recordings, which need no other description.
    Recordings(fn(&Path) -> Result<Vec<Recorded>, Problem>),
}

/// The options of every format.
pub static COMMON: &[OptionRow] = &[
    OptionRow::new("host", Value::Path, "NAME", "Name of the host that was measured")
        .default("imported"),
    OptionRow::new(
        "duration",
        Value::Duration,
        "TIME",
        "How long was measured [default: up to the end of the last detour]",
    ),
];

/// The option of formats whose lines do not name the CPU.
pub(super) const CPU: OptionRow = OptionRow::new(
    "cpu",
    Value::Count { least: 0, most: 8191 },
    "N",
    "The measured CPU, where the file names none",
)
.default("0");

impl Importer {
    /// Returns all its options, its own first.
    #[must_use]
    pub fn all_options(&self) -> Vec<OptionRow> {
        let common = if matches!(self.read, Read::Detours(_)) { COMMON } else { &[] };
        self.options.iter().chain(common).copied().collect()
    }

    /// Makes a recording in `dir`, which must be empty or not exist, of a file of this format. Returns its number of
    /// detours.
    ///
    /// # Errors
    /// The file cannot be read, a line of it is wrong, it has no detour, or the recording cannot be written.
    pub fn import(&self, file: &Path, answers: &Answers, dir: &Path) -> Result<u64, Problem> {
        let read = match self.read {
            Read::Detours(read) => read,
            Read::Recordings(read) => return write(&read(file)?, dir),
        };
        let mut lines = Lines::open(file)?;
        let mut imported = Imported::create(dir, file, self.id, answers)?;
        let read = read(&mut lines, answers, &mut imported);
        let read = read.and_then(|()| match imported.detours() {
            0 => Err(ProblemKind::Data
                .problem("it has no detour", "check the format")
                .about(file.display())),
            _ => Ok(()),
        });
        match read {
            Ok(()) => imported.finish(&lines),
            Err(problem) => {
                imported.discard();
                Err(problem)
            }
        }
    }
}
