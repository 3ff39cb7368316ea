//! Opens recordings: one directory, or those below a directory.

use crate::attribution::Attribution;
use crate::bounded::{MOST_BYTES, read_file};
use crate::checksums::{SUMS, Sum, Sums, sum_of, sum_of_file};
use crate::durable;
use crate::machine::MOST_CPUS;
use crate::opened::Opened;
use crate::part::part_name;
use crate::problem::Problem;
use crate::recorder::RUN;
use crate::rows::TABLES;
use crate::run::{FORMAT_VERSION, Run, RunState};
use std::collections::HashSet;
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// More bytes than a file of a recording has. A part is complete with the row group that reaches 64 MiB, and
/// other programs may write a few of them as one. A file of holes can have any size, and reading it would take hours.
const MOST_FILE: u64 = 256 << 20;

/// The name of the file with the checks of attribution.
pub(crate) const ATTRIBUTION: &str = "attribution.json";
/// A recording that can be read. Damaged files are detected before they are used.
#[derive(Debug)]
pub struct Recording {
    pub(crate) dir: PathBuf,
    pub(crate) run: Run,
    sums: Option<Sums>,
    /// Files that already matched their checksum.
    verified: Mutex<HashSet<PathBuf>>,
    /// The parts that its readers share, while somebody keeps them open.
    opened: Mutex<Weak<Opened>>,
}

impl Recording {
    /// Opens the recording in `dir`. Tables are verified when they are first read.
    ///
    /// # Errors
    /// Fails if there is no recording, if a newer version wrote it, or if its `run.json`, its checksums or
    /// its list of parts is damaged.
    pub fn open(dir: &Path) -> Result<Self, Problem> {
        let file = dir.join(RUN);
        let content = match read_file(&file, MOST_BYTES) {
            Ok(content) => content,
            Err(error) if absent(&error) => {
                return Err(Problem::no_recording(dir));
            }
            Err(source) => return Err(Problem::unreadable(&file, &source)),
        };
        let sums = Sums::read(dir);
        let sum = sums.as_ref().ok().and_then(|sums| sums.as_ref()?.get(RUN));
        let content = match sum {
            Some(sum) => matching(&file, content, sum)?,
            None => content,
        };
        let run = parse(dir, &file, &content)?;
        let (verified, opened) = (Mutex::default(), Mutex::default());
        let recording = Self { dir: dir.to_owned(), run, sums: sums?, verified, opened };
        recording.check_files()?;
        note_readers(dir);
        Ok(recording)
    }

    /// Returns the description of the run.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Returns the same recording with these CPUs alone: to its readers, no others were measured.
    #[must_use]
    pub fn on_cpus(mut self, cpus: &[u32]) -> Self {
        self.run.cpus.retain(|cpu| cpus.contains(&cpu.cpu));
        self
    }

    /// Returns the directory of the recording.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns whether the run was killed before its end; its completed parts are readable.
    #[must_use]
    pub fn cut_off(&self) -> bool {
        self.run.state == RunState::Running
    }

