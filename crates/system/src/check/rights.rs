//! Checks scheduling: whether loops may run with real-time priority, and what throttles them then.

use super::{RowResult, Scene};
use crate::{cpus, rights};
use anechoic_recording::in_words;
use std::io;
use std::thread;

pub(super) fn fifo(_: &Scene) -> RowResult {
    // The thread ends immediately, and its priority with it.
    let tried = thread::Builder::new().spawn(|| cpus::set_policy(libc::SCHED_FIFO, 1));
    let Ok(tried) = tried else {
        return RowResult::missing(
            "not known whether SCHED_FIFO is permitted: no thread may be started",
            "raise the limit on processes (ulimit -u, pids.max)",
        );
    };
    let failed = |_| Err(io::Error::other("the thread that tried it failed"));
    match tried.join().unwrap_or_else(failed) {
        Ok(()) => RowResult::good("SCHED_FIFO is permitted (--fifo)"),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            RowResult::missing("SCHED_FIFO is not permitted (--fifo)", rights::fifo_remedy())
        }
        Err(error) => RowResult::missing(
            format!("SCHED_FIFO fails: {}", in_words(&error)),
            "measure without --fifo",
        ),
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
         echo 0 > /sys/kernel/debug/sched/fair_server/cpuN/runtime (mount -t debugfs none /sys/kernel/debug if it is not there)",
    )
}

/// Describes the server that lets ordinary threads run beside real-time ones (Linux 6.12), and returns
/// whether it is known to be off.
fn fair_server(scene: &Scene) -> (String, bool) {
    match scene.setting("fair_server runtime") {
        Some("0") => ("; fair server off".to_owned(), true),
        Some(ns) => (format!("; fair server takes up to {ns} ns"), false),
        None if scene.machine.has_fair_server() == Some(false) => (String::new(), true),
        None => ("; fair server not readable (debugfs)".to_owned(), false),
    }
}
