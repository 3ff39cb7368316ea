//! A method with its options, as a subcommand of `anechoic measure` and of `anechoic-mpi measure`.

use crate::exit;
use crate::options::{answers, arguments};
use crate::rows::Rows;
use crate::setup::{SetupArgs, record};
use crate::show::{Printer, recorded};
use crate::stop;
use anechoic_measure::ensemble::Team;
use anechoic_measure::experiment::Host;
use anechoic_measure::methods::{METHODS, Method, Together, find, wakeup};
use anechoic_measure::run::Plan;
use anechoic_recording::options::Answers;
use anechoic_recording::stop::Stop;
use anechoic_recording::{Problem, ProblemKind, Recording};
use anechoic_system::{cpus, machine};
use clap::builder::{Resettable, StyledStr};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use std::path::Path;
use std::process::ExitCode;

/// A method with its options.
#[derive(Debug)]
pub(crate) struct MethodArgs {
    pub(crate) method: &'static Method,
    answers: Answers,
    pub(crate) json: bool,
    pub(crate) setup: SetupArgs,
}

/// A method that the ranks of an MPI job measure together, with its options.
#[derive(Debug)]
pub struct MethodOfRanks(pub(crate) MethodArgs);

/// Builds the subcommand of a method.
pub(crate) fn command(method: &Method) -> Command {
    let examples = if method.examples.contains('\n') { "Examples" } else { "Example" };
    let schema = format!("Print JSON (schema/{}.schema.json)", method.result);
    let json = Arg::new("json").long("json").help(schema).action(ArgAction::SetTrue);
    let command = Command::new(method.id)
        .after_help(format!("{examples}:\n{}", method.examples))
        .args(arguments(&method.all_options()))
        .arg(json);
    // The text of these shared options must not replace the method's own.
    let command =
        SetupArgs::augment_args(command).about(method.about).long_about(long_about(method));
    let one = "The one CPU to measure [default: the last one that this process may use]";
    if method.one_cpu { command.mut_arg("cpus", |arg| arg.help(one)) } else { command }
}

/// Returns what a method measures, with its details if it has some.
pub(crate) fn long_about(method: &Method) -> Resettable<StyledStr> {
    let details =
        (!method.details.is_empty()).then(|| format!("{}\n\n{}", method.about, method.details));
    Resettable::from(details.map(StyledStr::from))
}

impl MethodArgs {
    /// Returns how ranks measure the method together.
    pub(crate) fn together(&self) -> Together {
        self.method.together
    }

    /// Reads what clap matched; returns `None` if the subcommand is not a method.
    pub(crate) fn read(name: &str, matches: &ArgMatches) -> Result<Option<Self>, Error> {
        let Some(method) = find(name) else { return Ok(None) };
        Ok(Some(MethodArgs {
            method,
            answers: answers(&method.all_options(), matches),
            json: matches.get_flag("json"),
            setup: SetupArgs::from_arg_matches(matches)?,
        }))
    }

    /// Returns the plan for `cpus`.
    ///
    /// # Errors
    /// Fails if the method refuses the options, or if it needs kernel events that are switched off.
    pub fn plan(&self, cpus: Vec<u32>, team: Option<Team>) -> Result<Plan, Problem> {
        if let Some(why) = self.method.needs_events.filter(|_| self.setup.no_trace) {
            return Err(ProblemKind::Usage.problem(why, "remove --no-trace"));
        }
        let host = Host { cpus, machine: machine::describe() };
        let experiment = (self.method.experiment)(&self.answers, &host)?;
        let (stop_on, keep) = wakeup::stop(&self.answers);
        Ok(Plan { team, stop_on, keep, ..self.setup.plan(experiment) })
    }

    /// Returns the CPUs asked for, or else the default CPUs of the method.
    fn cpus(&self) -> Vec<u32> {
        match (self.setup.asked_cpus(), self.method.one_cpu) {
            (None, true) => cpus::allowed().pop().into_iter().collect(),
            _ => self.setup.cpus(),
        }
    }

    /// Measures, and shows the result; returns the exit code.
    ///
    /// # Errors
    /// Fails if the experiment is refused, or if nothing can be measured or saved.
    pub(crate) fn run(&self) -> Result<ExitCode, Problem> {
        let plan = self.plan(self.cpus(), None)?;
        let (stop, place) = (stop::flag()?, self.setup.place()?);
        record(&plan, place.dir(), &stop, self.setup.quiet)?;
        self.show(place.dir())
    }

    /// Shows what was measured in `dir` and returns the exit code.
    ///
    /// # Errors
    /// Fails if the recording cannot be read or standard output cannot be written.
    pub fn show(&self, dir: &Path) -> Result<ExitCode, Problem> {
        let printer = Printer::stdout(self.json, self.answers.flag("all"));
        let code = recorded(dir, printer.unsaved(self.setup.no_save), self.setup.quiet)?;
        let recording = Recording::open(dir);
        let stop = recording.as_ref().ok().and_then(|recording| recording.run().stop_on.as_ref());
        let least = if stop.is_some_and(Stop::exceeded) { exit::FAILED } else { 0 };
        Ok(ExitCode::from(code.max(least)))
    }
}

impl Rows for MethodOfRanks {
    fn describe(command: Command) -> Command {
        command
    }

    fn subcommands() -> Vec<Command> {
        let can = METHODS.iter().filter(|method| method.together != Together::Not);
        can.map(|method| command(method)).collect()
    }

    fn read(name: &str, matches: &ArgMatches) -> Result<Option<Self>, Error> {
        Ok(MethodArgs::read(name, matches)?.map(MethodOfRanks))
    }
}
