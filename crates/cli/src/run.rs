//! `anechoic run`: the main job.

use crate::ask;
use crate::ensemble::{self, JoinArgs};
use crate::exit;
use crate::progress::Busy;
use crate::setup::{SetupArgs, leave_one, record};
use crate::{stop, terminal};
use anechoic_analyze::Summary;
use anechoic_measure::run::{Detours, Plan, Task};
use anechoic_recording::run::RunState;
use anechoic_recording::{Problem, ProblemKind, Recording};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
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

// No doc comment: the command's help begins with that of `RunArgs`.
#[derive(Debug, clap::Args)]
pub struct RunCommand {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    join: JoinArgs,
}

const EXAMPLES: &str = "Examples:
  anechoic run                                    ten seconds on every CPU
  anechoic run --cpus 2-5 --duration 60s -o before
  anechoic run --repeat 5 --json | jq .noise      mean and deviation over five runs
  sudo anechoic run                               with the causes, where users may not trace
  srun anechoic run --rank-from-env -o DIR        all hosts of a job, without MPI";

/// Time that the kernel events are on, and off, by turns under `--tracer-cost`.
const ALTERNATE: Duration = Duration::from_millis(250);

pub fn run(command: &RunCommand) -> anyhow::Result<ExitCode> {
    let args = &command.run;
    if command.join.rank_from_env {
        return ensemble::run_from_env(args, &command.join);
    }
    let plan = args.plan(args.setup.cpus())?;
    let stop = stop::flag()?;
    let dir = args.setup.dir();
    let mut summaries = Vec::new();
    for number in 1..=args.repeat {
        let repeated = args.repeat > 1;
        let dir = if repeated { dir.join(format!("run-{number:03}")) } else { dir.clone() };
        let plan = Plan { repetition: repeated.then_some((number, args.repeat)), ..plan.clone() };
        summaries.push(measure(&plan, &dir, &stop, args.setup.quiet)?);
        if stop.load(Ordering::Acquire) {
            break;
        }
    }
    show(args, &summaries, &dir)
}

/// Whether what was measured is whole, and only its causes could not be written.
fn not_attributed(error: &anyhow::Error) -> bool {
    let problem: Option<&Problem> = error.downcast_ref();
    problem.is_some_and(|problem| problem.kind == ProblemKind::CannotWrite)
}

/// One run with its causes and its summary. Where the causes found no room, what was measured is worth having.
fn measure(plan: &Plan, dir: &Path, stop: &AtomicBool, quiet: bool) -> anyhow::Result<Summary> {
    let recording = match record(plan, dir, stop, quiet) {
        Err(error) if not_attributed(&error) => {
            exit::tell(&error);
            Recording::open(dir)?
        }
        recorded => recorded?,
    };
    let _busy = Busy::with("adding up", quiet);
    Ok(anechoic_analyze::summarize(&recording)?)
}

impl RunArgs {
    /// What is to be done on `cpus`.
    ///
    /// # Errors
    /// [`exit::Usage`], where SCHED_FIFO would take all CPUs.
    pub(crate) fn plan(&self, cpus: Vec<u32>) -> anyhow::Result<Plan> {
        if self.fifo {
            leave_one(&cpus, self.all_cpus, "--fifo")?;
        }
        let task = Task::Detours(Detours {
            duration: self.duration,
            threshold_ns: self.threshold.map(|threshold| threshold.as_nanos() as u64),
            fifo: self.fifo,
            alternate: self.tracer_cost.then_some(ALTERNATE),
            injection: None,
        });
        Ok(self.setup.plan(cpus, task))
    }
}

fn show(args: &RunArgs, summaries: &[Summary], dir: &Path) -> anyhow::Result<ExitCode> {
    let mut out = terminal::stdout();
    let view = terminal::view(Some(dir));
    let repeat = anechoic_analyze::summarize_many(summaries).filter(|_| args.repeat > 1);
    match (&repeat, summaries) {
        (None, [summary]) if args.json => anechoic_report::json(summary, &mut out)?,
        (None, [summary]) => anechoic_report::summary(summary, &view).write(&view, &mut out)?,
        (Some(repeat), _) if args.json => anechoic_report::json(repeat, &mut out)?,
        (Some(repeat), [.., last]) => {
            anechoic_report::summary(last, &view).write(&view, &mut out)?;
            anechoic_report::repeat(repeat, &view).write(&view, &mut out)?;
        }
        _ => {}
    }
    out.flush()?;
    let verdicts = summaries.iter().map(verdict);
    let cut_short = summaries.len() < args.repeat as usize;
    let verdict = verdicts.max().unwrap_or(exit::NO_VERDICT);
    let less = cut_short || summaries.iter().any(lacks_sources);
    Ok(ExitCode::from(verdict.max(if less { exit::WARNING } else { 0 })))
}

/// Whether there were events to name the sources by, and they are not named.
fn lacks_sources(summary: &Summary) -> bool {
    summary.sources.is_none() && summary.suspects.is_none()
}

/// 3 where nothing was measured, 1 where the run is not what was asked for or lost something, else 0.
pub fn verdict(summary: &Summary) -> u8 {
    if summary.cpus.iter().all(|cpu| cpu.wall_ns == 0) {
        return exit::NO_VERDICT;
    }
    let lost = summary.losses.iter().any(|loss| loss.what != "untraced");
    if summary.run.state == RunState::Complete && !lost { 0 } else { exit::WARNING }
}
