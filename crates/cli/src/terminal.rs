//! Standard output: a terminal with colours and a width, or a pipe.

use anechoic_report::{Style, View};
use std::io::{BufWriter, IsTerminal, StdoutLock};
use std::path::Path;

/// The width if the terminal does not report one.
const COLUMNS: usize = 80;
/// Wider lines are harder to read.
const MOST_COLUMNS: usize = 100;

/// Returns buffered standard output.
pub fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::new(std::io::stdout().lock())
}

/// Returns how to show a result of `path`: with colours on a terminal, unless NO_COLOR is set.
pub fn view(path: Option<&Path>) -> View<'_> {
    let terminal = std::io::stdout().is_terminal();
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let columns = rustix::termios::tcgetwinsize(std::io::stdout()).map(|size| size.ws_col.into());
    let width = columns.ok().filter(|&columns| columns > 0).unwrap_or(COLUMNS).min(MOST_COLUMNS);
    View { style: Style { color: terminal && !no_color }, width, path, all: false }
}
