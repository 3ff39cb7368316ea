//! Files that are complete or absent, even after a power failure, and that nobody else could have planted.
//!
//! What root records, only root may read, or the user who became root with sudo: kernel events show what other users'
//! programs do, and kernel addresses.

use crate::error::WriteError;
use crate::problem::{Problem, ProblemKind};
use crate::strangers::{is_root, sudo_user, verify_own, verify_place};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::{SystemTime, UNIX_EPOCH};

/// Held for reading while this process creates a file or directory.
static CREATES: RwLock<()> = RwLock::new(());

fn may_create() -> RwLockReadGuard<'static, ()> {
    CREATES.read().unwrap_or_else(PoisonError::into_inner)
}

/// Has every thread wait for ever that would create another file or directory of a recording. Call this before the
/// process ends and what it has begun is removed.
pub fn create_nothing_more() {
    std::mem::forget(CREATES.write().unwrap_or_else(PoisonError::into_inner));
}

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
    let _may = may_create();
    let created = OpenOptions::new().write(true).create_new(true).open(file)?;
    give_to_owner_of(directory_of(file), &created);
    Ok(created)
}

/// Creates a directory of a recording that is not there yet.
///
/// # Errors
/// Returns the system's error.
pub(crate) fn create_dir(dir: &Path) -> io::Result<()> {
    let _may = may_create();
    fs::create_dir(dir)?;
    if is_root() {
        give_to_owner_of(directory_of(dir), &open_dir(dir)?);
    }
    Ok(())
}

/// Creates a directory if it is not there yet, and those above it. Under sudo they belong to the user who became root.
///
/// # Errors
/// Returns the system's error; as root also one of [`verify_place`].
pub fn create_dir_all(dir: &Path) -> io::Result<()> {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    if !dir.is_dir() {
        create_dir_all(directory_of(dir))?;
        match make(dir, 0o777) {
            // Another process may have made it meanwhile.
            Err(_) if dir.is_dir() => {}
            Err(_) if dir.symlink_metadata().is_ok() => return Err(no_directory(dir)),
            // Where root writes as another user (NFS), what it has just created need not be its own.
            made => return made,
        }
    }
    verify_place(dir)
}

fn no_directory(path: &Path) -> io::Error {
    let why = if path.exists() { "it is not a directory" } else { "the link leads nowhere" };
    let why = format!("cannot write to {}: {why}", path.display());
    io::Error::other(ProblemKind::CannotWrite.problem(why, "name another directory"))
}

/// Creates the directory of a recording and those above it, and returns true; or returns false if it exists. What root
/// creates, only its owner can enter.
///
/// # Errors
/// Returns the system's error; as root also that somebody else could exchange what is written into it.
pub fn create_own_dir(dir: &Path) -> io::Result<bool> {
    create_dir_all(directory_of(dir))?;
    match make(dir, if is_root() { 0o700 } else { 0o777 }) {
        Err(_) if dir.is_dir() => verify_own(dir).map(|()| false),
        Err(_) if dir.symlink_metadata().is_ok() => Err(no_directory(dir)),
        made => made.map(|()| true),
    }
}

fn make(dir: &Path, mode: u32) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(target_os = "linux")]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, mode);
    let _ = mode; // other systems have none
    let _may = may_create();
    builder.create(dir)?;
    if is_root()
        && let Some((user, group)) = sudo_user()
    {
        give_to(user, group, &open_dir(dir)?);
    }
    Ok(())
}

fn open_dir(dir: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(target_os = "linux")]
    {
        let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::NOFOLLOW;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    options.open(dir)
}

/// Returns the directory that a file is in, also of a bare name.
fn directory_of(file: &Path) -> &Path {
    file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Gives what root has created to the owner of the directory it is in: who may read a recording may read all of it.
fn give_to_owner_of(dir: &Path, created: &File) {
    #[cfg(target_os = "linux")]
    if is_root()
        && let Ok(metadata) = fs::metadata(dir)
    {
        use std::os::unix::fs::MetadataExt;
        give_to(metadata.uid(), metadata.gid(), created);
    }
    let _ = (dir, created); // other systems have no root
}

/// Where root may not change owners (on NFS, in a user namespace) the owner stays.
fn give_to(user: u32, group: u32, created: &File) {
    #[cfg(target_os = "linux")]
    if user != 0 {
        let _ = std::os::unix::fs::fchown(created, Some(user), Some(group));
    }
    let _ = (user, group, created); // other systems have no root
}

/// Replaces a file that stands beside recordings atomically, also while other processes do. Only root can read what root
/// writes, unless the old file has other permissions.
///
/// # Errors
/// Returns [`WriteError`]; the old content then stays.
pub fn replace_file(file: &Path, content: &[u8]) -> Result<(), WriteError> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let own = format!(".{name}.{}-{:x}", std::process::id(), since.as_nanos());
    let staged = file.with_file_name(own);
    replace_through(&staged, file, content).map_err(|source| {
        let _ = fs::remove_file(&staged); // frees the space on a full disk
        failed(file, &source)
    })
}

/// Writes the content to `staged`, and renames that to `file`.
fn replace_through(staged: &Path, file: &Path, content: &[u8]) -> io::Result<()> {
    verify_place(directory_of(file))?;
    let mut out = create(staged)?;
    set_private(&out, file)?;
    out.write_all(content)?;
    out.sync_all()?;
    fs::rename(staged, file)?;
    sync_dir(directory_of(file))
}

