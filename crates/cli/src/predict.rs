//! `anechoic predict` and `anechoic simulate`: predict what was not measured. The subcommands of `predict` are the result
//! rows that have a model; one whose model says so is a command of its own, which the ranks of a job can run together.

mod together;

pub use together::simulate_in;

use crate::inputs::{InputArgs, Inputs, newest, newest_or};
use crate::options::{answers, arguments};
use crate::page::PageArgs;
use crate::progress::Busy;
use crate::rows::Rows;
use crate::show::{Printer, ShowArgs};
use crate::stop;
use anechoic_recording::{Problem, ProblemKind, Recording};
use anechoic_report::results::{AnyRow, Found, Input, LeftOut, Methods, Model, Progress, RESULTS};
use anechoic_simulate::Ranks;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgGroup, ArgMatches, Args, Command, Error, FromArgMatches};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is read if nothing is named.
const NEWEST: &str = "the newest recording in this directory";

/// A model with its inputs and options.
#[derive(Debug)]
pub struct PredictArgs {
    row: &'static dyn AnyRow,
    model: &'static Model,
    show: ShowArgs,
    page: PageArgs,
    matches: ArgMatches,
}

/// A model that is a command of its own.
#[derive(Debug)]
pub struct SimulateArgs(pub(crate) PredictArgs);

/// Returns the rows that have a model.
fn all() -> impl Iterator<Item = (&'static dyn AnyRow, &'static Model)> {
    RESULTS.iter().filter_map(|&row| Some((row, row.model()?)))
}

/// Returns the rows that are subcommands of `predict`.
fn models() -> impl Iterator<Item = (&'static dyn AnyRow, &'static Model)> {
    all().filter(|(_, model)| !model.is_command)
}

/// Returns the row that is a command of its own.
fn own() -> Option<(&'static dyn AnyRow, &'static Model)> {
    all().find(|(_, model)| model.is_command)
}

impl Rows for PredictArgs {
    fn describe(command: Command) -> Command {
        let example = |(row, _): (&dyn AnyRow, &Model)| {
            format!("  anechoic predict {} anechoic-20261121T080000", row.id())
        };
        let examples: Vec<String> = models().map(example).collect();
        command
            .about("Predict what noise costs where it was not measured")
            .after_help(format!("Examples:\n{}", examples.join("\n")))
    }

    fn subcommands() -> Vec<Command> {
        let mut models: Vec<Command> =
            models().map(|(row, model)| described(Command::new(row.id()), row, model)).collect();
        models.sort_by(|a, b| a.get_name().cmp(b.get_name()));
        models
    }

    fn read(name: &str, matches: &ArgMatches) -> Result<Option<Self>, Error> {
        let found = models().find(|(row, _)| row.id() == name);
        found.map(|(row, model)| Self::new(row, model, matches)).transpose()
    }
}

impl PredictArgs {
    fn new(
        row: &'static dyn AnyRow,
        model: &'static Model,
        matches: &ArgMatches,
    ) -> Result<Self, Error> {
        let show = ShowArgs::from_arg_matches(matches)?;
        let page = PageArgs::from_arg_matches(matches)?;
        Ok(Self { row, model, show, page, matches: matches.clone() })
    }
}

