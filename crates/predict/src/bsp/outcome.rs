//! Measured beside predicted, as it is told and stored.

use anechoic_analyze::stats::Interval;
use anechoic_recording::parallel::Meeting;
use anechoic_recording::run::NotAvailable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What noise cost a bulk-synchronous job, as measured, and as predicted from the detours of the same phases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bsp {
    /// The hosts that were read, one a recording.
    pub hosts: Vec<HostFacts>,
    /// Ranks of the job, where the recordings say.
    pub ranks: Option<u64>,
    /// What joined the ranks: `threads`, `shared directory`, or the MPI library in its own words.
    pub through: Option<String>,
    /// The work.
    pub kernel: String,
    /// Each grain and kind of meeting.
    pub cells: Vec<Cell>,
    /// What could not be said, and why.
    pub not_available: Vec<NotAvailable>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// A host whose ranks were read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    /// What it calls itself.
    pub name: String,
    /// Its ranks, rising.
    pub ranks: Vec<u32>,
    /// The CPUs that they ran on, rising.
    pub cpus: Vec<u32>,
}

/// A number and how much of it may be chance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Its 95 % interval, from blocks of time drawn again; absent where there were too few.
    pub interval: Option<Interval>,
}

/// One grain and kind of meeting. What is lost is given as slowdown less 1: time over time without noise, less 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Work of a phase, as asked, in ns.
    pub grain_ns: u64,
    /// How the ranks met.
    pub meeting: Meeting,
    /// Which of the recording's injections was on; absent where none was.
    pub injection: Option<u32>,
    /// Ranks whose phases are compared.
    pub ranks: u64,
    /// Phases that are known of all of them; where they did not meet, phases of all ranks together.
    pub phases: u64,
    /// Phases that are not, because samples were lost or a rank ended early.
    pub left_out: u64,
    /// Duration of a phase without noise.
    pub undisturbed: Undisturbed,
    /// Measured: mean phase over undisturbed phase, less 1.
    pub measured: Estimate,
    /// The recursion's word for it, from the detours of the same phases; absent where detours are not known.
    pub predicted: Option<Estimate>,
    /// Measured over predicted; absent where nothing was predicted, or a loss of 0.
    pub ratio: Option<Estimate>,
    /// How the recursion was played; absent where it was not.
    pub played: Option<Played>,
    /// The recursion begun anew at the measured start of every phase: what the explanation takes apart.
    pub anew: Option<Estimate>,
    /// Closed laws of as many independent ranks.
    pub brackets: Option<Brackets>,
    /// Where measured and predicted part; absent where nothing was predicted.
    pub explanation: Option<Explanation>,
    /// The ranks, rising.
    pub of_ranks: Vec<RankFacts>,
    /// What the detours were that made the last rank late, the most time first; absent where that is not known.
    pub sources: Option<Vec<SourceTime>>,
}

/// What a phase lasts without noise: work and meeting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Undisturbed {
    /// Duration in ns, the mean over ranks where they did not meet.
    pub ns: Estimate,
    /// Of that, from the slowest rank's arrival to the next start: what the meeting itself takes.
    pub meeting_ns: f64,
    /// Phases that it comes from.
    pub phases: u64,
    /// How it was found.
    pub basis: Basis,
    /// From the slowest to the fastest block of time (5 % to 95 %), as part of the whole: how much the core's speed
    /// and the meetings changed.
    pub wander: Option<f64>,
}

/// How the undisturbed phase was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Mean of the phases in which no rank had a detour.
    Undisturbed,
    /// There were too few of those: median of all phases less the detours of their last rank. It takes for granted
    /// that a detour costs its own time.
    Corrected,
    /// Detours are not known: what the work took when it was calibrated, without the meeting.
    Calibrated,
}

/// How the recursion was played on the recorded detours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Played {
    /// From the start of each round to its end, on the clock that all ranks share.
    Through,
    /// Begun anew at the measured start of every phase: the ranks are of hosts without a common clock. A detour at
    /// the edge of a phase may count twice or not at all.
    Anew,
}

/// The closed laws for as many independent ranks, from the same detours; slowdown less 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Brackets {
    /// Phases start anywhere in free time: the lower bracket.
    pub free_start: f64,
    /// Phases start anywhere in wall time: the upper bracket.
    pub wall_start: f64,
}

/// Where measured and predicted part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// All phases, by what happened in them. Their parts add up to [`Cell::measured`] and [`Cell::anew`].
    pub parts: Vec<Part>,
    /// What a phase with a detour in its work took beyond what its detours tell, in ns: the cost of an interruption
    /// besides its own time.
    pub extra_ns: Option<Estimate>,
    /// Part of the difference that is the speed of the core: the undisturbed phases just before and after those with
    /// detours were longer (above 0) or shorter than usual too.
    pub speed: f64,
    /// A phase without a detour is called long from here on, in ns.
    pub long_ns: f64,
    /// The longest phases that nobody's detour explains.
    pub longest: Vec<Unexplained>,
}

/// What happened in a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Happened {
    /// A detour of a rank while it worked, or was to start.
    InWork,
    /// Detours only of ranks that had arrived and waited.
    InWait,
    /// No detour, and a usual duration.
    Nothing,
    /// No detour, and yet long.
    Unexplained,
}

impl Happened {
    /// All there are, in the order of telling.
    pub const ALL: [Happened; 4] =
        [Happened::InWork, Happened::InWait, Happened::Nothing, Happened::Unexplained];
}

/// Phases in which the same happened, and what they add to slowdown less 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// What.
    pub happened: Happened,
    /// How many.
    pub phases: u64,
    /// What they add to the measured loss.
    pub measured: f64,
    /// What they add to the predicted loss.
    pub predicted: f64,
}

/// A long phase without a detour.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unexplained {
    /// Its round.
    pub round: u32,
    /// Its number in the round, from 0.
    pub phase: u64,
    /// When it started, in ns since its round did.
    pub at_ns: u64,
    /// How long it took, in ns.
    pub took_ns: f64,
    /// The rank that arrived last.
    pub last: u32,
    /// Of the duration, what that rank worked, in ns.
    pub work_ns: f64,
}

/// One rank of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankFacts {
    /// Its number.
    pub rank: u32,
    /// Its host, as in [`Bsp::hosts`].
    pub host: u64,
    /// Its CPU; absent where it was not pinned.
    pub cpu: Option<u32>,
    /// Its detour time over wall time; absent where its detours are not known.
    pub noise: Option<f64>,
    /// Its work in phases without a detour, in ns: where ranks differ, the slower ones are waited for.
    pub work_ns: Option<f64>,
    /// Its work in phases in which it had a detour then, less its detours, in ns: where this grows with the grain,
    /// the core is slower in such times; where it does not, an interruption costs more than its own time.
    pub disturbed_work_ns: Option<f64>,
    /// Phases in which it came last.
    pub last: u64,
    /// Of those, phases in which a rank had a detour in its work.
    pub last_disturbed: u64,
    /// What those add to slowdown less 1.
    pub cost: f64,
    /// By itself, where the ranks did not meet.
    pub alone: Option<Alone>,
}

/// A rank that met nobody; slowdown less 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alone {
    /// Measured.
    pub measured: f64,
    /// What its noise says: 1 / (1 - noise), less 1.
    pub law: Option<f64>,
}

/// Time of a source in the detours that made the last rank late.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceTime {
    /// Identifier of the source.
    pub source: String,
    /// Which of its kind; empty where there is one only.
    pub name: String,
    /// Its part of their time.
    pub share: f64,
    /// Its time in them, in ns.
    pub ns: u64,
}
