//! Lets the thread that empties the kernel's buffers go first when it comes too late otherwise.

use rustix::process::{getpriority_process, setpriority_process};
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// Its priority then, as nice(1) counts. Beside twenty ordinary threads it still has most of a CPU.
const FIRST: i32 = -15;
/// It comes too late once it has waited for this long for each part of it that it executed, and for longer than `PATIENCE`.
const WAITED: u32 = 2;
const PATIENCE: Duration = Duration::from_millis(20);

/// Watches over the thread while it empties buffers. Many threads of a program that fill them would leave it too little of a CPU,
/// and the oldest events would be overwritten. Its priority is as before when this is dropped.
pub(super) struct Hurry {
    begun: Instant,
    executed: Duration,
    before: Option<i32>,
}

impl Hurry {
    pub(super) fn new() -> Self {
        Self { begun: Instant::now(), executed: executed(), before: None }
    }

    /// Raises the priority if the thread comes too late. Without the privilege for that it stays as it is.
    pub(super) fn look(&mut self) {
        let executed = executed().saturating_sub(self.executed);
        let waited = self.begun.elapsed().saturating_sub(executed);
        if self.before.is_none() && waited > PATIENCE.max(executed * WAITED) {
            // On Linux these are of the calling thread alone.
            let before = getpriority_process(None).ok().filter(|&nice| nice > FIRST);
            self.before = before.filter(|_| setpriority_process(None, FIRST).is_ok());
        }
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        if let Some(nice) = self.before {
            let _ = setpriority_process(None, nice);
        }
    }
}

/// Returns the CPU time of this thread.
fn executed() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that sleeps is late as well as one that waits for a CPU.
    #[test]
    fn a_late_thread_goes_first_until_the_buffers_are_empty() {
        std::thread::spawn(|| {
            let nice = || getpriority_process(None).expect("a priority");
            let before = nice();
            let may = setpriority_process(None, before - 1).is_ok();
            let _ = setpriority_process(None, before);
            let mut hurry = Hurry::new();
            hurry.look();
            assert_eq!(nice(), before, "it is not late yet");
            std::thread::sleep(PATIENCE * 2);
            hurry.look();
            assert_eq!(nice(), if may { FIRST } else { before });
            drop(hurry);
            assert_eq!(nice(), before);
        })
        .join()
        .expect("it ends");
    }
}
