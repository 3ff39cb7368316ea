//! Replaces what is derived from the measured tables, completely or not at all.

use crate::attribution::Attribution;
use crate::boundaries::Boundaries;
use crate::checksums::{SUMS, Sum, Sums, sum_of};
use crate::durable;
use crate::error::WriteError;
use crate::in_words;
use crate::part::{Part, PartError, part_name};
use crate::problem::{Problem, ProblemKind};
use crate::recorder::{GROUP_ROWS, RUN, failed, json, verify_order};
use crate::recording::{ATTRIBUTION, Recording};
use crate::row::{DerivedRow, Row};
use crate::rows::Detour;
use crate::run::Run;
use crate::strangers::verify_own;
use std::fs::{self, File, TryLockError};
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// Writes a derived table beside the old one. If dropped before [`DerivedWriter::finish`], the old one stays.
pub struct DerivedWriter<R: Row> {
    dir: PathBuf,
    staging: PathBuf,
    boundaries: Boundaries,
    open: Option<Part>,
    sums: Vec<Sum>,
    row: PhantomData<R>,
}

/// Keeps other processes from replacing what is derived from a recording, as long as it lives.
#[derive(Debug)]
pub struct Held(#[expect(dead_code, reason = "the lock lasts as long as the file is open")] File);

impl Recording {
    /// Waits until no other process replaces what is derived from this recording, and keeps others from it.
    ///
    /// # Errors
    /// Fails if the directory cannot be opened, or if root could be made to write elsewhere by another user.
    pub fn hold(&self) -> Result<Held, Problem> {
        let failed = |source: io::Error| Problem::cannot_write_to(&self.dir, &source);
        verify_own(&self.dir).map_err(failed)?;
        let dir = File::open(&self.dir).map_err(failed)?;
        // Some file systems have no locks; what is replaced there at the same time may fail.
        let _ = dir.lock();
        Ok(Held(dir))
    }

    /// Does the same without waiting; `None` if another process holds it.
    ///
    /// # Errors
    /// Fails if the directory cannot be opened, or if its file system has no locks: then nobody knows whether it is held.
    pub fn try_hold(&self) -> Result<Option<Held>, Problem> {
        let dir =
            File::open(&self.dir).map_err(|source| Problem::unreadable(&self.dir, &source))?;
        match dir.try_lock() {
            Ok(()) => Ok(Some(Held(dir))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => {
                let why = format!(
                    "this directory cannot be locked ({}), so that it is not known whether the recording still goes on",
                    in_words(&source)
                );
                let problem = ProblemKind::Unavailable
                    .problem(why, "copy it to a local disk, and read the copy");
                Err(problem.about(self.dir.display()))
            }
        }
    }

    /// Returns whether the detours of a program are being written whose recording was killed, or were when their writer was
    /// killed too.
    #[must_use]
    pub fn has_begun_detours(&self) -> bool {
        self.staging::<Detour>().exists()
    }

    /// Returns whether another process replaces what is derived from this recording at the moment, so that
    /// [`Recording::hold`] would wait for it.
    #[must_use]
    pub fn is_held(&self) -> bool {
        let dir = File::open(&self.dir);
        dir.is_ok_and(|dir| matches!(dir.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Starts to replace a derived table.
    ///
    /// # Errors
    /// Returns [`WriteError`] if the recording cannot be written.
    pub fn derive<R: DerivedRow>(&self) -> Result<DerivedWriter<R>, WriteError> {
        self.writer()
    }

    /// Starts to write the detours of a program whose recording was cut off: they are derived from its events at the end.
    ///
    /// # Errors
    /// Returns [`WriteError`] if this recording has detours of its own, or if it cannot be written.
    pub fn derive_detours(&self) -> Result<DerivedWriter<Detour>, WriteError> {
        if !self.cut_off() || self.run.program.is_none() {
            let why = format!("{} has measured detours", self.dir.display());
            return Err(ProblemKind::CannotWrite.problem(why, "keep them").into());
        }
        self.writer()
    }

    /// Replaces the description of a recording that was cut off.
    ///
    /// # Errors
    /// Returns [`WriteError`] also if the recording on disk is complete; the old description then stays.
    pub fn describe(&self, run: &Run) -> Result<(), WriteError> {
        if !Recording::open(&self.dir)?.cut_off() {
            let why = format!("{} was completed meanwhile", self.dir.display());
            return Err(ProblemKind::CannotWrite.problem(why, "read it again").into());
        }
        let described = durable::replace(&self.dir.join(RUN), &json(run));
        described.map_err(not_derived(&self.dir))
    }

    /// Returns the directory in which a derived table is written before it replaces the old one.
    fn staging<R: Row>(&self) -> PathBuf {
        self.dir.join(format!(".{}.new", R::TABLE.name))
    }

    fn writer<R: Row>(&self) -> Result<DerivedWriter<R>, WriteError> {
        let staging = self.staging::<R>();
        let prepare = || {
            verify_own(&self.dir)?;
            remove_dir(&staging)?;
            durable::create_dir(&staging)
        };
        prepare().map_err(|source| match durable::is_full(&source) {
            true => no_room(&self.dir),
            false => Problem::cannot_write_to(&self.dir, &source),
        })?;
        Ok(DerivedWriter {
            dir: self.dir.clone(),
            staging,
            boundaries: Boundaries::new(&self.run.clock, self.run.start_ticks),
            open: None,
            sums: Vec::new(),
            row: PhantomData,
        })
    }

    /// Replaces the checks of attribution.
    ///
    /// # Errors
    /// Returns [`WriteError`]; the old file then stays.
    pub fn write_attribution(&self, attribution: &Attribution) -> Result<(), WriteError> {
        let content = json(attribution);
        let file = self.dir.join(ATTRIBUTION);
        let sums = vec![(ATTRIBUTION.to_owned(), sum_of(&content))];
        let written = durable::stage(&file, &content)
            .and_then(|()| exchange(&self.dir, ATTRIBUTION, sums, || durable::publish(&file)));
        written.map_err(not_derived(&self.dir))
    }
}

impl<R: Row> DerivedWriter<R> {
    /// Adds rows of one or more CPUs as one row group, or as several for over 128 Ki rows or several CPUs.
    ///
    /// # Errors
    /// Returns [`WriteError`]; the old table then stays, and the writer cannot be used any more.
    pub fn append(&mut self, rows: &[R]) -> Result<(), WriteError> {
        for rows in rows.chunk_by(|a, b| a.cpu() == b.cpu()) {
            verify_order(rows, &mut 0)?;
            let written = rows.chunks(GROUP_ROWS).try_for_each(|rows| self.group(rows));
            written.map_err(not_derived(&self.dir))?;
        }
        Ok(())
    }

    /// Replaces the old table by the new one.
    ///
    /// # Errors
    /// Returns [`WriteError`]; the old table then stays.
    pub fn finish(mut self) -> Result<(), WriteError> {
        self.close_part().map_err(not_derived(&self.dir))?;
        let table = R::TABLE.name;
        let named = |(index, sum)| (format!("{table}/{}", part_name(index)), sum);
        let sums = std::mem::take(&mut self.sums).into_iter().enumerate().map(named).collect();
        let place = self.dir.join(table);
        let (dir, staging) = (&self.dir, &self.staging);
        let exchanged = exchange(dir, table, sums, || {
            let swapped = durable::sync_dir(staging)
                .and_then(|()| swap(staging, &place))
                .and_then(|()| durable::sync_dir(dir));
            swapped.map_err(|source| durable::failed(&place, &source))
        });
        exchanged.map_err(not_derived(dir))
    }

    fn group(&mut self, rows: &[R]) -> Result<(), WriteError> {
        let path = self.staging.join(part_name(self.sums.len()));
        let create = || Part::create::<R>(path.clone());
        match Part::append_to(&mut self.open, create, rows, &self.boundaries) {
            Ok(false) => Ok(()),
            Ok(true) => self.close_part(),
            Err(error) => Err(failed(error, path, 0)),
        }
    }

    fn close_part(&mut self) -> Result<(), WriteError> {
        let Some(part) = self.open.take() else { return Ok(()) };
        let path = part.path().to_owned();
        let full = || PartError::Io(io::ErrorKind::StorageFull.into());
        match part.close() {
            Ok(Some(closed)) if closed.dropped_rows == 0 => {
                self.sums.push(closed.sum);
                Ok(())
            }
            Ok(_) => Err(failed(full(), path, 0)),
            Err(error) => Err(failed(error, path, 0)),
        }
    }
}

/// Converts a full disk to an error which explains that the derived table can be made again.
fn not_derived(dir: &Path) -> impl Fn(WriteError) -> WriteError {
    move |error| match error {
        WriteError::Full { .. } => no_room(dir).into(),
        error => error,
    }
}

fn no_room(dir: &Path) -> Problem {
    let dir = dir.display();
    let why = format!("no space left to attribute {dir}; the measurement itself is complete");
    ProblemKind::CannotWrite
        .problem(why, format!("free space, then run `anechoic attribute {dir}`"))
}

impl<R: Row> Drop for DerivedWriter<R> {
    fn drop(&mut self) {
        // After the exchange this is the old table. If it cannot be removed, the next writer does it.
        let _ = remove_dir(&self.staging);
    }
}

/// Replaces a derived file or table and its checksums.
///
/// During the exchange it has no checksums, which readers allow for derived files. A kill therefore leaves
/// the old or the new version, never one with the checksums of the other.
fn exchange(
    dir: &Path,
    name: &str,
    new: Vec<(String, Sum)>,
    publish: impl FnOnce() -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    let Some(old) = Sums::read(dir)? else { return publish() };
    let file = dir.join(SUMS);
    let mut sums = old.clone();
    sums.remove(name);
    durable::replace(&file, sums.text().as_bytes())?;
    if let Err(error) = publish() {
        durable::replace(&file, old.text().as_bytes())?;
        return Err(error);
    }
    for (name, sum) in new {
        sums.insert(name, sum);
    }
    durable::replace(&file, sums.text().as_bytes())
}

/// Swaps two directories atomically if the system can, so that the name always exists.
fn swap(new: &Path, place: &Path) -> io::Result<()> {
    if !place.exists() {
        return fs::rename(new, place);
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        if renameat_with(CWD, new, CWD, place, RenameFlags::EXCHANGE).is_ok() {
            return Ok(());
        }
    }
    let old = new.with_extension("old");
    remove_dir(&old)?;
    fs::rename(place, &old)?;
    fs::rename(new, place).inspect_err(|_| {
        let _ = fs::rename(&old, place);
    })?;
    fs::remove_dir_all(old)
}

fn remove_dir(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
