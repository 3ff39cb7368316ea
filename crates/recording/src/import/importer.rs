//! The row of an import format.

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
    /// Reads a file and passes on its detours.
    pub read: fn(&mut Lines, &Answers, &mut Imported) -> Result<(), Problem>,
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
    /// Makes a recording in `dir`, which must be empty or not exist, of a file of this format. Returns its number of
    /// detours.
    ///
    /// # Errors
    /// The file cannot be read, a line of it is wrong, it has no detour, or the recording cannot be written.
    pub fn import(&self, file: &Path, answers: &Answers, dir: &Path) -> Result<u64, Problem> {
        let mut lines = Lines::open(file)?;
        let mut imported = Imported::create(dir, file, self.id, answers)?;
        let read = (self.read)(&mut lines, answers, &mut imported);
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
