//! Trace instances that outlive their process: those of killed ones, and our own before we end at once.

use super::mount::Tracefs;
use super::probe;
use crate::stat;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// All our instances are named `anechoic-PID-STARTTIME-SERIAL`.
pub(crate) const PREFIX: &str = "anechoic-";

/// Returns the name of an instance of this process.
pub(crate) fn own_name(serial: u32) -> String {
    let pid = own_number();
    format!("{PREFIX}{pid}-{}-{serial}", start_time(pid).unwrap_or(0))
}

/// Returns the number of this process in /proc. It is another one than its own in a PID namespace that shows the /proc of
/// its parent, where two namespaces would use the same.
fn own_number() -> u32 {
    let shown = fs::read_link("/proc/self").ok();
    let number = shown.as_deref().and_then(Path::to_str).and_then(|number| number.parse().ok());
    number.unwrap_or_else(std::process::id)
}

/// The directories of the instances that this process uses.
static OWN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The lock on an instance that is in use. The numbers in its name mean nothing in another PID namespace, but the kernel
/// holds the lock for all of them, and releases it when the process ends in any way.
#[derive(Debug)]
pub(super) struct InUse {
    root: PathBuf,
    _file: File,
}

impl InUse {
    /// Locks a new instance. Returns `None` if another process locked or removed it before.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(super) fn take(root: &Path) -> io::Result<Option<Self>> {
        let Some(file) = lock(root)? else { return Ok(None) };
        let same = match root.metadata() {
            Ok(named) => named.ino() == file.metadata()?.ino(),
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        if !same {
            return Ok(None);
        }
        OWN.lock().unwrap_or_else(PoisonError::into_inner).push(root.to_owned());
        Ok(Some(Self { root: root.to_owned(), _file: file }))
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        OWN.lock().unwrap_or_else(PoisonError::into_inner).retain(|root| *root != self.root);
    }
}

/// Locks an instance. Returns `None` if it is in use or does not exist.
fn lock(root: &Path) -> io::Result<Option<File>> {
    let file = match File::open(root) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Removes the instances left by killed processes. The lock is held meanwhile, so that no process can begin to use one.
pub(super) fn remove(tracefs: &Tracefs) {
    for instance in instances(tracefs, is_leftover) {
        if let Ok(Some(_lock)) = lock(&instance) {
            let _ = fs::remove_dir(instance);
        }
    }
    probe::remove_leftovers(tracefs, is_leftover);
}

/// Removes the trace instances left by killed processes, if this process may use tracefs.
pub fn remove_leftovers() {
    if let Ok(tracefs) = Tracefs::open() {
        remove(&tracefs);
    }
}

/// Returns the instances left by killed processes.
pub(crate) fn list(tracefs: &Tracefs) -> Vec<PathBuf> {
    let mut left = instances(tracefs, is_leftover);
    left.retain(|instance| matches!(lock(instance), Ok(Some(_))));
    left
}

/// Ends the tracing of this process, which is about to end without dropping its [`super::Instance`]s. They are
/// still in use and cannot be removed, but they cost nothing any more; the next start removes them. What a program writes to
/// them still succeeds.
pub fn end_own() {
    for instance in OWN.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        for (file, value) in [("events/enable", "0"), ("buffer_size_kb", "1")] {
            let _ = fs::write(instance.join(file), value);
        }
    }
}

fn instances(tracefs: &Tracefs, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(tracefs.root().join("instances")).into_iter().flatten().flatten();
    let wanted = entries.filter(|entry| entry.file_name().to_str().is_some_and(&wanted));
    wanted.map(|entry| entry.path()).collect()
}

/// Returns whether this is the name of one of our instances whose process is gone, or is in another PID namespace: whether
/// it is in use there, only its lock shows.
pub(crate) fn is_leftover(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(PREFIX) else { return false };
    let numbers: Option<Vec<u64>> = rest.split('-').map(|part| part.parse().ok()).collect();
    let Some([pid, start, _serial]) = numbers.as_deref() else { return false };
    // A process with the same number but another start time is another process.
    u32::try_from(*pid).map_or(true, |pid| start_time(pid) != Some(*start))
}

/// Returns the start time of a process in clock ticks since boot; `None` if there is no such process.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    stat::field(&stat, stat::START)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_dead_instances_are_leftovers() {
        let pid = std::process::id();
        let start = start_time(pid).unwrap();
        let cases = [
            ("this process", format!("anechoic-{pid}-{start}-0"), false),
            ("its number, another start", format!("anechoic-{pid}-{}-0", start + 1), true),
            ("no such process", "anechoic-4194305-1-0".to_owned(), true),
            ("number beyond all", "anechoic-99999999999-1-0".to_owned(), true),
            ("another tool's", "trace-cmd".to_owned(), false),
            ("a user's that sounds like ours", "anechoic-mine".to_owned(), false),
            ("too few parts", "anechoic-4194305-1".to_owned(), false),
            ("too many parts", "anechoic-4194305-1-0-0".to_owned(), false),
            ("prefix alone", "anechoic-".to_owned(), false),
        ];
        for (name, instance, expected) in cases {
            assert_eq!(is_leftover(&instance), expected, "case: {name}");
        }
    }
}
