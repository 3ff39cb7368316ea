//! Checks memory: huge pages, and how much may be locked.

use super::{RowResult, Scene};
use crate::rights;
use crate::rlimits::limits;

pub(super) fn huge_pages(scene: &Scene) -> RowResult {
    let pool = |name: &str, label: &str| {
        let count = scene.setting(name).unwrap_or("not available");
        format!("pool of {label}: {count}")
    };
    let mode = scene.setting("transparent_hugepage");
    let found = format!(
        "transparent: {}; {}; {}",
        mode.unwrap_or("not available"),
        pool("huge pages 2 MiB", "2 MiB"),
        pool("huge pages 1 GiB", "1 GiB"),
    );
    match mode {
        Some("always" | "madvise") => RowResult::good(found),
        Some(_) => {
            RowResult::limited(found, "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
        }
        None => RowResult::limited(found, "use a kernel built with CONFIG_TRANSPARENT_HUGEPAGE"),
    }
}

/// The bit in `CapEff` of the capability that lifts the limit on locked memory.
const CAP_IPC_LOCK: u32 = 14;

pub(super) fn locked(scene: &Scene) -> RowResult {
    let status = scene.root.read("/proc/self/status").unwrap_or_default();
    if has_capability(&status, CAP_IPC_LOCK) {
        return RowResult::good("no limit (CAP_IPC_LOCK)");
    }
    match limits(&scene.root, "Max locked memory") {
        None => RowResult::limited("not known", "mount /proc, which shows the limit"),
        Some([None, _]) => RowResult::good("no limit"),
        Some([Some(bytes), _]) => RowResult::limited(
            format!("{} KiB; buffers beyond that are touched, not locked", bytes >> 10),
            format!(
                "{}; or set memlock to unlimited for your user in /etc/security/limits.conf, and log in again",
                rights::remedy("cap_ipc_lock")
            ),
        ),
    }
}

/// Returns whether `/proc/self/status` lists capability `number` as effective.
fn has_capability(status: &str, number: u32) -> bool {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    bits >> number & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities() {
        let cases = [
            ("root", "CapPrm:\t0\nCapEff:\t000001fffeffffff\n", true),
            ("this one", "CapEff:\t0000000000004000\n", true),
            ("others", "CapEff:\t000001ffffffbfff\n", false),
            ("no number", "CapEff:\tx\n", false),
            ("empty", "", false),
        ];
        for (case, status, expected) in cases {
            assert_eq!(has_capability(status, CAP_IPC_LOCK), expected, "case: {case}");
        }
    }
}
