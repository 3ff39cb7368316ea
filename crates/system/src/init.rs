//! What the first process of a kernel does: mounts what others need, makes the root file system writable, ends the
//! machine.

use anechoic_recording::{Problem, ProblemKind};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_remount};
use rustix::system::{RebootCommand, reboot};
use std::fs;
use std::path::Path;

/// What is mounted where, and a file that is there if it already is.
const MOUNTS: &[(&str, &str, &str)] = &[
    ("proc", "/proc", "/proc/self/status"),
    ("sysfs", "/sys", "/sys/kernel"),
    ("devtmpfs", "/dev", "/dev/null"),
];

/// How the machine ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It starts again, by its firmware.
    Restart,
    /// It is switched off.
    PowerOff,
}

/// Returns whether this is the first process: of the kernel, or of a PID namespace.
#[must_use]
pub fn is_first() -> bool {
    std::process::id() == 1
}

/// Mounts /proc, /sys and /dev if they are not. Returns what could not be mounted; a measurement reports itself what it
/// lacks then.
#[must_use]
pub fn mount_missing() -> Vec<Problem> {
    let missing = MOUNTS.iter().filter(|(_, _, there)| !Path::new(there).exists());
    let done = missing.map(|&(kind, at, _)| {
        let made = fs::create_dir_all(at)
            .and_then(|()| Ok(mount(kind, at, kind, MountFlags::empty(), None)?));
        made.map_err(|error| {
            let remedy =
                format!("build {kind} into the kernel, or create {at} on its root file system");
            ProblemKind::Unavailable.problem(format!("cannot mount {at}: {error}"), remedy)
        })
    });
    done.filter_map(Result::err).collect()
}

/// Makes a root file system writable that is mounted read-only. Returns whether it was.
///
/// # Errors
/// It cannot be written to.
pub fn make_root_writable() -> Result<bool, Problem> {
    let flags = rustix::fs::statvfs("/").map(|root| root.f_flag);
    if !flags.is_ok_and(|flags| flags.contains(rustix::fs::StatVfsMountFlags::RDONLY)) {
        return Ok(false);
    }
    match mount_remount("/", MountFlags::empty(), "") {
        Ok(()) => Ok(true),
        Err(error) => {
            let why = format!("cannot make the root file system writable: {error}");
            let remedy =
                "put rw on the kernel command line, or name a directory on another file system";
            Err(ProblemKind::CannotWrite.problem(why, remedy))
        }
    }
}

/// Writes everything to the disks, and mounts the root file system read-only again if asked.
pub fn leave_disks(read_only: bool) {
    rustix::fs::sync();
    if read_only {
        // What fails here is repaired from the journal at the next start.
        let _ = mount_remount("/", MountFlags::RDONLY, "");
    }
}

/// Ends the machine; in a PID namespace, the namespace. Returns only where the system denies that.
#[must_use]
pub fn end(how: End) -> Problem {
    let command = match how {
        End::Restart => RebootCommand::Restart,
        End::PowerOff => RebootCommand::PowerOff,
    };
    let error = reboot(command).err().unwrap_or(Errno::IO);
    let why = format!("the machine cannot be restarted or switched off: {error}");
    ProblemKind::Unavailable.problem(why, "switch it off by hand; everything is written")
}
