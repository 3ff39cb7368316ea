//! Commands whose subcommands are the rows of a table.

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// The arguments of a subcommand that a row of a table defines.
pub trait Rows: Sized {
    /// Adds to `command`, which stands above the subcommands, its description and examples.
    fn describe(command: Command) -> Command;

    /// Returns one subcommand for each row.
    fn subcommands() -> Vec<Command>;

    /// Reads what clap matched for the subcommand `name`, or returns `None` if no row has this name.
    ///
    /// # Errors
    /// Fails if a required argument is missing.
    fn read(name: &str, matches: &ArgMatches) -> Result<Option<Self>, Error>;
}

/// The subcommand that the user asked for.
#[derive(Debug)]
pub struct OfRows<T>(pub T);

impl<T: Rows> Args for OfRows<T> {
    fn augment_args(command: Command) -> Command {
        T::describe(command)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommands(T::subcommands())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<T: Rows> FromArgMatches for OfRows<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let missing = || Error::new(ErrorKind::MissingSubcommand);
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        T::read(name, matches)?.map(OfRows).ok_or_else(missing)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
