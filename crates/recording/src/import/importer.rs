//! The row of an import format.

use super::recorded::{Recorded, write};
use super::{Imported, Lines};
use crate::options::{Answers, OptionRow, Value};
use crate::problem::{Problem, ProblemKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

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
    /// Makes the recording of a file in a directory, which must be empty or not exist; returns its number of detours.
    Recording(fn(&Path, &Answers, &Path) -> Result<u64, Problem>),
    /// The same, of a file that may have several runs: then each becomes a recording in a directory of its own.
    Runs(fn(&Path, &Answers, &Path) -> Result<u64, Problem>),
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
        let common =
            if matches!(self.read, Read::Detours(_) | Read::Runs(_)) { COMMON } else { &[] };
        self.options.iter().chain(common).copied().collect()
    }

    /// Makes a recording in `dir`, which must be empty or not exist, of files of this format. Returns its number of
    /// detours.
    ///
    /// # Errors
    /// A file cannot be read, a line of it is wrong, they have nothing that was measured, or the recording cannot be
    /// written.
    pub fn import(&self, files: &[PathBuf], answers: &Answers, dir: &Path) -> Result<u64, Problem> {
        let was_there = dir.symlink_metadata().is_ok();
        let done = self.import_into(files, answers, dir);
        if done.is_err() && !was_there {
            let _ = std::fs::remove_dir(dir); // fails unless it is empty
        }
        done
    }

    /// The same; if it fails, an empty directory may be left.
    fn import_into(
        &self,
        files: &[PathBuf],
        answers: &Answers,
        dir: &Path,
    ) -> Result<u64, Problem> {
        let [first, ..] = files else {
            return Err(ProblemKind::Usage.problem("there is no file", "name one"));
        };
        let read = match self.read {
            Read::Detours(read) => read,
            Read::Recording(_) | Read::Runs(_) | Read::Recordings(_) if files.len() > 1 => {
                let why = format!("{} takes one file", self.id);
                return Err(ProblemKind::Usage.problem(why, "import the others one by one"));
            }
            Read::Recording(read) | Read::Runs(read) => return read(first, answers, dir),
            Read::Recordings(read) => return write(&read(first)?, dir),
        };
        let mut imported = Imported::create(dir, first, self.id, answers)?;
        match read_all(read, files, answers, &mut imported) {
            Ok(written) => imported.finish(written),
            Err(problem) => {
                imported.discard();
                Err(problem)
            }
        }
    }
}

/// Reads the files one after the other; returns when the last was written.
fn read_all(
    read: fn(&mut Lines, &Answers, &mut Imported) -> Result<(), Problem>,
    files: &[PathBuf],
    answers: &Answers,
    imported: &mut Imported,
) -> Result<Option<SystemTime>, Problem> {
    let mut written = None;
    for file in files {
        let mut lines = Lines::open(file)?;
        read(&mut lines, answers, imported)?;
        imported.next_file();
        written = written.max(lines.modified());
    }
    if imported.is_empty() {
        let nothing = ProblemKind::Data.problem("it has no detour", "check the format");
        return Err(nothing.about(files[0].display()));
    }
    Ok(written)
}
