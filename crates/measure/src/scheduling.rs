//! Scheduling and signals of the calling thread.

use anechoic_system::cpus::set_policy;

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

/// A real-time policy that the calling thread had; it has it again when this is dropped.
#[derive(Debug)]
pub(crate) struct LeftPolicy {
    name: &'static str,
    policy: i32,
    priority: i32,
}

impl LeftPolicy {
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }
}

impl Drop for LeftPolicy {
    fn drop(&mut self) {
        let _ = set_policy(self.policy, self.priority); // a deadline has more parameters, and does not come back
    }
}

/// Gives up a real-time policy that the calling thread inherited, as from `chrt -f`. Loops that inherited it would keep
/// the thread that starts them off their CPUs for ever.
pub(crate) fn leave_real_time() -> Option<LeftPolicy> {
    let mut param = libc::sched_param { sched_priority: 0 };
    // SAFETY: both only read the policy of the calling thread, and the parameter is valid.
    let policy = unsafe {
        libc::sched_getparam(0, &raw mut param);
        libc::sched_getscheduler(0)
    };
    let name = match policy & !libc::SCHED_RESET_ON_FORK {
        libc::SCHED_FIFO => "SCHED_FIFO",
        libc::SCHED_RR => "SCHED_RR",
        libc::SCHED_DEADLINE => "SCHED_DEADLINE",
        _ => return None,
    };
    set_policy(libc::SCHED_OTHER, 0).ok()?;
    Some(LeftPolicy { name, policy, priority: param.sched_priority })
}
