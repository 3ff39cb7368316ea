//! Wake-up latency: how a thread sleeps and is woken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the thread of a series sleeps until absolute times. Each of its samples is a wake-up: from the time for which the
/// timer was set to the counter read with which the thread ran again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sleep {
    /// Time between two expiries, in ns.
    pub interval_ns: u64,
    /// How much later the thread of this CPU begins, in ns.
    pub offset_ns: u64,
    /// Whether CPUs were kept out of deep idle states meanwhile: `/dev/cpu_dma_latency` held at 0.
    pub shallow: bool,
    /// How much later the kernel may let the timer of this thread expire, in ns: 0 under a real-time policy.
    pub slack_ns: u64,
    /// A wake-up that took longer counts as late, in ns.
    pub late_ns: u64,
    /// What wakes the thread, if its own timer does not: each of its samples then begins when that is about to make the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waker: Option<Waker>,
}

/// How long a thread took to read its working set once, in ticks: medians of the last wake-ups of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Passes {
    /// Just after the wake-up.
    pub woken_ticks: u64,
    /// At once again, with the caches as the first pass left them.
    pub again_ticks: u64,
}

/// A thread that wakes the one of a series at each expiry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waker {
    /// How it does.
    pub call: WakingCall,
    /// Its CPU.
    pub cpu: u32,
}

/// A system call that wakes a thread.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum WakingCall {
    /// `futex` with `FUTEX_WAKE`; the thread sleeps in `FUTEX_WAIT`.
    Futex,
    /// `write` of a byte to a pipe; the thread sleeps in `read`.
    Pipe,
    /// `write` to an eventfd; the thread sleeps in `read`.
    Eventfd,
}

impl WakingCall {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Futex, Self::Pipe, Self::Eventfd];

    /// Returns its name: `futex`, `pipe`, `eventfd`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Futex => "futex",
            Self::Pipe => "pipe",
            Self::Eventfd => "eventfd",
        }
    }
}

/// The name of the late timers (source [`crate::sources::LATE_TIMER`]) of CPUs that were idle; the function of their rows is the
/// idle state, if known.
pub const AFTER_IDLE: &str = "after idle";

/// An idle state of CPUs, as the kernel's driver describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleState {
    /// Its number in `power:cpu_idle`.
    pub state: u32,
    /// Its name, such as `C6`.
    pub name: String,
    /// How long leaving it takes at most, in µs; absent if the driver does not say.
    pub exit_latency_us: Option<u64>,
    /// The CPUs that have it so.
    pub cpus: Vec<u32>,
}
