//! How much memory this process can still get.

use super::{Root, cgroup};
use std::path::Path;

/// The memory that this process can still get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeMemory {
    /// The amount in bytes.
    pub bytes: u64,
    /// Whether the limit of a control group decides it, and not the memory of the machine.
    pub by_cgroup: bool,
}

/// Returns the memory that this process can still get, if the kernel reports it.
#[must_use]
pub fn free_memory(root: &Root) -> Option<FreeMemory> {
    // What the kernel could give without swapping.
    let of_machine = bytes(&root.read("/proc/meminfo")?, "MemAvailable:")?;
    let unified = cgroup::unified(root)
        .and_then(|directory| left_in(root, &directory, ["memory.max", "memory.current"]));
    let legacy = cgroup::legacy_memory(root).and_then(|directory| {
        left_in(root, &directory, ["memory.limit_in_bytes", "memory.usage_in_bytes"])
    });
    Some(match unified.into_iter().chain(legacy).min() {
        Some(bytes) if bytes < of_machine => FreeMemory { bytes, by_cgroup: true },
        _ => FreeMemory { bytes: of_machine, by_cgroup: false },
    })
}

/// Returns a line of /proc/meminfo in bytes.
pub(crate) fn bytes(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Returns the smallest rest of a limit among a control group and those above it; the files are those of the limit and
/// of what is used. Memory that the kernel would take back
/// from files counts as used, so the rest is at least this.
fn left_in(root: &Root, directory: &str, files: [&str; 2]) -> Option<u64> {
    let left = |directory: &Path| {
        let number = |file: &str| root.number::<u64>(&directory.join(file).to_string_lossy());
        let [limit, used] = files.map(number);
        Some(limit?.saturating_sub(used?))
    };
    Path::new(directory).ancestors().filter_map(left).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_counts() {
        let own = [
            ("proc/self/mounts", "cgroup2 /cg cgroup2 rw 0 0\n"),
            ("proc/self/cgroup", "0::/job/a\n"),
        ];
        let old = [
            ("proc/self/mounts", "cgroup /cg cgroup rw,memory 0 0\n"),
            ("proc/self/cgroup", "4:memory:/job/a\n0::/\n"),
            ("cg/job/a/memory.limit_in_bytes", "2500000"),
            ("cg/job/a/memory.usage_in_bytes", "1000000"),
            ("cg/job/memory.limit_in_bytes", "9223372036854771712"),
            ("cg/job/memory.usage_in_bytes", "1000000"),
        ];
        let (_directory, root) =
            Root::tree(&[&old[..], &[("proc/meminfo", "MemAvailable: 4000 kB")]].concat());
        let found = free_memory(&root).map(|free| (free.bytes, free.by_cgroup));
        assert_eq!(found, Some((1_500_000, true)), "the memory controller of its own hierarchy");
        let free = "MemTotal: 9000 kB\nMemAvailable:    4000 kB\n";
        let limit = [
            ("cg/job/a/memory.max", "max"),
            ("cg/job/memory.max", "3000000"),
            ("cg/job/memory.current", "1000000"),
        ];
        type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], Option<(u64, bool)>);
        let cases: [Case; 4] = [
            (free, &[], Some((4_096_000, false))),
            (free, &limit, Some((2_000_000, true))),
            ("MemAvailable: 100 kB", &limit, Some((102_400, false))),
            ("MemAvailable: much kB", &limit, None),
        ];
        for (meminfo, limits, expected) in cases {
            let files = [&own, &[("proc/meminfo", meminfo)][..], limits].concat();
            let (_directory, root) = Root::tree(&files);
            let found = free_memory(&root).map(|free| (free.bytes, free.by_cgroup));
            assert_eq!(found, expected, "case: {meminfo}");
        }
    }
}
