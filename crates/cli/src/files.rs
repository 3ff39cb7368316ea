//! Files and temporary directories that a command makes. Existing files are overwritten only on request.

use anechoic_recording::{Problem, ProblemKind};
use rustix::process::geteuid;
use std::fs::{self, File, Metadata, OpenOptions, Permissions, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Refuses to overwrite an existing file unless forced, and a directory in any case.
pub fn refuse(path: &Path, force: bool) -> Result<(), Problem> {
    if path.is_dir() {
        let why = format!("{} is a directory", path.display());
        return Err(ProblemKind::Usage.problem(why, "name a file, for example one in it"));
    }
    if !force && path.exists() {
        let why = format!("{} already exists", path.display());
        return Err(ProblemKind::Usage.problem(why, "use --force to overwrite it"));
    }
    Ok(())
}

/// Returns whether a directory has something in it.
pub(crate) fn is_used(dir: &Path) -> bool {
    dir.read_dir().is_ok_and(|mut entries| entries.next().is_some())
}

/// Creates a file. Without `force`, a file that somebody else created meanwhile is not overwritten.
pub fn create(path: &Path, force: bool) -> Result<File, Problem> {
    if path.is_dir() {
        refuse(path, force)?;
    }
    let mut options = OpenOptions::new();
    options.write(true);
    let options =
        if force { options.create(true).truncate(true) } else { options.create_new(true) };
    options.open(path).or_else(|error| {
        if error.kind() == ErrorKind::AlreadyExists {
            refuse(path, false)?;
        }
        Err(Problem::unwritable(path, &error))
    })
}

/// Writes a file that is complete or absent: what reads it meanwhile never sees a part of it. Returns its size. What is
/// no file, such as a pipe or a device, is written to as it is.
///
/// # Errors
/// Returns errors of `write` and of the system; the file is then what it was.
pub(crate) fn write_whole(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Problem>,
) -> Result<u64, Problem> {
    refuse(path, force)?;
    // A link stays one: the file behind it is replaced.
    let behind = path.canonicalize();
    let path = behind.as_deref().unwrap_or(path);
    let named = |error: io::Error| Problem::unwritable(path, &error);
    let buffered = |file: &File| {
        let mut out = BufWriter::new(file);
        write(&mut out).map_err(|problem| match problem.kind {
            ProblemKind::CannotWrite => {
                let why = format!("cannot write {}: {}", path.display(), problem.why);
                Problem { why, ..problem }
            }
            _ => problem,
        })?;
        out.flush().map_err(named)?;
        Ok(file.metadata().map_err(named)?.len())
    };
    if path.metadata().is_ok_and(|of| !of.is_file()) {
        return buffered(&create(path, force)?);
    }
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !dir.exists() {
        let why =
            format!("cannot write {}: there is no directory {}", path.display(), dir.display());
        return Err(ProblemKind::CannotWrite.problem(why, "create it, or name another place"));
    }
    let mut staged = tempfile::Builder::new();
    let staged = staged.prefix(".").permissions(Permissions::from_mode(0o666)); // less the umask
    let staged = staged.tempfile_in(dir).map_err(named)?;
    let bytes = buffered(staged.as_file())?;
    let kept = if force { staged.persist(path) } else { staged.persist_noclobber(path) };
    if let Err(failed) = kept {
        if failed.error.kind() == ErrorKind::AlreadyExists {
            refuse(path, false)?;
        }
        return Err(named(failed.error));
    }
    Ok(bytes)
}

/// A directory for recordings that nobody has asked to keep. It is removed when this is dropped; if the process is
/// killed, the next one that needs such a directory removes it.
#[derive(Debug)]
pub(crate) struct Scratch {
    dir: TempDir,
    /// The directory in which it lies; empty for the current one.
    beside: PathBuf,
    /// Locked as long as the process lives, also where its number means nothing, as in a container.
    _lock: File,
}

impl Scratch {
    /// Makes a directory in `beside` whose name begins with `prefix`.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn make(prefix: &str, beside: &Path) -> io::Result<Self> {
        remove_leftovers(prefix, beside);
        loop {
            let dir = tempfile::Builder::new().prefix(prefix).tempdir_in(beside)?;
            if let Some(lock) = lock(dir.path())? {
                return Ok(Self { dir, beside: beside.to_owned(), _lock: lock });
            }
        }
    }

    /// Makes one for a recording: in the current directory, or in the directory for temporary files if that is not
    /// writable.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn for_recording() -> io::Result<Self> {
        const HIDDEN: &str = ".anechoic-unsaved-";
        let here = Self::make(HIDDEN, Path::new("."));
        here.map(|here| Self { beside: PathBuf::new(), ..here })
            .or_else(|_| Self::make(HIDDEN, &std::env::temp_dir()))
    }

    /// Returns the directory in which it lies; empty for the current one.
    pub(crate) fn beside(&self) -> &Path {
        &self.beside
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// Locks a directory until the file is closed. Returns `None` if another process holds it, or has just removed it.
///
/// # Errors
/// Returns the system's error.
pub(crate) fn lock(dir: &Path) -> io::Result<Option<File>> {
    let is_gone = |error: &io::Error| error.kind() == ErrorKind::NotFound;
    let lock = match File::open(dir) {
        Err(error) if is_gone(&error) => return Ok(None),
        opened => opened?,
    };
    // Some file systems have no locks, and then nothing is removed either.
    if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
        return Ok(None);
    }
    let (locked, named) = (lock.metadata()?, dir.symlink_metadata());
    let same = named.is_ok_and(|named| (named.dev(), named.ino()) == (locked.dev(), locked.ino()));
    Ok(same.then_some(lock))
}

