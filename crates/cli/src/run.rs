//! `anechoic run`: measures detours.

use crate::ensemble::{self, JoinArgs};
use crate::exit;
use crate::files::is_used;
use crate::inputs::Inputs;
use crate::progress::Busy;
use crate::run_args::RunArgs;
use crate::setup::{self, explained};
use crate::show::Printer;
use crate::stop;
use anechoic_analyze::Summary;
use anechoic_measure::run::Plan;
use anechoic_recording::{Problem, ProblemKind, Recording};
use anechoic_report::results::repeat::REPEAT;
use anechoic_report::results::summary::SUMMARY;
use anechoic_report::results::{AnyRow, Findings, Found, Input};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

// No doc comment: the command's help is that of `RunArgs`.
#[derive(Debug, clap::Args)]
pub struct RunCommand {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    join: JoinArgs,
}

pub fn run(command: &RunCommand) -> Result<ExitCode, Problem> {
    let args = &command.run;
    if command.join.rank_from_env {
        return ensemble::run_from_env(args, &command.join);
    }
    let plan = Plan { left_out: args.setup.left_out(), ..args.plan(args.setup.cpus())? };
    let stop = stop::flag()?;
    let place = args.setup.place()?;
    let dir = place.dir();
    if args.repeat > 1 && is_used(dir) {
        return Err(Problem::not_empty(dir));
    }
    let (mut runs, mut dirs) = (Vec::new(), Vec::new());
    for number in 1..=args.repeat {
        let repeated = args.repeat > 1;
        let dir = if repeated { run_dir(dir, number) } else { dir.to_owned() };
        let plan = Plan { repetition: repeated.then_some((number, args.repeat)), ..plan.clone() };
        runs.push(measure(&plan, &dir, &stop, args.setup.quiet)?);
        dirs.push(dir);
        if stop.load(Ordering::Acquire) {
            break;
        }
    }
    match args.hist.asked() {
        true => print_histograms(args, &dirs)?,
        false => show(args, &runs, dir)?,
    }
    Ok(code(args, &runs))
}

/// Returns the directory of a repeated run.
pub(crate) fn run_dir(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("run-{number:03}"))
}

/// Prints the histogram of each run.
fn print_histograms(args: &RunArgs, dirs: &[PathBuf]) -> Result<(), Problem> {
    let printer = Printer::stdout(args.json, false);
    args.hist.print(&Inputs::open(dirs)?, printer).map(drop)
}

/// Measures, attributes and summarises one run.
fn measure(plan: &Plan, dir: &Path, stop: &AtomicBool, quiet: bool) -> Result<Findings, Problem> {
    setup::measure(plan, dir, stop, quiet)?;
    summarized(dir, quiet)
}

/// Attributes and summarises the recording in `dir`. If the causes could not be written, it is still used.
///
/// # Errors
/// It cannot be read.
pub(crate) fn summarized(dir: &Path, quiet: bool) -> Result<Findings, Problem> {
    let recording = match explained(dir, quiet) {
        Err(problem)
            if matches!(problem.kind, ProblemKind::CannotWrite | ProblemKind::NoVerdict) =>
        {
            exit::print_error(&problem);
            Recording::open(dir)?
        }
        explained => explained?,
    };
    let _busy = Busy::with("adding up", quiet);
    let mut findings = Findings::default();
    findings.add(SUMMARY.compute(&Input::from_recordings(&[&recording]))?);
    Ok(findings)
}

/// Shows the last run, and for repeated runs their mean and spread; JSON has only one of the two. A quiet command prints
/// one line for each run.
fn show(args: &RunArgs, runs: &[Findings], dir: &Path) -> Result<(), Problem> {
    let quiet = args.setup.quiet && !args.json;
    let mut printer = Printer::stdout(args.json, false).unsaved(args.setup.no_save).quiet(quiet);
    let repeated = args.repeat > 1;
    if quiet && repeated {
        for (number, run) in (1_u32..).zip(runs) {
            let place = run_dir(dir, number);
            run.iter().try_for_each(|found| printer.print(found, Some(&place)).map(drop))?;
        }
        return printer.finish();
    }
    let last = runs.iter().flat_map(Findings::iter).last();
    if let Some(last) = last.filter(|_| !(args.json && repeated)) {
        printer.print(last, Some(dir))?;
    }
    if repeated && !runs.is_empty() {
        let before: Vec<&Findings> = runs.iter().collect();
        let repeat = REPEAT.compute(&Input { before: &before, ..Input::from_recordings(&[]) })?;
        printer.print(&repeat, Some(dir))?;
    }
    printer.finish()
}

/// Returns the exit code for all runs.
fn code(args: &RunArgs, runs: &[Findings]) -> ExitCode {
    let summaries = || runs.iter().flat_map(Findings::iter);
    let verdict = summaries().map(exit::summary_code).max();
    let cut_short = runs.len() < args.repeat as usize;
    let less = cut_short || summaries().filter_map(Found::get).any(lacks_sources);
    let verdict = verdict.unwrap_or(exit::NO_VERDICT);
    ExitCode::from(verdict.max(if less { exit::WARNING } else { 0 }))
}

/// Returns whether kernel events were recorded but the sources are not named.
fn lacks_sources(summary: &Summary) -> bool {
    summary.sources.is_none() && summary.suspects.is_none()
}
