//! Checks scheduling: whether loops may run with real-time priority, and what throttles them then.

use super::{RowResult, Scene};
use crate::cpus;
use std::io;
use std::thread;

pub(super) fn fifo(_: &Scene) -> RowResult {
    // The thread ends immediately, and its priority with it.
    let tried = thread::spawn(|| cpus::set_policy(libc::SCHED_FIFO, 1)).join();
    match tried.unwrap_or_else(|_| Err(io::Error::other("the thread that tried it failed"))) {
        Ok(()) => RowResult::good("SCHED_FIFO is permitted (--fifo)"),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => RowResult::missing(
            "SCHED_FIFO is not permitted (--fifo)",
            "run as root, with: setcap cap_sys_nice+ep ANECHOIC, or: ulimit -r 1 (rtprio in limits.conf)",
        ),
        Err(error) => {
            RowResult::missing(format!("SCHED_FIFO fails: {error}"), "measure without --fifo")
        }
    }
}

/// Checks for gaps that the scheduler makes in loops with real-time priority.
pub(super) fn throttling(scene: &Scene) -> RowResult {
    let runtime = scene.setting("kernel.sched_rt_runtime_us");
    let period = scene.setting("kernel.sched_rt_period_us").unwrap_or("an unknown number of");
    let throttled = match runtime {
        Some("-1") => "no throttling".to_owned(),
        Some(us) => format!("{us} of {period} µs may be used"),
        None => "limit not readable".to_owned(),
    };
    let (server, server_is_off) = fair_server(scene);
    let found = format!("{throttled}{server}");
    if runtime == Some("-1") && server_is_off {
        return RowResult::good(found);
    }
    RowResult::limited(
        found,
        "to avoid gaps with --fifo: sysctl kernel.sched_rt_runtime_us=-1, and from Linux 6.12 on: \
         echo 0 > /sys/kernel/debug/sched/fair_server/cpuN/runtime",
    )
}

/// Describes the server that lets ordinary threads run beside real-time ones (Linux 6.12), and returns
/// whether it is known to be off.
fn fair_server(scene: &Scene) -> (String, bool) {
    match scene.setting("fair_server runtime") {
        Some("0") => ("; fair server off".to_owned(), true),
        Some(ns) => (format!("; fair server takes up to {ns} ns"), false),
        None if has_fair_server(&scene.machine.kernel) == Some(false) => (String::new(), true),
        None => ("; fair server not readable (debugfs)".to_owned(), false),
    }
}

/// Reads it from the kernel's release; `None` if that does not begin with two numbers.
fn has_fair_server(release: &str) -> Option<bool> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let version: (u32, u32) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    Some(version >= (6, 12))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_with_a_fair_server() {
        let cases = [
            ("6.18.44-fc-v669 #1 SMP", Some(true)),
            ("6.12.0", Some(true)),
            ("6.11.9", Some(false)),
            ("5.14.0-427.el9", Some(false)),
            ("10.0-rc1", Some(true)),
            ("6", None),
            ("", None),
            ("x.y", None),
        ];
        for (release, expected) in cases {
            assert_eq!(has_fair_server(release), expected, "case: {release}");
        }
    }
}
