//! Files and directories that are not complete yet. A signal that ends the process removes them first.

use crate::stop;
use anechoic_recording::{Problem, create_nothing_more};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// How often a directory is removed into which another thread still writes.
const TRIES: usize = 100;

/// What is not complete yet. While somebody holds the lock, nothing of it becomes complete and nothing is removed.
static ALL: Mutex<Vec<(PathBuf, What)>> = Mutex::new(vec![]);

/// What of a path is not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// The file or directory itself.
    Whole,
    /// What is in the directory, which was there before.
    Content,
}

/// A file or directory that is removed if a signal ends the process while this lives.
#[derive(Debug)]
pub(crate) struct Unfinished(PathBuf);

impl Unfinished {
    /// Creates something whose name is known only then. A signal ends the process before that, or when it is known.
    ///
    /// # Errors
    /// Returns the error of `create`.
    pub(crate) fn create<T>(
        create: impl FnOnce() -> io::Result<T>,
        path: impl FnOnce(&T) -> &Path,
    ) -> io::Result<(T, Self)> {
        let mut all = watched();
        let created = create()?;
        let path = path(&created).to_owned();
        all.push((path.clone(), What::Whole));
        drop(all);
        Ok((created, Self(path)))
    }

    fn new(path: &Path, what: What) -> Self {
        watched().push((path.to_owned(), what));
        Self(path.to_owned())
    }

    /// Has a directory removed in a command that has nothing to save: the first signal then ends it at once. Of a directory
    /// that this command did not make, `made` is false, and only what is in it is removed.
    ///
    /// # Errors
    /// Fails if signals cannot be caught.
    pub(crate) fn alone(dir: &Path, made: bool) -> Result<Self, Problem> {
        stop::end_at_once()?;
        Ok(Self::new(dir, if made { What::Whole } else { What::Content }))
    }

    /// Completes it, for example by a new name. No signal ends the process meanwhile.
    pub(crate) fn complete<T>(self, act: impl FnOnce() -> T) -> T {
        let mut all = all();
        let done = act();
        all.retain(|(path, _)| *path != self.0);
        drop(all);
        done
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        all().retain(|(path, _)| *path != self.0);
    }
}

/// Returns what is not complete, and has a signal remove it.
fn watched() -> MutexGuard<'static, Vec<(PathBuf, What)>> {
    static FIRST: Once = Once::new();
    FIRST.call_once(|| stop::before_sudden_end(remove_all));
    all()
}

fn all() -> MutexGuard<'static, Vec<(PathBuf, What)>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes everything that is not complete. The process ends next, so nothing may become complete any more.
fn remove_all() {
    let all = all();
    create_nothing_more();
    for (path, what) in all.iter() {
        match what {
            What::Whole => remove(path),
            What::Content => empty(path),
        }
    }
    std::mem::forget(all);
}

/// Removes what is in a directory.
fn empty(dir: &Path) {
    let entries = || fs::read_dir(dir).into_iter().flatten().flatten();
    for _ in 0..TRIES {
        entries().for_each(|entry| remove(&entry.path()));
        if entries().next().is_none() {
            return;
        }
    }
}

fn remove(path: &Path) {
    for _ in 0..TRIES {
        let removed = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
        if removed.is_ok() || path.symlink_metadata().is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_signal_removes_between_creation_and_knowledge_of_the_name() {
        let place = tempfile::tempdir().expect("a place");
        let path = place.path().join("new");
        let create = || {
            assert!(ALL.try_lock().is_err(), "what removes all waits for the lock");
            fs::create_dir(&path).map(|()| path.clone())
        };
        let (created, unfinished) = Unfinished::create(create, |path| path).expect("a directory");
        let is_known = || all().iter().any(|(known, _)| *known == created);
        assert!(is_known());
        drop(unfinished);
        assert!(!is_known());
        let failed =
            Unfinished::create(|| fs::create_dir(&path).map(|()| path.clone()), |path| path);
        assert!(failed.is_err() && !is_known(), "it exists");
    }
}
