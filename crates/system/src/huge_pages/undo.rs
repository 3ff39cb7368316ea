//! How changes of settings are undone: when they are dropped, before the process ends at once, or by the next start.

use super::lock::{Lock, RUN};
use super::{choice, is_ours};
use crate::tracefs::{is_leftover, own_name};
use anechoic_recording::replace_file;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How a change is undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Undo {
    /// Writes the value from before, if the file still has what was set.
    Write {
        /// The value from before.
        before: String,
        /// The value that was set.
        set: String,
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
#[derive(Debug, Clone, PartialEq, Eq)]
struct Made {
    number: u64,
    path: PathBuf,
    undo: Undo,
}

/// All changes of this process that are not undone yet.
static MADE: Mutex<Vec<Made>> = Mutex::new(Vec::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A change that is undone when this is dropped.
#[derive(Debug)]
pub(super) struct Applied(u64);

impl Applied {
    /// Makes a change with `write`, after it is noted how to undo it.
    pub(super) fn make(
        path: PathBuf,
        undo: Undo,
        write: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<Self> {
        // Without the right to write there is nothing to note.
        OpenOptions::new().write(true).open(&path)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // Held while it is written: what is undone meanwhile would not see all of it.
        let mut made = made();
        made.push(Made { number, path: path.clone(), undo });
        note(&made);
        if let Err(error) = write(&path) {
            if let Some(failed) = made.pop() {
                failed.undo();
            }
            note(&made);
            return Err(error);
        }
        Ok(Applied(number))
    }

    /// Notes that less was added than was asked for.
    pub(super) fn got(&mut self, count: u64) {
        let mut made = made();
        if let Some(Made { undo: Undo::Subtract { added, .. }, .. }) =
            made.iter_mut().find(|change| change.number == self.0)
        {
            *added = count;
        }
        note(&made);
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        let mut made = made();
        if let Some(at) = made.iter().position(|change| change.number == self.0) {
            let change = made.remove(at);
            change.undo_own();
            note(&made);
        }
    }
}

/// Undoes all changes of this process, which is about to end without dropping them; nothing can be changed afterwards.
pub fn undo_all() {
    let mut made = made();
    // Pages that are still in use stay in the pool as surplus, so its number would not show one subtraction to the next.
    let mut added_to: BTreeMap<PathBuf, u64> = BTreeMap::new();
    for change in made.drain(..).rev() {
        match change.undo {
            Undo::Write { .. } => change.undo_own(),
            Undo::Subtract { added, .. } => *added_to.entry(change.path).or_default() += added,
        }
    }
    for (path, added) in added_to {
        Made { number: 0, path, undo: Undo::Subtract { before: 0, added } }.undo_own();
    }
    note(&made);
    std::mem::forget(made);
}

/// Undoes the changes of killed processes, as far as this process may.
pub fn undo_leftovers() {
    undo_leftovers_in(Path::new(RUN));
}

/// Does nothing while another process has the lock: what it changed is no leftover, and in another PID namespace it seems
/// to be dead. The next start undoes what is left.
fn undo_leftovers_in(directory: &Path) {
    let Ok(Some(_lock)) = Lock::take(directory, 1) else { return };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let staged = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp"));
        if staged.is_some_and(is_leftover) {
            let _ = fs::remove_file(entry.path()); // the process was killed before it had its name
        }
        if !is_leftover(name) {
            continue;
        }
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        let Some(text) = fs::read_to_string(directory.join(name)).ok().filter(|_| is_file) else {
            continue;
        };
        let made: Vec<Made> = text.lines().filter_map(parse).collect();
        let failed = |change: &Made| is_ours(&change.path) && !change.undo();
        let mut left: Vec<Made> = made.into_iter().rev().filter(failed).collect();
        left.reverse();
        write_note(&directory.join(name), &left);
    }
}

fn made() -> MutexGuard<'static, Vec<Made>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes how to undo the changes where the next start finds it. Where that is impossible, only a killed process leaves
/// changes.
fn note(made: &[Made]) {
    write_note(&Path::new(RUN).join(own_name(0)), made);
}

/// Replaces a note, or removes it if there is nothing to undo. A process that is killed leaves the old or the new note.
fn write_note(path: &Path, made: &[Made]) {
    if made.is_empty() {
        let _ = fs::remove_file(path);
        return;
    }
    let text: String = made.iter().map(Made::line).collect();
    let _ = replace_file(path, text.as_bytes());
}

impl Made {
    /// Undoes a change of this process, which knows that it was made.
    fn undo_own(&self) {
        match &self.undo {
            Undo::Subtract { added, .. } => {
                let undo = Undo::Subtract { before: 0, added: *added };
                Made { undo, ..self.clone() }.undo();
            }
            Undo::Write { .. } => {
                self.undo();
            }
        }
    }

    /// Undoes a change that may have been made in part or not at all. Returns false if that fails: the setting then stays
    /// as it is.
    fn undo(&self) -> bool {
        let now = match fs::read_to_string(&self.path) {
            Ok(now) => now,
            Err(error) => return error.kind() == io::ErrorKind::NotFound,
        };
        let value = match &self.undo {
            Undo::Write { before, set } => (choice(&now) == set).then(|| before.clone()),
            // A kill stops the kernel while it adds pages, so that there may be fewer than were asked for.
            Undo::Subtract { before, added } => now
                .trim()
                .parse::<u64>()
                .ok()
                .map(|now| (now, now.saturating_sub(*added).max(*before)))
                .filter(|(now, rest)| rest < now)
                .map(|(_, rest)| rest.to_string()),
        };
        value.is_none_or(|value| fs::write(&self.path, value).is_ok())
    }

    fn line(&self) -> String {
        let path = self.path.display();
        match &self.undo {
            Undo::Write { before, set } => format!("write {before} {set} {path}\n"),
            Undo::Subtract { before, added } => format!("subtract {before} {added} {path}\n"),
        }
    }
}

/// Reads a line of [`Made::line`].
fn parse(line: &str) -> Option<Made> {
    let mut words = line.splitn(4, ' ');
    let (how, first, second, path) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let undo = match how {
        "write" => Undo::Write { before: first.to_owned(), set: second.to_owned() },
        "subtract" => Undo::Subtract { before: first.parse().ok()?, added: second.parse().ok()? },
        _ => return None,
    };
    Some(Made { number: 0, path: PathBuf::from(path), undo })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_undone_unless_somebody_else_changed_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("setting");
        let write = || Undo::Write { before: "inherit".to_owned(), set: "never".to_owned() };
        let subtract = |added| Undo::Subtract { before: 3, added };
        let cases = [
            ("as it was set", "always [never] madvise", write(), "inherit"),
            ("changed since", "[always] never madvise", write(), "[always] never madvise"),
            ("a number", "10\n", subtract(7), "3"),
            ("others added", "12\n", subtract(7), "5"),
            ("killed while it was added, or others took some away", "8\n", subtract(7), "3"),
            ("others took more away", "2\n", subtract(7), "2\n"),
            ("it was never added", "3\n", subtract(7), "3\n"),
        ];
        for (name, now, undo, expected) in cases {
            fs::write(&path, now).expect("a file");
            let made = Made { number: 0, path: path.clone(), undo };
            assert_eq!(parse(made.line().trim_end()).as_ref(), Some(&made), "case: {name}");
            made.undo();
            assert_eq!(fs::read_to_string(&path).expect("a file"), expected, "case: {name}");
        }
    }

    #[test]
    fn what_several_changes_added_is_given_back_in_any_order() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("nr_hugepages");
        let number = || fs::read_to_string(&path).expect("a file");
        fs::write(&path, "0").expect("a file");
        let add = |before: u64, added: u64| {
            let undo = Undo::Subtract { before, added };
            let write = |path: &Path| fs::write(path, (before + added).to_string());
            Applied::make(path.clone(), undo, write).expect("allowed")
        };
        let (first, second) = (add(0, 10), add(10, 20));
        assert_eq!(number(), "30");
        drop(first);
        assert_eq!(number(), "20");
        drop(second);
        assert_eq!(number(), "0");
    }

    #[test]
    fn only_files_of_dead_processes_are_used_and_only_settings_of_huge_pages() {
        let directory = tempfile::tempdir().expect("a directory");
        let other = directory.path().join("other");
        fs::write(&other, "5").expect("a file");
        let line = format!("subtract 3 2 {}\n", other.display());
        let [dead, alive] = ["anechoic-4194305-1-0".to_owned(), own_name(0)];
        for name in [&dead, &alive] {
            fs::write(directory.path().join(name), &line).expect("a file");
        }
        let lock = Lock::take(directory.path(), 1).expect("free");
        undo_leftovers_in(directory.path());
        assert!(directory.path().join(&dead).exists(), "its process may live in another namespace");
        drop(lock);
        undo_leftovers_in(directory.path());
        assert_eq!(fs::read_to_string(&other).expect("a file"), "5", "not a setting of huge pages");
        assert!(!directory.path().join(dead).exists());
        assert!(directory.path().join(alive).exists());
        for (path, ours) in [
            ("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", true),
            ("/sys/kernel/mm/hugepages/../../../../etc/passwd", false),
            ("/etc/passwd", false),
        ] {
            assert_eq!(is_ours(Path::new(path)), ours, "{path}");
        }
    }
}
