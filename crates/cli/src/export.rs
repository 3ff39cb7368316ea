//! `anechoic export`: writes recordings as files that other tools read. Its subcommands are the rows of [`FORMATS`].

use crate::exit;
use crate::files::{refuse, write_whole};
use crate::inputs::InputArgs;
use crate::options::{answers, arguments};
use crate::progress::Busy;
use crate::rows::Rows;
use crate::terminal;
use anechoic_recording::options::{OptionRow, Value};
use anechoic_recording::{Problem, ProblemKind, Recording, create_dir_all};
use anechoic_report::export::{Export, FORMATS, Format, Holds};
use anechoic_report::shown;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A format with its inputs and options.
#[derive(Debug)]
pub struct ExportArgs {
    format: &'static Format,
    input: InputArgs,
    output: OutputArgs,
    matches: ArgMatches,
}

// Where the files go. No doc comment: clap would print it as the command's help.
#[derive(Debug, clap::Args)]
struct OutputArgs {
    /// File, or directory for several files [default: standard output]
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, requires = "output")]
    force: bool,
}

/// The option of every format whose files hold detours.
static CPUS: &[OptionRow] = &[OptionRow::new(
    "cpus",
    Value::Cpus,
    "LIST",
    "Only detours of these CPUs, for example 2-5 [default: all that were measured]",
)
.short('c')];

const ABOUT: &str = "Write recordings as files that other tools read";
const DETAILS: &str = "Each recording becomes one file. Several files go to a directory, named after their recordings; each is complete \
                       or absent, also while it is replaced. What a recording lost is noted in the comments of a format that has \
                       comments, and on stderr; the exit code is then 1.";

/// Returns the options that only exports of this format have.
fn options(format: &Format) -> impl Iterator<Item = &'static [OptionRow]> {
    let cpus = if format.holds == Holds::Summary { &[] } else { CPUS };
    [cpus, format.options].into_iter()
}

impl Rows for ExportArgs {
    fn describe(command: Command) -> Command {
        let lines = FORMATS.iter().flat_map(|format| format.examples.lines());
        let examples: Vec<&str> = lines.filter(|line| line.contains("anechoic export")).collect();
        command
            .about(ABOUT)
            .long_about(format!("{ABOUT}\n\n{DETAILS}"))
            .after_help(format!("Examples:\n{}", examples.join("\n")))
    }

    fn subcommands() -> Vec<Command> {
        FORMATS.iter().map(|format| subcommand(format)).collect()
    }

    fn read(name: &str, matches: &ArgMatches) -> Result<Option<Self>, Error> {
        let Some(format) = FORMATS.iter().find(|format| format.id == name) else { return Ok(None) };
        let (input, output) =
            (InputArgs::from_arg_matches(matches)?, OutputArgs::from_arg_matches(matches)?);
        Ok(Some(Self { format, input, output, matches: matches.clone() }))
    }
}

/// Builds the subcommand of a format.
fn subcommand(format: &'static Format) -> Command {
    let about = format!("Export {}", format.title);
    let own = options(format).flat_map(arguments);
    let command = InputArgs::augment_args(Command::new(format.id)).args(own.collect::<Vec<Arg>>());
    OutputArgs::augment_args(command)
        .long_about(format!("{about}\n\n{}", format.details))
        .about(about)
        .after_help(format!("Examples:\n{}", format.examples))
}

pub fn run(args: &ExportArgs) -> Result<ExitCode, Problem> {
    let (format, inputs) = (args.format, args.input.open()?);
    let rows: Vec<OptionRow> = options(format).flatten().copied().collect();
    let answers = answers(&rows, &args.matches);
    let mut worst = inputs.report_unread();
    let busy = Busy::with("exporting", false);
    let show = |progress: anechoic_analyze::Progress| busy.show(progress.read, progress.expected);
    let cpus = answers.given::<Vec<u32>>("cpus");
    let mut exports = vec![];
    for recording in &inputs.recordings {
        match format.exports(recording, cpus.as_deref(), &answers, &show) {
            Ok(made) => {
                worst = worst.max(report_notes(recording, &made));
                exports.extend(made);
            }
            Err(problem) => worst = worst.max(exit::print_error(&problem)),
        }
    }
    let targets = targets(format, &exports, args.output.output.as_deref(), &inputs.recordings)?;
    for target in &targets {
        refuse(target, args.output.force)?;
    }
    let mut written = vec![];
    for (number, export) in exports.iter().enumerate() {
        let done = match targets.get(number) {
            None => to_stdout(format, export),
            Some(target) => to_file(format, export, target, args.output.force)
                .map(|bytes| written.push(line(target, bytes))),
        };
        // An error in one does not hide the others.
        worst = worst.max(done.err().map_or(0, |problem| exit::print_error(&problem)));
    }
    drop(busy);
    let mut out = terminal::stdout();
    written.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    out.flush()?;
    Ok(ExitCode::from(worst))
}

