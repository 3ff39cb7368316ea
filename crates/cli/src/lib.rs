//! The `anechoic` command: one file a subcommand. Arguments, one call into a library, one call
//! into the report. A library, so that the command under MPI has the same options and screens.

#![forbid(unsafe_code)]

mod ask;
mod attribute;
mod check;
mod command;
mod ensemble;
mod exit;
mod files;
mod inject;
mod inputs;
mod measure;
mod merge;
mod options;
mod predict;
mod progress;
mod report;
mod run;
mod run_args;
mod self_test;
mod setup;
mod show;
mod sources;
mod stop;
mod suite;
mod summary;
mod terminal;
mod top;

pub use ensemble::{measure_in, run_in};
pub use exit::{USAGE, code as exit_code};
pub use measure::MethodOfRanks;
pub use run_args::RunArgs;
pub use stop::flag as stop_flag;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Operating-system noise: how much of each CPU's time your program does not get, what took it,
/// and what to change
#[derive(Debug, Parser)]
#[command(name = "anechoic", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  anechoic check                      what can be measured here, and what would enable the rest
  anechoic run                        ten seconds on every CPU: how noisy, and what it was
  anechoic run --cpus 2-5 -d 60s      a minute on four CPUs
  anechoic measure loops --cpus 1     do-nothing loops, and what explains their spread
  anechoic summary anechoic-2026...   look at a recording again

Exit codes: 0 fine, 1 a warning (ended early, something lost or not saved),
3 no verdict (nothing was measured), 64 and up: usage errors and broken input.";

#[derive(Debug, Subcommand)]
enum Command {
    Check(check::CheckArgs),
    Run(run::RunCommand),
    Measure(measure::MeasureArgs),
    Suite(suite::SuiteArgs),
    Inject(inject::InjectArgs),
    Predict(predict::PredictArgs),
    Attribute(attribute::AttributeArgs),
    Merge(merge::MergeArgs),
    Summary(summary::SummaryArgs),
    Sources(sources::SourcesArgs),
    Report(report::ReportArgs),
    Top(top::TopArgs),
}

/// The whole of the command: reads the command line, does what it asks, tells the exit code.
#[must_use]
pub fn anechoic() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { exit::USAGE.into() } else { ExitCode::SUCCESS };
        }
    };
    let done = match cli.command {
        Command::Check(args) => check::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Measure(args) => measure::run(&args),
        Command::Suite(args) => suite::run(&args),
        Command::Inject(args) => inject::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Attribute(args) => attribute::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Summary(args) => summary::run(&args),
        Command::Sources(args) => sources::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Top(args) => top::run(&args),
    };
    done.unwrap_or_else(|error| exit::report(&error))
}
