//! The `anechoic` command, one file per subcommand: arguments, one call into a library, one call into the
//! report. It is a library so that the command under MPI has the same options and screens.

#![forbid(unsafe_code)]

mod ab;
mod ask;
mod attribute;
mod brief_help;
mod certify;
mod check;
mod command;
mod compare;
mod completions;
mod ensemble;
mod exit;
mod export;
mod files;
mod gate;
mod help;
mod hist;
mod history;
mod import;
mod inject;
mod inputs;
mod list;
mod longest;
mod man;
mod measure;
mod merge;
mod method_args;
mod minimal;
mod mistake;
mod monitor;
mod options;
mod page;
mod predict;
mod progress;
mod rank;
mod record;
mod report;
mod rows;
mod run;
mod run_args;
mod self_test;
mod setup;
mod show;
mod sides;
mod sources;
mod stop;
mod suite;
mod summary;
mod sweep;
mod terminal;
mod top;
mod try_setting;
mod unfinished;

pub use ensemble::{measure_in, run_in};
pub use exit::USAGE;
pub use method_args::MethodOfRanks;
pub use mistake::explained;
pub use predict::{SimulateArgs, simulate_in};
pub use rows::OfRows;
pub use run_args::RunArgs;
pub use stop::{flag as stop_flag, is_heeded};

use anechoic_system::changes;
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::io::{Write, stderr, stdout};
use std::process::ExitCode;

/// Measure operating-system noise: how much CPU time your program loses, what takes it, and how to reduce it
#[derive(Debug, Parser)]
#[command(name = "anechoic", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN", hide_possible_values = true, help_heading = "All commands", help = COLOR)]
    color: terminal::When,
}

const COLOR: &str = "Use colours: auto, always or never; auto is on a terminal, without NO_COLOR and not under mpirun or \
                     srun, or with CLICOLOR_FORCE=1";

const EXAMPLES: &str = "Examples:
  anechoic run --cpus 2-5 -d 60s   a minute on four CPUs
  anechoic record -- ./my-program  what interrupts a program of yours
  anechoic summary                 show the newest recording again

Exit codes: 0 success, 1 warning (ended early, or data lost or not saved),
2 a limit is exceeded (gate, --stop-on), 3 no verdict (nothing was measured),
64 and above usage error or invalid input.";

#[derive(Debug, Subcommand)]
enum Command {
    Check(check::CheckArgs),
    Run(run::RunCommand),
    Record(record::RecordArgs),
    Measure(OfRows<measure::MeasureArgs>),
    Suite(OfRows<suite::SuiteArgs>),
    Minimal(minimal::MinimalArgs),
    Inject(inject::InjectArgs),
    Predict(OfRows<predict::PredictArgs>),
    Simulate(predict::SimulateArgs),
    List(list::ListArgs),
    Attribute(attribute::AttributeArgs),
    Merge(merge::MergeArgs),
    #[command(visible_alias = "diff")]
    Compare(compare::CompareArgs),
    Ab(ab::AbArgs),
    Try(try_setting::TryArgs),
    History(history::HistoryArgs),
    Gate(gate::GateArgs),
    Certify(certify::CertifyArgs),
    Rank(rank::RankArgs),
    Sweep(sweep::SweepArgs),
    Summary(summary::SummaryArgs),
    Sources(sources::SourcesArgs),
    Longest(longest::LongestArgs),
    Report(report::ReportArgs),
    Export(OfRows<export::ExportArgs>),
    Import(OfRows<import::ImportArgs>),
    Top(top::TopArgs),
    Monitor(monitor::MonitorArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// The definition of the command line, from which the command reference is made.
#[must_use]
pub fn command_line() -> clap::Command {
    brief_help::with_narrow_examples(help::grouped(Cli::command()))
}

/// Runs the whole command: parses the command line, does what it asks, and returns the exit code.
#[must_use]
pub fn anechoic() -> ExitCode {
    let typed = minimal::arguments(std::env::args_os());
    let command = match typed.iter().any(|word| word == "-h") {
        true => brief_help::brief(command_line()),
        false => command_line(),
    };
    let parsed = command.try_get_matches_from(&typed);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            if error.use_stderr()
                && let Some(code) = gate::refused(&error, &command_line(), &typed)
            {
                return code;
            }
            print_parsed(&error, &typed);
            return if error.use_stderr() { exit::USAGE.into() } else { ExitCode::SUCCESS };
        }
    };
    terminal::use_colors(cli.color);
    if let Err(problem) = stop::files_may_be_full() {
        return exit::print_error(&problem).into();
    }
    for undone in changes::undo_leftovers() {
        terminal::print_note(format_args!(
            "anechoic: a killed anechoic had changed settings: {undone}"
        ));
    }
    let done = match cli.command {
        Command::Check(args) => check::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Measure(OfRows(args)) => measure::run(&args),
        Command::Suite(OfRows(args)) => suite::run(&args),
        Command::Minimal(args) => minimal::run(&args),
        Command::Inject(args) => inject::run(&args),
        Command::Predict(OfRows(args)) => predict::run(&args),
        Command::Simulate(predict::SimulateArgs(args)) => predict::run(&args),
        Command::List(args) => list::run(&args),
        Command::Attribute(args) => attribute::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Ab(args) => ab::run(&args),
        Command::Try(args) => try_setting::run(&args),
        Command::History(args) => history::run(&args),
        Command::Gate(args) => gate::run(&args),
        Command::Certify(args) => certify::run(&args),
        Command::Rank(args) => rank::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Summary(args) => summary::run(&args),
        Command::Sources(args) => sources::run(&args),
        Command::Longest(args) => longest::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Export(OfRows(args)) => export::run(&args),
        Command::Import(OfRows(args)) => import::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Monitor(args) => monitor::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    };
    done.unwrap_or_else(|error| exit::print_error(&error).into())
}

/// Prints help, the version or what is wrong with the command line, in one write.
fn print_parsed(error: &clap::Error, typed: &[OsString]) {
    let shows_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    let text = match () {
        () if typed.len() <= 1 => help::FIRST_STEPS.to_owned(),
        () if !error.use_stderr() || shows_help => error.render().to_string(),
        // It repeats what was typed, or what a script passed on.
        () => anechoic_report::plain(&mistake::explained(error, &command_line(), typed)) + "\n",
    };
    // Fails if the reader or the terminal is gone.
    let _ = match error.use_stderr() {
        true => stderr().write_all(text.as_bytes()),
        false => stdout().write_all(text.as_bytes()),
    };
}
