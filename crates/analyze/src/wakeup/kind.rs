//! How threads slept and were woken: only wake-ups of one kind are alike.

use anechoic_recording::wakeup::{Sleep, WakingCall};
use schemars::JsonSchema;
use serde::Serialize;

/// How the threads of series slept, besides their CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Kind {
    /// Time between two expiries in nanoseconds.
    pub interval_ns: u64,
    /// Whether CPUs were kept out of deep idle states.
    pub shallow: bool,
    /// The system call by which another thread woke them; absent where a timer did.
    pub call: Option<WakingCall>,
}

impl Kind {
    /// The kind before all others.
    pub(super) const FIRST: Self = Self { interval_ns: 0, shallow: false, call: None };
}

impl From<&Sleep> for Kind {
    fn from(sleep: &Sleep) -> Self {
        let call = sleep.waker.map(|waker| waker.call);
        Self { interval_ns: sleep.interval_ns, shallow: sleep.shallow, call }
    }
}
