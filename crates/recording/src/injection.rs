//! Noise that was injected during a measurement, and the result of the self-test.

use crate::text::texts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

texts! {
    /// How noise is made.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum InjectionKind {
        /// Timer interrupts that do nothing: of a sampling `cpu-clock` event, or at random and replayed times of
        /// BPF timers.
        Interrupt = "interrupt",
        /// Timer interrupts in which a small BPF program spins.
        Kernel = "kernel",
        /// A SCHED_FIFO thread that spins.
        Thread = "thread",
    }
}

/// When noise comes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InjectionTiming {
    /// Periodically.
    Periodic,
    /// At intervals with an exponential distribution.
    Poisson {
        /// The seed of the random generator (PCG).
        seed: u64,
    },
    /// At the times of a recording's detours, in a loop.
    Replay {
        /// The path of that recording.
        recording: String,
    },
}

/// One kind of noise that was injected during a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Injected {
    /// How the noise was made.
    pub kind: InjectionKind,
    /// When the noise came.
    pub timing: InjectionTiming,
    /// Requested mean time between two starts on one CPU.
    pub period_ns: u64,
    /// Requested duration of each in the kernel or the thread; 0 for bare interrupts. The mean for a replay.
    pub duration_ns: u64,
    /// The disturbed CPUs.
    pub cpus: Vec<u32>,
    /// The threads of kind [`InjectionKind::Thread`], in the order of `cpus`; otherwise empty.
    pub tids: Vec<i32>,
    /// When the noise was on, for each CPU in time order.
    pub spells: Vec<Spell>,
    /// How exactly threads started at the times asked for; absent for other kinds, for none that came, and in recordings
    /// of earlier versions.
    #[serde(default)]
    pub starts: Option<Starts>,
}

/// How exactly threads started at the times asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Starts {
    /// Number of starts, on all CPUs.
    pub count: u64,
    /// Median of the time from the requested start to the thread's first instruction after it, within an eighth.
    pub p50_late_ns: u64,
    /// 99th percentile of that time, within an eighth.
    pub p99_late_ns: u64,
    /// Maximum of that time.
    pub max_late_ns: u64,
    /// The wall clock, at whose whole multiples of the period the starts were requested; absent without `--phase
    /// coordinated`.
    pub wall_clock: Option<WallClock>,
}

/// The wall clock during an injection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WallClock {
    /// The kernel's own bound of its error against UTC at the end (`adjtimex`, `maxerror`); absent if nothing
    /// synchronizes it.
    pub within_ns: Option<u64>,
    /// How far it moved against the threads' clock from the start to the end: their phase is off by this at the end.
    pub moved_ns: i64,
}

impl Starts {
    /// Returns the most by which a start may differ from its request by UTC, in ns; absent where the clock is not
    /// synchronized, or the starts do not follow it. Starts on two hosts are at most the sum of both apart.
    #[must_use]
    pub fn bound_ns(&self) -> Option<u64> {
        let clock = self.wall_clock?;
        let moved = clock.moved_ns.unsigned_abs();
        Some(clock.within_ns?.saturating_add(moved).saturating_add(self.max_late_ns))
    }
}

/// An interval in which noise was injected on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spell {
    /// The CPU.
    pub cpu: u32,
    /// Counter value before the noise was switched on.
    pub start_ticks: u64,
    /// Counter value after it was switched off.
    pub end_ticks: u64,
    /// The number delivered, as counted by the injector; absent if it cannot count.
    pub delivered: Option<u64>,
    /// How many of them could not spin for the requested time.
    pub cut_short: u64,
    /// How many were left out because the one before was still running or the thread was late.
    pub overruns: Option<u64>,
}

/// The result of the last self-test on this machine (`anechoic check --self-test`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelfTest {
    /// Time of the test, RFC 3339 in UTC.
    pub utc: String,
    /// The version of anechoic.
    pub tool_version: String,
    /// The CPU model.
    pub model: String,
    /// The kernel.
    pub kernel: String,
    /// The CPU.
    pub cpu: u32,
    /// The threshold of the loop.
    pub threshold_ns: f64,
    /// The results for each kind of noise that was available.
    pub kinds: Vec<SelfTestKind>,
}

/// What was requested, delivered and detected, for one kind of noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelfTestKind {
    /// The kind.
    pub kind: InjectionKind,
    /// Requested rate.
    pub rate_hz: f64,
    /// Requested duration of each; 0 for bare interrupts.
    pub duration_ns: u64,
    /// How many the kernel delivered.
    pub delivered: u64,
    /// How many of them the loop detected as a detour or part of one.
    pub found: u64,
    /// Median of (detour − cost of a bare one of the same kind − requested duration), in ns; absent for bare
    /// interrupts.
    pub error_ns: Option<f64>,
    /// Lower end of the median's 95 % interval.
    pub error_low_ns: Option<f64>,
    /// Upper end of the median's 95 % interval.
    pub error_high_ns: Option<f64>,
}