    /// Returns the size of its files in bytes; those that cannot be looked at count nothing.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let tables = TABLES.iter().flat_map(|table| self.parts(table.name).unwrap_or_default());
        let others = [RUN, SUMS, ATTRIBUTION].map(|name| self.dir.join(name));
        let sizes = tables.chain(others).filter_map(|file| Some(fs::metadata(file).ok()?.len()));
        sizes.fold(0, u64::saturating_add)
    }

    /// Lets all readers of this recording share the parts that they open, for as long as the returned value is held.
    ///
    /// Opening a part parses where all of its row groups are, and a pass over all CPUs would do that once for every CPU.
    /// Nothing is kept open longer, because a process may hold more recordings than it may have open files.
    #[must_use]
    pub fn keep_open(&self) -> Arc<Opened> {
        let mut opened = self.opened.lock().expect("no holder panics");
        opened.upgrade().unwrap_or_else(|| {
            let new = Arc::default();
            *opened = Arc::downgrade(&new);
            new
        })
    }

    /// Returns what keeps parts open now, if anything does.
    pub(crate) fn opened(&self) -> Option<Arc<Opened>> {
        self.opened.lock().expect("no holder panics").upgrade()
    }

    /// Compares all files with their checksums.
    ///
    /// # Errors
    /// Returns the first difference.
    pub fn verify(&self) -> Result<(), Problem> {
        let names = self.sums.iter().flat_map(Sums::names).filter(|&name| name != RUN);
        names.map(|name| self.dir.join(name)).try_for_each(|file| self.verify_file(&file))
    }

    /// Returns the checks of attribution; `None` before the first attribution.
    ///
    /// # Errors
    /// Fails if the file is damaged.
    pub fn attribution(&self) -> Result<Option<Attribution>, Problem> {
        let file = self.dir.join(ATTRIBUTION);
        match read_file(&file, MOST_BYTES) {
            Ok(content) => {
                self.verify_file(&file)?;
                let parsed = serde_json::from_slice(&content);
                parsed.map(Some).map_err(|e| Problem::damaged(&file, e))
            }
            Err(error) if absent(&error) => Ok(None),
            Err(source) => Err(Problem::unreadable(&file, &source)),
        }
    }

    /// Returns the part files of a table, in order.
    pub(crate) fn parts(&self, table: &str) -> Result<Vec<PathBuf>, Problem> {
        let dir = self.dir.join(table);
        let failed = |source: io::Error| Problem::unreadable(&dir, &source);
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(failed(source)),
        };
        let mut numbers = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            numbers.extend(name.to_str().and_then(part_number));
        }
        numbers.sort_unstable();
        let path = |number| dir.join(part_name(number));
        // Parts are numbered without gaps, so a gap is a file that was removed.
        match (0..).zip(&numbers).find(|&(expected, &number)| expected != number) {
            Some((missing, _)) => Err(Problem::missing(&path(missing))),
            None => Ok(numbers.into_iter().map(path).collect()),
        }
    }

    /// Compares a file with its checksum, once. A file that needs no checksum passes without one.
    pub(crate) fn verify_file(&self, file: &Path) -> Result<(), Problem> {
        let sum = self.sum(file);
        let Some(sum) = sum.filter(|_| !self.is_verified(file)) else { return Ok(()) };
        let bytes = fs::metadata(file).map_err(|source| Problem::unreadable(file, &source))?.len();
        if bytes > MOST_FILE {
            let why =
                format!("it has {bytes} bytes, and no file of a recording has over {MOST_FILE}");
            return Err(Problem::damaged(file, why));
        }
        let found = sum_of_file(file);
        let found = found.map_err(|source| Problem::unreadable(file, &source))?;
        if found != *sum {
            return Err(Problem::checksum(file));
        }
        self.verified.lock().expect("no holder panics").insert(file.to_owned());
        Ok(())
    }

    fn is_verified(&self, file: &Path) -> bool {
        self.verified.lock().expect("no holder panics").contains(file)
    }

    fn sum(&self, file: &Path) -> Option<&Sum> {
        let parts = file.strip_prefix(&self.dir).ok()?.iter().map(|part| part.to_str());
        self.sums.as_ref()?.get(&parts.collect::<Option<Vec<_>>>()?.join("/"))
    }

    /// Checks that every listed file exists and that every measured file of a finished run is listed.
    fn check_files(&self) -> Result<(), Problem> {
        let Some(sums) = &self.sums else { return Ok(()) };
        for name in sums.names() {
            let file = self.dir.join(name);
            if !file.is_file() {
                return Err(Problem::missing(&file));
            }
        }
        if self.cut_off() {
            return Ok(());
        }
        let mut measured = vec![self.dir.join(RUN)];
        for table in TABLES.iter().filter(|table| table.measured) {
            measured.extend(self.parts(table.name)?);
        }
        match measured.into_iter().find(|file| self.sum(file).is_none()) {
            Some(file) => Err(Problem::unlisted(&file)),
            None => Ok(()),
        }
    }
}

/// The permissions of the directories of all recordings that this process has opened, those that all of them have.
static READERS: AtomicU32 = AtomicU32::new(0o777);

