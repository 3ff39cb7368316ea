//! Files that a command writes. Existing files are overwritten only on request.

use anechoic_recording::{Problem, ProblemKind};
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;

/// Refuses to overwrite an existing file unless forced.
pub fn refuse(path: &Path, force: bool) -> Result<(), Problem> {
    if !force && path.exists() {
        let why = format!("{} already exists", path.display());
        return Err(ProblemKind::Usage.problem(why, "use --force to overwrite it"));
    }
    Ok(())
}

/// Creates a file. Without `force`, a file that somebody else created meanwhile is not overwritten.
pub fn create(path: &Path, force: bool) -> Result<File, Problem> {
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
