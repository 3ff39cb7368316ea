//! The options of `anechoic run`, and the plan that they describe.

use crate::ask;
use crate::hist::HistArgs;
use crate::setup::{SetupArgs, leave_one};
use anechoic_measure::methods::detours::Detours;
use anechoic_measure::run::Plan;
use anechoic_recording::Problem;
use anechoic_recording::stop::StopCondition;
use std::time::Duration;

/// Measure every CPU's noise and name what took the time
///
/// On each CPU, a pinned thread reads the CPU's counter in a tight loop; each gap between two readings is a
/// detour. The kernel's own events, stamped by the same counter, show what the CPU did instead. Without
/// permission to record them, the result notes that and ranks suspects by the kernel's counters.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct RunArgs {
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
    /// End the run at the first detour that is longer, on any measured CPU ('detour>100us', exit code 2), or after
    /// this many detours of all of them ('detours>=100000'). With --fifo, time that the fair server or real-time
    /// throttling takes does not count, if kernel events are recorded
    #[arg(long, value_name = "CONDITION", value_parser = ask::stop_condition, allow_hyphen_values = true)]
    pub(crate) stop_on: Option<StopCondition>,
    /// With --stop-on: keep only this much time before the detour, or before the end, and up to a quarter or about a
    /// second more. It stays in memory, so that the command may wait for days
    #[arg(long, value_name = "TIME", value_parser = ask::duration, requires = "stop_on", allow_hyphen_values = true)]
    keep: Option<Duration>,
    /// Measure N times and report mean and standard deviation
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), hide_default_value = true)]
    pub(crate) repeat: u32,
    /// Measure the cost of recording kernel events, by switching them off in every other 250 ms
    #[arg(long, conflicts_with = "no_trace")]
    tracer_cost: bool,
    #[command(flatten)]
    pub(crate) hist: HistArgs,
    /// Print JSON (schema/summary.schema.json; with --hist: schema/histogram.schema.json)
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) setup: SetupArgs,
}

// How the loops watch their CPUs. No doc comment: clap would print it as the command's help.
#[derive(Debug, clap::Args)]
pub(crate) struct WatchArgs {
    /// How long to measure, for example 10s, 500ms or 10m
    #[arg(long, short, value_parser = ask::duration, default_value = "10s", value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) duration: Duration,
    /// Shortest gap that counts as a detour, for example 100ns or 1us [default: 8 loop iterations]
    #[arg(long, short, value_parser = ask::duration, value_name = "TIME", allow_hyphen_values = true)]
    threshold: Option<Duration>,
    /// Run the loops under SCHED_FIFO, so that only the kernel can interrupt them
    #[arg(long)]
    fifo: bool,
    /// With --fifo: measure every CPU of the machine, leaving none for anything else
    #[arg(long, requires = "fifo")]
    all_cpus: bool,
}

const EXAMPLES: &str = "Examples:
  anechoic run                                    ten seconds on every CPU
  anechoic run --cpus 2-5 --duration 60s -o before
  anechoic run --repeat 5 --json | jq .noise      mean and standard deviation of five runs
  sudo anechoic run                               with the causes, if only root may trace
  anechoic run -d 8h --stop-on 'detour>100us'     until something takes more than 100 µs
  anechoic run -d 168h --stop-on 'detour>100us' --keep 10s
                                                  the same, but only the last ten seconds are kept
  srun anechoic run --rank-from-env -o DIR        every host of a job, without MPI";

/// The time for which kernel events are on, then off, under `--tracer-cost`.
const ALTERNATE: Duration = Duration::from_millis(250);

impl WatchArgs {
    /// Returns how to record detours on `cpus`.
    ///
    /// # Errors
    /// Fails if SCHED_FIFO would take all CPUs.
    pub(crate) fn detours(&self, cpus: &[u32]) -> Result<Detours, Problem> {
        if self.fifo {
            leave_one(cpus, self.all_cpus, "--fifo")?;
        }
        Ok(Detours {
            duration: self.duration,
            threshold_ns: self.threshold.map(|threshold| threshold.as_nanos() as u64),
            fifo: self.fifo,
            alternate: None,
            injection: None,
        })
    }
}

impl RunArgs {
    /// Returns the plan for `cpus`.
    ///
    /// # Errors
    /// Fails if SCHED_FIFO would take all CPUs.
    pub(crate) fn plan(&self, cpus: Vec<u32>) -> Result<Plan, Problem> {
        let alternate = self.tracer_cost.then_some(ALTERNATE);
        let detours = Detours { alternate, ..self.watch.detours(&cpus)? };
        let (stop_on, keep) = (self.stop_on, self.keep);
        Ok(Plan { stop_on, keep, ..self.setup.plan(detours.on(cpus)) })
    }
}
