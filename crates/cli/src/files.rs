//! Files and temporary directories that a command makes. Existing files are overwritten only on request.

use crate::stop;
use crate::unfinished::Unfinished;
use anechoic_recording::{Problem, ProblemKind, follow, readers, sudo_user, verify_place};
use rustix::process::geteuid;
use std::fs::{self, File, Metadata, OpenOptions, Permissions, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempDir};

/// Refuses to overwrite an existing file unless forced, and a directory in any case.
pub fn refuse(path: &Path, force: bool) -> Result<(), Problem> {
    if path.is_dir() {
        let why = format!("{} is a directory", path.display());
        return Err(ProblemKind::Usage.problem(why, "name a file, for example one in it"));
    }
    if !force && path.exists() {
        let why = format!("{} already exists", path.display());
        return Err(ProblemKind::CannotWrite.problem(why, "use --force to overwrite it"));
    }
    Ok(())
}

/// Returns whether a directory has something in it.
pub(crate) fn is_used(dir: &Path) -> bool {
    dir.read_dir().is_ok_and(|mut entries| entries.next().is_some())
}

/// A file that gets its name when it is complete: what reads it meanwhile never sees a part of it, and an older one stays
/// until then. What is no file, such as a pipe or a device, is written to as it is.
#[derive(Debug)]
pub(crate) struct NewFile {
    /// Where it will be, without links.
    path: PathBuf,
    force: bool,
    to: Target,
}

/// Where the content goes.
#[derive(Debug)]
enum Target {
    /// Not a file: a pipe, a device.
    Direct(File),
    /// A file beside the path.
    Staged { file: NamedTempFile, unfinished: Unfinished, umask: u32 },
}

impl NewFile {
    /// Starts to write a file.
    ///
    /// # Errors
    /// It exists and `force` is not given, or it cannot be written. Root writes nothing where another user could
    /// redirect it.
    pub(crate) fn create(path: &Path, force: bool) -> Result<Self, Problem> {
        refuse(path, force)?;
        let named = |error: io::Error| Problem::unwritable(path, &error);
        let dir = directory_of(path);
        if !dir.exists() {
            let (path, dir) = (path.display(), dir.display());
            let why = format!("cannot write {path}: there is no directory {dir}");
            return Err(ProblemKind::CannotWrite.problem(why, "create it, or name another place"));
        }
        // A link stays one: the file behind it is replaced.
        let behind = follow(path).map_err(named)?;
        let dir = directory_of(&behind);
        verify_place(dir).map_err(named)?;
        if path.metadata().is_ok_and(|about| !about.is_file()) {
            // By its first name: what the links of /proc lead to need have none.
            let file = OpenOptions::new().write(true).open(path).map_err(named)?;
            return Ok(Self { path: behind, force, to: Target::Direct(file) });
        }
        stop::end_at_once()?;
        let umask = umask();
        let mut options = OpenOptions::new();
        // Only its owner may open it until it has its permissions.
        options.read(true).write(true).create_new(true).mode(0o600);
        let mut staged = tempfile::Builder::new();
        let staged = staged.prefix(".");
        let create = || staged.make_in(dir, |path| options.open(path));
        let (file, unfinished) = Unfinished::create(create, NamedTempFile::path).map_err(named)?;
        let to = Target::Staged { file, unfinished, umask };
        Ok(Self { path: behind, force, to })
    }

    /// Returns the file that takes the content.
    pub(crate) fn file(&self) -> &File {
        match &self.to {
            Target::Direct(file) => file,
            Target::Staged { file, .. } => file.as_file(),
        }
    }

    /// Gives it its name, and returns its size.
    ///
    /// # Errors
    /// Somebody else created it meanwhile and `force` is not given; or the system's error.
    pub(crate) fn complete(self) -> Result<u64, Problem> {
        let path = &self.path;
        let named = |error: io::Error| Problem::unwritable(path, &error);
        let bytes = self.file().metadata().map_err(named)?.len();
        let Target::Staged { file, unfinished, umask } = self.to else { return Ok(bytes) };
        permit(file.as_file(), path, umask).map_err(named)?;
        let kept = unfinished.complete(|| match self.force {
            true => file.persist(path),
            false => file.persist_noclobber(path),
        });
        match kept {
            Ok(_) => Ok(bytes),
            Err(failed) if failed.error.kind() == ErrorKind::AlreadyExists => {
                refuse(path, false)?;
                Err(named(failed.error))
            }
            Err(failed) => Err(named(failed.error)),
        }
    }
}

