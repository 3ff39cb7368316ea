//! Noise that was made on purpose while something was measured, and what a self-test made of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How noise is made.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum InjectionKind {
    /// Timer interrupts that do nothing: a sampling `cpu-clock` event; at random and replayed times timers of a BPF program.
    Interrupt,
    /// The same, and a small BPF program spins in it.
    Kernel,
    /// A SCHED_FIFO thread that spins.
    Thread,
}

impl InjectionKind {
    /// Its name on the command line and in words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            InjectionKind::Interrupt => "interrupt",
            InjectionKind::Kernel => "kernel",
            InjectionKind::Thread => "thread",
        }
    }
}

/// When noise comes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InjectionTiming {
    /// At equal distances.
    Periodic,
    /// At distances with an exponential distribution; the seed repeats them.
    Poisson {
        /// Of the generator (PCG).
        seed: u64,
    },
    /// As the detours of a recording came; from its start again when it is over.
    Replay {
        /// Where that recording lay.
        recording: String,
    },
}

/// One kind of noise that was made while something was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Injected {
    /// How it was made.
    pub kind: InjectionKind,
    /// When it came.
    pub timing: InjectionTiming,
    /// Mean distance between two of them on one CPU, as asked.
    pub period_ns: u64,
    /// How long each was to last in the kernel or the thread; 0 for bare interrupts. Of a replay, the mean.
    pub duration_ns: u64,
    /// The CPUs.
    pub cpus: Vec<u32>,
    /// Threads of kind [`InjectionKind::Thread`], as `cpus`; else empty.
    pub tids: Vec<i32>,
    /// When it was on, on each CPU, in the order of time.
    pub spells: Vec<Spell>,
}

/// One time in which noise was made on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spell {
    /// The CPU.
    pub cpu: u32,
    /// Counter before it was switched on.
    pub start_ticks: u64,
    /// Counter after it was switched off.
    pub end_ticks: u64,
    /// How many came, by the injector's own count; absent where it cannot count.
    pub delivered: Option<u64>,
    /// How many of them could not spin as long as was asked.
    pub cut_short: u64,
    /// How many were left out because the one before was still going on or the thread came too late.
    pub overruns: Option<u64>,
}

/// What the last self-test on this machine found (`anechoic check --self-test`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelfTest {
    /// When, RFC 3339 in UTC.
    pub utc: String,
    /// Version of anechoic.
    pub tool_version: String,
    /// CPU model that it ran on.
    pub model: String,
    /// Kernel that it ran on.
    pub kernel: String,
    /// The CPU.
    pub cpu: u32,
    /// Threshold of the loop.
    pub threshold_ns: f64,
    /// A row for each kind of noise that could be made.
    pub kinds: Vec<SelfTestKind>,
}

/// Asked, delivered, and seen, of one kind of noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelfTestKind {
    /// The kind.
    pub kind: InjectionKind,
    /// Asked rate.
    pub rate_hz: f64,
    /// Asked duration of each; 0 for bare interrupts.
    pub duration_ns: u64,
    /// How many the kernel delivered.
    pub delivered: u64,
    /// How many of them the loop saw as a detour or part of one.
    pub found: u64,
    /// Median of (detour − time that a bare one of the same kind costs − duration asked), in ns; absent
    /// for bare interrupts.
    pub error_ns: Option<f64>,
    /// Its 95 % interval.
    pub error_low_ns: Option<f64>,
    /// Its 95 % interval.
    pub error_high_ns: Option<f64>,
}
