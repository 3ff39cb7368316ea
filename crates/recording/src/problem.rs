//! [`Problem`]: what prevents a command's result, and what the user can do about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write};
use std::io;

/// What the name of an experiment that is not available begins with.
const EXPERIMENT: &str = "experiment ";

/// Something requested or usual that was not available.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotAvailable {
    /// What is not available.
    pub what: String,
    /// The reason.
    pub why: String,
    /// What would enable it.
    pub remedy: String,
}

impl NotAvailable {
    /// Builds it from its three texts.
    pub fn new(what: impl Into<String>, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), why: without_numbers(why.into()), remedy: remedy.into() }
    }

    /// Returns the name of a kind of pages among what is not available.
    #[must_use]
    pub fn pages(kind: &str) -> String {
        format!("pages {kind}")
    }

    /// Returns the name of an experiment among what is not available.
    #[must_use]
    pub fn experiment(id: &str) -> String {
        format!("{EXPERIMENT}{id}")
    }

    /// Returns whether it is an experiment.
    #[must_use]
    pub fn is_experiment(&self) -> bool {
        self.what.starts_with(EXPERIMENT)
    }
}

/// The kind of a problem. It decides the exit code of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProblemKind {
    /// The reader of the output closed it, because it has all it wanted. This is not an error.
    ReaderGone,
    /// Nothing was measured from which the result could be computed.
    NoVerdict,
    /// The command line asks for something that does not exist or is not possible.
    Usage,
    /// The input is damaged or has a newer version.
    Data,
    /// The input does not exist.
    NoInput,
    /// The system denies something that is needed.
    Unavailable,
    /// The output cannot be written.
    CannotWrite,
}

impl ProblemKind {
    /// Returns the exit code of a command that ends with this kind of problem.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::ReaderGone => 0,
            Self::NoVerdict => 3,
            Self::Usage => 64,
            Self::Data => 65,
            Self::NoInput => 66,
            Self::Unavailable => 69,
            Self::CannotWrite => 73,
        }
    }

    /// Creates a problem of this kind. The remedy may be empty if there is none.
    #[must_use]
    pub fn problem(self, why: impl Into<String>, remedy: impl Into<String>) -> Problem {
        let why = without_numbers(why.into());
        Problem { kind: self, what: String::new(), why, remedy: remedy.into() }
    }
}

/// Why there is no result. It is displayed in one line as `what: why; remedy`, without control characters: what comes
/// from a file must not control the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The kind, which decides the exit code.
    pub kind: ProblemKind,
    /// What it concerns: a file, a CPU, a result. Empty if `why` names it.
    pub what: String,
    /// The cause.
    pub why: String,
    /// What the user can do. Empty if there is no remedy.
    pub remedy: String,
}

impl Problem {
    /// Returns the same problem with what it concerns, before what it concerned so far.
    #[must_use]
    pub fn about(self, what: impl fmt::Display) -> Self {
        let what = match &*self.what {
            "" => what.to_string(),
            inner => format!("{what}: {inner}"),
        };
        Self { what, ..self }
    }

    /// Returns the problem of a measurement that a signal ended before it had anything.
    #[must_use]
    pub fn called_off() -> Self {
        let why = "ended by a signal before anything was measured";
        ProblemKind::NoVerdict.problem(why, "start it again, and let it measure")
    }

    /// Returns the problem that an error of the system stands for, if it is one.
    #[must_use]
    pub fn inside(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref::<Self>().cloned()
    }

    /// Returns what it concerns and the cause, without the remedy.
    #[must_use]
    pub fn cause(&self) -> String {
        match &*self.what {
            "" => self.why.clone(),
            what => format!("{what}: {}", self.why),
        }
    }

    /// Converts to the note that `missing` is not part of a result.
    #[must_use]
    pub fn not_available(&self, missing: impl Into<String>) -> NotAvailable {
        NotAvailable::new(missing, self.cause(), &*self.remedy)
    }
}

