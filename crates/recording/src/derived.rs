//! Replaces what was derived from the measured tables: as a whole, or not at all.

use crate::attribution::Attribution;
use crate::boundaries::Boundaries;
use crate::checksums::{SUMS, Sum, Sums, sum_of};
use crate::durable;
use crate::error::WriteError;
use crate::part::{Part, PartError, part_name};
use crate::recorder::{GROUP_ROWS, failed, in_order, json};
use crate::recording::{ATTRIBUTION, Recording};
use crate::row::DerivedRow;
use std::fs;
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// Writes a derived table beside the old one. Dropped before [`DerivedWriter::finish`], it leaves the old.
pub struct DerivedWriter<R: DerivedRow> {
    dir: PathBuf,
    staging: PathBuf,
    boundaries: Boundaries,
    open: Option<Part>,
    sums: Vec<Sum>,
    row: PhantomData<R>,
}

impl Recording {
    /// Starts to replace a derived table.
    ///
    /// # Errors
    /// [`WriteError`] where the recording cannot be written.
    pub fn derive<R: DerivedRow>(&self) -> Result<DerivedWriter<R>, WriteError> {
        let staging = self.dir.join(format!(".{}.new", R::TABLE.name));
        let prepare = || {
            remove_dir(&staging)?;
            fs::create_dir(&staging)
        };
        prepare().map_err(|source| match durable::is_full(&source) {
            true => WriteError::NotDerived { dir: self.dir.clone() },
            false => WriteError::Directory { dir: self.dir.clone(), source },
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

    /// Replaces what attribution says about itself.
    ///
    /// # Errors
    /// [`WriteError`]; the old one stays.
    pub fn write_attribution(&self, attribution: &Attribution) -> Result<(), WriteError> {
        let content = json(attribution);
        let file = self.dir.join(ATTRIBUTION);
        let sums = vec![(ATTRIBUTION.to_owned(), sum_of(&content))];
        let written = durable::stage(&file, &content)
            .and_then(|()| exchange(&self.dir, ATTRIBUTION, sums, || durable::publish(&file)));
        written.map_err(not_derived(&self.dir))
    }
}

impl<R: DerivedRow> DerivedWriter<R> {
    /// Adds rows of one or more CPUs: one row group, or several where there are over 128 Ki rows or several CPUs.
    ///
    /// # Errors
    /// [`WriteError`]; the old table stays, and the writer is of no further use.
    pub fn append(&mut self, rows: &[R]) -> Result<(), WriteError> {
        for rows in rows.chunk_by(|a, b| a.cpu() == b.cpu()) {
            let cpu = rows[0].cpu().unwrap_or_default();
            let mut after = 0;
            in_order(rows, &mut after).map_err(|ticks| WriteError::Order {
                table: R::TABLE.name,
                cpu,
                ticks,
                after,
            })?;
            let written = rows.chunks(GROUP_ROWS).try_for_each(|rows| self.group(rows));
            written.map_err(not_derived(&self.dir))?;
        }
        Ok(())
    }

    /// Puts the new table in the place of the old one.
    ///
    /// # Errors
    /// [`WriteError`]; the old table stays.
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
            swapped.map_err(|source| durable::failed(&place, source))
        });
        exchanged.map_err(not_derived(dir))
    }

    fn group(&mut self, rows: &[R]) -> Result<(), WriteError> {
        let path = self.staging.join(part_name(self.sums.len()));
        let part = match &mut self.open {
            Some(part) => Ok(part),
            None => Part::create::<R>(path.clone()).map(|part| self.open.insert(part)),
        };
        let written = part.and_then(|part| {
            part.append(rows, &self.boundaries)?;
            Ok(part.is_large())
        });
        match written {
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

/// Where no space is left: what is derived can be made again.
fn not_derived(dir: &Path) -> impl Fn(WriteError) -> WriteError {
    let dir = dir.to_owned();
    move |error| match error {
        WriteError::Full { .. } => WriteError::NotDerived { dir: dir.clone() },
        error => error,
    }
}

impl<R: DerivedRow> Drop for DerivedWriter<R> {
    fn drop(&mut self) {
        // After the exchange this is the old table. What stays is removed by the next writer.
        let _ = remove_dir(&self.staging);
    }
}

/// Replaces a derived file or table and its checksums.
///
/// In between it has none, which readers allow for what is derived: a kill leaves the old or the new, never
/// one with the checksums of the other.
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

/// Swaps two directories in one step where the system can, so that one of them is always in its place.
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
