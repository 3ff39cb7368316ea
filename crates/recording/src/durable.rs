//! Files that are whole or not there, also after a power cut.

use crate::error::WriteError;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where the next content of `file` is written before it takes that name.
pub fn temporary(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}.tmp"))
}

/// Replaces `file` as a whole: after a kill or a power cut it has the old or the new content.
///
/// # Errors
/// [`WriteError::Full`] or [`WriteError::Io`]; the old content stays.
pub fn replace(file: &Path, content: &[u8]) -> Result<(), WriteError> {
    stage(file, content)?;
    publish(file)
}

/// Writes what [`publish`] will make the content of `file`.
pub fn stage(file: &Path, content: &[u8]) -> Result<(), WriteError> {
    let write = || {
        let mut out = File::create(temporary(file))?;
        out.write_all(content)?;
        out.sync_all()
    };
    write().map_err(|source| {
        let _ = fs::remove_file(temporary(file)); // a full disk is not to be filled further
        failed(file, source)
    })
}

/// Gives the staged content of `file` its name.
pub(crate) fn publish(file: &Path) -> Result<(), WriteError> {
    let rename = || {
        fs::rename(temporary(file), file)?;
        sync_dir(file.parent().unwrap_or(Path::new(".")))
    };
    rename().map_err(|source| failed(file, source))
}

/// Makes the names in a directory lasting.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    // Only Unix lets a directory be opened and synchronised.
    if cfg!(unix) { File::open(dir)?.sync_all() } else { Ok(()) }
}

/// Whether the system had no space for the write.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// The error of a write to a file that is no table.
pub fn failed(file: &Path, source: io::Error) -> WriteError {
    let file = file.to_owned();
    if is_full(&source) {
        WriteError::Full { file, safe_rows: 0 }
    } else {
        WriteError::Io { file, source }
    }
}