/// Reports what the reader of the files must know, and returns the exit code of that.
fn report_notes(recording: &Recording, exports: &[Export<'_>]) -> u8 {
    let notes = exports.first().map_or(&[][..], Export::notes);
    for note in notes {
        terminal::print_note(format_args!("anechoic: {}: {note}", shown(recording.dir())));
    }
    if notes.is_empty() { 0 } else { exit::WARNING }
}

/// Returns the file of each export, or none if the only one goes to standard output.
fn targets(
    format: &Format,
    exports: &[Export<'_>],
    output: Option<&Path>,
    recordings: &[Recording],
) -> Result<Vec<PathBuf>, Problem> {
    let output = output.filter(|path| *path != Path::new("-"));
    match (output, exports) {
        (None, [] | [_]) => Ok(vec![]),
        (Some(file), [_]) if recordings.len() == 1 => Ok(vec![file.to_owned()]),
        (None, _) => {
            let why = format!("{} files would be written", exports.len());
            let fewer = match format.holds {
                Holds::OneCpu => "one recording and one of its CPUs (--cpus)",
                Holds::Detours | Holds::Rows | Holds::Stacks | Holds::Summary | Holds::Wakeups => {
                    "one recording"
                }
            };
            let remedy = format!("name a directory for them (-o), or {fewer}");
            Err(ProblemKind::Usage.problem(why, remedy))
        }
        (Some(file), _) if file.exists() && !file.is_dir() => {
            let why = format!(
                "{} is not a directory, and {} files would be written",
                file.display(),
                exports.len()
            );
            Err(ProblemKind::Usage.problem(why, "name a directory for them"))
        }
        (Some(dir), _) => {
            Ok(names(format, exports, recordings).map(|name| dir.join(name)).collect())
        }
    }
}

/// Returns the name of each export's file: the path of its recording below the directory that all have in common, and
/// the CPU if it holds one.
fn names(
    format: &Format,
    exports: &[Export<'_>],
    recordings: &[Recording],
) -> impl Iterator<Item = PathBuf> {
    let parents =
        recordings.iter().filter_map(|recording| Some(whole_path(recording).parent()?.to_owned()));
    let parents: Vec<PathBuf> = parents.collect();
    let mut shared = parents.first().cloned().unwrap_or_default();
    while parents.iter().any(|parent| !parent.starts_with(&shared)) && shared.pop() {}
    exports.iter().map(move |export| {
        let dir = whole_path(export.recording());
        let mut name = dir.strip_prefix(&shared).unwrap_or(&dir).as_os_str().to_owned();
        if let (Holds::OneCpu, Some((cpu, _))) = (format.holds, export.cpus().next()) {
            name.push(format!("-cpu{}", cpu.cpu));
        }
        name.push(export.suffix());
        name.push(format!(".{}", format.extension));
        PathBuf::from(name)
    })
}

fn whole_path(recording: &Recording) -> PathBuf {
    let dir = recording.dir();
    dir.canonicalize().unwrap_or_else(|_| dir.to_owned())
}

fn to_stdout(format: &Format, export: &Export<'_>) -> Result<(), Problem> {
    if format.binary && std::io::stdout().is_terminal() {
        let remedy =
            format!("name a file with -o, such as -o trace.{}, or pipe it", format.extension);
        return Err(ProblemKind::Usage
            .problem("a terminal cannot show this format, which is binary", remedy));
    }
    let mut out = terminal::stream();
    (format.write)(export, &mut out)?;
    Ok(out.flush()?)
}

fn to_file(
    format: &Format,
    export: &Export<'_>,
    target: &Path,
    force: bool,
) -> Result<u64, Problem> {
    if let Some(dir) = target.parent() {
        create_dir_all(dir).map_err(|error| Problem::unwritable(dir, &error))?;
    }
    write_whole(target, force, |out| (format.write)(export, out))
}

fn line(target: &Path, bytes: u64) -> String {
    format!("{} · {}", shown(target), anechoic_report::bytes(bytes))
}
