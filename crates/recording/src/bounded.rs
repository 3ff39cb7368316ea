//! Reads files that somebody else may have made: only regular files, and none without an end.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// More bytes than any description of a recording has.
pub(crate) const MOST_BYTES: u64 = 64 << 20;

/// Reads a whole file of at most `most` bytes. Anything but a regular file is refused before it is opened, because a
/// pipe or a device may never end.
///
/// # Errors
/// Returns the system's error, or one of kind [`io::ErrorKind::InvalidData`] that names what the file is.
pub fn read_file(file: &Path, most: u64) -> io::Result<Vec<u8>> {
    let refuse = |why: String| Err(io::Error::new(io::ErrorKind::InvalidData, why));
    if !fs::metadata(file)?.is_file() {
        return refuse("it is not a regular file".to_owned());
    }
    let mut content = Vec::new();
    File::open(file)?.take(most.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return refuse(format!("it has more than {most} bytes"));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_a_limited_size_are_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file");
        fs::write(&file, "four").expect("a file");
        assert_eq!(read_file(&file, 4).expect("not too large"), b"four");
        let kind = |file: &Path, most| read_file(file, most).expect_err("refused").kind();
        assert_eq!(kind(&file, 3), io::ErrorKind::InvalidData);
        assert_eq!(kind(dir.path(), 4), io::ErrorKind::InvalidData);
        assert_eq!(kind(&dir.path().join("none"), 4), io::ErrorKind::NotFound);
        if cfg!(unix) {
            assert_eq!(kind(Path::new("/dev/zero"), 4), io::ErrorKind::InvalidData);
        }
    }
}
