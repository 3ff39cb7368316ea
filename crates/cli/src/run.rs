//! `anechoic run`: the main job.

use crate::ask;
use crate::ensemble::{self, JoinArgs};
use crate::exit;
use crate::progress::Busy;
use crate::setup::{SetupArgs, leave_one, record};
use crate::show::Printer;
use crate::stop;
use anechoic_analyze::Summary;
use anechoic_measure::methods::detours::Detours;
use anechoic_measure::run::Plan;
use anechoic_recording::{Problem, ProblemKind, Recording};
use anechoic_report::results::repeat::REPEAT;
use anechoic_report::results::summary::SUMMARY;
use anechoic_report::results::{AnyRow, Findings, Found, Input};
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
    let mut runs = Vec::new();
    for number in 1..=args.repeat {
        let repeated = args.repeat > 1;
        let dir = if repeated { dir.join(format!("run-{number:03}")) } else { dir.clone() };
        let plan = Plan { repetition: repeated.then_some((number, args.repeat)), ..plan.clone() };
        runs.push(measure(&plan, &dir, &stop, args.setup.quiet)?);
        if stop.load(Ordering::Acquire) {
            break;
        }
    }
    show(args, &runs, &dir)
}

/// Whether what was measured is whole, and only its causes could not be written.
fn not_attributed(error: &anyhow::Error) -> bool {
    let problem: Option<&Problem> = error.downcast_ref();
    problem.is_some_and(|problem| problem.kind == ProblemKind::CannotWrite)
}

/// One run with its causes and its summary. Where the causes found no room, what was measured is worth having.
fn measure(plan: &Plan, dir: &Path, stop: &AtomicBool, quiet: bool) -> anyhow::Result<Findings> {
    let recording = match record(plan, dir, stop, quiet) {
        Err(error) if not_attributed(&error) => {
            exit::tell(&error);
            Recording::open(dir)?
        }
        recorded => recorded?,
    };
    let _busy = Busy::with("adding up", quiet);
    let mut findings = Findings::default();
    findings.add(SUMMARY.compute(&Input::of(&[&recording]))?);
    Ok(findings)
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

/// Shows the last run, and over repeated ones mean and spread; as JSON the one or the other.
fn show(args: &RunArgs, runs: &[Findings], dir: &Path) -> anyhow::Result<ExitCode> {
    let mut printer = Printer::stdout(args.json, false);
    let summaries = || runs.iter().flat_map(Findings::iter);
    let repeated = args.repeat > 1;
    if let Some(last) = summaries().last().filter(|_| !(args.json && repeated)) {
        printer.print(last, Some(dir))?;
    }
    if repeated && !runs.is_empty() {
        let before: Vec<&Findings> = runs.iter().collect();
        let repeat = REPEAT.compute(&Input { before: &before, ..Input::of(&[]) })?;
        printer.print(&repeat, Some(dir))?;
    }
    printer.finish()?;
    let verdict = summaries().map(|found| exit::of(found.verdict())).max();
    let cut_short = runs.len() < args.repeat as usize;
    let less = cut_short || summaries().filter_map(Found::get).any(lacks_sources);
    let verdict = verdict.unwrap_or(exit::NO_VERDICT);
    Ok(ExitCode::from(verdict.max(if less { exit::WARNING } else { 0 })))
}

/// Whether there were events to name the sources by, and they are not named.
fn lacks_sources(summary: &Summary) -> bool {
    summary.sources.is_none() && summary.suspects.is_none()
}
