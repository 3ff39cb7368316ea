//! `--hist`: a histogram in the place of a screen.

use crate::inputs::Inputs;
use crate::options::{answers, arguments};
use crate::show::{Printer, each};
use anechoic_recording::Problem;
use anechoic_recording::options::Answers;
use anechoic_report::results::histogram::{HISTOGRAM, OPTIONS};
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};
use std::process::ExitCode;

/// The options of a histogram.
#[derive(Debug, Clone)]
pub(crate) struct HistArgs(Answers);

impl HistArgs {
    /// Returns whether a histogram is asked for.
    pub(crate) fn asked(&self) -> bool {
        self.0.flag("hist")
    }

    /// Prints the histogram of each recording.
    ///
    /// # Errors
    /// Returns errors of writing.
    pub(crate) fn print(&self, inputs: &Inputs, printer: Printer) -> Result<ExitCode, Problem> {
        each(&HISTOGRAM, Some(&self.0), inputs, printer)
    }
}

impl Args for HistArgs {
    fn augment_args(command: Command) -> Command {
        command.args(arguments(OPTIONS))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for HistArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self(answers(OPTIONS, matches)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
