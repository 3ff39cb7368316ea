//! The result of a prediction.

use super::closed_form::ClosedForm;
use super::runs::Recursion;
use super::tail::{Extrapolated, Tail};
use super::timeline::{Host, Timeline};
use anechoic_analyze::stats::Interval;
use anechoic_recording::run::NotAvailable;
use schemars::JsonSchema;
use serde::Serialize;

/// Slowdown of a bulk-synchronous job by noise, for some grains and numbers of ranks.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PhaseModel {
    /// The recorded hosts.
    pub hosts: Vec<HostFacts>,
    /// Whether any of them is a guest of a hypervisor.
    #[serde(skip)]
    pub guest: bool,
    /// Lost time divided by wall time, over all CPUs.
    pub noise: f64,
    /// Threshold in ns: shorter gaps are not detours, on any host; absent for text files.
    pub threshold_ns: Option<u64>,
    /// Slowdown if all ranks were delayed at the same times: 1 / (1 - noise), for any grain and number of ranks.
    pub co_scheduled: f64,
    /// The requested grains, which together span grain and ranks.
    pub grains: Vec<GrainModel>,
    /// The sources whose cost was computed, sorted by decreasing time; absent if sources are unknown.
    pub sources: Option<Vec<SourceFacts>>,
    /// Parameters of the computation.
    pub method: Method,
    /// Results that are not available, and why.
    pub not_available: Vec<NotAvailable>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// One recorded host.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HostFacts {
    /// Name of the recording or file.
    pub name: String,
    /// CPUs of the host.
    pub cpus: Vec<u32>,
    /// Time in which all CPUs were measured, in ns.
    pub window_ns: u64,
    /// Number of detours on all CPUs.
    pub detours: u64,
    /// Lost time divided by wall time.
    pub noise: f64,
}

impl HostFacts {
    /// Returns the facts of a host.
    #[must_use]
    pub fn from_host(host: &Host) -> Self {
        let timelines = || host.cpus().iter().map(|(_, timeline)| timeline);
        let wall = host.length_ns() as f64 * host.cpus().len() as f64;
        Self {
            name: host.name().to_owned(),
            cpus: host.cpus().iter().map(|(cpu, _)| *cpu).collect(),
            window_ns: host.length_ns(),
            detours: timelines().map(Timeline::count).sum(),
            noise: timelines().map(|timeline| timeline.lost_ns() as f64).sum::<f64>() / wall,
        }
    }
}

/// The prediction for one grain, the noise-free time between two synchronisations.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GrainModel {
    /// The grain, in ns.
    pub grain_ns: u64,
    /// Largest number of ranks that the recording supports: a tenth of its independent windows. For more ranks the
    /// estimates are too low, and tend to the worst recorded slowdown.
    pub supported_ranks: u64,
    /// Number of independent windows: about recorded time divided by grain, over all CPUs; fewer where CPUs of one host
    /// are delayed together.
    #[serde(default)]
    pub windows: u64,
    /// Tsafrir's closed form.
    pub closed_form: ClosedForm,
    /// Limit of the free-start law for many ranks: the worst recorded phase.
    pub limit: f64,
    /// Tail fitted to the longest delays; absent if the recording supports all numbers of ranks.
    pub tail: Option<Tail>,
    /// Why some number of ranks that needs a tail has no extrapolated slowdown.
    pub no_tail: Option<String>,
    /// Number of blocks of time behind the intervals; absent if the recording is too short.
    pub blocks: Option<u64>,
    /// The requested numbers of ranks.
    pub cells: Vec<Cell>,
}

/// The prediction for one grain and number of ranks. Slowdowns are time divided by time without noise.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Cell {
    /// Number of ranks.
    pub ranks: u64,
    /// Best estimate: replay of the recorded timelines; absent if that takes too many steps.
    pub recursion: Option<Recursion>,
    /// Free-start law: the lower bracket for independent ranks, exact for one rank.
    pub free_start: Slowdown,
    /// Wall-start law: the upper bracket.
    pub wall_start: Slowdown,
    /// Tsafrir's closed form.
    pub closed_form: f64,
    /// Whether the recording has ten independent windows for each rank. If not, the slowdowns of this cell are too low
    /// and have no interval, only a lower bound.
    pub supported: bool,
    /// Length of a recording of each CPU that would support this number of ranks, in ns.
    pub needed_window_ns: u64,
    /// Slowdown with the fitted tail; only if the recording does not support this number of ranks, if its interval is
    /// known, and if it is not below the free-start law.
    pub extrapolated: Option<Extrapolated>,
    /// Cost of each source, sorted by decreasing cost; empty if sources are unknown.
    pub sources: Vec<SourceCost>,
}

/// A slowdown with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Slowdown {
    /// Time divided by time without noise.
    pub slowdown: f64,
    /// Its 95 % interval from blocks of the recorded time; absent if there are too few, if few events decide, or if the
    /// recording does not support the number of ranks.
    pub interval: Option<Interval>,
    /// The slowdown that it exceeds with a probability of 97.5 %, also without an interval; absent if there are too few
    /// blocks.
    #[serde(default)]
    pub at_least: Option<f64>,
}

/// Time of a source of noise over all CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SourceFacts {
    /// Identifier of the source.
    pub source: String,
    /// Name within the source; empty if there is only one.
    pub name: String,
    /// Share of the lost time.
    pub share: f64,
    /// Longest time in a single detour, in ns.
    pub longest_ns: u64,
}

/// Cost of one source for a job, by the free-start law.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SourceCost {
    /// Identifier of the source.
    pub source: String,
    /// Name within the source; empty if there is only one.
    pub name: String,
    /// Slowdown without this source: its time is subtracted from every detour.
    pub without: f64,
    /// Slowdown with this source only.
    pub alone: f64,
}

/// Parameters of the computation.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Method {
    /// Seed of the offsets of hosts.
    pub seed: u64,
    /// Largest number of steps of the recursion for one grain and number of ranks.
    pub budget: u64,
    /// Relative accuracy of the slowdown minus 1 by the closed laws; for one rank they are exact.
    pub relative_error: f64,
}

impl Cell {
    /// Returns the best estimate: the recursion, else the middle of the brackets.
    #[must_use]
    pub fn slowdown(&self) -> f64 {
        let middle = (self.free_start.slowdown + self.wall_start.slowdown) / 2.0;
        self.recursion.map_or(middle, |recursion| recursion.slowdown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_estimate_is_the_recursion_or_the_middle_of_the_brackets() {
        let by_law = |slowdown: f64| Slowdown { slowdown, interval: None, at_least: None };
        let mut cell = Cell {
            ranks: 1,
            recursion: None,
            free_start: by_law(1.2),
            wall_start: by_law(1.6),
            closed_form: 2.0,
            supported: true,
            needed_window_ns: 0,
            extrapolated: None,
            sources: vec![],
        };
        assert!((cell.slowdown() - 1.4).abs() < 1e-12);
        let interval = Interval { low: 1.2, high: 1.4 };
        cell.recursion = Some(Recursion { slowdown: 1.3, interval, runs: 8, phases: 100 });
        assert_eq!(cell.slowdown(), 1.3);
    }
}
