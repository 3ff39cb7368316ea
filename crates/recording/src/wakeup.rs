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
