//! How the threads of a cell are scheduled, and how they sleep.

use std::time::Duration;

/// How loops are scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// SCHED_OTHER, as for a user's program.
    Other,
    /// SCHED_FIFO at this priority.
    Fifo(i32),
}

impl Policy {
    /// The real-time policy of loops that never sleep.
    pub const FIFO: Self = Policy::Fifo(crate::scheduling::FIFO_PRIORITY);

    /// Converts to the policy of a recording.
    pub(crate) fn recorded(self) -> anechoic_recording::Policy {
        match self {
            Policy::Other => anechoic_recording::Policy::other(),
            Policy::Fifo(priority) => anechoic_recording::Policy::fifo(priority),
        }
    }

    /// Returns the real-time priority; none for an ordinary policy.
    pub(crate) fn priority(self) -> Option<i32> {
        match self {
            Policy::Other => None,
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
}

impl Wake {
    /// Returns how long it takes: the time of the expiries, and one interval in which all threads begin.
    pub(crate) fn expected(&self) -> Duration {
        let intervals = self.expiries.saturating_add(1);
        self.interval.saturating_mul(u32::try_from(intervals).unwrap_or(u32::MAX))
    }
}
