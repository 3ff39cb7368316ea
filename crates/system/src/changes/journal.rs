//! The journal of a process: how to undo its changes, in a file in /run that is complete on the disk before each change.
//!
//! Its name has the number of the process and its start, so that the next start knows whether that still lives. Its first
//! field is the boot: settings that were made before a start of the machine are gone.

use super::Made;
use crate::machine::Root;
use crate::tracefs;
use anechoic_recording::replace_file;
use rustix::fs::OFlags;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// More bytes than a journal has.
const MOST_BYTES: u64 = 1 << 20;

/// What a journal has.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Journal {
    boot: Option<String>,
    /// The changes, the first one first.
    pub(super) made: Vec<Made>,
}

/// How the name of a journal begins; what follows is as in the name of a trace instance.
const PREFIX: &str = "anechoic-settings-";

/// Returns the name of the journal of this process.
pub(super) fn own_name() -> String {
    tracefs::own_name(0).replacen(tracefs::PREFIX, PREFIX, 1)
}

/// Returns whether this is the name of the journal of a process that is gone, or is in another PID namespace.
pub(super) fn is_leftover(name: &str) -> bool {
    let instance = name.strip_prefix(PREFIX).map(|rest| format!("{}{rest}", tracefs::PREFIX));
    instance.is_some_and(|instance| tracefs::is_leftover(&instance))
}

/// Returns whether this is a hidden file that was to become such a journal.
pub(super) fn is_staged_leftover(name: &str) -> bool {
    let journal = name.strip_prefix('.').and_then(|name| name.rsplit_once('.'));
    journal.is_some_and(|(journal, _)| is_leftover(journal))
}

/// Replaces a journal, or removes it if there is nothing to undo. A process that is killed leaves the old or the new one.
///
/// # Errors
/// Returns the system's error; the old journal then stays.
pub(super) fn write(path: &Path, made: &[Made]) -> io::Result<()> {
    if made.is_empty() {
        return match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    }
    let journal = Journal { boot: boot(), made: made.to_vec() };
    replace_file(path, &serde_json::to_vec(&journal)?).map_err(io::Error::other)
}

/// Returns the journal of a killed process. What another user may have planted, and what is of another boot or damaged, is
/// none; it is removed.
pub(super) fn read(path: &Path) -> Option<Journal> {
    let nofollow = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(nofollow.bits().cast_signed()).open(path);
    let file = match file {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return None, // root's
        opened => opened.ok(),
    };
    let journal = file.and_then(|file| {
        let metadata = file.metadata().ok()?;
        let is_own =
            metadata.is_file() && metadata.nlink() == 1 && metadata.uid() == geteuid().as_raw();
        let mut text = vec![];
        file.take(MOST_BYTES).read_to_end(&mut text).ok().filter(|_| is_own)?;
        let journal: Journal = serde_json::from_slice(&text).ok()?;
        Some(journal).filter(|journal| journal.boot == boot())
    });
    if journal.is_none() {
        let _ = fs::remove_file(path);
    }
    journal
}

/// Names the start of the machine.
fn boot() -> Option<String> {
    Root::live().read("/proc/sys/kernel/random/boot_id")
}
