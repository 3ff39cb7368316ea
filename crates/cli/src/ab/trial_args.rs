//! The options of trials, which `ab` and `try` have in common.

use super::order;
use crate::ask;
use crate::compare::JobArgs;
use crate::page::PageArgs;
use crate::run_args::WatchArgs;
use crate::setup::{SetupArgs, wakeups};
use anechoic_measure::experiment::Experiment;
use anechoic_measure::run::Plan;
use anechoic_recording::{Problem, methods};
use anechoic_system::cpus;
use std::time::Duration;

// No doc comment: clap would print it as the command's help.
#[derive(Debug, clap::Args)]
pub(crate) struct TrialArgs {
    /// Number of pairs
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(order::PAIRS))]
    pub(super) pairs: u32,
    /// Measure wake-ups instead of noise, as `anechoic measure wakeup` does, for --duration
    #[arg(long, conflicts_with_all = ["threshold", "fifo", "ranks"])]
    wakeup: bool,
    /// How long to wait between a change and the measurement
    #[arg(long, value_name = "TIME", value_parser = ask::pause, default_value = "1s", allow_hyphen_values = true)]
    pub(super) settle: Duration,
    /// Seed of the random order; the same seed gives the same order [default: another one each time]
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
    #[command(flatten)]
    pub(super) watch: WatchArgs,
    #[command(flatten)]
    pub(super) job: JobArgs,
    /// Print JSON (schema/compare.schema.json; of wake-ups compare-wakeups.schema.json)
    #[arg(long)]
    pub(crate) json: bool,
    /// Show every row, not only the first ones
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(super) page: PageArgs,
    #[command(flatten)]
    pub(crate) setup: SetupArgs,
}

impl TrialArgs {
    /// Returns how each trial is measured, or how its program is recorded.
    ///
    /// # Errors
    /// SCHED_FIFO would take all CPUs.
    pub(super) fn plan(&self, record: bool) -> Result<Plan, Problem> {
        let cpus = self.setup.cpus();
        Ok(match (record, self.wakeup) {
            (true, _) => Plan {
                program_cpus: cpus::online(),
                ..self.setup.plan(Experiment::listed(methods::PROGRAM, vec![]))
            },
            (_, true) => self.setup.plan(wakeups(self.watch.duration, &[], cpus)?),
            _ => self.setup.plan(self.watch.detours(&cpus)?.on(cpus)),
        })
    }

    /// Returns how long all trials take at least.
    pub(crate) fn least(&self, record: bool, trials: usize) -> Duration {
        let duration = if record { Duration::ZERO } else { self.watch.duration };
        let each = self.settle + duration;
        each.saturating_mul(u32::try_from(trials).unwrap_or(u32::MAX))
    }

    /// Returns the number of trials, one of each side in a pair.
    pub(crate) fn trials(&self) -> usize {
        2 * self.pairs as usize
    }
}
