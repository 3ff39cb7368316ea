//! Which threads of the kernel and which daemons run, by their names in /proc.

use super::Root;

/// Names of all processes and kernel threads, or nothing where they cannot be seen: in a
/// pid namespace, where process 2 is not the kernel's.
pub fn names(root: &Root) -> Option<Vec<String>> {
    if root.read("/proc/2/comm")? != "kthreadd" {
        return None;
    }
    let pids = root.names("/proc").into_iter().filter(|name| name.parse::<u32>().is_ok());
    Some(pids.filter_map(|pid| root.read(&format!("/proc/{pid}/comm"))).collect())
}
