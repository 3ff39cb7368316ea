//! The lock on the settings of the kernel: one process at a time changes them, in whatever PID namespace it is.
//!
//! It is an advisory lock on a file in /run, which the kernel releases when the process ends, also after SIGKILL. The file
//! names the holder. Processes with different directories /run, as in most containers, do not see each other's lock.

use anechoic_recording::{Problem, ProblemKind};
use rustix::fs::{FlockOperation, OFlags, flock};
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The directory for the lock and the journals: only root writes there, and it is empty after a start of the machine.
pub(super) const RUN: &str = "/run";
const NAME: &str = "anechoic-settings.lock";
/// How often the lock is tried before the error: a process that undoes leftovers has it for a moment only.
const TRIES: u32 = 10;
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);
/// Largest length of what a holder writes about itself, in bytes.
const LONGEST: usize = 400;

/// The lock, which is released when this is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

/// The lock of this process, once it changes settings.
static HELD: Mutex<Option<Lock>> = Mutex::new(None);

/// Takes the lock on settings until this process ends. A process that may not write to /run gets none, because it may not
/// change settings either.
///
/// # Errors
/// Fails if another process has the lock, and names that.
pub(crate) fn hold() -> Result<(), Problem> {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    if held.is_none() {
        *held = Lock::take(Path::new(RUN), TRIES)?;
    }
    Ok(())
}

impl Lock {
    /// Takes the lock in this directory in one of `tries` attempts; nothing where this process may not write.
    ///
    /// # Errors
    /// Fails if another process has the lock, and names that.
    pub(super) fn take(directory: &Path, tries: u32) -> Result<Option<Self>, Problem> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o600);
        let path = directory.join(NAME);
        let file = options.custom_flags(OFlags::NOFOLLOW.bits() as i32).open(&path);
        let Ok(mut file) = file else { return Ok(None) };
        for attempt in 1..=tries {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {
                    // Only for the reader of an error of another process.
                    let _ = file.set_len(0).and_then(|()| file.write_all(description().as_bytes()));
                    return Ok(Some(Lock { file }));
                }
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Ok(None),
                Err(_) if attempt < tries => thread::sleep(PAUSE),
                Err(_) => {}
            }
        }
        let mut holder = String::new();
        let _ = file.take(LONGEST as u64).read_to_string(&mut holder);
        let why = format!("{} changes settings of the kernel at the moment", named(&holder));
        Err(ProblemKind::Unavailable.problem(why, "wait until it has ended"))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
    }
}

/// Describes this process: its PID namespace, its number there and its command.
fn description() -> String {
    let command: Vec<String> =
        env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let text = format!("{} {} {}", namespace(), std::process::id(), command.join(" "));
    let plain: String = text
        .chars()
        .map(|character| if character.is_control() { '?' } else { character })
        .collect();
    plain
        .chars()
        .scan(0, |bytes, character| {
            *bytes += character.len_utf8();
            (*bytes < LONGEST).then_some(character)
        })
        .collect()
}

/// Names the process that a [`description`] is of.
fn named(description: &str) -> String {
    let mut words = description.splitn(3, ' ');
    let (Some(space), Some(number), Some(command)) = (words.next(), words.next(), words.next())
    else {
        return "another process".to_owned();
    };
    let elsewhere = if space == namespace() { "" } else { " of another PID namespace" };
    let plain: String = command.chars().filter(|character| !character.is_control()).collect();
    format!("process {number}{elsewhere} ({plain})")
}

/// Returns the name of the PID namespace of this process.
fn namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid").ok();
    link.map_or_else(|| "-".to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_at_a_time_has_the_lock_and_is_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        let first = Lock::take(path, 2).expect("free").expect("writable");
        // A second description of the open file is as that of another process.
        let error = Lock::take(path, 2).expect_err("it is taken").to_string();
        let own = format!("process {} (", std::process::id());
        assert!(error.contains(&own) && error.contains("wait"), "{error}");
        drop(first);
        assert!(Lock::take(path, 2).expect("free again").is_some());
        assert!(Lock::take(&path.join("nothing"), 1).expect("no error").is_none(), "no directory");
    }

    #[test]
    fn a_holder_is_named_by_what_it_wrote() {
        let own = namespace();
        let cases = [
            (format!("{own} 12 anechoic measure paging"), "process 12 (anechoic measure paging)"),
            ("pid:[1] 12 anechoic".to_owned(), "process 12 of another PID namespace (anechoic)"),
            (format!("{own} 12 a\u{1b}[2Jb"), "process 12 (a[2Jb)"),
            (String::new(), "another process"),
            ("12".to_owned(), "another process"),
        ];
        for (text, expected) in cases {
            assert_eq!(named(&text), expected, "{text:?}");
        }
        assert!(description().len() <= LONGEST && named(&description()).contains("process"));
    }
}
