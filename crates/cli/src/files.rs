//! Files that a command writes. Existing files are overwritten only on request.

use crate::exit::Usage;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::path::Path;

/// Refuses to overwrite an existing file unless forced.
pub fn refuse(path: &Path, force: bool) -> anyhow::Result<()> {
    if !force && path.exists() {
        return Err(Usage(format!(
            "{} already exists; use --force to overwrite it",
            path.display()
        ))
        .into());
    }
    Ok(())
}

/// Creates a file. Without `force`, a file that somebody else created meanwhile is not overwritten.
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

/// Adds the name of the file to an error.
pub fn named(path: &Path, error: &Error) -> Error {
    Error::new(error.kind(), format!("{}: {error}", path.display()))
}
