//! How threads slept and were woken: only wake-ups of one kind are alike.

use anechoic_recording::wakeup::Sleep;
use schemars::JsonSchema;
use serde::Serialize;

/// How the threads of series slept, besides their CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Kind {
    /// Time between two expiries in nanoseconds.
    pub interval_ns: u64,
    /// Whether CPUs were kept out of deep idle states.
    pub shallow: bool,
}

impl From<&Sleep> for Kind {
    fn from(sleep: &Sleep) -> Self {
        Self { interval_ns: sleep.interval_ns, shallow: sleep.shallow }
    }
}