/// Removes our own directories that no living process holds.
pub(crate) fn remove_leftovers(prefix: &str, beside: &Path) {
    let own = |path: &Path| {
        let is_ours = |of: Metadata| of.is_dir() && of.uid() == geteuid().as_raw();
        path.symlink_metadata().is_ok_and(is_ours)
    };
    for entry in fs::read_dir(beside).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with(prefix)
            && own(&path)
            && File::open(&path).is_ok_and(|dir| dir.try_lock().is_ok())
        {
            let _ = fs::remove_dir_all(&path); // it is only a leftover
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_as_a_whole_or_stays_as_it_was() {
        let place = tempfile::tempdir().expect("a place");
        let path = place.path().join("file");
        let write = |text: &'static str, force| {
            write_whole(&path, force, |out| {
                out.write_all(text.as_bytes())?;
                let fails = text == "half";
                if fails { Err(ProblemKind::Data.problem("damaged", "")) } else { Ok(()) }
            })
        };
        let there = || fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            (write("half", false).map_err(|p| p.kind), there()),
            (Err(ProblemKind::Data), String::new())
        );
        assert_eq!((write("whole", false), there()), (Ok(5), "whole".to_owned()));
        assert!(write("more", false).expect_err("it exists").why.contains("already exists"));
        assert!(write("half", true).is_err() && there() == "whole", "the older one stays");
        assert_eq!((write("newer", true), there()), (Ok(5), "newer".to_owned()));
        assert_eq!(fs::read_dir(place.path()).expect("a directory").count(), 1, "nothing else");
        let mode = fs::metadata(&path).expect("a file").mode();
        let plain = File::create(place.path().join("plain")).and_then(|file| file.metadata());
        assert_eq!(mode, plain.expect("a file").mode(), "others may read it, as any new file");
        let device = Path::new("/dev/null");
        assert!(write_whole(device, true, |out| Ok(out.write_all(b"x")?)).is_ok());
        assert!(!device.metadata().expect("a device").is_file(), "it is not replaced");
    }

    #[test]
    fn a_directory_that_another_process_takes_is_given_up() {
        let place = tempfile::tempdir().expect("a place");
        let dir = place.path().join("new");
        assert!(lock(&dir).expect("no error").is_none(), "removed already");
        fs::create_dir(&dir).expect("a directory");
        let first = lock(&dir).expect("no error").expect("it is free");
        assert!(lock(&dir).expect("no error").is_none(), "locked by another");
        drop(first);
        assert!(lock(&dir).expect("no error").is_some());
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_a_living_one_has_stays() {
        let place = tempfile::tempdir().expect("a place");
        let at = |name: &str| place.path().join(name);
        fs::create_dir(at(".ours-dead")).expect("a leftover");
        fs::write(at(".ours-dead/file"), "x").expect("a file");
        fs::create_dir(at("another")).expect("another directory");
        std::os::unix::fs::symlink(at("another"), at(".ours-link")).expect("a link");
        let first = Scratch::make(".ours-", place.path()).expect("a directory");
        let second = Scratch::make(".ours-", place.path()).expect("a directory");
        assert!(!at(".ours-dead").exists(), "left by a killed process");
        assert!(first.path().exists() && second.path().exists(), "in use");
        assert!(at("another").exists() && at(".ours-link").is_symlink(), "not ours");
        let gone = first.path().to_owned();
        drop(first);
        assert!(!gone.exists(), "dropped");
    }
}
