//! `anechoic measure METHOD`: one subcommand for each row of [`METHODS`].

use crate::ensemble::{self, JoinArgs};
use crate::method_args::{MethodArgs, command, long_about};
use crate::rows::Rows;
use crate::terminal;
use anechoic_measure::kernel::kernels;
use anechoic_measure::methods::{METHODS, Together};
use anechoic_recording::Problem;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};
use std::io::Write;
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
    /// The method, and how to find the other ranks of a job where the command line may ask for that.
    Method(Box<MethodArgs>, Option<JoinArgs>),
    Kernels,
}

/// The name of the subcommand that lists the work kernels.
const KERNELS: &str = "kernels";

impl Rows for MeasureArgs {
    fn describe(command: Command) -> Command {
        command.about(ABOUT).long_about(format!("{ABOUT}\n\n{DETAILS}")).after_help(EXAMPLES)
    }

    fn subcommands() -> Vec<Command> {
        let list = Command::new(KERNELS)
            .about("List the work kernels")
            .after_help("Example:\n  anechoic measure kernels");
        let methods = METHODS.iter().map(|method| match method.together {
            Together::ByHost => JoinArgs::augment_args(command(method))
                .about(method.about)
                .long_about(long_about(method)),
            Together::Not | Together::ByRank => command(method),
        });
        methods.chain([list]).collect()
    }

    fn read(name: &str, matches: &ArgMatches) -> Result<Option<Self>, Error> {
        let Some(method) = MethodArgs::read(name, matches)? else {
            return Ok(Some(MeasureArgs::Kernels));
        };
        let join = match method.together() {
            Together::ByHost => Some(JoinArgs::from_arg_matches(matches)?),
            Together::Not | Together::ByRank => None,
        };
        Ok(Some(MeasureArgs::Method(Box::new(method), join)))
    }
}

pub fn run(args: &MeasureArgs) -> Result<ExitCode, Problem> {
    match args {
        MeasureArgs::Method(args, Some(join)) if join.rank_from_env => {
            ensemble::measure_from_env(args, join)
        }
        MeasureArgs::Method(args, _) => args.run(),
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
    use crate::method_args::MethodOfRanks;
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
            assert!(matches!(read, MeasureArgs::Method(args, _) if args.method.id == method.id));
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
