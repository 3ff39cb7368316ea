//! Files that a command writes: none that is there already, unless that was asked for.

use crate::exit::Usage;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::path::Path;

/// Refuses a file that is there.
pub fn refuse(path: &Path, force: bool) -> anyhow::Result<()> {
    if !force && path.exists() {
        return Err(Usage(format!("{} exists; --force overwrites it", path.display())).into());
    }
    Ok(())
}

/// Makes a file. One that came meanwhile is not ours to overwrite.
pub fn create(path: &Path, force: bool) -> anyhow::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true);
    let options =
        if force { options.create(true).truncate(true) } else { options.create_new(true) };
    options.open(path).or_else(|error| {
        if error.kind() == ErrorKind::AlreadyExists {
            refuse(path, false)?;
        }
        Err(named(path, &error).into())
    })
}

/// The error with the name of the file.
pub fn named(path: &Path, error: &Error) -> Error {
    Error::new(error.kind(), format!("{}: {error}", path.display()))
}
