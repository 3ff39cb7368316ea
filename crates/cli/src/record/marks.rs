//! What marks the iterations of a recorded program: the options, and the function that they name.

use super::started::{executable, is_executable, program};
use anechoic_recording::{MarkKind, Marked, Problem, ProblemKind, in_words};
use anechoic_system::functions;
use anechoic_system::tracefs::MarkEvent;
use rustix::io::fcntl_dupfd_cloexec;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What stands for any number of a descriptor.
const ANY: i32 = 0;
/// The smallest number of a descriptor beside the standard streams.
const LEAST: i32 = 3;
/// Where shared libraries usually lie.
const LIBRARIES: [&str; 8] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
];

// What begins an iteration. No doc comment: clap would print it as the command's help.
#[derive(Debug, clap::Args)]
#[group(id = "marks", multiple = false)]
pub(super) struct MarkArgs {
    /// Divide the run into iterations: one begins with each entry of this function. FILE is another file than the program, such
    /// as libc.so.6:write
    #[arg(long, value_name = "[FILE:]FUNCTION", conflicts_with = "repeat")]
    mark: Option<String>,
    /// The same, with each write of the command to descriptor N [default: the number in ANECHOIC_MARK_FD]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "0", value_parser = number, conflicts_with = "repeat")]
    mark_fd: Option<i32>,
    /// The same, with each text that the program writes to the kernel's trace_marker and that begins with TEXT [default:
    /// iteration]
    #[arg(long, value_name = "TEXT", num_args = 0..=1, require_equals = true, default_missing_value = "iteration", conflicts_with = "repeat")]
    mark_trace: Option<String>,
}

fn number(text: &str) -> Result<i32, String> {
    match text.parse() {
        Ok(ANY) => Ok(ANY),
        Ok(number @ LEAST..=65_535) => Ok(number),
        _ => Err(format!("N is a number from {LEAST} on, and the command stands after --")),
    }
}

/// Describes what marks an iteration.
fn marked(by: MarkKind, what: &str) -> Marked {
    Marked { by, what: what.to_owned(), file: None, whole: false, joined_lines: 0 }
}

/// Returns that the command cannot have this descriptor.
fn taken(number: i32, why: &str) -> Problem {
    ProblemKind::Usage.problem(
        format!("the command cannot have descriptor {number} for its marks: {why}"),
        "name another number, or none: its number is in ANECHOIC_MARK_FD",
    )
}

/// What the recorded program is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Whose<'a> {
    Command(&'a [String]),
    Process(i32),
    /// A control group, whose programs are known later.
    Group,
}

impl MarkArgs {
    /// Whether something marks iterations.
    pub(super) fn are_wanted(&self) -> bool {
        self.mark.is_some() || self.mark_fd.is_some() || self.mark_trace.is_some()
    }

    /// Whether that is a function of the program itself.
    pub(super) fn is_in_program(&self) -> bool {
        self.mark.as_ref().is_some_and(|text| split(text).0.is_none())
    }

    /// Returns what marks an iteration, with its description, if something does.
    ///
    /// # Errors
    /// Fails if the program has no such function, or if what is recorded inherits no descriptor.
    pub(super) fn event(&self, whose: Whose<'_>) -> Result<Option<(MarkEvent, Marked)>, Problem> {
        if let Some(text) = &self.mark_trace {
            let marked = marked(MarkKind::TraceMarker, text);
            return Ok(Some((MarkEvent::Text(text.clone()), marked)));
        }
        if let Some(number) = self.mark_fd {
            if !matches!(whose, Whose::Command(_)) {
                let why =
                    "a descriptor for marks is inherited, and what runs already inherits none";
                return Err(ProblemKind::Usage.problem(why, "mark a function: --mark FUNCTION"));
            }
            let what = if number == ANY { String::new() } else { number.to_string() };
            return Ok(Some((MarkEvent::Write, marked(MarkKind::Descriptor, &what))));
        }
        let Some(text) = &self.mark else { return Ok(None) };
        let (named, function) = split(text);
        let path = named.map_or_else(|| program_file(whose), |name| file_named(name, whose))?;
        let opened = File::open(&path).map_err(|error| Problem::unreadable(&path, &error))?;
        let about = |problem: Problem| self.explain(problem, whose, function).about(path.display());
        let found = functions::find(&opened, function).map_err(about)?;
        let file = fs::canonicalize(&path).unwrap_or(path).display().to_string();
        let marked = Marked { file: Some(file), ..marked(MarkKind::Function, &found.name) };
        Ok(Some((MarkEvent::Entry(Arc::new(opened), found.offset), marked)))
    }

