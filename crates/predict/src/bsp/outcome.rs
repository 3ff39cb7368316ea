//! The result of the comparison of measured and predicted slowdown.

use anechoic_analyze::stats::Interval;
use anechoic_recording::parallel::Meeting;
use anechoic_recording::run::NotAvailable;
use schemars::JsonSchema;
use serde::Serialize;

/// Slowdown of a bulk-synchronous job by noise, measured, and predicted from the detours of the same phases.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Bsp {
    /// The hosts, one for each recording.
    pub hosts: Vec<HostFacts>,
    /// Whether any of them is a guest of a hypervisor.
    #[serde(skip)]
    pub guest: bool,
    /// Number of ranks of the job, if the recordings contain it.
    pub ranks: Option<u64>,
    /// How the ranks were joined: `threads`, `shared directory`, or the name of the MPI library.
    pub through: Option<String>,
    /// Detours of ranks that waited were recorded from this duration on, in ns: over a network the library's own calls take
    /// long. Absent if it is not recorded.
    #[serde(default)]
    pub wait_threshold_ns: Option<u64>,
    /// Name of the work kernel.
    pub kernel: String,
    /// Results for each grain and kind of synchronisation.
    pub cells: Vec<Cell>,
    /// Results that are not available, and why.
    pub not_available: Vec<NotAvailable>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// A host of the job.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HostFacts {
    /// Name of the host.
    pub name: String,
    /// Its ranks in rising order.
    pub ranks: Vec<u32>,
    /// The CPUs that they ran on, in rising order.
    pub cpus: Vec<u32>,
}

/// An estimate with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its 95 % interval from blocks of time; absent if there were too few, or if few of them decide.
    pub interval: Option<Interval>,
    /// The value that it exceeds with a probability of 97.5 %, also without an interval; absent if there were too few
    /// blocks.
    #[serde(default)]
    pub at_least: Option<f64>,
}

/// The results for one grain and kind of synchronisation. Losses are slowdowns minus 1: time divided by time without
/// noise, minus 1.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Cell {
    /// Requested work of a phase, in ns.
    pub grain_ns: u64,
    /// Kind of synchronisation.
    pub meeting: Meeting,
    /// Index of the recording's injection that was active; absent if there was none.
    pub injection: Option<u32>,
    /// Number of ranks whose phases are compared.
    pub ranks: u64,
    /// Number of phases that all ranks recorded; if the ranks did not synchronise, number of phases of all ranks
    /// together.
    pub phases: u64,
    /// Number of other phases, missing because samples were lost or a rank ended early.
    pub left_out: u64,
    /// Duration of a phase without noise.
    pub undisturbed: Undisturbed,
    /// Measured loss: mean phase divided by undisturbed phase, minus 1.
    pub measured: Estimate,
    /// Loss predicted by the recursion from the detours of the same phases; absent if detours are unknown.
    pub predicted: Option<Estimate>,
    /// Measured loss divided by predicted loss; absent without a prediction, or if the predicted loss is 0.
    pub ratio: Option<Estimate>,
    /// How the recursion was played; absent if it was not.
    pub played: Option<Played>,
    /// Loss by the recursion restarted at the measured start of every phase, which the explanation decomposes.
    pub anew: Option<Estimate>,
    /// Closed laws for the same number of independent ranks.
    pub brackets: Option<Brackets>,
    /// What explains the difference between measured and predicted; absent without a prediction.
    pub explanation: Option<Explanation>,
    /// The ranks in rising order.
    pub of_ranks: Vec<RankFacts>,
    /// Sources of the detours that delayed the last rank, sorted by decreasing time; absent if unknown.
    pub sources: Option<Vec<SourceTime>>,
}

/// Duration of a phase without noise: work and synchronisation.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Undisturbed {
    /// Duration in ns; the mean over ranks if they did not synchronise.
    pub ns: Estimate,
    /// Part of it from the slowest rank's arrival to the next start: the synchronisation itself.
    pub meeting_ns: f64,
    /// Number of phases behind it.
    pub phases: u64,
    /// How it was found.
    pub basis: Basis,
    /// Difference between the 5th and the 95th percentile of blocks of time, relative to the whole: drift of the core's
    /// speed and of the synchronisation.
    pub wander: Option<f64>,
}

