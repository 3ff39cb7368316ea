//! The names of the functions in stacks: of the kernel, and of the files that processes had mapped.

use super::Call;
use super::mapped::{CodeFile, Place};
use crate::functions;
use crate::tracefs::symbols;
use anechoic_recording::{KERNEL_FUNCTION, Problem};
use std::collections::{BTreeMap, HashMap};
use std::ffi::c_long;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::sync::Arc;

/// Largest number of files that are kept open to read the names of their functions.
const MOST_FILES: usize = 1_000;
/// Number of names that are kept from one lookup to the next.
const MOST_NAMES: usize = 1 << 18;
/// Asks a file system which file with its number this is (`FS_IOC_GETVERSION` of `include/uapi/linux/fs.h`).
const GET_GENERATION: libc::c_ulong = 0x8008_7601;

/// The names that are known.
#[derive(Default)]
pub(super) struct Names {
    /// The files in stacks; none where the file that was mapped could not be opened.
    files: HashMap<Arc<CodeFile>, Option<File>>,
    kernel: HashMap<u64, String>,
    user: HashMap<Place, String>,
}

impl Names {
    /// Opens a file of code that this process maps, if it is seen for the first time: later the path may lead to another one.
    pub(super) fn open(&mut self, file: &Arc<CodeFile>, process: u32) {
        if !self.files.contains_key(file) && self.files.len() < MOST_FILES {
            self.files.insert(Arc::clone(file), file.open(process));
        }
    }

    /// Finds the names of these calls.
    ///
    /// # Errors
    /// Returns why functions of the kernel have no names.
    pub(super) fn find<'a>(
        &mut self,
        calls: impl Iterator<Item = &'a Call>,
    ) -> Result<(), Problem> {
        if self.kernel.len() + self.user.len() > MOST_NAMES {
            self.kernel.clear();
            self.user.clear();
        }
        let (mut addresses, mut places) = (vec![], BTreeMap::<&Arc<CodeFile>, Vec<u64>>::new());
        for call in calls {
            match call {
                Call::Kernel(address) if !self.kernel.contains_key(address) => {
                    addresses.push(address - 1); // it is where the call returns to
                }
                Call::User(place) if !self.user.contains_key(place) => {
                    places.entry(&place.file).or_default().push(place.offset);
                }
                Call::Kernel(_) | Call::User(_) => {}
            }
        }
        for (file, offsets) in places {
            let opened = self.files.get(file).and_then(Option::as_ref);
            let names = opened.and_then(|opened| functions::names_at(opened, &offsets).ok());
            let names = names.unwrap_or_else(|| vec![None; offsets.len()]);
            for (offset, name) in offsets.into_iter().zip(names) {
                let place = Place { file: Arc::clone(file), offset };
                self.user.insert(place, name.unwrap_or_else(|| file.shown()));
            }
        }
        if addresses.is_empty() {
            return Ok(());
        }
        let found = symbols::resolve(addresses)?;
        self.kernel.extend(found.into_iter().map(|name| (name.key + 1, name.name)));
        Ok(())
    }

    /// Returns the name of a call, as it stands in the name of a stack.
    pub(super) fn name(&self, call: &Call) -> String {
        const UNKNOWN: &str = "[unknown]";
        match call {
            Call::Kernel(address) => {
                let name = self.kernel.get(address).map_or(UNKNOWN, String::as_str);
                format!("{name}{KERNEL_FUNCTION}")
            }
            // Only the kernel's functions end so, and only between two calls is such a mark.
            Call::User(place) => {
                let name = self.user.get(place).map_or(UNKNOWN, String::as_str);
                name.replace(';', ":").replace(KERNEL_FUNCTION, "")
            }
        }
    }
}

impl CodeFile {
    /// Opens the file, if it is still the one that this process had mapped.
    fn open(&self, process: u32) -> Option<File> {
        // As the process sees it, which may have another root.
        if let Some((file, _)) = self.open_as(&format!("/proc/{process}/root{}", self.path)) {
            return Some(file);
        }
        let (file, device) = self.open_as(&self.path)?;
        ((libc::major(device), libc::minor(device)) == self.device).then_some(file)
    }

    /// Opens it by a path, if the file there has its number. Returns also the device.
    fn open_as(&self, path: &str) -> Option<(File, u64)> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
        let known = file.metadata().ok()?;
        let same = known.is_file() && known.ino() == self.inode && self.is_generation(&file);
        same.then_some((file, known.dev()))
    }

    /// Whether it is this file with its number, where the file system knows that: it gives the number of a file that was removed
    /// to the next one.
    fn is_generation(&self, file: &File) -> bool {
        let mut generation: c_long = 0;
        // SAFETY: the file system writes at most one `long` there.
        let done =
            unsafe { libc::ioctl(file.as_raw_fd(), GET_GENERATION as _, &raw mut generation) };
        done < 0 || self.generation == 0 || generation as u32 == self.generation as u32
    }

    /// Returns what stands for code without a name.
    fn shown(&self) -> String {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        match name.trim_end_matches(" (deleted)").trim_start_matches('[').trim_end_matches(']') {
            "" | "anon" => "[no file]".to_owned(),
            name => format!("[{name}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_the_file_that_was_mapped_is_opened() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a");
        fs::write(&path, "1").expect("it is written");
        let known = fs::metadata(&path).expect("it is there");
        let (inode, device) = (known.ino(), (libc::major(known.dev()), libc::minor(known.dev())));
        let path = path.to_str().expect("text").to_owned();
        let file = CodeFile { path: path.clone(), inode, generation: 0, device };
        let here = std::process::id();
        assert!(file.open(here).is_some());
        assert!(file.open(u32::MAX).is_some(), "the process has ended");
        let elsewhere = CodeFile { device: (device.0, device.1 + 1), path: path.clone(), ..file };
        assert!(elsewhere.open(u32::MAX).is_none());
        let other = CodeFile { inode: inode + 1, path: path.clone(), ..file };
        assert!(other.open(here).is_none());
        let gone = CodeFile { path: format!("{path} (deleted)"), ..other };
        assert!(gone.open(here).is_none());
        assert_eq!(gone.shown(), "[a]");
    }
}
