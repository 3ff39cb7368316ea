//! Files that are complete or absent, even after a power failure.

use crate::error::WriteError;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Returns the path at which the next content of `file` is written before it is renamed.
pub fn temporary(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}.tmp"))
}

/// Replaces `file` atomically: after a kill or a power failure it has the old or the new content.
///
/// # Errors
/// Returns [`WriteError::Full`] or [`WriteError::Io`]; the old content then stays.
pub fn replace(file: &Path, content: &[u8]) -> Result<(), WriteError> {
    stage(file, content)?;
    publish(file)
}

/// Writes the content that [`publish`] will give to `file`.
pub fn stage(file: &Path, content: &[u8]) -> Result<(), WriteError> {
    let write = || {
        let mut out = File::create(temporary(file))?;
        out.write_all(content)?;
        out.sync_all()
    };
    write().map_err(|source| {
        let _ = fs::remove_file(temporary(file)); // frees the space on a full disk
        failed(file, source)
    })
}

/// Renames the staged content to `file`.
pub(crate) fn publish(file: &Path) -> Result<(), WriteError> {
    let rename = || {
        fs::rename(temporary(file), file)?;
        sync_dir(file.parent().unwrap_or(Path::new(".")))
    };
    rename().map_err(|source| failed(file, source))
}

/// Makes the names in a directory durable.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    // Only Unix allows opening and syncing a directory.
    if cfg!(unix) { File::open(dir)?.sync_all() } else { Ok(()) }
}

/// Returns whether the system had no space for the write.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Converts the error of a write to a file that is not a table.
pub fn failed(file: &Path, source: io::Error) -> WriteError {
    let file = file.to_owned();
    if is_full(&source) {
        WriteError::Full { file, safe_rows: 0 }
    } else {
        WriteError::Io { file, source }
    }
}
