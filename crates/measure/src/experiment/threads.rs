//! Where the threads of a cell run, how they are scheduled, and what those do that take no samples of a kernel.

use anechoic_recording::probes::Probe;
use anechoic_recording::wakeup::WakingCall;
use std::time::Duration;

/// Where the loops of a cell run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pinning {
    /// One loop pinned to each of these CPUs, in ascending order, at least one.
    Cpus(Vec<u32>),
    /// One loop, wherever the scheduler puts it.
    Anywhere,
}

impl Pinning {
    /// Returns the CPUs that the loops are pinned to.
    #[must_use]
    pub fn cpus(&self) -> &[u32] {
        match self {
            Pinning::Cpus(cpus) => cpus,
            Pinning::Anywhere => &[],
        }
    }
}

/// How loops are scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// SCHED_OTHER, as for a user's program.
    Other,
    /// SCHED_FIFO at this priority.
    Fifo(i32),
    /// SCHED_DEADLINE, with the interval of a wake-up as period and deadline.
    Deadline,
}

impl Policy {
    /// The real-time policy of loops that never sleep.
    pub const FIFO: Self = Policy::Fifo(crate::scheduling::FIFO_PRIORITY);

    /// Converts to the policy of a recording.
    pub(crate) fn recorded(self) -> anechoic_recording::Policy {
        match self {
            Policy::Other => anechoic_recording::Policy::other(),
            Policy::Fifo(priority) => anechoic_recording::Policy::fifo(priority),
            Policy::Deadline => anechoic_recording::Policy::deadline(),
        }
    }

    /// Returns the priority under SCHED_FIFO; none for another policy.
    pub(crate) fn priority(self) -> Option<i32> {
        match self {
            Policy::Other | Policy::Deadline => None,
            Policy::Fifo(priority) => Some(priority),
        }
    }
}

/// How to sleep until absolute times.
#[derive(Debug, Clone, Copy)]
pub struct Wake {
    /// Time between two expiries.
    pub interval: Duration,
    /// Number of expiries.
    pub expiries: u64,
    /// Whether the threads of several CPUs begin one after the other, spread over the interval.
    pub staggered: bool,
    /// Whether CPUs are kept out of deep idle states meanwhile.
    pub shallow: bool,
    /// A wake-up that takes longer counts as late.
    pub late: Duration,
    /// The system call by which another thread wakes it, if its own timer does not.
    pub call: Option<WakingCall>,
    /// The size of the memory that it reads after each wake-up, in bytes; 0 for none.
    pub set_bytes: u64,
}

/// How to probe what slows work that nothing interrupts.
#[derive(Debug, Clone, Copy)]
pub struct Probes {
    /// The time for it.
    pub duration: Duration,
    /// The probes, which take turns.
    pub probes: &'static [Probe],
}

/// Another thread, which is to wake the one of a cell, is ready this long after the start.
const READY: Duration = Duration::from_millis(1);

impl Wake {
    /// Returns the time from the start to the first expiry.
    pub(crate) fn lead(&self) -> Duration {
        let ready = self.call.map_or(Duration::ZERO, |_| READY);
        self.interval.max(ready)
    }

    /// Returns how long it takes: the time of the expiries, and the time before them.
    pub(crate) fn expected(&self) -> Duration {
        let expiries = u32::try_from(self.expiries).unwrap_or(u32::MAX);
        self.interval.saturating_mul(expiries).saturating_add(self.lead())
    }
}
