//! `anechoic longest`

use crate::inputs::InputArgs;
use crate::options::{answers, arguments};
use crate::show::{ShowArgs, each_by};
use anechoic_recording::options::Answers;
use anechoic_recording::{Problem, Recording, methods};
use anechoic_report::results::AnyRow;
use anechoic_report::results::longest::{LONGEST, OPTIONS};
use anechoic_report::results::longest_wakeups::LONGEST_WAKEUPS;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};
use std::process::ExitCode;

/// The recordings and the options of the result.
#[derive(Debug)]
pub struct LongestArgs {
    input: InputArgs,
    show: ShowArgs,
    answers: Answers,
}

const ABOUT: &str = "Show what happened in the longest detours or wake-ups: what ran, when, for how long, and who caused it";

const EXAMPLES: &str = "Examples:
  anechoic longest anechoic-20261121T080000 -n 3
  anechoic longest fifo --without fair-server,rt-throttling      what --fifo does not cause itself
  anechoic longest --cpus 2-5 --json | jq '.detours[0].activities'";

impl Args for LongestArgs {
    fn augment_args(command: Command) -> Command {
        let command = InputArgs::augment_args(command).args(arguments(OPTIONS));
        ShowArgs::augment_args(command)
            .mut_arg("json", |arg| {
                arg.help("Print JSON (schema/longest.schema.json; of wake-ups longest-wakeups.schema.json), one document per recording")
            })
            .mut_arg("all", |arg| {
                arg.help("Show what happened in each, not only in the first ones")
            })
            .about(ABOUT)
            .after_help(EXAMPLES)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for LongestArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self {
            input: InputArgs::from_arg_matches(matches)?,
            show: ShowArgs::from_arg_matches(matches)?,
            answers: answers(OPTIONS, matches),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn row(recording: &Recording) -> &'static dyn AnyRow {
    match &*recording.run().method {
        methods::WAKEUP => &LONGEST_WAKEUPS,
        _ => &LONGEST,
    }
}

pub fn run(args: &LongestArgs) -> Result<ExitCode, Problem> {
    each_by(row, Some(&args.answers), &args.input.open()?, args.show.printer()?)
}
