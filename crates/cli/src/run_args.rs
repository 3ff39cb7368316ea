//! The options of `anechoic run`, and the plan that they ask for.

use crate::ask;
use crate::setup::{SetupArgs, leave_one};
use anechoic_measure::methods::detours::Detours;
use anechoic_measure::run::Plan;
use std::time::Duration;

/// Measure every CPU's noise and name what took the time
///
/// One pinned thread per CPU reads the CPU's counter back to back; each gap is a detour. The
/// kernel's own events, stamped by the same counter, say what the CPU did instead. Without the
/// right to record those, the result says so and ranks suspects by the kernel's counters.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct RunArgs {
    /// How long to measure, like 10s, 500ms or 10m
    #[arg(long, short, value_parser = ask::duration, default_value = "10s", value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) duration: Duration,
    /// Shortest gap that counts as a detour, like 100ns or 1us [default: 8 iterations of the loop]
    #[arg(long, short, value_parser = ask::duration, value_name = "TIME", allow_hyphen_values = true)]
    threshold: Option<Duration>,
    /// Run the loops under SCHED_FIFO: only the kernel itself interrupts them then
    #[arg(long)]
    fifo: bool,
    /// With --fifo: take every CPU of the machine, leaving none for anything else
    #[arg(long, requires = "fifo")]
    all_cpus: bool,
    /// Measure N times and give mean and standard deviation
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), hide_default_value = true)]
    pub(crate) repeat: u32,
    /// Measure what recording the kernel events costs: they are off for every other 250 ms
    #[arg(long, conflicts_with = "no_trace")]
    tracer_cost: bool,
    /// Print JSON (schema/summary.schema.json)
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) setup: SetupArgs,
}

const EXAMPLES: &str = "Examples:
  anechoic run                                    ten seconds on every CPU
  anechoic run --cpus 2-5 --duration 60s -o before
  anechoic run --repeat 5 --json | jq .noise      mean and deviation over five runs
  sudo anechoic run                               with the causes, where users may not trace
  srun anechoic run --rank-from-env -o DIR        all hosts of a job, without MPI";

/// Time that the kernel events are on, and off alternately, under `--tracer-cost`.
const ALTERNATE: Duration = Duration::from_millis(250);

impl RunArgs {
    /// What is to be done on `cpus`.
    ///
    /// # Errors
    /// [`exit::Usage`], where SCHED_FIFO would take all CPUs.
    pub(crate) fn plan(&self, cpus: Vec<u32>) -> anyhow::Result<Plan> {
        if self.fifo {
            leave_one(&cpus, self.all_cpus, "--fifo")?;
        }
        let detours = Detours {
            duration: self.duration,
            threshold_ns: self.threshold.map(|threshold| threshold.as_nanos() as u64),
            fifo: self.fifo,
            alternate: self.tracer_cost.then_some(ALTERNATE),
            injection: None,
        };
        Ok(self.setup.plan(detours.on(cpus)))
    }
}
