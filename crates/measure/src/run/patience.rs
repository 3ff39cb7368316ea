//! Loops that do not run, because a real-time thread keeps their CPU busy. At first they look like slow loops.

use crate::kernel::user;
use crate::timed::round::Hub;
use anechoic_recording::run::OwnThread;
use anechoic_system::cpus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long all loops together may take to come to a start, or a loop beyond its end.
const PATIENCE: Duration = Duration::from_secs(30);
/// The same after a signal.
const AFTER_STOP: Duration = Duration::from_secs(2);

/// A wait for loops, which ends also if some never come.
#[derive(Debug)]
pub(super) struct Patience<'r> {
    stop: &'r AtomicBool,
    since: Instant,
    stopped: Option<Instant>,
    lack: Lack,
}

/// What a loop that is waited for too long lacks, and what helps.
type Lack = (&'static str, &'static str);

const CPU: Lack = (
    "did not get its CPU for",
    "leave that CPU out with --cpus, or find the thread that has it: ps -eLo tid,rtprio,psr,comm",
);
const PREPARATION: Lack = (
    "was not prepared within",
    "have the _prepare function take less time, or leave busy CPUs out with --cpus",
);

impl<'r> Patience<'r> {
    pub(super) fn begin(stop: &'r AtomicBool) -> Self {
        Self { stop, since: Instant::now(), stopped: None, lack: CPU }
    }

    /// Begins to wait for loops that prepare their workspaces, which users' functions may take long for.
    pub(super) fn for_preparation(stop: &'r AtomicBool) -> Self {
        let lack = if user::any_loaded() { PREPARATION } else { CPU };
        Self { lack, ..Self::begin(stop) }
    }

    /// Returns what helps if the wait was too long.
    pub(super) fn remedy(&self) -> &'static str {
        self.lack.1
    }

    /// Returns why nobody should wait any longer, if so. While `late` is false, only a signal ends the wait.
    pub(super) fn over(&mut self, late: bool) -> Option<String> {
        if !late {
            self.since = Instant::now();
        }
        if self.stopped.is_none() && self.stop.load(Ordering::Acquire) {
            self.stopped = Some(Instant::now());
        }
        if self.stopped.is_some_and(|since| since.elapsed() > AFTER_STOP) {
            return Some("by a signal".to_owned());
        }
        let over = self.since.elapsed() > PATIENCE;
        over.then(|| format!("a loop {} {PATIENCE:?}", self.lack.0))
    }
}

/// Moves the threads of `lanes`, and those that wake them, to other CPUs, where they see that they must end, and ends the user's
/// functions in them.
pub(super) fn release(hub: &Hub, lanes: impl Iterator<Item = (usize, Option<u32>)>) {
    let home = cpus::allowed();
    for waker in hub.beside().iter().filter(|thread| thread.role == OwnThread::WAKING) {
        let _ = cpus::pin_thread(waker.tid, &home);
    }
    for (lane, cpu) in lanes {
        let tid = hub.thread_of(lane);
        if let (Some(cpu), true) = (cpu, tid > 0) {
            let _ = cpus::pin_thread(tid, &cpus::elsewhere(cpu, &home)); // fails if it has ended
        }
        if tid > 0 && user::any_loaded() {
            user::end_call_of(tid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_ends_every_wait_and_time_only_that_for_late_loops() {
        let long_ago =
            Instant::now().checked_sub(PATIENCE * 2).expect("the machine has run so long");
        for (late, stopped, expected) in [
            (false, None, None),
            (true, None, Some("a loop did not get its CPU for 30s")),
            (false, Some(long_ago), Some("by a signal")),
            (true, Some(Instant::now()), Some("a loop did not get its CPU for 30s")),
        ] {
            let stop = AtomicBool::new(stopped.is_some());
            let mut patience = Patience { stop: &stop, since: long_ago, stopped, lack: CPU };
            assert_eq!(patience.over(late).as_deref(), expected, "{late} {stopped:?}");
        }
    }
}
