//! The lines of an imported file, one in memory at a time.

use crate::problem::{Problem, ProblemKind};
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// More bytes than a line of any format has.
const MOST_BYTES: u64 = 64 << 10;
/// More bytes than a result in JSON has.
const MOST_JSON: u64 = 16 << 20;
/// The mark with which some programs begin a text in UTF-8.
const BYTE_ORDER: &[u8] = "\u{feff}".as_bytes();

/// What a path names that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// A regular file, which may be read again.
    Regular,
    /// That, or a pipe such as `<(zcat FILE)`, which is read once.
    Once,
}

/// Opens a regular file; returns it and when it was written, if that is known.
pub(super) fn open_regular(path: &Path) -> Result<(File, Option<SystemTime>), Problem> {
    open(path, Source::Regular)
}

fn open(path: &Path, source: Source) -> Result<(File, Option<SystemTime>), Problem> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => {
            let why = format!("there is no {}", path.display());
            ProblemKind::NoInput.problem(why, "check the path")
        }
        _ => Problem::unreadable(path, &error),
    };
    // Before it is opened: a device may act when it is.
    let about = fs::metadata(path).map_err(failed)?;
    if source == Source::Once && is_pipe(&about) {
        return Ok((File::open(path).map_err(failed)?, None));
    }
    if !about.is_file() {
        let what = if about.is_dir() { "a directory" } else { "not a regular file" };
        let why = format!("{} is {what}", path.display());
        return Err(ProblemKind::Usage.problem(why, "name a file"));
    }
    Ok((File::open(path).map_err(failed)?, about.modified().ok()))
}

fn is_pipe(about: &fs::Metadata) -> bool {
    #[cfg(unix)]
    let is_pipe = std::os::unix::fs::FileTypeExt::is_fifo(&about.file_type());
    #[cfg(not(unix))]
    let is_pipe = false;
    let _ = about; // other systems have no pipes with a path
    is_pipe
}

/// A file that is read line by line.
#[derive(Debug)]
pub struct Lines {
    path: PathBuf,
    reader: BufReader<File>,
    modified: Option<SystemTime>,
}

impl Lines {
    /// Opens a file or a pipe.
    pub(super) fn open(path: &Path) -> Result<Self, Problem> {
        Self::open_as(path, Source::Once)
    }

    /// Opens a regular file, which is read more than once.
    pub(super) fn open_regular(path: &Path) -> Result<Self, Problem> {
        Self::open_as(path, Source::Regular)
    }

    fn open_as(path: &Path, source: Source) -> Result<Self, Problem> {
        let (file, modified) = open(path, source)?;
        Ok(Self { path: path.to_owned(), reader: BufReader::new(file), modified })
    }

    /// Returns when the file was written, if that is known.
    pub(super) fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    /// Returns the number at the end of the file's name after a dot, as in `raw.03`.
    pub(super) fn number_in_name(&self) -> Option<u32> {
        self.path.extension()?.to_str()?.parse().ok()
    }

    /// Returns the content if it is a JSON object; `None` if the file begins with something else.
    ///
    /// # Errors
    /// The file cannot be read, is too long, or is not such an object.
    pub(super) fn json<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Problem> {
        let unreadable = |error: io::Error| Problem::unreadable(&self.path, &error);
        let begin = self.reader.fill_buf().map_err(unreadable)?;
        let begin = begin.strip_prefix(BYTE_ORDER).unwrap_or(begin);
        if begin.trim_ascii_start().first() != Some(&b'{') {
            return Ok(None);
        }
        let mut text = vec![];
        let read = self.reader.by_ref().take(MOST_JSON).read_to_end(&mut text);
        if read.map_err(unreadable)? as u64 == MOST_JSON {
            return Err(
                wrong(format!("it has over {} MiB", MOST_JSON >> 20)).about(self.path.display())
            );
        }
        let text = text.strip_prefix(BYTE_ORDER).unwrap_or(&text);
        let parsed = serde_json::from_slice(text);
        parsed.map(Some).map_err(|error| wrong(error.to_string()).about(self.path.display()))
    }

    /// Adds the name of the file to what is wrong with it as a whole.
    pub(super) fn about(&self, problem: Problem) -> Problem {
        match problem.kind {
            ProblemKind::Data => problem.about(self.path.display()),
            _ => problem,
        }
    }

    /// Passes each line to `take`, without its end and blanks around it. Empty lines are skipped. What is wrong with one
    /// is reported with its number.
    ///
    /// # Errors
    /// Returns errors of `take` and of reading; a line is too long or no text.
    pub(super) fn each(
        &mut self,
        mut take: impl FnMut(&str) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let mut line = vec![];
        for number in 1_u64.. {
            line.clear();
            let read = self.reader.by_ref().take(MOST_BYTES).read_until(b'\n', &mut line);
            if read.map_err(|error| Problem::unreadable(&self.path, &error))? == 0 {
                break;
            }
            let line =
                line.strip_prefix(if number == 1 { BYTE_ORDER } else { &[] }).unwrap_or(&line);
            let done = match std::str::from_utf8(line) {
                _ if line.len() as u64 == MOST_BYTES => Err(wrong("the line is too long")),
                Err(_) => Err(wrong("the line is no text in UTF-8")),
                Ok(text) if text.trim().is_empty() => Ok(()),
                Ok(text) => take(text.trim()),
            };
            done.map_err(|problem| match problem.kind {
                ProblemKind::Data => {
                    problem.about(format_args!("{}, line {number}", self.path.display()))
                }
                _ => problem,
            })?;
        }
        Ok(())
    }
}

/// Returns the problem of a line.
pub(super) fn wrong(why: impl Into<String>) -> Problem {
    ProblemKind::Data.problem(why, "check the file and the format (`anechoic import --help`)")
}

/// Reads a time in units of this many nanoseconds; whole nanoseconds exactly, others rounded to the nearest.
pub(super) fn time_ns(text: &str, unit_ns: u64) -> Result<u64, Problem> {
    if let Some(ns) = text.parse::<u64>().ok().and_then(|time| time.checked_mul(unit_ns)) {
        return Ok(ns);
    }
    match text.parse::<f64>().map(|time| time * unit_ns as f64) {
        Ok(ns) if (0.0..1e18).contains(&ns) => Ok(ns.round() as u64),
        Ok(ns) if ns < 0.0 => Err(wrong(format!("'{text}' is negative"))),
        _ => Err(wrong(format!("'{text}' is no time"))),
    }
}
