//! Standard output: a terminal with colours and a width, or a pipe.

use anechoic_measure::ensemble::launched::Launched;
use anechoic_report::{Style, View};
use std::ffi::OsString;
use std::io::{BufWriter, IsTerminal, StdoutLock};
use std::path::Path;
use std::sync::OnceLock;

/// The width if the terminal does not report one.
const COLUMNS: usize = 80;
/// Wider lines are harder to read.
const MOST_COLUMNS: usize = 100;

/// Returns buffered standard output.
pub fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::new(std::io::stdout().lock())
}

/// When to use colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum When {
    /// On a terminal, unless NO_COLOR is set or a launcher (mpirun, srun) started the command
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What the user asked for with `--color`.
static ASKED: OnceLock<When> = OnceLock::new();

/// Sets when to use colours, once.
pub(crate) fn use_colors(when: When) {
    let _ = ASKED.set(when);
}

/// Returns whether text for a terminal, or for something else, has colours.
pub(crate) fn is_colored(terminal: bool) -> bool {
    let when = ASKED.get().copied().unwrap_or_default();
    decide(when, terminal && !Launched::is_rank(), |name| std::env::var_os(name))
}

/// Decides by what the user asked for, then by the variables that most commands obey.
fn decide(when: When, usual: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let is_set = |name: &str| variable(name).filter(|value| !value.is_empty());
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto if is_set("NO_COLOR").is_some() => false,
        When::Auto if is_set("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
        When::Auto => usual && is_set("TERM").is_none_or(|terminal| terminal != "dumb"),
    }
}

/// Returns how to show a result of `path` on standard output.
pub fn view(path: Option<&Path>) -> View<'_> {
    let color = is_colored(std::io::stdout().is_terminal());
    let columns = rustix::termios::tcgetwinsize(std::io::stdout()).map(|size| size.ws_col.into());
    let width = columns.ok().filter(|&columns| columns > 0).unwrap_or(COLUMNS).min(MOST_COLUMNS);
    View { style: Style { color }, width, path, all: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_goes_before_the_variables_and_these_before_the_terminal() {
        let none: &[(&str, &str)] = &[];
        for (name, when, terminal, variables, expected) in [
            ("a terminal", When::Auto, true, none, true),
            ("a pipe", When::Auto, false, none, false),
            ("no colour", When::Auto, true, &[("NO_COLOR", "1")], false),
            ("an empty variable", When::Auto, true, &[("NO_COLOR", "")], true),
            ("forced", When::Auto, false, &[("CLICOLOR_FORCE", "1")], true),
            ("not forced", When::Auto, false, &[("CLICOLOR_FORCE", "0")], false),
            ("both", When::Auto, true, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], false),
            ("a dumb terminal", When::Auto, true, &[("TERM", "dumb")], false),
            ("always", When::Always, false, &[("NO_COLOR", "1")], true),
            ("never", When::Never, true, &[("CLICOLOR_FORCE", "1")], false),
        ] {
            let variable = |asked: &str| {
                variables.iter().find(|(name, _)| *name == asked).map(|(_, value)| value.into())
            };
            assert_eq!(decide(when, terminal, variable), expected, "case: {name}");
        }
    }
}
