//! The names of running kernel threads and daemons, from /proc.

use super::Root;

/// Returns the names of all processes and kernel threads. Returns `None` in a PID namespace, where they are
/// hidden and process 2 is not the kernel's.
pub fn names(root: &Root) -> Option<Vec<String>> {
    if root.read("/proc/2/comm")? != "kthreadd" {
        return None;
    }
    let pids = root.names("/proc").into_iter().filter(|name| name.parse::<u32>().is_ok());
    Some(pids.filter_map(|pid| root.read(&format!("/proc/{pid}/comm"))).collect())
}
