//! The directory of a service: recordings with numbers that rise, none older than there is room for, one service at a time.

use anechoic_recording::{Problem, ProblemKind, Recording, create_own_dir, verify_place};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// Recordings of counters.
pub(super) const COUNTERS: &str = "counters";
/// Recordings of what ran, that were saved.
pub(super) const SAVED: &str = "saved";
/// Recordings that still wait for something to save them for.
pub(super) const WAITING: &str = ".waiting";

/// Directories with larger numbers are somebody else's.
const MOST_NUMBER: u64 = 1 << 48;

/// The directory, which this process alone writes to while this lives.
pub(super) struct MonitorPlace {
    dir: PathBuf,
    most_bytes: u64,
    /// The number of the next recording.
    next: u64,
    /// Recordings that are being written.
    open: Option<PathBuf>,
    _lock: File,
}

/// Parses a size like `500M` or `2G`.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is no size; write for example 500M or 2G (at least 16M)");
    let text = text.trim();
    let (number, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'm' | 'M')) => (&text[..at], 20),
        Some((at, 'g' | 'G')) => (&text[..at], 30),
        Some((at, 't' | 'T')) => (&text[..at], 40),
        _ => (text, 0),
    };
    let number: u64 = number.trim().parse().map_err(|_| wrong())?;
    number.checked_mul(1 << unit).filter(|bytes| *bytes >= 16 << 20).ok_or_else(wrong)
}

impl MonitorPlace {
    /// Makes the directory unless it exists, and keeps other services out of it.
    pub(super) fn take(dir: &Path, most_bytes: u64) -> Result<Self, Problem> {
        let failed = |error: std::io::Error| Problem::cannot_write_to(dir, &error);
        create_own_dir(dir).map_err(failed)?;
        verify_place(dir).map_err(failed)?;
        let lock = File::open(dir).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let why = format!("another `anechoic monitor` writes to {}", dir.display());
                return Err(ProblemKind::CannotWrite.problem(why, "name another directory with -o"));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut place = Self { dir: dir.to_owned(), most_bytes, next: 1, open: None, _lock: lock };
        let numbers = place.all().into_iter().map(|(number, _)| number);
        place.next = numbers.max().unwrap_or_default() + 1;
        place.remove_waiting();
        Ok(place)
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the directory of the next recording of this kind, which does not exist.
    pub(super) fn next(&mut self, kind: &str) -> PathBuf {
        let number = self.next;
        self.next += 1;
        self.dir.join(format!("{kind}-{number:06}"))
    }

    /// Tells which recording of counters is being written.
    pub(super) fn opened(&mut self, dir: Option<&Path>) {
        self.open = dir.map(Path::to_owned);
    }

    /// Returns the recordings with their numbers, the oldest first.
    fn all(&self) -> Vec<(u64, PathBuf)> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let mut all: Vec<(u64, PathBuf)> = entries
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let (kind, number) = name.rsplit_once('-')?;
                let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let is_own = is_dir && [COUNTERS, SAVED, WAITING].contains(&kind);
                let number =
                    number.parse().ok().filter(|number| is_own && *number < MOST_NUMBER)?;
                Some((number, entry.path()))
            })
            .collect();
        all.sort();
        all
    }

    /// Removes what a service left that was killed: recordings of which nothing is kept. Those that are still being written by
    /// a recorder which is about to end stay.
    fn remove_waiting(&self) {
        for (_, dir) in self.all() {
            let waits =
                dir.file_name().is_some_and(|name| name.to_string_lossy().starts_with(WAITING));
            let is_held =
                || Recording::open(&dir).is_ok_and(|it| it.try_hold().is_ok_and(|it| it.is_none()));
            if waits && !is_held() {
                let _ = fs::remove_dir_all(&dir);
            }
        }
    }

    /// Removes the oldest recordings until the others have room; returns how much is kept, in bytes.
    pub(super) fn make_room(&self) -> u64 {
        let all = self.all();
        let sizes: Vec<u64> = all.iter().map(|(_, dir)| size(dir)).collect();
        let mut total: u64 = sizes.iter().sum();
        for ((_, dir), size) in all.iter().zip(sizes) {
            if total <= self.most_bytes {
                break;
            }
            let waits =
                dir.file_name().is_some_and(|name| name.to_string_lossy().starts_with(WAITING));
            // What is no recording is somebody else's.
            if waits || self.open.as_ref() == Some(dir) || Recording::open(dir).is_err() {
                continue;
            }
            if fs::remove_dir_all(dir).is_ok() {
                total -= size;
            }
        }
        total
    }
}

