//! `anechoic import`: makes recordings of what other tools measured. Its subcommands are the rows of [`IMPORTERS`].

use crate::files;
use crate::options::{answers, arguments};
use crate::progress::Busy;
use crate::rows::Rows;
use crate::setup::Place;
use crate::terminal;
use crate::unfinished::Unfinished;
use anechoic_recording::import::{IMPORTERS, Importer, Read};
use anechoic_recording::options::Answers;
use anechoic_recording::{Problem, Recording, methods};
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// A format with its file and options.
#[derive(Debug)]
pub struct ImportArgs {
    importer: &'static Importer,
    files: FileArgs,
    answers: Answers,
}

// What is read and written. No doc comment: clap would print it as the command's help.
#[derive(Debug, clap::Args)]
struct FileArgs {
    /// File to read; several become one recording
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Directory for the recording, new or empty [default: anechoic-TIME]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
}

const ABOUT: &str = "Make a recording from what another tool or the bare image measured";
const DETAILS: &str = "Every reading command accepts a recording with times. Only a trace has causes. What cannot be read is \
                       refused with its line or byte.";

impl Rows for ImportArgs {
    fn describe(command: Command) -> Command {
        let examples: Vec<&str> = IMPORTERS.iter().map(|importer| importer.examples).collect();
        command
            .about(ABOUT)
            .long_about(format!("{ABOUT}\n\n{DETAILS}"))
            .after_help(format!("Examples:\n{}", examples.join("\n")))
    }

    fn subcommands() -> Vec<Command> {
        IMPORTERS.iter().map(|importer| subcommand(importer)).collect()
    }

    fn read(name: &str, matches: &ArgMatches) -> Result<Option<Self>, Error> {
        let Some(importer) = IMPORTERS.iter().find(|importer| importer.id == name) else {
            return Ok(None);
        };
        let files = FileArgs::from_arg_matches(matches)?;
        let answers = answers(&importer.all_options(), matches);
        Ok(Some(Self { importer, files, answers }))
    }
}

/// Builds the subcommand of a format.
fn subcommand(importer: &'static Importer) -> Command {
    let about = format!("Import {}", importer.title);
    let own: Vec<Arg> = arguments(&importer.all_options()).collect();
    FileArgs::augment_args(Command::new(importer.id))
        .args(own)
        .long_about(format!("{about}\n\n{}", importer.details))
        .about(about)
        .after_help(format!("Examples:\n{}", importer.examples))
}

pub fn run(args: &ImportArgs) -> Result<ExitCode, Problem> {
    let mut place = Place::choose(args.files.output.as_deref(), false)?;
    let made = place.make()?;
    let dir = place.dir();
    // What was there before the import refuses it, and stays.
    let unfinished = match !made && files::is_used(dir) {
        true => None,
        false => Some(Unfinished::alone(dir, made)?),
    };
    let busy = Busy::with("importing", false);
    let detours = args.importer.import(&args.files.files, &args.answers, dir)?;
    let recording = Recording::open(dir).ok();
    // What has kernel events has causes.
    if let Some(recording) = recording.as_ref().filter(|opened| opened.run().trace.is_some()) {
        crate::attribute::attribute(recording)?;
    }
    drop((busy, unfinished));
    let mut out = terminal::stdout();
    let dir_name = anechoic_report::shown(dir);
    let latencies =
        recording.as_ref().is_some_and(|opened| opened.run().method == methods::LATENCIES);
    let what = match detours {
        0 => String::new(),
        number if latencies => format!("{} latencies; ", anechoic_report::count(number)),
        number => format!("{} detours; ", anechoic_report::count(number)),
    };
    let each = if matches!(args.importer.read, Read::Runs(_)) { "run" } else { "method" };
    if recording.is_some() {
        writeln!(out, "{dir_name} · {what}`anechoic summary {dir_name}` shows what was measured")?;
    } else {
        writeln!(
            out,
            "{dir_name} · a recording for each {each}; `anechoic list {dir_name}` lists them"
        )?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
