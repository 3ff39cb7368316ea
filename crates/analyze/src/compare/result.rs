//! The parts of a comparison.

use crate::stats::Interval;
use schemars::JsonSchema;
use serde::Serialize;

/// The runs of one side.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Side {
    /// Its name.
    pub name: String,
    /// Number of runs.
    pub runs: u64,
    /// Noise of each run, in order of time.
    pub noise_of_runs: Vec<f64>,
    /// Geometric mean of the noise over runs; the mean if a run has none.
    pub noise: f64,
    /// Standard deviation between runs, relative to the mean, from that of the logarithms; absent for one run.
    pub between_runs: Option<f64>,
    /// Part of it that the variation within the runs explains, which longer runs would reduce; absent if no run has an
    /// interval.
    pub within_runs: Option<f64>,
    /// Detours per second and CPU, the mean over runs.
    pub rate_per_s: f64,
    /// Mean length of a run.
    pub wall_ns: u64,
    /// Lowest and highest threshold of the runs, in ns.
    pub threshold_ns: (u64, u64),
}

/// Whether the noise changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The noise decreased.
    Quieter,
    /// The noise increased.
    Noisier,
    /// No change is shown; [`super::Comparison::detectable`] is how large one would have to be.
    NotShown,
    /// The noise differs, but so do sources that the change cannot affect, or all runs of a side are of one session
    /// ([`Order::OneSession`]); or what is kept of a run is no sample of it ([`Order::Kept`]).
    Unproven,
    /// A side has only one run, or a duet too few pairs to tell the sides from their CPUs; the recordings differ by more
    /// than the variation within them.
    OneRunDiffers,
    /// A side has only one run, or a duet too few such pairs, and no difference exceeds the variation within the recordings.
    OneRun,
}

/// How the runs of both sides follow each other in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Each run of one side is next to one of the other side; they are compared in pairs.
    Paired,
    /// The runs of both sides are mixed: the side changes after two runs or fewer, on average.
    Mixed,
    /// The runs of a side follow each other in long blocks, so that drift of the host looks like a change.
    Apart,
    /// No run of one side lies within ten minutes of one of the other side, and each side has several sessions: runs without
    /// a longer pause. Their means are compared.
    Sessions,
    /// The same, but a side has only one session, which does not show how the host differs from one session to another.
    OneSession,
    /// Both sides ran at the same time on two sets of CPUs, which were swapped at random.
    Duet,
    /// Of a run only the part before the detour that it waited for is kept. That is no sample of the run, so nothing shows
    /// what differs by chance.
    Kept,
}

/// A setting or property that differs between the sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangedSetting {
    /// Name of the setting.
    pub name: String,
    /// Its value before; absent if unknown.
    pub before: Option<String>,
    /// Its value after; absent if unknown.
    pub after: Option<String>,
}

/// One source of noise on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SourceChange {
    /// Identifier of the source.
    pub source: String,
    /// Name within the source; empty if there is only one.
    pub name: String,
    /// Whether it is a control: the hypervisor or the hardware, which a change of the system hardly affects.
    pub control: bool,
    /// Its noise on both sides.
    pub difference: Difference,
}

/// One CPU on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CpuChange {
    /// The CPU.
    pub cpu: u32,
    /// Its noise on both sides.
    pub difference: Difference,
}

/// Detours longer than a threshold on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LengthChange {
    /// Threshold in ns: longer gaps count.
    pub threshold_ns: u64,
    /// Their rate per second and CPU on both sides.
    pub difference: Difference,
}

/// What the noise costs a bulk-synchronous job, on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JobChange {
    /// Number of ranks.
    pub ranks: u64,
    /// Noise-free time between two synchronisations, in ns.
    pub grain_ns: u64,
    /// Time lost to noise, relative to the time without noise, on both sides.
    pub difference: Difference,
}

/// Means over the runs of both sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// Mean over the runs before.
    pub before: f64,
    /// Mean over the runs after.
    pub after: f64,
    /// 95 % interval of after - before; absent with one run on a side.
    pub interval: Option<Interval>,
    /// Whether the difference is significant among all of its table (Holm 1979, at 5 %).
    pub clear: bool,
}

/// Number of runs that a comparison needs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Planned {
    /// Length of a run in ns.
    pub wall_ns: u64,
    /// Number of runs on each side.
    pub runs: u64,
}
