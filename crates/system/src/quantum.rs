//! The scheduler's quantum: how long a thread keeps its CPU while others of its priority wait for it.

use crate::machine::Root;

/// The kernel's own description of the calling thread (Linux 6.12; before, without the quantum).
const THREAD: &str = "/proc/thread-self/sched";
/// The line of it that holds the quantum in ns.
const SLICE: &str = "se.slice";
/// The quantum of every thread that has not asked for another, in ns (Linux 6.6, if debugfs is mounted).
const BASE: &str = "/sys/kernel/debug/sched/base_slice_ns";

/// Returns the quantum of the calling thread in ns, if it is an ordinary one and the kernel reports it.
///
/// Of an older kernel it is rounded down to whole timer ticks, and absent if it is less than one.
#[must_use]
pub fn quantum_ns(root: &Root) -> Option<u64> {
    let of_thread = root.read(THREAD).and_then(|text| slice_ns(&text));
    let base = || root.read(BASE)?.trim().parse().ok();
    of_thread.or_else(base).or_else(interval_ns).filter(|&ns| ns > 0)
}

/// Returns the quantum in the kernel's description of a thread, in ns.
fn slice_ns(text: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == SLICE).then(|| value.trim().parse().ok())?
    })
}

/// Returns what `sched_rr_get_interval` reports for the calling thread, in ns.
fn interval_ns() -> Option<u64> {
    let mut interval = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes only the interval, which is valid; 0 is the calling thread.
    let done = unsafe { libc::sched_rr_get_interval(0, &raw mut interval) };
    let seconds = u64::try_from(interval.tv_sec).ok()?;
    let ns =
        seconds.checked_mul(1_000_000_000)?.checked_add(u64::try_from(interval.tv_nsec).ok()?)?;
    (done == 0).then_some(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantum_is_the_line_of_that_name() {
        let cases = [
            (
                "Linux 6.18",
                "prio : 120\nse.slice          :   1400000\nclock-delta : 52\n",
                Some(1_400_000),
            ),
            ("before Linux 6.12", "policy : 0\nprio : 120\n", None),
            ("no number", "se.slice : x\n", None),
            ("another name", "se.slice_max : 7\n", None),
            ("empty", "", None),
        ];
        for (name, text, expected) in cases {
            assert_eq!(slice_ns(text), expected, "case: {name}");
        }
    }

    #[test]
    fn the_quantum_of_this_thread_is_plausible_where_it_is_known() {
        if let Some(ns) = quantum_ns(&Root::live()) {
            assert!((10_000..=1_000_000_000).contains(&ns), "{ns} ns");
        }
    }
}
