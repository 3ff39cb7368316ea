//! What a run must do, and what it reports in the meantime.

use crate::ensemble::{Placement, Team};
use crate::experiment::{Act, Experiment};
use anechoic_recording::run::Run;
use anechoic_recording::stop::StopCondition;
use anechoic_recording::{Marked, News};
use anechoic_system::holder::Holder;
use anechoic_system::tracefs::MarkEvent;
use std::collections::BTreeSet;
use std::time::Duration;

/// How often the events of a program are saved.
const SAVE_EVERY: Duration = Duration::from_secs(60);

/// What a run must do.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The experiment to measure.
    pub experiment: Experiment,
    /// Whether to record kernel events.
    pub trace: bool,
    /// Whether to measure even if the TSC is not invariant.
    pub allow_variant_tsc: bool,
    /// CPUs that could be measured and are not, because this process did not inherit them.
    pub left_out: Vec<u32>,
    /// CPUs whose kernel events belong to the run although no loop measures them: those of a recorded program.
    pub program_cpus: Vec<u32>,
    /// What marks the iterations of a recorded program, and its description.
    pub mark: Option<(MarkEvent, Marked)>,
    /// Whether to record call stacks of a recorded program.
    pub stacks: bool,
    /// After which time a thread of a recorded program has come late that a timer released; the usual one if absent.
    pub late: Option<Duration>,
    /// The command line, stored in the recording.
    pub command: Vec<String>,
    /// The version of the tool, stored in the recording.
    pub tool_version: String,
    /// What ends a run of detours, or the recording of a program, before its time.
    pub stop_on: Option<StopCondition>,
    /// How much time before the end of such a run is kept at least; all of it if absent.
    pub keep: Option<Duration>,
    /// How often a program's events are saved, so that a kill leaves them.
    pub save_every: Duration,
    /// The number of this run, and the number of runs.
    pub repetition: Option<(u32, u32)>,
    /// The ranks that measure together; absent if this process measures by itself.
    pub team: Option<Team>,
    /// The thread that watches the run, if one does; it gets [`Stage::Begun`] and [`Stage::News`].
    pub watcher: Option<i32>,
}

impl Plan {
    /// Plans an experiment by this process alone, with kernel events.
    #[must_use]
    pub fn new(experiment: Experiment, tool_version: &str) -> Self {
        Plan {
            experiment,
            trace: true,
            allow_variant_tsc: false,
            left_out: Vec::new(),
            program_cpus: Vec::new(),
            mark: None,
            stacks: false,
            late: None,
            command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
            tool_version: tool_version.to_owned(),
            stop_on: None,
            keep: None,
            save_every: SAVE_EVERY,
            repetition: None,
            team: None,
            watcher: None,
        }
    }

    /// Returns where the ranks run, if this process is one of several measuring ranks of its host.
    pub(super) fn ranks(&self) -> Option<&Placement> {
        let team = self.team.as_ref().filter(|_| self.experiment.meets())?;
        Some(&team.placement)
    }

    /// Returns what marks the iterations of a recorded program, if something does.
    pub(super) fn marked(&self) -> Option<Marked> {
        self.mark.as_ref().map(|(_, marked)| marked.clone())
    }

    /// Returns the CPUs that are measured on this host, by this process or by other ranks.
    pub(super) fn measured(&self) -> Vec<u32> {
        let others = self.ranks().map(Placement::own_cpus).unwrap_or_default();
        let all: BTreeSet<u32> = self.experiment.cpus().into_iter().chain(others).collect();
        all.into_iter().collect()
    }

    /// Returns the CPUs whose kernel events belong to this run: the measured ones, those with injected noise,
    /// those that loops migrate to between two samples or are woken from, and those of a recorded program.
    pub(super) fn traced(&self) -> Vec<u32> {
        let injections = self.experiment.injections();
        let injected = injections.into_iter().flat_map(|injection| injection.cpus.clone());
        let acts = self.experiment.cells.iter().flat_map(|cell| &cell.between);
        let visited = acts.filter_map(|act| match act {
            Act::Migrate(cpu) => Some(*cpu),
            _ => None,
        });
        let program = self.program_cpus.iter().copied();
        let wakers = self.experiment.wakers.values().copied();
        let beside = injected.chain(visited).chain(wakers).chain(program);
        let all: BTreeSet<u32> = self.measured().into_iter().chain(beside).collect();
        all.into_iter().collect()
    }

    /// Returns whether another rank of this host records the kernel's events.
    pub(super) fn is_traced_by_another(&self) -> bool {
        self.ranks().is_some_and(|placement| !placement.leads())
    }
}

/// Approximate time between two rounds, used to estimate the length of a run.
pub const BETWEEN: Duration = Duration::from_millis(40);

/// What a run reports while it is going on.
#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    /// The kernels are being calibrated.
    Calibrating,
    /// Real-time threads have CPUs that are to be measured, and the start waits for these.
    Waiting {
        /// The threads, one of each CPU.
        holders: Vec<Holder>,
        /// For how long it has waited.
        waited: Duration,
    },
    /// The loops start; progress may be drawn only if a CPU is left for it.
    Started {
        /// Duration without noise.
        total: Duration,
        /// Whether a CPU is left that is not measured.
        may_draw: bool,
    },
    /// The loops are about to start; reported only to a watcher.
    Begun(Box<Run>),
    /// What was measured since the last time. Reported only to a watcher: about five times a second if an
    /// unmeasured CPU is left, else once.
    News(Box<News>),
    /// The time passed and the time left, which is corrected by how long the rounds so far really took; reported only if
    /// drawing disturbs nothing.
    Passed {
        /// The time since the start.
        passed: Duration,
        /// The time to the end.
        left: Duration,
    },
    /// The loops have ended; the results are being saved.
    Saving,
}
