//! What is predicted, as it is told and stored.

use super::closed_form::ClosedForm;
use super::runs::Recursion;
use super::tail::{Extrapolated, Tail};
use anechoic_analyze::stats::Interval;
use anechoic_recording::run::NotAvailable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What noise costs a bulk-synchronous job, for some grains and numbers of ranks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseModel {
    /// What was recorded, one a host.
    pub hosts: Vec<HostFacts>,
    /// Lost time over wall time, all CPUs.
    pub noise: f64,
    /// Gaps up to this are no detours, on any host; absent of text files.
    pub threshold_ns: Option<u64>,
    /// The slowdown if all ranks were away at the same times: 1 / (1 - noise), for any grain and number of ranks.
    pub co_scheduled: f64,
    /// The grains, as asked: together the surface over grain and ranks.
    pub grains: Vec<GrainModel>,
    /// The sources whose cost was computed, the most time first; absent where sources are not known.
    pub sources: Option<Vec<SourceFacts>>,
    /// How it was computed.
    pub method: Method,
    /// What could not be said, and why.
    pub not_available: Vec<NotAvailable>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// One recorded host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    /// The recording or file.
    pub name: String,
    /// Its CPUs.
    pub cpus: Vec<u32>,
    /// The time in which all were measured, in ns.
    pub window_ns: u64,
    /// Detours in it, of all CPUs.
    pub detours: u64,
    /// Lost time over wall time.
    pub noise: f64,
}

/// One grain: the noise-free time between two synchronisations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrainModel {
    /// The grain, in ns.
    pub grain_ns: u64,
    /// Ranks for which the recording holds as many independent windows: about recorded time / grain. For more, the
    /// answer tends to the worst that was recorded.
    pub supported_ranks: u64,
    /// Tsafrir's closed form.
    pub closed_form: ClosedForm,
    /// The slowdown that the free-start law tends to: the worst phase that was recorded.
    pub limit: f64,
    /// A tail fitted to the longest delays; absent where the recording is long enough for all ranks.
    pub tail: Option<Tail>,
    /// Why there is no tail, where one was wanted.
    pub no_tail: Option<String>,
    /// Blocks of time that intervals come from; absent where the recording is too short for them.
    pub blocks: Option<u64>,
    /// The numbers of ranks, as asked.
    pub cells: Vec<Cell>,
}

/// One grain and number of ranks. Slowdowns are time over time without noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Number of ranks.
    pub ranks: u64,
    /// The reference answer: recorded timelines played; absent where that takes too many steps.
    pub recursion: Option<Recursion>,
    /// Free-start law: the lower bracket for independent ranks, exact for one.
    pub free_start: Slowdown,
    /// Wall-start law: the upper bracket.
    pub wall_start: Slowdown,
    /// Tsafrir's closed form.
    pub closed_form: f64,
    /// Whether the recording holds enough independent windows for so many ranks.
    pub supported: bool,
    /// How long each recorded CPU would have to be measured for that, in ns.
    pub needed_window_ns: u64,
    /// With the fitted tail; only where the recording is too short, and where it is no less than the free-start law.
    pub extrapolated: Option<Extrapolated>,
    /// What each source costs, the most first; empty where sources are not known.
    pub sources: Vec<SourceCost>,
}

/// A slowdown and how much of it may be chance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slowdown {
    /// Time over time without noise.
    pub slowdown: f64,
    /// Its 95 % interval, from blocks of the recorded time; absent where there were too few.
    pub interval: Option<Interval>,
}

/// A source of noise over all CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceFacts {
    /// Identifier of the source.
    pub source: String,
    /// Which of its kind; empty where there is one only.
    pub name: String,
    /// Its part of the lost time.
    pub share: f64,
    /// The most that it took of one detour, in ns.
    pub longest_ns: u64,
}

/// What one source costs a job, by the free-start law.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceCost {
    /// Identifier of the source.
    pub source: String,
    /// Which of its kind; empty where there is one only.
    pub name: String,
    /// Slowdown without it: its time is taken out of every detour.
    pub without: f64,
    /// Slowdown if it were the only one.
    pub alone: f64,
}

/// How it was computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Method {
    /// Seed of the hosts' phases and of the resampling.
    pub seed: u64,
    /// Steps that the recursion could take for one grain and number of ranks.
    pub budget: u64,
    /// The closed laws are exact to this part of the slowdown less 1; for one rank exactly.
    pub relative_error: f64,
    /// Resamplings of an interval.
    pub resamples: u64,
}

impl Cell {
    /// The best answer: the recursion, else the middle of the brackets.
    #[must_use]
    pub fn slowdown(&self) -> f64 {
        let middle = (self.free_start.slowdown + self.wall_start.slowdown) / 2.0;
        self.recursion.map_or(middle, |recursion| recursion.slowdown)
    }
}
