//! Whole files in a directory that several hosts see, each perhaps some time after it was written.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes before the content: how long it is.
const HEAD: usize = size_of::<u64>();
/// The first nap between two looks,
const SHORTEST_NAP: Duration = Duration::from_millis(10);
/// and the longest.
const LONGEST_NAP: Duration = Duration::from_millis(100);

/// Writes a file that others see whole or not at all.
///
/// It takes its name only when it is written. Not made lasting: nobody needs it after a power cut, and a disk
/// that works through a journal would be heard in the measurement.
pub(super) fn write(file: &Path, content: &[u8]) -> io::Result<()> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let temporary = file.with_file_name(format!(".{name}.tmp"));
    let head = (content.len() as u64).to_le_bytes();
    fs::write(&temporary, [&head[..], content].concat())?;
    match fs::rename(&temporary, file) {
        // A server may have done what it then is asked again.
        Err(_) if file.exists() => Ok(()),
        done => done,
    }
}

/// What [`write`] wrote; `None` where it is not there yet, or not all of it.
pub(super) fn read(file: &Path) -> Option<Vec<u8>> {
    let mut bytes = fs::read(file).ok()?;
    let head = bytes.get(..HEAD)?.try_into().ok().map(u64::from_le_bytes)?;
    let content = bytes.split_off(HEAD);
    (head == content.len() as u64).then_some(content)
}

/// The names of the files in a directory; not those that are being written.
///
/// Looking for a file starts here and never with its name: a network file system remembers for up to a minute
/// that a name was not there, but asks again when the directory is opened.
pub(super) fn names(dir: &Path) -> io::Result<HashSet<String>> {
    let entries = fs::read_dir(dir)?.collect::<io::Result<Vec<_>>>()?;
    let names = entries.into_iter().map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(names.filter(|name| !name.starts_with('.')).collect())
}

/// Waits in naps, and never longer than it may.
#[derive(Debug)]
pub(super) struct Naps<'a> {
    began: Instant,
    until: Instant,
    nap: Duration,
    stop: &'a AtomicBool,
    after_stop: Duration,
    stopped: bool,
}

impl<'a> Naps<'a> {
    /// Until a time; once `stop` has become true no longer than `after_stop`.
    pub(super) fn until(until: Instant, stop: &'a AtomicBool, after_stop: Duration) -> Self {
        let began = Instant::now();
        Self { began, until, nap: SHORTEST_NAP, stop, after_stop, stopped: false }
    }

    /// For a while, whatever comes.
    pub(super) fn within(time: Duration) -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Self::until(later(Instant::now(), time), &NEVER, time)
    }

    /// Waits longer than was said first.
    pub(super) fn at_least(&mut self, time: Duration) {
        self.until = self.until.max(later(Instant::now(), time));
    }

    /// Sleeps a little, longer from time to time. `false`, without sleep, when there is no more time.
    pub(super) fn nap(&mut self) -> bool {
        if !self.stopped && self.stop.load(Ordering::Acquire) {
            self.stopped = true;
            self.until = self.until.min(later(Instant::now(), self.after_stop));
        }
        let left = self.until.saturating_duration_since(Instant::now());
        thread::sleep(self.nap.min(left));
        self.nap = (self.nap * 3 / 2).min(LONGEST_NAP);
        !left.is_zero()
    }

    /// How long has been waited, in words.
    pub(super) fn waited(&self) -> String {
        match self.began.elapsed() {
            short if short < Duration::from_secs(10) => format!("{:.1} s", short.as_secs_f64()),
            long => format!("{:.0} s", long.as_secs_f64()),
        }
    }
}

/// A time after an instant; the longest there is where that is too long.
pub(super) fn later(instant: Instant, time: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 86_400);
    instant + time.min(YEAR)
}
