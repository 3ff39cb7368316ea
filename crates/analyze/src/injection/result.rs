//! What a verification says.

use super::durations::{Deviation, Quartiles};
use crate::facts::Facts;
use crate::stats::Interval;
use anechoic_recording::injection::{Injected, SelfTest, SelfTestKind};
use anechoic_recording::run::NotAvailable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Injected noise: asked, delivered, seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// What ran where.
    pub run: Facts,
    /// What was injected.
    pub injected: Injected,
    /// How many a second were asked on each CPU.
    pub rate_hz: f64,
    /// Each CPU on which noise was made and the loop ran.
    pub cpus: Vec<CpuVerification>,
    /// How long each of the null injection was to last, where there was one: the same kind without the spin.
    pub bare_duration_ns: Option<u64>,
    /// What cannot be said, and why.
    pub not_available: Vec<NotAvailable>,
}

/// One CPU. Counts are of the time in which noise was on and the loop ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuVerification {
    /// The CPU.
    pub cpu: u32,
    /// That time.
    pub window_ns: u64,
    /// How many were due in it. Of periodic noise those that came and those that were left out, where both
    /// are known of that time; else the mean: that time / mean period.
    pub asked: u64,
    /// How many came, by the kernel's events; without those by the injector's own count.
    pub delivered: Option<u64>,
    /// How many came a second.
    pub delivered_hz: Option<f64>,
    /// How many were due and left out, because the one before was not over yet or the CPU was late. Of
    /// random and replayed noise, and where events were lost, by the injector's own count of the whole time
    /// on: its part for this time.
    pub overruns: Option<u64>,
    /// How many ended before they had lasted as long as was asked, in the whole time on, by the injector's
    /// own count.
    pub cut_short: u64,
    /// How many had the CPU for less than half of what was asked, by the kernel's events: it need
    /// not run the program in every interrupt. Absent where that is not known, and of replays.
    pub too_short: Option<u64>,
    /// The injector's own count; absent where it has none.
    pub own_count: Option<OwnCount>,
    /// What the loop saw.
    pub seen: Option<Seen>,
    /// Part of those that came that the loop saw; absent where they are not longer than twice the threshold.
    pub recall: Option<Recall>,
    /// How long each had the CPU.
    pub own_time: Option<OwnTime>,
    /// How long the detours were that they made.
    pub detour_time: Option<DetourTime>,
}

/// Two counts of the whole time in which noise was on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnCount {
    /// By the injector itself.
    pub injector: u64,
    /// By the kernel's events; absent where there were none, or some were lost.
    pub kernel: Option<u64>,
}

impl OwnCount {
    /// Whether both say the same; absent where there is one only.
    #[must_use]
    pub fn agree(&self) -> Option<bool> {
        self.kernel.map(|kernel| kernel == self.injector)
    }
}

/// What the loop saw of what came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Seen {
    /// How many of them lie in a detour.
    pub found: u64,
    /// How many lie in none.
    pub missing: u64,
    /// The first of those.
    pub missed: Vec<Missed>,
    /// How many came while detours were lost: nobody knows.
    pub not_judged: u64,
    /// Detours in all.
    pub detours: u64,
    /// Those that hold two or more of them.
    pub shared: u64,
    /// Those that hold none: the machine's own noise.
    pub extra: u64,
    /// The same a second.
    pub extra_per_s: f64,
    /// Those that hold none and came while events were lost: nobody knows.
    pub detours_not_judged: u64,
}

/// One that came and lies in no detour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missed {
    /// When, since the start of the run.
    pub at_ns: u64,
}

/// Found, of those that could be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recall {
    /// Part of them that was found, from 0 to 1.
    pub share: f64,
    /// Its 95 % interval (Wilson 1927).
    pub interval: Interval,
}

/// How long each had the CPU: the handler of the timer, or from switch to switch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OwnTime {
    /// As it was.
    pub all: Quartiles,
    /// Median of the null injection.
    pub bare_median_ns: Option<f64>,
    /// Median − asked; of a thread, without what a null injection takes more than was asked of it, where
    /// that was measured. Absent of bare interrupts and where durations vary.
    pub error_ns: Option<f64>,
    /// Whether that is within 5 % and 1 µs; absent of a thread without a null injection.
    pub within: Option<bool>,
}

/// How long detours were that hold exactly one and nothing else, one iteration of the loop taken off.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DetourTime {
    /// As they were.
    pub all: Quartiles,
    /// Those of the null injection: what trap, handler and, in a guest, VM exit take.
    pub bare: Option<Quartiles>,
    /// Median − that of the null injection − what was asked more than of that: the error of durations as
    /// this tool sees them.
    pub error: Option<Deviation>,
}

impl Verification {
    /// The row of the first CPU in a self-test; absent where nothing is known to have come.
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

/// A self-test: every kind of noise that can be made here, on one CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelfTestResult {
    /// What later recordings carry; absent where no noise could be made.
    pub self_test: Option<SelfTest>,
    /// Each kind.
    pub kinds: Vec<Verification>,
    /// Kinds of noise that could not be made, and why.
    pub not_available: Vec<NotAvailable>,
    /// Where it is kept for later recordings.
    pub stored: Option<String>,
    /// Why it is not.
    pub not_stored: Option<String>,
}
