//! Systems on which this program is never root: nobody gains anything by redirecting what it writes.

use std::io;
use std::path::Path;

/// Accepts every directory.
///
/// # Errors
/// Never.
pub fn verify_place(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns the path.
///
/// # Errors
/// Never.
pub fn verify_code(path: &Path) -> io::Result<std::path::PathBuf> {
    Ok(path.to_path_buf())
}

/// Accepts every directory.
pub(crate) fn verify_own(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns `None`: there is no sudo.
#[must_use]
pub fn sudo_user() -> Option<(u32, u32)> {
    None
}

/// Returns false.
pub(crate) fn is_root() -> bool {
    false
}
