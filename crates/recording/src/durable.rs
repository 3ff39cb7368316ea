//! Files that are complete or absent, even after a power failure, and that nobody else could have planted.
//!
//! What root writes, only root may read: kernel events show what other users' programs do, and kernel addresses.

use crate::error::WriteError;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

/// Returns the path at which the next content of `file` is written before it is renamed.
pub fn temporary(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}.tmp"))
}

/// Creates a file that is not there yet. What has its name, such as the file of a killed writer, is removed first, and
/// a link is never followed.
///
/// # Errors
/// Returns the system's error, also if somebody else creates the file at the same time.
pub fn create(file: &Path) -> io::Result<File> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(target_os = "linux")]
    if is_root() {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    options.open(file)
}

/// Creates a directory that is not there yet.
///
/// # Errors
/// Returns the system's error.
pub(crate) fn create_dir(dir: &Path) -> io::Result<()> {
    private_dirs().create(dir)
}

/// Creates a directory if it is not there yet, and those above it.
///
/// # Errors
/// Returns the system's error.
pub fn create_dir_all(dir: &Path) -> io::Result<()> {
    private_dirs().recursive(true).create(dir)
}

fn private_dirs() -> DirBuilder {
    let mut builder = DirBuilder::new();
    #[cfg(target_os = "linux")]
    if is_root() {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    }
    builder
}

/// Refuses a directory of another user if this process is root: its owner could plant links in it. The user who became
/// root with sudo is no other user.
///
/// # Errors
/// Returns an error that names the owner.
pub(crate) fn verify_owner(dir: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if is_root() {
        let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(dir)?);
        let user = std::env::var("SUDO_UID").ok().and_then(|uid| uid.parse().ok());
        if owner != 0 && user != Some(owner) {
            return Err(io::Error::other(format!("it belongs to user {owner}, and this is root")));
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
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
        let mut out = create(&temporary(file))?;
        out.write_all(content)?;
        out.sync_all()
    };
    write().map_err(|source| {
        let _ = fs::remove_file(temporary(file)); // frees the space on a full disk
        failed(file, source)
    })
}

/// Returns the path of the file that has space for the last content of `file`.
pub(crate) fn last(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}.last"))
}

/// Stages the last content of `file` in the open file at [`last`], which needs no new space on a full disk.
pub(crate) fn stage_last(file: &Path, out: &mut File, content: &[u8]) -> Result<(), WriteError> {
    let mut write = || {
        out.rewind()?;
        out.write_all(content)?;
        out.set_len(content.len() as u64)?;
        out.sync_all()?;
        fs::rename(last(file), temporary(file))
    };
    write().map_err(|source| failed(file, source))
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn a_planted_link_is_replaced_and_not_followed() {
        let dir = tempfile::tempdir().expect("a directory");
        let (file, other) = (dir.path().join("run.json"), dir.path().join("other"));
        fs::write(&other, "mine").expect("a file");
        for planted in [temporary(&file), file.clone()] {
            symlink(&other, &planted).expect("a link");
            replace(&file, b"new").expect("it can be written");
            assert_eq!(fs::read(&file).expect("a file"), b"new");
            assert!(!file.is_symlink() && !temporary(&file).exists());
            fs::remove_file(&file).expect("it can be removed");
        }
        assert_eq!(fs::read(&other).expect("a file"), b"mine");
        fs::create_dir(temporary(&file)).expect("a directory in the way");
        assert!(replace(&file, b"new").is_err());
    }

    #[test]
    fn what_root_writes_is_private() {
        let dir = tempfile::tempdir().expect("a directory");
        let below = dir.path().join("a/b");
        create_dir_all(&below).expect("directories");
        create(&below.join("file")).expect("a file");
        let mode = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o077;
        if is_root() {
            assert_eq!((mode(&below), mode(&below.join("file"))), (0, 0));
        }
        assert!(verify_owner(&below).is_ok());
    }
}
