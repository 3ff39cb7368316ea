//! `anechoic man`

use crate::files::{refuse, write_whole};
use crate::terminal;
use anechoic_recording::{Problem, create_dir_all};
use anechoic_report::shown;
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Write the manual pages to a directory, one for each command
///
/// The directory is created if it does not exist. `man` finds the pages in a directory man1 of its search path.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ManArgs {
    /// Directory for the pages
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Overwrite existing pages
    #[arg(long)]
    force: bool,
}

const EXAMPLES: &str = "Examples:
  anechoic man ~/.local/share/man/man1
  man anechoic-run";

/// How the examples of a command begin.
const EXAMPLE: &str = "Example";

pub fn run(args: &ManArgs) -> Result<ExitCode, Problem> {
    let mut command = crate::command_line().disable_help_subcommand(true);
    command.build();
    let pages = with_subcommands(&command);
    let place = |page: &Command| args.dir.join(Man::new(page.clone()).get_filename());
    for page in &pages {
        refuse(&place(page), args.force)?;
    }
    create_dir_all(&args.dir).map_err(|error| Problem::unwritable(&args.dir, &error))?;
    for page in &pages {
        write_whole(&place(page), args.force, |out| Ok(write(page, out)?))?;
    }
    let mut out = terminal::stdout();
    writeln!(out, "{} pages in {}", pages.len(), shown(&args.dir))?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Returns a command and all its subcommands.
fn with_subcommands(command: &Command) -> Vec<&Command> {
    let inner = command.get_subcommands().flat_map(with_subcommands);
    std::iter::once(command).chain(inner).collect()
}

/// Writes the page of a command. Its examples stand as they do in the help.
fn write(command: &Command, out: &mut dyn Write) -> io::Result<()> {
    let man = Man::new(command.clone()).source(concat!("anechoic ", env!("CARGO_PKG_VERSION")));
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    if command.has_subcommands() {
        man.render_subcommands_section(out)?;
    }
    let help = command.get_after_long_help().or_else(|| command.get_after_help());
    after(&help.map(ToString::to_string).unwrap_or_default()).to_writer(out)
}

/// Returns the sections for the text that follows a help: examples line by line, and notes.
fn after(help: &str) -> Roff {
    let mut roff = Roff::new();
    let (examples, notes): (Vec<&str>, Vec<&str>) =
        help.split("\n\n").partition(|part| part.starts_with(EXAMPLE));
    for part in examples {
        roff.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in part.lines().skip(1) {
            roff.text([roman(line.trim_start())]);
        }
        roff.control("fi", []);
    }
    for (number, part) in notes.iter().filter(|part| !part.is_empty()).enumerate() {
        match number {
            0 => roff.control("SH", ["NOTES"]),
            _ => roff.control("PP", []),
        };
        roff.text([roman(part.replace('\n', " "))]);
    }
    roff
}
