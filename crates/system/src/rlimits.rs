//! The resource limits of this process, as /proc shows them: a container may refuse the system call.

use crate::machine::Root;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::time::Duration;

/// Raises the limit on open files as far as this process may: a pipe for each of 500 CPUs is more than the usual limit
/// of 1,024 allows, beside all else. The limit is this process's own.
pub(crate) fn allow_open_files() {
    if let Some([_, maximum]) = limits(&Root::live(), "Max open files") {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

/// Raises the limit on the time for which a thread of this process may run under a real-time policy without a pause, as far
/// as this process may. Returns the limit that is left, if any: the kernel kills a process that reaches it.
#[must_use]
pub fn allow_real_time() -> Option<Duration> {
    let [current, maximum] = limits(&Root::live(), "Max realtime timeout")?;
    if current != maximum {
        let _ = setrlimit(Resource::Rttime, Rlimit { current: maximum, maximum });
    }
    maximum.map(Duration::from_micros)
}

/// Returns the soft and the hard limit with this name in `/proc/self/limits`, `None` for no limit; or nothing if the file
/// does not have it.
pub(crate) fn limits(root: &Root, name: &str) -> Option<[Option<u64>; 2]> {
    let text = root.read("/proc/self/limits")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let mut words = line.split_whitespace().map(|word| word.parse().ok());
    Some([words.next()?, words.next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max open files            1024                 524288               files     \n\
                    Max locked memory         unlimited            unlimited            bytes     \n\
                    Max processes\n";
        let (_directory, root) = Root::tree(&[("proc/self/limits", text)]);
        for (name, expected) in [
            ("Max open files", Some([Some(1_024), Some(524_288)])),
            ("Max locked memory", Some([None, None])),
            ("Max processes", None),
            ("Max cpu time", None),
        ] {
            assert_eq!(limits(&root, name), expected, "case: {name}");
        }
    }
}
