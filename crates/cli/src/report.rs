//! `anechoic report`: writes a recording as one HTML file, or its figures as separate files.

use crate::inputs::InputArgs;
use crate::page::{refuse, written};
use crate::{suite, terminal};
use anechoic_recording::Problem;
use anechoic_report::{Study, html};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Write an HTML report of a recording: every detour over time with its cause, the sources, the cost at scale
///
/// The file is self-contained: it opens from disk and loads nothing from the network.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  anechoic report anechoic-20261121T080000 -o report.html\n  anechoic report anechoic-20261121T080000 -o - | ssh desk 'cat > report.html'\n  anechoic report anechoic-20261121T080000 --figures figures      SVG, PNG and captions for a paper\n  anechoic report anechoic-20261121T080000 --redact -o public.html      without names of hosts, users and programs",
    mut_arg("recordings", |arg| arg.help("Recordings, or directories of recordings; the report has one part for each, and for several hosts begins with a summary of all [default: the newest recording in this directory]"))
)]
pub struct ReportArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Output file; - for standard output [default: report.html; none with --figures]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the figures to this directory, as SVG and PNG for a paper, with their captions
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
    /// Replace host names, command lines, paths, cgroups, names of threads other than the kernel's, and addresses;
    /// times, process ids, CPU model, kernel, settings, devices and kernel threads stay
    #[arg(long)]
    redact: bool,
    /// Overwrite existing files
    #[arg(long)]
    force: bool,
}

impl ReportArgs {
    /// Returns where the HTML goes, or `None` if only figures are requested.
    fn html(&self) -> Option<&Path> {
        let usual = || self.figures.is_none().then_some(Path::new("report.html"));
        self.output.as_deref().or_else(usual)
    }
}

pub fn run(args: &ReportArgs) -> Result<ExitCode, Problem> {
    let to_stdout = args.html() == Some(Path::new("-"));
    let file = args.html().filter(|_| !to_stdout);
    let inputs = args.input.open()?;
    refuse(file, args.figures.as_deref(), args.force)?;
    let unread = inputs.report_unread();
    let (report, worst) = suite::report(&inputs, args.redact)?;
    let worst = worst.max(unread);
    let lacking = report.study.iter().flat_map(Study::lacks);
    report
        .notes
        .iter()
        .chain(lacking)
        .for_each(|note| terminal::print_note(format_args!("anechoic: {note}")));
    if to_stdout {
        let mut out = terminal::stdout();
        html(&report, &mut out)?;
        out.flush()?;
    }
    let lines = written(&report, file, args.figures.as_deref(), args.force)?;
    print_written(&lines, to_stdout)?;
    Ok(ExitCode::from(worst))
}

/// Prints what was written: on stderr if the report itself goes to standard output.
fn print_written(lines: &[String], to_stderr: bool) -> std::io::Result<()> {
    let mut out: Box<dyn Write> =
        if to_stderr { Box::new(terminal::stderr()) } else { Box::new(terminal::stdout()) };
    for line in lines {
        writeln!(out, "{line}")?;
    }
    out.flush()
}
