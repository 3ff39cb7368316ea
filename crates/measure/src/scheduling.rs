//! Scheduling and signals of the calling thread.

use std::io;

/// Priority of loops under SCHED_FIFO: above every fair thread, below the kernel's own threads.
pub(crate) const FIFO_PRIORITY: i32 = 1;

/// Blocks every signal that can be blocked in the calling thread.
pub(crate) fn block_signals() {
    // SAFETY: the set is initialised and changes only the calling thread.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
    }
}

/// Sets the scheduling policy of the calling thread.
pub(crate) fn set_policy(policy: i32, sched_priority: i32) -> io::Result<()> {
    let param = libc::sched_param { sched_priority };
    // SAFETY: the parameter is valid and changes only the calling thread.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const param) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
