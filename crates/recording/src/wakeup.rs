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