impl Args for SimulateArgs {
    fn augment_args(command: Command) -> Command {
        match own() {
            Some((row, model)) => described(command, row, model),
            None => command,
        }
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SimulateArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let missing = || Error::new(ErrorKind::MissingSubcommand);
        let (row, model) = own().ok_or_else(missing)?;
        PredictArgs::new(row, model, matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Adds to a command what a model takes and does.
fn described(command: Command, row: &'static dyn AnyRow, model: &'static Model) -> Command {
    let json = format!("Print JSON (schema/{}.schema.json)", row.id());
    let help = match model.needs_no_recording {
        true => model.inputs.to_owned(),
        false => format!("{} [default: {NEWEST}]", model.inputs),
    };
    let command = InputArgs::augment_args(command).mut_arg("recordings", |arg| arg.help(help));
    let command = ShowArgs::augment_args(command.args(arguments(model.options)))
        .mut_arg("json", |arg| arg.help(json))
        .about(model.about)
        .long_about(format!("{}\n\n{}", model.about, model.details))
        .after_help(model.examples);
    let command = PageArgs::augment_args(command);
    match model.instead {
        [] => command,
        others if model.needs_no_recording => {
            let exclude = |command: Command, option: &&'static str| {
                command.mut_arg(*option, |arg| arg.conflicts_with("recordings"))
            };
            others.iter().fold(command, exclude)
        }
        others => {
            let from = ["recordings"].into_iter().chain(others.iter().copied());
            command.group(ArgGroup::new("from").args(from))
        }
    }
}

pub fn run(args: &PredictArgs) -> Result<ExitCode, Problem> {
    // A simulation that is ended keeps what is complete, also in the file that the printer opens.
    let stop = args.model.is_command.then(stop::flag).transpose()?;
    let given = Given::open(args)?;
    let (printer, unread) = (args.show.printer()?, given.inputs.report_unread());
    given.refuse_programs(args)?;
    let found = given.compute(args, stop.as_deref(), Ranks::default());
    Ok(ExitCode::from(unread.max(given.show(args, printer, found)?)))
}

/// What a model predicts from.
#[derive(Debug)]
pub(crate) struct Given {
    files: Vec<PathBuf>,
    pub(crate) inputs: Inputs,
}

impl Given {
    /// Opens the recordings that the user named, or else the newest one if the model needs any.
    ///
    /// # Errors
    /// One of them cannot be read, or the options for a page are wrong.
    pub(crate) fn open(args: &PredictArgs) -> Result<Self, Problem> {
        let named = args.matches.try_get_many::<PathBuf>("recordings").ok().flatten();
        let named = named.into_iter().flatten().cloned();
        let (files, places): (Vec<PathBuf>, Vec<PathBuf>) =
            named.partition(|path| args.model.takes_files && path.is_file());
        let needed = !args.model.needs_no_recording
            && !args.model.instead.iter().any(|other| given(&args.matches, other));
        let places = match places.is_empty() && files.is_empty() && needed {
            true => vec![newest_fitting(args)?],
            false => places,
        };
        args.page.refuse(args.show.force)?;
        Ok(Self { files, inputs: Inputs::open(&places)? })
    }

    /// Refuses recordings of programs where there are no others.
    pub(crate) fn refuse_programs(&self, args: &PredictArgs) -> Result<(), Problem> {
        refuse_programs(&split_by_method(args.row.in_report(), &self.inputs.recordings).0)
    }

    /// Computes the result, together with other ranks if there are any, until it is complete or must stop.
    pub(crate) fn compute(
        &self,
        args: &PredictArgs,
        stop: Option<&AtomicBool>,
        ranks: Ranks<'_>,
    ) -> Result<Found, Problem> {
        let (recordings, others) = split_by_method(args.row.in_report(), &self.inputs.recordings);
        let left_out = [self.inputs.left_out(), others].concat();
        let answers = answers(args.model.options, &args.matches);
        let doing = if args.model.is_command { "simulating" } else { "predicting" };
        let busy = Busy::with(doing, !ranks.is_first());
        let stopped = || stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        let show = |done, total| busy.shown(done, total) && !stopped();
        let (answers, progress) = (Some(&answers), Some(Progress(&show)));
        let (left_out, files) = (&left_out[..], &self.files[..]);
        let input = Input::from_recordings(&recordings);
        args.row.compute(&Input { files, answers, progress, left_out, ranks, ..input })
    }

    /// Prints the result, writes its page if one is asked for, and returns the exit code.
    pub(crate) fn show(
        &self,
        args: &PredictArgs,
        mut printer: Printer,
        found: Result<Found, Problem>,
    ) -> Result<u8, Problem> {
        let place = self.inputs.place().filter(|_| self.files.is_empty());
        let page = found.as_ref().ok().cloned();
        let code = printer.print_result(found, place)?;
        printer.finish()?;
        page.map_or(Ok(()), |found| args.page.write(found, args.show.force))?;
        Ok(code)
    }
}

/// Returns the newest recording that the model can read. A model that needs none, given an option, advises that.
fn newest_fitting(args: &PredictArgs) -> Result<PathBuf, Problem> {
    let options: Vec<String> = args.model.instead.iter().map(|name| format!("--{name}")).collect();
    match options.is_empty() {
        true => newest(args.row.in_report()),
        false => {
            let instead = format!("use {}, which needs none", options.join(" or "));
            newest_or(args.row.in_report(), &instead)
        }
    }
}

/// Refuses recordings of programs where there are no others.
fn refuse_programs(recordings: &[&Recording]) -> Result<(), Problem> {
    let is_program = |recording: &&Recording| recording.run().program.is_some();
    let Some(first) = recordings.first().filter(|_| recordings.iter().all(is_program)) else {
        return Ok(());
    };
    let why = "it shows what a program lost, and models need the noise of a CPU at all times";
    let remedy = "`anechoic run` measures that";
    Err(ProblemKind::Data.problem(why, remedy).about(first.dir().display()))
}

/// Returns whether an option was given.
fn given(matches: &ArgMatches, option: &str) -> bool {
    matches.value_source(option) == Some(ValueSource::CommandLine)
}

/// Returns the recordings whose method the model supports, and the others with the reason why they are left out. If the
/// model supports none, all are returned so that it can explain what is wrong with them.
fn split_by_method(methods: Methods, recordings: &[Recording]) -> (Vec<&Recording>, Vec<LeftOut>) {
    let fits = |recording: &&Recording| methods.include(&recording.run().method);
    let (fitting, others): (Vec<&Recording>, Vec<&Recording>) = recordings.iter().partition(fits);
    if fitting.is_empty() {
        return (others, vec![]);
    }
    let left_out = others.iter().map(|recording| LeftOut {
        place: recording.dir().to_owned(),
        why: match &recording.run().program {
            Some(_) => "it is a recording of a program".to_owned(),
            None => format!("it is a recording of {}", recording.run().method),
        },
    });
    (fitting, left_out.collect())
}
