//! Reads /proc and /sys of the live system or of a copy.

use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

/// The directory under which `/proc`, `/sys` and `/boot` are read.
///
/// Nothing here fails: what cannot be read or parsed is absent.
#[derive(Debug, Clone)]
pub struct Root(PathBuf);

impl Root {
    /// Returns the system that this process runs on.
    #[must_use]
    pub fn live() -> Self {
        Self::at("/")
    }

    /// Returns a copy of a system's files, with `proc` and `sys` in `directory`.
    #[must_use]
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self(directory.into())
    }

    /// Returns where `path` (absolute, as on the described system) lies.
    #[must_use]
    pub fn path(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    /// Returns whether a file or directory exists at `path`.
    #[must_use]
    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Returns the bytes of a file.
    #[must_use]
    pub fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        fs::read(self.path(path)).ok()
    }

    /// Returns the text of a file without surrounding white space; invalid UTF-8 is replaced.
    #[must_use]
    pub fn read(&self, path: &str) -> Option<String> {
        Some(String::from_utf8_lossy(&self.bytes(path)?).trim().to_owned())
    }

    /// Returns the number that is the whole text of a file.
    #[must_use]
    pub fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.read(path)?.parse().ok()
    }

    /// Returns the CPUs of a file with a list (`0-3,8`).
    #[must_use]
    pub fn cpus(&self, path: &str) -> Option<Vec<u32>> {
        crate::cpus::parse(&self.read(path)?).ok()
    }

    /// Returns the sorted names in a directory; empty if it cannot be read.
    #[must_use]
    pub fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(path)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

#[cfg(test)]
impl Root {
    /// Creates a system that has just these files (path, text), as long as the directory lives.
    pub fn tree<P: AsRef<str>>(files: &[(P, &str)]) -> (tempfile::TempDir, Self) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let root = Self::at(directory.path());
        for (path, text) in files {
            let path = root.path(path.as_ref());
            fs::create_dir_all(path.parent().expect("a file in a directory")).expect("directories");
            fs::write(path, text).expect("a file");
        }
        (directory, root)
    }
}
