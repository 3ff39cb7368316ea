//! Complete files in a directory that several hosts see, possibly some time after they were written.

use anechoic_recording::create_file;
use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Size of the header, which is the length of the content.
const HEAD: usize = size_of::<u64>();
/// The first sleep between two polls.
const SHORTEST_NAP: Duration = Duration::from_millis(10);
/// The longest sleep between two polls.
const LONGEST_NAP: Duration = Duration::from_millis(100);

/// Writes a file that others see completely or not at all.
///
/// It is renamed when complete. It is not synced to disk: nobody needs it after a power failure, and a
/// journal being written would be noise in the measurement.
pub(super) fn write(file: &Path, content: &[u8]) -> io::Result<()> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let temporary = file.with_file_name(format!(".{name}.tmp"));
    let head = (content.len() as u64).to_le_bytes();
    create_file(&temporary)?.write_all(&[&head[..], content].concat())?;
    match fs::rename(&temporary, file) {
        // A server may have done the rename before a repeated request failed.
        Err(_) if file.exists() => Ok(()),
        done => done,
    }
}

/// Reads what [`write`] wrote; `None` if it is missing or incomplete.
pub(super) fn read(file: &Path) -> Option<Vec<u8>> {
    let mut bytes = fs::read(file).ok()?;
    let head = bytes.get(..HEAD)?.try_into().ok().map(u64::from_le_bytes)?;
    let content = bytes.split_off(HEAD);
    (head == content.len() as u64).then_some(content)
}

/// Lists the files in a directory, except those that are still being written.
///
/// Polling lists the directory instead of opening a file by name: a network file system remembers for up to a
/// minute that a name did not exist, but refreshes when the directory is opened.
pub(super) fn names(dir: &Path) -> io::Result<HashSet<String>> {
    let entries = fs::read_dir(dir)?.collect::<io::Result<Vec<_>>>()?;
    let names = entries.into_iter().map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(names.filter(|name| !name.starts_with('.')).collect())
}

/// Waits in short sleeps until a deadline.
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
    /// Waits until `until`; once `stop` is true, only `after_stop` longer.
    pub(super) fn until(until: Instant, stop: &'a AtomicBool, after_stop: Duration) -> Self {
        let began = Instant::now();
        Self { began, until, nap: SHORTEST_NAP, stop, after_stop, stopped: false }
    }

    /// Waits for this time regardless of signals.
    pub(super) fn within(time: Duration) -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Self::until(later(Instant::now(), time), &NEVER, time)
    }

    /// Extends the deadline to at least this time from now.
    pub(super) fn at_least(&mut self, time: Duration) {
        self.until = self.until.max(later(Instant::now(), time));
    }

    /// Sleeps, a little longer each time. Returns `false` without sleeping once the deadline has passed.
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

    /// Returns the time waited so far, in words.
    pub(super) fn waited(&self) -> String {
        match self.began.elapsed() {
            short if short < Duration::from_secs(10) => format!("{:.1} s", short.as_secs_f64()),
            long => format!("{:.0} s", long.as_secs_f64()),
        }
    }
}

/// Returns a time after an instant, or a very late instant if that overflows.
pub(super) fn later(instant: Instant, time: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 86_400);
    instant + time.min(YEAR)
}
