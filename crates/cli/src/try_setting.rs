//! `anechoic try`: what a setting of the kernel does to the noise.

mod words;

use crate::ab::{TrialArgs, try_settings};
use crate::show::Printer;
use crate::terminal;
use anechoic_analyze::compare::TriedSetting;
use anechoic_recording::tunable::{Assignment, TunableStates};
use anechoic_recording::{Problem, ProblemKind, methods};
use anechoic_report::results::Found;
use anechoic_report::results::live::SETTINGS;
use anechoic_report::{counted, long_time, plain};
use anechoic_system::cpus;
use anechoic_system::tunables::{self, Trial};
use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;
use words::{parser, shell_words};

/// Does a setting of the kernel help? Measure with and without it in turn, and put everything back
///
/// Without a setting it lists those that this machine has, with their values and what is worth a trial; a NAME alone is
/// explained. With NAME=VALUE trials alternate in pairs as those of `anechoic ab` do: side A has the settings as they are,
/// side B the values to try, all of them together. A setting of single CPUs is changed for the measured ones.
///
/// The values from before are put back at the end and on every signal that can be caught; after a kill -9 by the next start
/// of anechoic as root. What somebody else has set meanwhile stays. Only one process at a time changes settings. Nothing is
/// made to last: the result states how to do that, and what it costs.
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("json", |arg| arg.help(JSON)),
    mut_arg("record", |arg| arg.conflicts_with_all([methods::WAKEUP, "duration", "threshold", "fifo", "no_trace", "ranks"]))
)]
pub struct TryArgs {
    /// Settings with the values to try, or the name of one to explain [default: list all]
    #[arg(value_name = "SETTING=VALUE", value_parser = parser(), hide_possible_values = true)]
    settings: Vec<Assignment>,
    /// List the settings of this machine that can be tried
    #[arg(long, conflicts_with = "settings")]
    list: bool,
    /// Show what would be written, in which order, and what would be put back; change nothing
    #[arg(long, requires = "settings", conflicts_with = "json")]
    dry_run: bool,
    /// Record COMMAND in each trial, as `anechoic record` does, instead of measuring CPUs
    #[arg(long, requires = "command")]
    record: bool,
    #[command(flatten)]
    trials: TrialArgs,
    /// The command to record
    #[arg(last = true, value_name = "COMMAND", requires = "record")]
    command: Vec<String>,
}

const JSON: &str = "Print JSON (schema/compare.schema.json; of wake-ups compare-wakeups.schema.json; of a list settings.schema.json)";

const EXAMPLES: &str = "Examples:
  anechoic try                                        the settings of this machine
  anechoic try ksm                                    what one is, and what it costs
  anechoic try ksm=0 --dry-run                        what would be written and put back
  sudo anechoic try vm.stat_interval=10 --cpus 1 -d 5s
  sudo anechoic try ksm=0 vm.compaction_proactiveness=0 --pairs 20
  sudo anechoic try cpu_dma_latency=0 --wakeup        what idle states cost a wake-up
  sudo anechoic try transparent_hugepage=always --record -- ./bench
  sudo anechoic try irq/24=0 --cpus 1                 interrupt 24 on CPU 0 alone

Exits as `anechoic ab`, and with 1 if somebody else has set a value meanwhile,
which then stays.";

pub fn run(args: &TryArgs) -> Result<ExitCode, Problem> {
    let asked = &args.settings;
    if asked.is_empty() {
        if args.record {
            let why = "no setting is named to try";
            return Err(ProblemKind::Usage.problem(why, "`anechoic try` lists them"));
        }
        return print(args, tunables::states());
    }
    if asked.iter().all(|one| one.value.is_none()) && !args.dry_run && !args.record {
        let mut all = asked.iter().map(tunables::described);
        let mut first = all.next().unwrap_or_else(tunables::states);
        first.settings.extend(all.flat_map(|one| one.settings));
        return print(args, first);
    }
    let measured = match (args.record, args.trials.setup.asked_cpus()) {
        (true, None) => cpus::online(),
        _ => args.trials.setup.cpus(),
    };
    let mut trial = Trial::plan(asked, &measured)?;
    let command = args.record.then(|| shell_words(&args.command));
    if args.dry_run {
        return explain(args, &trial, &measured);
    }
    let settings = asked.iter().map(|one| tried(one, &trial)).collect();
    try_settings(&args.trials, command.as_deref(), &mut trial, settings)
}

fn print(args: &TryArgs, states: TunableStates) -> Result<ExitCode, Problem> {
    let printer = Printer::stdout(args.trials.json, args.trials.all);
    printer.print_one(&Found::from_value(&SETTINGS, states, &[]), None)
}

/// Returns what an assignment changes, with the values of all CPUs in one.
fn tried(asked: &Assignment, trial: &Trial) -> TriedSetting {
    let steps = trial.steps().iter().filter(|step| step.name == asked.name);
    let mut before: Vec<&str> = steps.map(|step| &*step.before).collect();
    before.dedup();
    let pattern = asked.tunable.file.replace("{cpu}", "*");
    TriedSetting {
        name: asked.name.clone(),
        file: asked.tunable.files(&pattern, &asked.parts, &[0]).swap_remove(0),
        before: before.join(" or "),
        value: asked.value.clone().unwrap_or_default(),
        in_effect: None,
    }
}

/// Prints what trials would write and put back.
fn explain(args: &TryArgs, trial: &Trial, measured: &[u32]) -> Result<ExitCode, Problem> {
    let mut text =
        String::from("before each trial of side B this would be written, in this order:\n");
    for step in trial.steps() {
        let _ = writeln!(text, "  {} = {}", step.file, step.value);
    }
    text += "before each trial of side A, and at the end, this would be put back:\n";
    for step in trial.steps().iter().rev() {
        let _ = writeln!(text, "  {} = {}", step.file, step.before);
    }
    let number = args.trials.trials();
    let least = args.trials.least(args.record, number).as_nanos();
    let where_and_what = match args.record {
        true => format!("of {}", shell_words(&args.command)),
        false if measured.len() == 1 => format!("on CPU {}", cpus::list(measured)),
        false => format!("on CPUs {}", cpus::list(measured)),
    };
    let _ = writeln!(
        text,
        "{} {where_and_what}, at least {}; nothing was written",
        counted(number as u64, "trial", "trials"),
        long_time(u64::try_from(least).unwrap_or(u64::MAX))
    );
    let mut out = terminal::stdout();
    text.lines().try_for_each(|line| writeln!(out, "{}", plain(line)))?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
