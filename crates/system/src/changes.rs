//! Changes of settings of the kernel that last as long as an [`Applied`].
//!
//! How to undo a change is in a journal before the change is made. It is undone when it is dropped, or by [`undo_all`] before
//! the process ends at once. What a killed process left is undone by [`undo_leftovers`] of the next start. Only one process
//! at a time changes settings: [`hold`]. A value that somebody else has set since is left alone.

mod journal;
mod lock;

pub(crate) use lock::hold;

use crate::machine::Root;
use anechoic_recording::tunable::TUNABLES;
use journal::{Journal, is_leftover, read, write};
use lock::Lock;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The directory of the settings of transparent huge pages.
pub(crate) const TRANSPARENT: &str = "/sys/kernel/mm/transparent_hugepage";
/// The directory of the pools of explicit huge pages.
pub(crate) const POOLS: &str = "/sys/kernel/mm/hugepages";

/// How a change is undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Undo {
    /// Writes the value from before, if the file still has what this process set.
    Write {
        /// The value from before.
        before: String,
        /// What this process set, as the file shows it; absent while it is being written, when the file may have either.
        set: Option<String>,
    },
    /// Subtracts what was added to a number, which others may have changed since.
    Subtract {
        /// The number from before.
        before: u64,
        /// What was added.
        added: u64,
    },
}

/// A change that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Made {
    number: u64,
    /// The file, as on the system itself.
    file: String,
    /// Where it lies.
    #[serde(skip)]
    path: PathBuf,
    undo: Undo,
}

/// All changes of this process that are not undone yet.
static MADE: Mutex<Vec<Made>> = Mutex::new(Vec::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

/// What became of a change that was to be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    /// The file has the value from before: it was written now, or by whoever else.
    AsBefore {
        /// Whether it was written now.
        written: bool,
    },
    /// Somebody else has set this value since, which stays.
    Foreign(String),
    /// The value from before could not be written.
    Failed(String),
}

/// A change that was undone, or why it was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    made: Made,
    outcome: Outcome,
}

impl Undone {
    /// Returns whether the value from before was written now.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.outcome == Outcome::AsBefore { written: true }
    }

    /// Returns whether the file does not have the value from before.
    #[must_use]
    pub fn is_left(&self) -> bool {
        !matches!(self.outcome, Outcome::AsBefore { .. })
    }
}

impl fmt::Display for Undone {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = &self.made.file;
        let before = match &self.made.undo {
            Undo::Write { before, .. } => before.clone(),
            Undo::Subtract { added, .. } => format!("{added} less"),
        };
        match &self.outcome {
            Outcome::AsBefore { .. } => write!(out, "{file} is {before} again"),
            Outcome::Foreign(now) => {
                write!(
                    out,
                    "{file} stays {now}, which somebody else has set meanwhile; before the trials it was {before}"
                )
            }
            Outcome::Failed(why) => write!(
                out,
                "{file} could not be put back to {before} ({why}); the next start of anechoic tries again"
            ),
        }
    }
}

/// Why a setting could not be changed.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The file does not have what this process left there, but this value.
    Foreign(String),
    /// The system's error.
    System(io::Error),
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign(now) => write!(out, "somebody else has set it to {now}"),
            Self::System(error) => error.fmt(out),
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// A change that is undone when this is dropped.
#[derive(Debug)]
pub(crate) struct Applied(u64);

impl Applied {
    /// Notes how a setting is put back, before it is changed for the first time.
    ///
    /// # Errors
    /// The file cannot be read or written, or the journal cannot be.
    pub(crate) fn prepare(root: &Root, file: &str) -> io::Result<Self> {
        let path = root.path(file);
        OpenOptions::new().write(true).custom_flags(nofollow()).open(&path)?;
        let before = value(&path)?;
        Self::noted(path, file, Undo::Write { set: Some(before.clone()), before })
    }

    /// Notes how to undo a change, and makes it with `write`.
    ///
    /// # Errors
    /// Fails if `write` does, or if the journal cannot be written; nothing is changed then.
    pub(crate) fn make(
        root: &Root,
        file: &str,
        undo: Undo,
        write: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<Self> {
        let path = root.path(file);
        // Without the right to write there is nothing to note.
        OpenOptions::new().write(true).open(&path)?;
        let applied = Self::noted(path.clone(), file, undo)?;
        // Held while it is written: what is undone meanwhile would not see all of it.
        let made = made();
        let written = write(&path);
        drop(made);
        written.map(|()| applied)
    }

    fn noted(path: PathBuf, file: &str, undo: Undo) -> io::Result<Self> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut made = made();
        made.push(Made { number, file: file.to_owned(), path, undo });
        if let Err(error) = note(&made) {
            made.pop();
            return Err(error);
        }
        Ok(Self(number))
    }

