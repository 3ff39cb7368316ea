//! An uprobe: an event at each entry of a function of a program. The kernel puts it into the file, so that each process that
//! executes the function makes the event.

use super::error::TraceError;
use super::mount::Tracefs;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// The name of the event in its group.
const EVENT: &str = "mark";
/// The file that lists the probes of all processes.
const PROBES: &str = "uprobe_events";

/// A probe. Dropping it removes it, once its event is disabled.
#[derive(Debug)]
pub(super) struct Probe {
    list: PathBuf,
    group: String,
}

impl Probe {
    /// Puts a probe at this offset of a program's file, for the instance with this name.
    ///
    /// # Errors
    /// Fails if the kernel has no uprobes, or refuses this one.
    pub(super) fn put(
        tracefs: &Tracefs,
        instance: &str,
        file: &File,
        offset: u64,
    ) -> Result<Self, TraceError> {
        let list = tracefs.root().join(PROBES);
        let group = instance.replace('-', "_");
        // A path would end at its first space.
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        append(&list, &format!("p:{group}/{EVENT} {path}:{offset:#x}")).map_err(
            |error| match error.kind() {
                ErrorKind::PermissionDenied => TraceError::not_permitted(&error),
                ErrorKind::NotFound => TraceError::other(
                    "this kernel cannot mark functions (it has no uprobes)".into(),
                    "mark with --mark-fd, or boot a kernel with CONFIG_UPROBE_EVENTS",
                ),
                _ => TraceError::other(
                    format!("the kernel refuses to mark the function: {error}"),
                    "mark another function, or mark with --mark-fd",
                ),
            },
        )?;
        Ok(Self { list, group })
    }

    /// Returns the group of its event.
    pub(super) fn group(&self) -> &str {
        &self.group
    }

    /// Returns its event, as a path below `events/`.
    pub(super) fn event(&self) -> String {
        format!("{}/{EVENT}", self.group)
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = remove(&self.list, &self.group);
    }
}

fn append(list: &Path, text: &str) -> io::Result<()> {
    // Without O_APPEND the kernel removes all probes first.
    let mut file = OpenOptions::new().append(true).open(list)?;
    file.write_all(text.as_bytes())
}

fn remove(list: &Path, group: &str) -> io::Result<()> {
    append(list, &format!("-:{group}/{EVENT}"))
}

/// Removes the probes of killed processes, whose instances have such names, after these: the instance of a probe lives as long as
/// it does.
pub(super) fn remove_leftovers(tracefs: &Tracefs, is_leftover: fn(&str) -> bool) {
    let list = tracefs.root().join(PROBES);
    for line in fs::read_to_string(&list).unwrap_or_default().lines() {
        let Some(group) = group_of(line) else { continue };
        let instance = group.replace('_', "-");
        let is_gone = !tracefs.root().join("instances").join(&instance).exists();
        if is_gone && is_leftover(&instance) {
            let _ = remove(&list, group);
        }
    }
}

/// Returns the group of a line of the list.
fn group_of(line: &str) -> Option<&str> {
    let (group, rest) = line.strip_prefix("p:")?.split_once('/')?;
    rest.starts_with(EVENT).then_some(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_probes_are_known_by_their_group() {
        for (line, expected) in [
            ("p:anechoic_7_8_0/mark /usr/bin/x:0x00000000000011e0", Some("anechoic_7_8_0")),
            ("p:uprobes/other /usr/bin/x:0x10", None),
            ("r:anechoic_7_8_0/mark /usr/bin/x:0x10", None),
            ("", None),
        ] {
            assert_eq!(group_of(line), expected, "{line}");
        }
    }
}