/// Gives a file the permissions and the owner of the one that it replaces; or those of a new file, which nobody may read
/// who may not read the recordings that were opened.
fn permit(file: &File, path: &Path, umask: u32) -> io::Result<()> {
    let is_root = geteuid().is_root();
    let Some(old) = path.symlink_metadata().ok().filter(Metadata::is_file) else {
        if let Some((user, group)) = sudo_user().filter(|_| is_root) {
            let _ = fchown(file, Some(user), Some(group)); // it stays root's where root may not give it away
        }
        let mode = 0o666 & !umask & readers() | 0o600;
        return file.set_permissions(Permissions::from_mode(mode));
    };
    let mut mode = old.mode() & 0o777;
    let owner = Some(old.uid()).filter(|_| is_root);
    if fchown(file, owner, Some(old.gid())).is_err() {
        mode &= 0o700; // the permissions were those of another group
    }
    file.set_permissions(Permissions::from_mode(mode))
}

/// Returns the permissions that this process takes from new files: all but the owner's where they are unknown.
fn umask() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(0o077)
}

/// Returns the directory that a file is in, also of a bare name.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a whole file at once, and returns its size.
///
/// # Errors
/// Returns errors of `write` and of the system; the file is then what it was.
pub(crate) fn write_whole(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Problem>,
) -> Result<u64, Problem> {
    let new = NewFile::create(path, force)?;
    let mut out = BufWriter::new(new.file());
    write(&mut out).map_err(|problem| match problem.kind {
        ProblemKind::CannotWrite => {
            let why = format!("cannot write {}: {}", path.display(), problem.why);
            Problem { why, ..problem }
        }
        _ => problem,
    })?;
    out.flush().map_err(|error| Problem::unwritable(path, &error))?;
    drop(out);
    new.complete()
}

/// A directory for recordings that nobody has asked to keep. It is removed when this is dropped; if the process is
/// killed, the next one that needs such a directory removes it.
#[derive(Debug)]
pub(crate) struct Scratch {
    dir: TempDir,
    /// The directory in which it lies; empty for the current one.
    beside: PathBuf,
    /// A signal that ends the process at once removes it.
    _unfinished: Unfinished,
    /// Locked as long as the process lives, also where its number means nothing, as in a container.
    _lock: File,
}

impl Scratch {
    /// Makes a directory in `beside` whose name begins with `prefix`.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(crate) fn make(prefix: &str, beside: &Path) -> io::Result<Self> {
        verify_place(beside)?;
        remove_leftovers(prefix, beside);
        loop {
            let create = || tempfile::Builder::new().prefix(prefix).tempdir_in(beside);
            let (dir, unfinished) = Unfinished::create(create, TempDir::path)?;
            if let Some(lock) = lock(dir.path())? {
                let beside = beside.to_owned();
                return Ok(Self { dir, beside, _unfinished: unfinished, _lock: lock });
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
    let (locked, named) = (lock.metadata()?, dir.metadata());
    let same = named.is_ok_and(|named| (named.dev(), named.ino()) == (locked.dev(), locked.ino()));
    Ok(same.then_some(lock))
}

/// Removes our own directories that no living process holds.
pub(crate) fn remove_leftovers(prefix: &str, beside: &Path) {
    for entry in fs::read_dir(beside).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with(prefix)
            && is_own_dir(&path)
            && File::open(&path).is_ok_and(|dir| dir.try_lock().is_ok())
        {
            let _ = fs::remove_dir_all(&path); // it is only a leftover
        }
    }
}

/// Returns whether this is a directory, and no link to one, that belongs to this user.
fn is_own_dir(path: &Path) -> bool {
    let is_own = |about: Metadata| about.is_dir() && about.uid() == geteuid().as_raw();
    path.symlink_metadata().is_ok_and(is_own)
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
        let mode = |path: &Path| fs::metadata(path).expect("a file").mode() & 0o777;
        let plain = place.path().join("plain");
        File::create(&plain).expect("a file");
        // Other tests in this process may have opened recordings that are private.
        assert!([mode(&plain), 0o600].contains(&mode(&path)), "{:o}", mode(&path));
        for own in [0o600, 0o640, 0o755] {
            fs::set_permissions(&path, Permissions::from_mode(own)).expect("an own file");
            assert_eq!((write("newer", true), mode(&path)), (Ok(5), own), "it keeps its mode");
        }
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