    /// Sets another value, and returns what the file then shows: some files round.
    ///
    /// # Errors
    /// Somebody else has changed it, or the system refuses it. What the file then has is known.
    pub(crate) fn set(&self, wanted: &str) -> Result<String, Refusal> {
        let mut made = made();
        let at = made.iter().position(|change| change.number == self.0);
        let at = at.ok_or_else(|| io::Error::other("it is undone"))?;
        let path = made[at].path.clone();
        if let Undo::Write { set: Some(set), .. } = &made[at].undo {
            let now = value(&path)?;
            if now != *set {
                return Err(Refusal::Foreign(now));
            }
        }
        remember(&mut made, at, None)?;
        let written = write_value(&path, wanted);
        let now = value(&path)?;
        remember(&mut made, at, Some(now.clone()))?;
        written?;
        Ok(now)
    }

    /// Returns the value from before.
    pub(crate) fn before(&self) -> Option<String> {
        let made = made();
        match &made.iter().find(|change| change.number == self.0)?.undo {
            Undo::Write { before, .. } => Some(before.clone()),
            Undo::Subtract { .. } => None,
        }
    }

    /// Returns the value that somebody else has set since this process did.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn foreign(&self) -> io::Result<Option<String>> {
        let made = made();
        let Some(change) = made.iter().find(|change| change.number == self.0) else {
            return Ok(None);
        };
        let now = value(&change.path)?;
        let Undo::Write { set: Some(set), .. } = &change.undo else { return Ok(None) };
        Ok((now != *set).then_some(now))
    }

    /// Notes that less was added than was asked for.
    pub(crate) fn got(&mut self, count: u64) {
        let mut made = made();
        if let Some(Made { undo: Undo::Subtract { added, .. }, .. }) =
            made.iter_mut().find(|change| change.number == self.0)
        {
            *added = count;
        }
        let _ = note(&made); // the old note undoes no more than was added
    }

    /// Undoes it, and returns what became of it; absent if it was undone already.
    pub(crate) fn undo(self) -> Option<Undone> {
        undo_one(self.0)
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        undo_one(self.0);
    }
}

/// Notes what a file has by this process.
fn remember(made: &mut [Made], at: usize, value: Option<String>) -> io::Result<()> {
    if let Undo::Write { set, .. } = &mut made[at].undo {
        *set = value;
    }
    note(made)
}

/// Undoes a change of this process. One that cannot be undone stays in the journal.
fn undo_one(number: u64) -> Option<Undone> {
    let mut made = made();
    let at = made.iter().position(|change| change.number == number)?;
    let change = made.remove(at).known_as_made();
    let outcome = change.undo();
    if matches!(outcome, Outcome::Failed(_)) {
        made.push(change.clone());
    }
    let _ = note(&made); // an old note undoes nothing that is undone
    Some(Undone { made: change, outcome })
}

/// Undoes all changes of this process, which is about to end without dropping them; nothing can be changed afterwards.
/// Returns those that are not as before.
pub fn undo_all() -> Vec<Undone> {
    let mut made = made();
    // Pages that are still in use stay in the pool as surplus, so its number would not show one subtraction to the next.
    let mut added_to: BTreeMap<String, Made> = BTreeMap::new();
    let mut all = vec![];
    for change in made.drain(..).rev() {
        let change = change.known_as_made();
        match (&change.undo, added_to.get_mut(&change.file)) {
            (
                Undo::Subtract { added: more, .. },
                Some(Made { undo: Undo::Subtract { added, .. }, .. }),
            ) => *added += more,
            (Undo::Subtract { .. }, _) => {
                added_to.insert(change.file.clone(), change);
            }
            (Undo::Write { .. }, _) => all.push(change),
        }
    }
    let undone = undone(all.into_iter().chain(added_to.into_values()));
    made.extend(undone.iter().rev().filter(|one| one.failed()).map(|one| one.made.clone()));
    let _ = note(&made);
    std::mem::forget(made);
    undone.into_iter().filter(Undone::is_left).collect()
}

fn undone(all: impl Iterator<Item = Made>) -> Vec<Undone> {
    all.map(|made| Undone { outcome: made.undo(), made }).collect()
}

impl Undone {
    fn failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed(_))
    }
}

/// Undoes the changes of killed processes, as far as this process may, and returns what became of those that were not as
/// before.
pub fn undo_leftovers() -> Vec<Undone> {
    undo_leftovers_in(&place(), &Root::live())
}

