//! Standard output and standard error: a terminal with colours and a width, or a pipe.

use anechoic_measure::ensemble::launched::Launched;
use anechoic_report::{Style, View, plain};
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Stderr, StdoutLock, Write};
use std::path::Path;
use std::sync::OnceLock;

/// The width if the terminal does not report one.
const COLUMNS: usize = 80;
/// Wider lines are harder to read.
const MOST_COLUMNS: usize = 100;

/// Output that is dropped once its reader is gone, as after `| head -1`: the exit code must not depend on the reader.
pub(crate) struct WhileRead<W> {
    out: W,
    gone: bool,
}

impl<W: Write> WhileRead<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, gone: false }
    }

    /// Writes unless the reader is gone; returns `dropped` if it is.
    fn unless_gone<T>(
        &mut self,
        dropped: T,
        write: impl FnOnce(&mut W) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.gone {
            return Ok(dropped);
        }
        match write(&mut self.out) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(dropped)
            }
            written => written,
        }
    }
}

impl<W: Write> Write for WhileRead<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_gone(bytes.len(), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_gone((), W::flush)
    }
}

/// Returns buffered standard output for results, which are computed to the end whether or not somebody reads them.
pub fn stdout() -> WhileRead<BufWriter<StdoutLock<'static>>> {
    WhileRead::new(stream())
}

/// Returns buffered standard error, as [`stdout`].
pub(crate) fn stderr() -> WhileRead<BufWriter<Stderr>> {
    WhileRead::new(BufWriter::new(io::stderr())) // not locked: progress is drawn there meanwhile
}

/// Returns buffered standard output for long streams, whose writing ends with an error once nobody reads them.
pub(crate) fn stream() -> BufWriter<StdoutLock<'static>> {
    BufWriter::new(io::stdout().lock())
}

/// Prints lines on stderr, in one write, so that those of processes with the same log do not mix. A terminal that is gone is
/// no error.
pub(crate) fn print_note(text: impl Display) {
    let _ = io::stderr().write_all(plain_lines(&text.to_string()).as_bytes());
}

/// Returns lines without control characters: names in them come from recordings, other hosts and the kernel.
fn plain_lines(text: &str) -> String {
    text.lines().map(|line| plain(line) + "\n").collect()
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

    /// A pipe whose reader takes some bytes and goes.
    struct Pipe {
        room: usize,
        with: ErrorKind,
    }

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.room);
            self.room -= taken;
            if taken == 0 { Err(self.with.into()) } else { Ok(taken) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn only_the_end_of_the_reader_is_no_error() {
        for (with, room, expected) in [
            (ErrorKind::BrokenPipe, 3, Ok(())),
            (ErrorKind::BrokenPipe, 0, Ok(())),
            (ErrorKind::StorageFull, 3, Err(ErrorKind::StorageFull)),
        ] {
            let mut out = WhileRead::new(Pipe { room, with });
            let written = out.write_all(b"verdict").and_then(|()| out.write_all(b"more"));
            assert_eq!(written.map_err(|error| error.kind()), expected, "{with:?}");
        }
    }

    #[test]
    fn names_in_notes_turn_nothing() {
        let (text, plain) =
            ("17 \u{202e}evil\u{1b}[31m of CPU 1\nnext", "17 ?evil?[31m of CPU 1\nnext\n");
        assert_eq!(plain_lines(text), plain);
    }

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