/// How the undisturbed phase was obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Mean of the phases in which no rank had a detour.
    Undisturbed,
    /// Median of all phases minus the detours of their last rank, because there were too few phases without detours. It
    /// assumes that a detour costs only its own time.
    Corrected,
    /// Calibrated duration of the work, without synchronisation, because detours are unknown.
    Calibrated,
}

/// How the recursion was played on the recorded detours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Played {
    /// Continuously from the start of each round to its end, on the clock that all ranks share.
    Through,
    /// Restarted at the measured start of every phase, because the hosts have no common clock. A detour at the edge of
    /// a phase may count twice or not at all.
    Anew,
}

/// Closed laws for the same number of independent ranks, from the same detours; slowdowns minus 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Brackets {
    /// Lower bracket: phases start at random in free time.
    pub free_start: f64,
    /// Upper bracket: phases start at random in wall time.
    pub wall_start: f64,
}

/// What explains the difference between measured and predicted.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Explanation {
    /// All phases by what happened in them. Their parts add up to [`Cell::measured`] and [`Cell::anew`].
    pub parts: Vec<Part>,
    /// Time of a phase with a detour in its work beyond its detours, in ns: the cost of an interruption in addition to
    /// its own time.
    pub extra_ns: Option<Estimate>,
    /// Part of the difference that comes from the speed of the core: undisturbed phases just before and after disturbed
    /// ones were longer (above 0) or shorter than usual as well.
    pub speed: f64,
    /// From this duration on a phase without a detour counts as long, in ns.
    pub long_ns: f64,
    /// The longest phases that no detour explains.
    pub longest: Vec<Unexplained>,
}

/// What happened in a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Happened {
    /// A rank had a detour while it worked, or before it could start.
    InWork,
    /// Only ranks that had arrived and waited had detours.
    InWait,
    /// No detour, and a usual duration.
    Nothing,
    /// No detour, but a long duration.
    Unexplained,
}

impl Happened {
    /// All variants in the order in which they are reported.
    pub const ALL: [Happened; 4] =
        [Happened::InWork, Happened::InWait, Happened::Nothing, Happened::Unexplained];
}

/// Phases in which the same happened, and their contribution to the loss.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Part {
    /// What happened in them.
    pub happened: Happened,
    /// Number of phases.
    pub phases: u64,
    /// Contribution to the measured loss.
    pub measured: f64,
    /// Contribution to the predicted loss.
    pub predicted: f64,
}

/// A long phase without a detour.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Unexplained {
    /// Round of the phase.
    pub round: u32,
    /// Number in the round, from 0.
    pub phase: u64,
    /// Start in ns since the start of the round.
    pub at_ns: u64,
    /// Duration in ns.
    pub took_ns: f64,
    /// Rank that arrived last.
    pub last: u32,
    /// Part of the duration in which that rank worked, in ns.
    pub work_ns: f64,
}

/// One rank of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RankFacts {
    /// Number of the rank.
    pub rank: u32,
    /// Index of its host in [`Bsp::hosts`].
    pub host: u64,
    /// CPU of the rank; absent if it was not pinned.
    pub cpu: Option<u32>,
    /// Time in detours divided by wall time; absent if its detours are unknown.
    pub noise: Option<f64>,
    /// Time of its work in phases without a detour, in ns. If ranks differ, the slower ones delay the others.
    pub work_ns: Option<f64>,
    /// Time of its work in phases in which it had a detour, minus its detours, in ns. If the excess grows with the
    /// grain, the core is slower in such phases; if not, an interruption costs more than its own time.
    pub disturbed_work_ns: Option<f64>,
    /// Number of phases in which it came last.
    pub last: u64,
    /// Number of these in which a rank had a detour in its work.
    pub last_disturbed: u64,
    /// Contribution of these to the loss.
    pub cost: f64,
    /// Loss of the rank alone, if the ranks did not synchronise.
    pub alone: Option<Alone>,
}

/// Loss of a rank that did not synchronise: slowdown minus 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Alone {
    /// Measured loss.
    pub measured: f64,
    /// Loss predicted from its noise: 1 / (1 - noise), minus 1.
    pub law: Option<f64>,
}

/// Time of a source in the detours that delayed the last rank.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SourceTime {
    /// Identifier of the source.
    pub source: String,
    /// Name within the source; empty if there is only one.
    pub name: String,
    /// Share of the time of these detours.
    pub share: f64,
    /// Time in these detours, in ns.
    pub ns: u64,
}
