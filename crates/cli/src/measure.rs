//! `anechoic measure METHOD`: one subcommand for each row of [`METHODS`].

use crate::ensemble::{self, JoinArgs};
use crate::options::{answers, arguments};
use crate::rows::Rows;
use crate::setup::{SetupArgs, record};
use crate::show::{Printer, recorded};
use crate::{stop, terminal};
use anechoic_measure::ensemble::Team;
use anechoic_measure::experiment::Host;
use anechoic_measure::kernel::kernels;
use anechoic_measure::methods::{METHODS, Method, Together, find};
use anechoic_measure::run::Plan;
use anechoic_recording::options::Answers;
use anechoic_recording::{Problem, ProblemKind};
use anechoic_system::{cpus, machine};
use clap::builder::{Resettable, StyledStr};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

const ABOUT: &str = "Measure fixed work or fixed time: how long the same work takes, or how much work fits into equal times";
const DETAILS: &str = "Gaps inside the samples and the kernel's own events are recorded at the same time, so that the report can \
                       name what lengthened a sample. See `anechoic measure METHOD --help`.";
const EXAMPLES: &str = "Examples:
  anechoic measure fwq                                1 ms of work, 10,000 times on every CPU
  anechoic measure ftq --window 250us --duration 60s  work done in each of 240,000 windows
  anechoic measure tick --cpus 1                      what a timer tick costs additions, multiplications, divisions
  anechoic measure loops --policy other,fifo --cpus 1 how much do-nothing loops vary, and why";

/// What the user asked `measure` to do.
#[derive(Debug)]
pub enum MeasureArgs {
    Method(Box<MethodArgs>),
    Kernels,
}

/// The name of the subcommand that lists the work kernels.
const KERNELS: &str = "kernels";

/// A method with its options.
#[derive(Debug)]
pub(crate) struct MethodArgs {
    method: &'static Method,
    answers: Answers,
    pub(crate) json: bool,
    pub(crate) setup: SetupArgs,
    /// How to find the other ranks of a job, where the command line may ask for that.
    join: Option<JoinArgs>,
}

/// A method that the ranks of an MPI job measure together, with its options.
#[derive(Debug)]
pub struct MethodOfRanks(pub(crate) MethodArgs);

/// Builds the subcommand of a method.
fn command(method: &Method) -> Command {
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
fn long_about(method: &Method) -> Resettable<StyledStr> {
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
    fn read(name: &str, matches: &ArgMatches) -> Result<Option<Self>, Error> {
        let Some(method) = find(name) else { return Ok(None) };
        Ok(Some(MethodArgs {
            method,
            answers: answers(&method.all_options(), matches),
            json: matches.get_flag("json"),
            setup: SetupArgs::from_arg_matches(matches)?,
            join: None,
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
        Ok(Plan { team, ..self.setup.plan(experiment) })
    }

    /// Returns the CPUs asked for, or else the default CPUs of the method.
    fn cpus(&self) -> Vec<u32> {
        match (self.setup.asked_cpus(), self.method.one_cpu) {
            (None, true) => cpus::allowed().pop().into_iter().collect(),
            _ => self.setup.cpus(),
        }
    }

    fn run(&self) -> Result<ExitCode, Problem> {
        if let Some(join) = self.join.as_ref().filter(|join| join.rank_from_env) {
            return ensemble::measure_from_env(self, join);
        }
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
        recorded(dir, printer.unsaved(self.setup.no_save), self.setup.quiet).map(ExitCode::from)
    }
}

impl Rows for MeasureArgs {
    fn describe(command: Command) -> Command {
        command.about(ABOUT).long_about(format!("{ABOUT}\n\n{DETAILS}")).after_help(EXAMPLES)
    }

    fn subcommands() -> Vec<Command> {
        let list = Command::new(KERNELS)
            .about("List the work kernels")
            .after_help("Example:\n  anechoic measure kernels");
        let command = |method: &&'static Method| match method.together {
            Together::ByHost => JoinArgs::augment_args(command(method))
                .about(method.about)
                .long_about(long_about(method)),
            Together::Not | Together::ByRank => command(method),
        };
        METHODS.iter().map(command).chain([list]).collect()
    }

    fn read(name: &str, matches: &ArgMatches) -> Result<Option<Self>, Error> {
        let mut method = MethodArgs::read(name, matches)?;
        if let Some(method) = method.as_mut().filter(|of| of.together() == Together::ByHost) {
            method.join = Some(JoinArgs::from_arg_matches(matches)?);
        }
        Ok(Some(
            method.map_or(MeasureArgs::Kernels, |method| MeasureArgs::Method(Box::new(method))),
        ))
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

pub fn run(args: &MeasureArgs) -> Result<ExitCode, Problem> {
    match args {
        MeasureArgs::Method(args) => args.run(),
        MeasureArgs::Kernels => list_kernels(),
    }
}

fn list_kernels() -> Result<ExitCode, Problem> {
    let mut out = terminal::stdout();
    for (id, what) in kernels() {
        writeln!(out, "{id:14} {what}")?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::OfRows;

    #[test]
    fn every_method_is_a_subcommand_with_the_texts_and_options_of_its_row() {
        let mut measure = OfRows::<MeasureArgs>::augment_args(Command::new("measure"));
        measure.build();
        for method in METHODS {
            let command = measure.find_subcommand(method.id).expect(method.id);
            assert_eq!(command.get_about().map(ToString::to_string), Some(method.about.to_owned()));
            let help = command.clone().render_long_help().to_string();
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words(&help).contains(&words(method.details)), "{}", method.id);
            for option in method.all_options() {
                assert!(
                    help.contains(&format!("--{}", option.name)),
                    "{} {}",
                    method.id,
                    option.name
                );
            }
            let bare = measure.clone().try_get_matches_from(["measure", method.id]);
            let OfRows(read) =
                OfRows::from_arg_matches(&bare.expect("all has defaults")).expect("read");
            assert!(matches!(read, MeasureArgs::Method(args) if args.method.id == method.id));
        }
    }

    #[test]
    fn ranks_measure_together_only_what_they_can() {
        let mut measure = OfRows::<MethodOfRanks>::augment_args(Command::new("measure"));
        measure.build();
        let methods = METHODS.iter().filter(|method| measure.find_subcommand(method.id).is_some());
        assert!(methods.map(|method| method.id).eq(["fwq", "ftq", "tick", "loops", "bsp"]));
    }
}