/// Returns whether a killed process left changes that this process could not undo.
#[must_use]
pub(crate) fn are_left() -> bool {
    let entries = fs::read_dir(place()).into_iter().flatten().flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    // Else a process of another PID namespace may have them.
    names.any(|name| is_leftover(&name)) && Lock::take(&place(), 1).is_ok()
}

/// Does nothing while another process has the lock: what it changed is no leftover, and in another PID namespace it seems
/// to be dead. The next start undoes what is left.
fn undo_leftovers_in(directory: &Path, root: &Root) -> Vec<Undone> {
    let Ok(Some(_lock)) = Lock::take(directory, 1) else { return vec![] };
    let mut all = vec![];
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if journal::is_staged_leftover(name) {
            let _ = fs::remove_file(entry.path()); // the process was killed before it had its name
        }
        if !is_leftover(name) {
            continue;
        }
        let path = directory.join(name);
        let Some(Journal { made, .. }) = read(&path) else { continue };
        let ours = made.into_iter().rev().filter(|made| is_ours(&made.file));
        let undone = undone(ours.map(|made| Made { path: root.path(&made.file), ..made }));
        let failed: Vec<Made> =
            undone.iter().rev().filter(|one| one.failed()).map(|one| one.made.clone()).collect();
        let _ = write(&path, &failed);
        all.extend(undone.into_iter().filter(|one| one.is_left() || one.is_written()));
    }
    all
}

/// Returns whether a file is one that this program changes: nothing else is written, whatever a journal says.
fn is_ours(file: &str) -> bool {
    let is_of_pages =
        [TRANSPARENT, POOLS].iter().any(|directory| Path::new(file).starts_with(directory))
            && !Path::new(file).components().any(|part| part == Component::ParentDir);
    is_of_pages || TUNABLES.iter().any(|row| row.has_file(file))
}

fn made() -> MutexGuard<'static, Vec<Made>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes how to undo the changes where the next start finds it.
fn note(made: &[Made]) -> io::Result<()> {
    write(&place().join(journal::own_name()), made)
}

/// Returns the directory of the journal.
fn place() -> PathBuf {
    if cfg!(test) { std::env::temp_dir() } else { PathBuf::from(lock::RUN) }
}

impl Made {
    /// Returns it with what this process knows: all that it says was added.
    fn known_as_made(self) -> Self {
        match self.undo {
            Undo::Subtract { added, .. } => {
                Self { undo: Undo::Subtract { before: 0, added }, ..self }
            }
            Undo::Write { .. } => self,
        }
    }

    /// Undoes a change that may have been made in part or not at all.
    fn undo(&self) -> Outcome {
        let now = match value(&self.path) {
            Ok(now) => now,
            // A device, an idle state or a CPU that is gone has no setting.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Outcome::AsBefore { written: false };
            }
            Err(error) => return Outcome::Failed(error.to_string()),
        };
        let back = match &self.undo {
            Undo::Write { before, .. } if now == *before => None,
            Undo::Write { set: Some(set), .. } if now != *set => return Outcome::Foreign(now),
            Undo::Write { before, .. } => Some(before.clone()),
            // A kill stops the kernel while it adds pages, so that there may be fewer than were asked for.
            Undo::Subtract { before, added } => {
                let rest =
                    now.parse().map(|now: u64| (now, now.saturating_sub(*added).max(*before)));
                rest.ok().filter(|(now, rest)| rest < now).map(|(_, rest)| rest.to_string())
            }
        };
        let Some(back) = back else { return Outcome::AsBefore { written: false } };
        match write_value(&self.path, &back).and_then(|()| value(&self.path)) {
            Ok(now) if now == back || matches!(self.undo, Undo::Subtract { .. }) => {
                Outcome::AsBefore { written: true }
            }
            Ok(now) => Outcome::Failed(format!("it is {now}")),
            Err(error) => Outcome::Failed(error.to_string()),
        }
    }
}

/// Returns the value of a setting: the word in brackets, or the whole text.
pub(crate) fn value(path: &Path) -> io::Result<String> {
    let text = fs::read_to_string(path)?;
    Ok(text.split(['[', ']']).nth(1).unwrap_or_else(|| text.trim()).to_owned())
}

/// Writes a value to an existing file that is no link.
fn write_value(path: &Path, value: &str) -> io::Result<()> {
    let mut file =
        OpenOptions::new().write(true).truncate(true).custom_flags(nofollow()).open(path)?;
    file.write_all(value.as_bytes())
}

fn nofollow() -> i32 {
    OFlags::NOFOLLOW.bits().cast_signed()
}

#[cfg(test)]
mod tests;