/// Gives what root has created the permissions of the file that it replaces, or else keeps it from all others. A file that
/// another user planted in a directory like /tmp does not count.
fn set_private(created: &File, replaced: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if is_root() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let counts = |old: &fs::Metadata| old.is_file() && crate::strangers::is_trusted(old.uid());
        let old = fs::symlink_metadata(replaced).ok().filter(counts);
        let private = || PermissionsExt::from_mode(0o600);
        created.set_permissions(old.map_or_else(private, |old| old.permissions()))?;
    }
    let _ = (created, replaced); // other systems have no root
    Ok(())
}

/// Replaces `file` atomically: after a kill or a power failure it has the old or the new content.
///
/// # Errors
/// Returns [`WriteError`]; the old content then stays.
pub fn replace(file: &Path, content: &[u8]) -> Result<(), WriteError> {
    stage(file, content)?;
    publish(file)
}

/// Writes the content that [`publish`] will give to `file`.
pub fn stage(file: &Path, content: &[u8]) -> Result<(), WriteError> {
    let written = create(&temporary(file)).and_then(|mut out| {
        out.write_all(content)?;
        out.sync_all()
    });
    written.map_err(|source| {
        let _ = fs::remove_file(temporary(file)); // frees the space on a full disk
        failed(file, &source)
    })
}

/// Returns the path of the file that has space for the last content of `file`.
pub(crate) fn last(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}.last"))
}

/// Stages the last content of `file` in the open file at [`last`], which needs no new space on a full disk.
pub(crate) fn stage_last(file: &Path, out: &mut File, content: &[u8]) -> Result<(), WriteError> {
    match write_over(out, content).and_then(|()| fs::rename(last(file), temporary(file))) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => stage(file, content), // somebody removed it
        written => written.map_err(|source| failed(file, &source)),
    }
}

/// Replaces what an open file has.
fn write_over(out: &mut File, content: &[u8]) -> io::Result<()> {
    out.rewind()?;
    out.write_all(content)?;
    out.set_len(content.len() as u64)?;
    out.sync_all()
}

/// Renames the staged content to `file`.
pub(crate) fn publish(file: &Path) -> Result<(), WriteError> {
    let renamed = fs::rename(temporary(file), file).and_then(|()| sync_dir(directory_of(file)));
    renamed.map_err(|source| failed(file, &source))
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
pub fn failed(file: &Path, source: &io::Error) -> WriteError {
    match is_full(source) {
        true => WriteError::Full { file: file.to_owned(), safe_rows: 0 },
        false => Problem::unwritable(file, source).into(),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    #[test]
    fn a_bare_name_is_in_the_current_directory() {
        assert_eq!(directory_of(Path::new("results.json")), Path::new("."));
        assert_eq!(directory_of(Path::new("a/results.json")), Path::new("a"));
        sync_dir(directory_of(Path::new("results.json"))).expect("it exists");
    }

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
    fn what_root_records_is_private_and_the_directory_above_is_not() {
        let dir = tempfile::tempdir().expect("a directory");
        let own = dir.path().join("data/host=a");
        create_own_dir(&own).expect("directories");
        create_own_dir(&own).expect("it exists");
        create_dir(&own.join("detours")).expect("a directory");
        create(&own.join("detours/file")).expect("a file");
        let metadata = |path: &Path| fs::metadata(path).expect("it is there");
        let usual = dir.path().join("usual");
        fs::create_dir(&usual).expect("a directory");
        for path in [dir.path().join("data"), own.join("detours")] {
            assert_eq!(metadata(&path).mode(), metadata(&usual).mode(), "{}", path.display());
        }
        let merged = dir.path().join("data/cluster.json");
        replace_file(&merged, b"{}").expect("a file");
        if is_root() {
            assert_eq!(metadata(&own).mode() & 0o777, 0o700);
            assert_eq!(metadata(&merged).mode() & 0o777, 0o600);
            fs::set_permissions(&merged, fs::Permissions::from_mode(0o644)).expect("root may");
            replace_file(&merged, b"[]").expect("a file");
            assert_eq!(metadata(&merged).mode() & 0o777, 0o644, "what root has opened stays open");
            std::os::unix::fs::chown(&merged, Some(65_534), Some(65_534)).expect("root may");
            replace_file(&merged, b"{}").expect("a file");
            assert_eq!(metadata(&merged).mode() & 0o777, 0o600, "another user opened it");
        }
    }

    #[test]
    fn what_root_adds_belongs_to_the_owner_of_the_directory() {
        let dir = tempfile::tempdir().expect("a directory");
        let user_dir = dir.path().join("recording");
        fs::create_dir(&user_dir).expect("a directory");
        if !is_root() || std::os::unix::fs::chown(&user_dir, Some(4711), Some(4712)).is_err() {
            return; // only root gives files away
        }
        create_dir(&user_dir.join("table")).expect("a directory");
        replace(&user_dir.join("table/part"), b"new").expect("a file");
        replace(&user_dir.join("file"), b"new").expect("a file");
        for name in ["table", "table/part", "file"] {
            let metadata = fs::metadata(user_dir.join(name)).expect("it is there");
            assert_eq!((metadata.uid(), metadata.gid()), (4711, 4712), "{name}");
        }
        let refused = create_own_dir(&user_dir).expect_err("another user's");
        assert!(refused.to_string().contains("4711"), "{refused}");
    }
}
