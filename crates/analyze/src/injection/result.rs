//! The result of a verification.

use super::durations::{Deviation, Quartiles};
use crate::facts::Facts;
use crate::stats::Interval;
use anechoic_recording::injection::{Injected, SelfTest, SelfTestKind};
use anechoic_recording::run::NotAvailable;
use schemars::JsonSchema;
use serde::Serialize;

/// Injected noise: requested, delivered, seen.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Verification {
    /// Facts of the run.
    pub run: Facts,
    /// The injection.
    pub injected: Injected,
    /// Requested rate on each CPU, in Hz.
    pub rate_hz: f64,
    /// Each CPU with injected noise and a loop.
    pub cpus: Vec<CpuVerification>,
    /// Requested length of the null injection (the same kind without the spin), if there was one.
    pub bare_duration_ns: Option<u64>,
    /// Results that are not available, and why.
    pub not_available: Vec<NotAvailable>,
}

/// One CPU. Counts are for the time in which noise was on and the loop ran.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CpuVerification {
    /// The CPU.
    pub cpu: u32,
    /// Length of that time.
    pub window_ns: u64,
    /// Number of injections due. For periodic noise, delivered plus overruns, if both are known for that time;
    /// otherwise that time divided by the mean period.
    pub asked: u64,
    /// Number delivered according to kernel events; without these, according to the injector.
    pub delivered: Option<u64>,
    /// Rate delivered, in Hz.
    pub delivered_hz: Option<f64>,
    /// Number skipped, because the previous one had not ended or the CPU was late. For random and replayed noise, and
    /// if events were lost, in proportion from the injector's count for the whole on-time.
    pub overruns: Option<u64>,
    /// Number that ended before the requested duration, in the whole on-time, according to the injector.
    pub cut_short: u64,
    /// Number that had the CPU for less than half of the requested time, according to kernel events, because a kernel
    /// need not run the program in every interrupt. Absent if unknown, and for replays.
    pub too_short: Option<u64>,
    /// Count of the injector; absent if it has none.
    pub own_count: Option<OwnCount>,
    /// Detections by the loop.
    pub seen: Option<Detections>,
    /// Share of the delivered ones that the loop detected; absent if they are not longer than twice the threshold.
    pub recall: Option<Recall>,
    /// Times in which injections had the CPU.
    pub own_time: Option<OwnTime>,
    /// Lengths of their detours.
    pub detour_time: Option<DetourTime>,
}

/// Two counts for the whole on-time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OwnCount {
    /// Count of the injector.
    pub injector: u64,
    /// Count of kernel events; absent if there were none, or some were lost.
    pub kernel: Option<u64>,
}

impl OwnCount {
    /// Returns whether both counts agree; absent if there is only one.
    #[must_use]
    pub fn agree(&self) -> Option<bool> {
        self.kernel.map(|kernel| kernel == self.injector)
    }
}

/// Detections of delivered injections by the loop.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Detections {
    /// Number that lie in a detour.
    pub found: u64,
    /// Number that lie in no detour.
    pub missing: u64,
    /// The first of those in no detour.
    pub missed: Vec<Missed>,
    /// Number delivered while detours were lost, which cannot be judged.
    pub not_judged: u64,
    /// Number of all detours.
    pub detours: u64,
    /// Number of detours that contain several.
    pub shared: u64,
    /// Number of detours that contain none: the machine's own noise.
    pub extra: u64,
    /// Rate of these, per second.
    pub extra_per_s: f64,
    /// Number of detours that contain none but occurred while events were lost, which cannot be judged.
    pub detours_not_judged: u64,
}

/// A delivered injection that lies in no detour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Missed {
    /// Time since the start of the run.
    pub at_ns: u64,
}

/// The share of detected injections.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Recall {
    /// Share detected, from 0 to 1.
    pub share: f64,
    /// Its 95 % interval (Wilson 1927).
    pub interval: Interval,
}

/// Times in which injections had the CPU: the handler of the timer, or from switch to switch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct OwnTime {
    /// Measured times.
    pub all: Quartiles,
    /// Median of the null injection.
    pub bare_median_ns: Option<f64>,
    /// Median minus the requested time. For a thread, minus the excess of the null injection over its requested time,
    /// if that was measured. Absent for bare interrupts, and if durations vary.
    pub error_ns: Option<f64>,
    /// Whether the error is within 5 % plus 1 µs; absent for a thread without a null injection.
    pub within: Option<bool>,
}

/// Lengths of detours that contain exactly one injection and nothing else, minus one iteration of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DetourTime {
    /// Measured lengths.
    pub all: Quartiles,
    /// Lengths for the null injection: trap, handler and, in a guest, VM exit.
    pub bare: Option<Quartiles>,
    /// Median − median of the null injection − difference of the requested times: the error of durations as this tool
    /// measures them.
    pub error: Option<Deviation>,
}

impl Verification {
    /// Returns the row of the first CPU for a self-test; absent if none is known to have been delivered.
    #[must_use]
    pub fn self_test_kind(&self) -> Option<SelfTestKind> {
        let cpu = self.cpus.first()?;
        let found = cpu.seen.as_ref()?.found;
        let error = cpu.detour_time.and_then(|time| time.error);
        let interval = error.and_then(|error| error.interval);
        Some(SelfTestKind {
            kind: self.injected.kind,
            rate_hz: self.rate_hz,
            duration_ns: self.injected.duration_ns,
            delivered: cpu.delivered.filter(|&delivered| delivered > 0)?,
            found,
            error_ns: error.map(|error| error.ns),
            error_low_ns: interval.map(|interval| interval.low),
            error_high_ns: interval.map(|interval| interval.high),
        })
    }
}

/// A self-test: every kind of noise that can be injected on this machine, on one CPU.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SelfTestResult {
    /// Result that later recordings include; absent if no noise could be injected.
    pub self_test: Option<SelfTest>,
    /// Result for each kind.
    pub kinds: Vec<Verification>,
    /// Kinds of noise that could not be injected, and why.
    pub not_available: Vec<NotAvailable>,
    /// Path where it is stored for later recordings.
    pub stored: Option<String>,
    /// Why it could not be stored.
    pub not_stored: Option<String>,
}
