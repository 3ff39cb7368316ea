//! A handle to tracefs that changes nothing on the system.

use super::error::TraceError;
use anechoic_recording::ProblemKind;
use rustix::fs::{Access, access, statfs};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// `TRACEFS_MAGIC` of the kernel.
const MAGIC: u64 = 0x7472_6163;

/// The usual mount points of tracefs.
const USUAL: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A handle through which tracefs is reachable as long as it lives.
#[derive(Debug)]
pub struct Tracefs {
    root: PathBuf,
    /// The detached mount behind `root`. Only this descriptor leads to it, so it disappears with the process,
    /// however that ends.
    _mount: Option<OwnedFd>,
}

impl Tracefs {
    /// Finds a usable mount, or creates a detached one that no other process sees.
    ///
    /// # Errors
    /// Returns [`TraceError::Unusable`].
    pub fn open() -> Result<Self, TraceError> {
        Self::open_at(&USUAL.map(Path::new))
    }

    /// Opens like [`Tracefs::open`], with a list of mount points.
    ///
    /// # Errors
    /// Returns the same errors.
    pub fn open_at(places: &[&Path]) -> Result<Self, TraceError> {
        let mut refused = None;
        for place in places {
            match usable(place) {
                Ok(true) => return Ok(Self { root: place.to_path_buf(), _mount: None }),
                Ok(false) => {}
                Err(error) => refused = Some(error),
            }
        }
        // An existing mount that we may not use may be usable in another way (read-only in a container).
        detached().map_err(|error| match (error, refused) {
            (Errno::NODEV, _) => TraceError::no_tracefs(),
            (_, Some(error)) | (error @ (Errno::PERM | Errno::ACCESS), None) => {
                TraceError::not_permitted(&error.into())
            }
            (error, None) => TraceError::Unusable(ProblemKind::Unavailable.problem(
                format!(
                    "tracefs is not mounted and cannot be mounted privately ({})",
                    io::Error::from(error)
                ),
                "mount it with: mount -t tracefs nodev /sys/kernel/tracing",
            )),
        })
    }

    /// Returns the root directory. It is valid in this process only.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns whether the mount is private to this process.
    #[must_use]
    pub fn is_detached(&self) -> bool {
        self._mount.is_some()
    }
}

/// Returns whether a tracefs has no files, as that of a kernel that is locked down.
pub(crate) fn is_empty(root: &Path) -> bool {
    fs::read_dir(root).is_ok_and(|mut entries| entries.next().is_none())
}

/// Returns whether `place` is a tracefs in which this process may create instances.
fn usable(place: &Path) -> Result<bool, Errno> {
    let is_tracefs = statfs(place).is_ok_and(|fs| fs.f_type as u64 == MAGIC);
    if is_tracefs {
        access(place.join("instances"), Access::WRITE_OK | Access::EXEC_OK)?;
    }
    Ok(is_tracefs)
}

fn detached() -> Result<Tracefs, Errno> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    let root = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
    Ok(Tracefs { root, _mount: Some(mount) })
}
