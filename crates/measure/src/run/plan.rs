//! What a run is asked to do, and what it reports meanwhile.

use crate::ensemble::{Placement, Team};
use crate::experiment::{Act, Experiment};
use anechoic_recording::News;
use anechoic_recording::run::Run;
use std::collections::BTreeSet;
use std::time::Duration;

/// What a run is asked to do.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What is measured.
    pub experiment: Experiment,
    /// Whether kernel events are wanted.
    pub trace: bool,
    /// Measure with a TSC that is not invariant.
    pub allow_variant_tsc: bool,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// Version of the tool, for the record.
    pub tool_version: String,
    /// Which run of how many this is.
    pub repetition: Option<(u32, u32)>,
    /// The ranks that measure together; absent where this process measures by itself.
    pub team: Option<Team>,
    /// The thread that watches, if one does: [`Stage::Begun`] and [`Stage::News`] come then.
    pub watcher: Option<i32>,
}

impl Plan {
    /// An experiment by this process alone, with kernel events.
    #[must_use]
    pub fn of(experiment: Experiment, tool_version: &str) -> Self {
        Plan {
            experiment,
            trace: true,
            allow_variant_tsc: false,
            command: std::env::args().collect(),
            tool_version: tool_version.to_owned(),
            repetition: None,
            team: None,
            watcher: None,
        }
    }

    /// Where this process is one of several ranks of its host that all measure: where they are.
    pub(super) fn ranks(&self) -> Option<&Placement> {
        let team = self.team.as_ref().filter(|_| self.experiment.meets())?;
        Some(&team.placement)
    }

    /// CPUs that are measured on this host, by this process or by other ranks.
    pub(super) fn measured(&self) -> Vec<u32> {
        let others = self.ranks().map(Placement::own_cpus).unwrap_or_default();
        let all: BTreeSet<u32> = self.experiment.cpus().into_iter().chain(others).collect();
        all.into_iter().collect()
    }

    /// CPUs whose kernel events belong to this run: the measured ones, those with injected noise, and
    /// those that loops go to between two samples.
    pub(super) fn traced(&self) -> Vec<u32> {
        let injections = self.experiment.injections();
        let injected = injections.into_iter().flat_map(|injection| injection.cpus.clone());
        let acts = self.experiment.cells.iter().flat_map(|cell| &cell.between);
        let visited = acts.filter_map(|act| match act {
            Act::Migrate(cpu) => Some(*cpu),
            _ => None,
        });
        let all: BTreeSet<u32> =
            self.measured().into_iter().chain(injected).chain(visited).collect();
        all.into_iter().collect()
    }

    /// Whether another rank of this host records the kernel's events.
    pub(super) fn is_traced_by_another(&self) -> bool {
        self.ranks().is_some_and(|placement| !placement.leads())
    }
}

/// What a run reports while it goes on.
#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    /// The kernels are being calibrated.
    Calibrating,
    /// The loops start; progress may be drawn only if a CPU is left for it.
    Started {
        /// How long it will take, undisturbed.
        total: Duration,
        /// Whether a CPU is left that is not measured.
        may_draw: bool,
    },
    /// The loops are about to start; what is known of them. Where the run is watched.
    Begun(Box<Run>),
    /// What was seen since the last time. Where the run is watched: about five times a second if a CPU is
    /// left that is not measured, else once.
    News(Box<News>),
    /// This much has passed; comes only where drawing disturbs nothing.
    Passed(Duration),
    /// The loops are over; what they saw is being saved.
    Saving,
}