/// Returns the permissions that a file may have which is derived from the recordings that this process has opened: who may
/// not read one of them may not read the file either.
#[must_use]
pub fn readers() -> u32 {
    READERS.load(Ordering::Acquire)
}

fn note_readers(dir: &Path) {
    #[cfg(target_os = "linux")]
    if let Ok(about) = fs::metadata(dir) {
        READERS.fetch_and(std::os::unix::fs::MetadataExt::mode(&about), Ordering::AcqRel);
    }
    let _ = dir; // other systems have no such permissions
}

/// Opens the recordings at `path`: itself, or those one or two levels below, sorted by name.
///
/// # Errors
/// Fails if there is none, or if a recording cannot be opened.
pub fn find(path: &Path) -> Result<Vec<Recording>, Problem> {
    find_each(path)?.into_iter().collect()
}

/// The same, where one that cannot be opened hides no other.
///
/// # Errors
/// Fails if there is none, or if a directory cannot be read.
pub fn find_each(path: &Path) -> Result<Vec<Result<Recording, Problem>>, Problem> {
    if path.join(RUN).exists() {
        return Ok(vec![Recording::open(path)]);
    }
    let mut found = Vec::new();
    for below in subdirectories(path)? {
        if below.join(RUN).exists() {
            found.push(Recording::open(&below));
            continue;
        }
        let two_below = subdirectories(&below)?.into_iter().filter(|dir| dir.join(RUN).exists());
        found.extend(two_below.map(|dir| Recording::open(&dir)));
    }
    if found.is_empty() {
        return Err(Problem::no_recording_below(path));
    }
    Ok(found)
}

/// Returns the subdirectories of `dir` whose names do not begin with a dot, by name; empty if `dir` is not a
/// directory.
fn subdirectories(dir: &Path) -> Result<Vec<PathBuf>, Problem> {
    let failed = |source: io::Error| Problem::unreadable(dir, &source);
    let mut below = Vec::new();
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if absent(&error) => return Ok(below),
        Err(source) => return Err(failed(source)),
    };
    for entry in entries {
        let entry = entry.map_err(failed)?;
        if entry.path().is_dir() && !entry.file_name().to_string_lossy().starts_with('.') {
            below.push(entry.path());
        }
    }
    below.sort();
    Ok(below)
}

fn absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns the bytes that match the checksum: those of the file, or those that a killed writer was about to
/// rename to it.
fn matching(file: &Path, content: Vec<u8>, sum: &Sum) -> Result<Vec<u8>, Problem> {
    if sum_of(&content) == *sum {
        return Ok(content);
    }
    let staged = read_file(&durable::temporary(file), MOST_BYTES)
        .ok()
        .filter(|staged| sum_of(staged) == *sum);
    staged.ok_or_else(|| Problem::checksum(file))
}

/// Parses `run.json`, its version first, because a newer one may have other fields.
fn parse(dir: &Path, file: &Path, content: &[u8]) -> Result<Run, Problem> {
    let damaged = |why: &dyn Display| Problem::damaged(file, why);
    let value: serde_json::Value =
        serde_json::from_slice(content).map_err(|error| damaged(&error))?;
    let version = value.get("format_version").and_then(serde_json::Value::as_u64);
    match version {
        None | Some(0) => Err(damaged(&"it has no format_version")),
        Some(found) if found > u64::from(FORMAT_VERSION) => {
            Err(Problem::newer(dir, found, FORMAT_VERSION))
        }
        Some(_) => {
            let run: Run = serde_json::from_value(value).map_err(|error| damaged(&error))?;
            match run.cpus.len().max(run.machine.cpus.len()) {
                many if many > MOST_CPUS as usize => Err(damaged(&format!("it has {many} CPUs"))),
                _ => Ok(run),
            }
        }
    }
}

/// Returns the number in a part's name; `None` for other files.
fn part_number(name: &str) -> Option<usize> {
    let digits = name.strip_prefix("part-")?.strip_suffix(".parquet")?;
    let number = digits.parse().ok()?;
    (part_name(number) == name).then_some(number)
}