    /// Adds to an error which other program of the command has the function.
    fn explain(&self, problem: Problem, whose: Whose<'_>, function: &str) -> Problem {
        let Whose::Command(words) = whose else { return problem };
        let has =
            |file: &Path| File::open(file).is_ok_and(|it| functions::find(&it, function).is_ok());
        let others = words.iter().skip(1).filter(|word| word.contains('/'));
        let other = others.filter_map(|word| executable(word)).find(|file| has(file));
        let Some(other) = other else { return problem };
        let remedy = format!("name the file: --mark {}:{function}", other.display());
        Problem { remedy, ..problem }
    }

    /// Reserves the descriptor for marks, before anything else takes its number.
    ///
    /// # Errors
    /// Fails if the number is taken.
    pub(super) fn reserve(&self) -> Result<Option<OwnedFd>, Problem> {
        let Some(number) = self.mark_fd else { return Ok(None) };
        let nothing = File::open("/dev/null").map_err(|error| taken(number, &in_words(&error)))?;
        let least = if number == ANY { LEAST } else { number };
        let reserved = fcntl_dupfd_cloexec(&nothing, least)
            .map_err(|error| taken(number, &in_words(&error)))?;
        match reserved.as_raw_fd() == number || number == ANY {
            true => Ok(Some(reserved)),
            false => Err(taken(number, "it is open already")),
        }
    }
}

/// Splits FILE:FUNCTION at its colon; the path of a function has two in a row.
fn split(text: &str) -> (Option<&str>, &str) {
    let single =
        |&(at, _): &(usize, &str)| !text[..at].ends_with(':') && !text[at + 1..].starts_with(':');
    match text.match_indices(':').find(single) {
        Some((at, _)) => (Some(&text[..at]), &text[at + 1..]),
        None => (None, text),
    }
}

/// Returns the file of what is recorded.
fn program_file(whose: Whose<'_>) -> Result<PathBuf, Problem> {
    match whose {
        Whose::Command(command) => {
            let word = program(command, is_executable);
            executable(word).ok_or_else(|| {
                let why = format!("there is no program '{word}'");
                ProblemKind::Usage.problem(why, "name an executable file after --")
            })
        }
        Whose::Process(pid) => Ok(PathBuf::from(format!("/proc/{pid}/exe"))),
        Whose::Group => Err(ProblemKind::Usage.problem(
            "a control group has several programs",
            "name the file of the function: --mark FILE:FUNCTION",
        )),
    }
}

/// Returns the file with this name: a path, a shared library, or a program.
fn file_named(name: &str, whose: Whose<'_>) -> Result<PathBuf, Problem> {
    let root = match whose {
        Whose::Process(pid) => PathBuf::from(format!("/proc/{pid}/root")),
        _ => PathBuf::from("/"),
    };
    let inside = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
    if name.contains('/') {
        return Ok(if name.starts_with('/') { inside(Path::new(name)) } else { name.into() });
    }
    let usual = LIBRARIES.iter().map(|dir| Path::new(dir).join(name));
    let own = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let own = std::env::split_paths(&own).map(|dir| dir.join(name)).collect::<Vec<_>>();
    let found = mapped(name, whose).into_iter().chain(own).chain(usual).map(|path| inside(&path));
    found.into_iter().find(|path| path.is_file()).or_else(|| executable(name)).ok_or_else(|| {
        let why = format!("there is no shared library or program '{name}'");
        ProblemKind::Usage.problem(why, "give its path: --mark /path/to/file.so:FUNCTION")
    })
}

/// Returns how many programs these processes execute, as far as that is known.
pub(super) fn programs(pids: &[i32]) -> usize {
    let files = pids.iter().filter_map(|pid| fs::metadata(format!("/proc/{pid}/exe")).ok());
    files.map(|file| (file.dev(), file.ino())).collect::<BTreeSet<_>>().len()
}

/// Returns the file with this name that a process has loaded.
fn mapped(name: &str, whose: Whose<'_>) -> Option<PathBuf> {
    let Whose::Process(pid) = whose else { return None };
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let files = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    files.map(PathBuf::from).find(|path| path.file_name().is_some_and(|file| file == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_may_have_a_file_and_a_path_of_its_own() {
        for (text, expected) in [
            ("step", (None, "step")),
            ("main::step", (None, "main::step")),
            ("./my-program:step", (Some("./my-program"), "step")),
            ("./my-program:a::b::step", (Some("./my-program"), "a::b::step")),
            ("libc.so.6:write", (Some("libc.so.6"), "write")),
            ("", (None, "")),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }

    #[test]
    fn files_are_found_by_path_and_by_name() {
        let command = ["true".to_owned()];
        let whose = Whose::Command(&command);
        assert!(program_file(whose).expect("a program").ends_with("true"));
        assert_eq!(file_named("./a", whose).expect("a path"), Path::new("./a"));
        assert!(file_named("nothing.so.1", whose).is_err());
        assert!(program_file(Whose::Group).is_err());
        let own = Whose::Process(std::process::id() as i32);
        assert!(File::open(program_file(own).expect("this program")).is_ok());
    }
}