/// Returns whether a letter controls how others are displayed: it moves the cursor, or turns the direction of writing, so
/// that a text would read differently from what it is.
#[must_use]
pub fn is_control(letter: char) -> bool {
    let turns = matches!(
        letter,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    letter.is_control() || turns
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let semicolon = if self.remedy.is_empty() { "" } else { "; " };
        for letter in format!("{}{semicolon}{}", self.cause(), self.remedy).chars() {
            match is_control(letter) {
                true => write!(f, "{}", letter.escape_default())?,
                false => f.write_char(letter)?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

impl From<&Problem> for Problem {
    fn from(problem: &Problem) -> Self {
        problem.clone()
    }
}

/// Read errors are already converted by this crate with the name of the file, so other I/O errors come from
/// writing.
impl From<&io::Error> for Problem {
    fn from(error: &io::Error) -> Self {
        if let Some(problem) = Self::inside(error) {
            return problem;
        }
        let kind = match error.kind() {
            io::ErrorKind::BrokenPipe => ProblemKind::ReaderGone,
            _ => ProblemKind::CannotWrite,
        };
        kind.problem(error.to_string(), remedy_of(error))
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::from(&error)
    }
}

/// Returns an error, of the system or about one, in words: without the number of the system's error.
#[must_use]
pub fn in_words(error: &impl fmt::Display) -> String {
    without_numbers(error.to_string())
}

/// The system's words for EFBIG do not name the limit, which is rarely that of the file system.
const FILE_TOO_LARGE: [&str; 2] =
    ["File too large (os error 27)", "a file reached the limit on its size (ulimit -f)"];

/// Removes the numbers that the standard library adds to errors of the system: ` (os error 13)`.
fn without_numbers(text: String) -> String {
    const BEFORE: &str = " (os error ";
    let [words, named] = FILE_TOO_LARGE;
    let mut text = text.replace(words, named);
    while let Some(at) = text.find(BEFORE) {
        let Some(length) = text[at..].find(')') else { break };
        text.replace_range(at..=at + length, "");
    }
    text
}

/// Returns what helps against an error of the system.
#[must_use]
pub fn remedy_of(error: &io::Error) -> &'static str {
    use io::ErrorKind as Kind;
    match error.kind() {
        _ if is_out_of_files(error) => "raise the limit on open files (ulimit -n)",
        Kind::FileTooLarge => "raise this limit",
        Kind::StorageFull | Kind::QuotaExceeded => "free space, or name a place elsewhere",
        Kind::PermissionDenied => "run it as a user who has access",
        Kind::ReadOnlyFilesystem => "name a place on a writable file system",
        Kind::NotFound | Kind::NotADirectory | Kind::IsADirectory => "check the path",
        Kind::OutOfMemory => "free memory",
        Kind::InvalidData => "restore it from a copy, or measure again",
        _ => "`dmesg` may show what is wrong with the device",
    }
}

/// Returns whether no further file can be opened: EMFILE and ENFILE have no stable [`io::ErrorKind`].
pub(crate) fn is_out_of_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(23 | 24))
}

/// Makes an enum with a method `problem(&self) -> Problem` an error that displays that problem and converts
/// to it.
///
/// It is for errors that code must distinguish. All others are a [`Problem`] from the start.
#[macro_export]
macro_rules! error_from_problem {
    ($error:ty) => {
        impl std::fmt::Display for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.problem(), f)
            }
        }

        impl std::error::Error for $error {}

        impl From<&$error> for $crate::Problem {
            fn from(error: &$error) -> Self {
                error.problem()
            }
        }

        impl From<$error> for $crate::Problem {
            fn from(error: $error) -> Self {
                error.problem()
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_exit_code() {
        let expected = [
            (ProblemKind::ReaderGone, 0),
            (ProblemKind::NoVerdict, 3),
            (ProblemKind::Usage, 64),
            (ProblemKind::Data, 65),
            (ProblemKind::NoInput, 66),
            (ProblemKind::Unavailable, 69),
            (ProblemKind::CannotWrite, 73),
        ];
        for (kind, code) in expected {
            assert_eq!(kind.exit_code(), code, "{kind:?}");
        }
    }

    #[test]
    fn a_problem_is_one_line_with_its_remedy_last() {
        let bare = ProblemKind::Usage.problem("CPU 9 does not exist", "");
        assert_eq!(bare.to_string(), "CPU 9 does not exist");
        let whole = ProblemKind::Data.problem("a; b", "measure again").about("/x");
        assert_eq!(whole.to_string(), "/x: a; b; measure again");
        let hostile = ProblemKind::Data.problem("kind '\u{1b}[31m\u{9b}2J\n'", "");
        assert_eq!(hostile.to_string(), "kind '\\u{1b}[31m\\u{9b}2J\\n'");
        let turned = ProblemKind::Data.problem("\u{202e}gnp.\u{2066}x\u{200f}\u{61c}", "");
        assert_eq!(turned.to_string(), "\\u{202e}gnp.\\u{2066}x\\u{200f}\\u{61c}");
        let nested = whole.clone().about("rank 3").cause();
        assert_eq!(nested, "rank 3: /x: a; b");
        let missing = whole.not_available("slowdown");
        assert_eq!(
            [&*missing.what, &missing.why, &missing.remedy],
            ["slowdown", "/x: a; b", "measure again"]
        );
    }

    #[test]
    fn errors_of_the_system_have_no_number() {
        let denied = io::Error::from_raw_os_error(13);
        assert!(denied.to_string().ends_with(" (os error 13)"), "{denied}");
        assert_eq!(in_words(&denied), "Permission denied");
        for (text, expected) in [
            (format!("cannot read /x: {denied}"), "cannot read /x: Permission denied"),
            (
                format!("refused ({denied}), twice ({denied})"),
                "refused (Permission denied), twice (Permission denied)",
            ),
            (
                format!("cannot write /x: {}", io::Error::from_raw_os_error(27)),
                "cannot write /x: a file reached the limit on its size (ulimit -f)",
            ),
            ("open (os error 1".into(), "open (os error 1"),
        ] {
            let problem = ProblemKind::Unavailable.problem(&*text, "");
            assert_eq!(problem.why, expected);
            assert_eq!(NotAvailable::new("it", text, "").why, expected);
        }
        assert_eq!(
            Problem::from(denied).to_string(),
            "Permission denied; run it as a user who has access"
        );
    }

    #[test]
    fn errors_of_the_system_have_their_kind_and_a_remedy() {
        let kind = |kind: io::ErrorKind| Problem::from(&io::Error::from(kind)).kind;
        assert_eq!(kind(io::ErrorKind::BrokenPipe), ProblemKind::ReaderGone);
        assert_eq!(kind(io::ErrorKind::StorageFull), ProblemKind::CannotWrite);
        let (path, out_of_files) = (std::path::Path::new("/x"), io::Error::from_raw_os_error(24));
        let unreadable = Problem::unreadable(path, &out_of_files);
        assert_eq!(unreadable.kind, ProblemKind::Unavailable);
        assert_eq!(unreadable.remedy, "raise the limit on open files (ulimit -n)");
        let absent = Problem::unreadable(path, &io::ErrorKind::NotFound.into());
        assert_eq!((absent.kind, &*absent.remedy), (ProblemKind::Data, "check the path"));
    }
}
