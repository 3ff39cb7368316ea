//! How late the threads of one kind were woken.

use super::Kind;
use crate::samples::figures::Point;
use crate::stats::Estimate;
use crate::stats::Interval;
use anechoic_recording::wakeup::WakingCall;
use schemars::JsonSchema;
use serde::Serialize;

/// The latencies of one interval and one kind of idle on one CPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Latencies {
    /// Time between two expiries in nanoseconds.
    pub interval_ns: u64,
    /// Whether CPUs were kept out of deep idle states.
    pub shallow: bool,
    /// The system call by which another thread woke them; absent where a timer did.
    pub call: Option<WakingCall>,
    /// The CPU; absent for all together.
    pub cpu: Option<u32>,
    /// The CPU of the thread that woke them; absent for all together, and where a timer did.
    pub waker_cpu: Option<u32>,
    /// Number of wake-ups.
    pub samples: u64,
    /// Number of wake-ups that were measured and lost for lack of a free buffer or of disk space.
    pub lost: u64,
    /// Number of expiries that passed before the thread could sleep again.
    pub overruns: u64,
    /// The shortest latency in nanoseconds; absent without wake-ups, as are the others.
    pub min_ns: Option<f64>,
    /// The median in nanoseconds.
    pub p50_ns: Option<f64>,
    /// The 99th percentile in nanoseconds; absent for fewer than 1,000 wake-ups.
    pub p99_ns: Option<f64>,
    /// The 99.9th percentile in nanoseconds; absent for fewer than 10,000 wake-ups.
    pub p999_ns: Option<f64>,
    /// The longest in nanoseconds.
    pub max_ns: Option<f64>,
    /// Number of late wake-ups.
    pub late: u64,
    /// Their share of all wake-ups: the smallest and the largest that agree with what was counted, each with a probability of
    /// 95 %; absent without wake-ups.
    pub late_share: Option<Interval>,
    /// How far late wake-ups come together: the variance of their number divided by that of independent ones, at least 1.
    pub late_dispersion: f64,
    /// The median of each block of time in nanoseconds, of all CPUs together the mean of theirs.
    pub p50_of_blocks_ns: Vec<f64>,
    /// What recording kernel events adds to the median in nanoseconds: the mean over the blocks of the difference of their
    /// medians; absent if it was not measured.
    pub events_ns: Option<Estimate>,
    /// How long a pass over the working set took just after a wake-up, in nanoseconds: the middle of the medians of the blocks;
    /// absent without one.
    pub pass_ns: Option<f64>,
    /// The same at once again, with the caches as the first pass left them.
    pub pass_again_ns: Option<f64>,
    /// The tail: `share` of the wake-ups took `value` nanoseconds or longer.
    pub survival: Vec<Point>,
}

impl Latencies {
    /// Returns how the threads slept.
    #[must_use]
    pub fn kind(&self) -> Kind {
        Kind { interval_ns: self.interval_ns, shallow: self.shallow, call: self.call }
    }

    /// Returns the highest quantile that its wake-ups support, with its name: the 99.9th percentile, the 99th, or the median.
    #[must_use]
    pub fn highest_quantile(&self) -> Option<(&'static str, f64)> {
        let named = [("p99.9", self.p999_ns), ("p99", self.p99_ns), ("median", self.p50_ns)];
        named.into_iter().find_map(|(name, ns)| Some((name, ns?)))
    }
}