/// Returns the size of the files in a directory and those below it, in bytes, without following links.
fn size(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(about) if about.is_dir() => size(&entry.path()),
        Ok(about) => about.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a recording with a file of this size in it.
    fn recording(dir: &Path, name: &str, bytes: usize) {
        let run = anechoic_lab::builders::run("program", anechoic_lab::builders::clock(1), vec![]);
        let recorder = anechoic_recording::Recorder::create(&dir.join(name), &run);
        recorder.and_then(|recorder| recorder.finish(&run)).expect("a recording");
        fs::create_dir_all(dir.join(name).join("beside")).expect("made");
        fs::write(dir.join(name).join("beside/part"), vec![0; bytes]).expect("written");
    }

    #[test]
    fn sizes_are_typed_as_usual() {
        for (text, expected) in
            [("500M", Some(500 << 20)), ("2G", Some(2 << 30)), ("1 t", Some(1 << 40))]
        {
            assert_eq!(bytes(text).ok(), expected, "{text}");
        }
        for text in ["", "G", "-1G", "1M", "x", "99999999999T"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_oldest_goes_first_and_what_is_written_stays() {
        let above = tempfile::tempdir().expect("a directory");
        let dir = above.path().join("monitor");
        let mut place = MonitorPlace::take(&dir, 2_500_000).expect("a place");
        for (name, bytes) in [
            ("counters-000001", 1_000_000),
            ("saved-000002", 1_000_000),
            ("counters-000003", 1_000_000),
            ("saved-000004", 1_000_000),
        ] {
            recording(&dir, name, bytes);
        }
        recording(&dir, "mine-000001", 5_000_000);
        fs::create_dir_all(dir.join("saved-7")).expect("made");
        fs::write(dir.join("saved-7/thesis.txt"), vec![0; 1_000]).expect("written");
        fs::create_dir_all(dir.join(format!("counters-{}", u64::MAX))).expect("made");
        fs::write(dir.join("counters-000000"), "a file").expect("written");
        std::os::unix::fs::symlink(above.path(), dir.join("saved-000001")).expect("a link");
        place.opened(Some(&dir.join("counters-000001")));
        let kept = place.make_room();
        let left = |name: &str| dir.join(name).exists();
        assert!(left("counters-000001") && left("mine-000001") && above.path().exists());
        assert!(!left("saved-000002") && !left("counters-000003"), "the oldest that are not open");
        assert!(left("saved-000004"));
        assert!(kept < 2_500_000 && left("saved-7/thesis.txt"), "{kept}");
    }

    #[test]
    fn numbers_go_on_and_a_second_service_is_refused() {
        let above = tempfile::tempdir().expect("a directory");
        let dir = above.path().join("monitor");
        recording(&dir, "saved-000041", 1);
        recording(&dir, ".waiting-000042", 1);
        let mut place = MonitorPlace::take(&dir, 1 << 30).expect("a place");
        assert_eq!(place.next(SAVED), dir.join("saved-000043"));
        assert!(!dir.join(".waiting-000042").exists(), "nothing of it was kept");
        assert!(MonitorPlace::take(&dir, 1 << 30).is_err());
        drop(place);
        assert!(MonitorPlace::take(&dir, 1 << 30).is_ok());
    }
}
