//! `anechoic report`: a recording as one file of HTML, or its figures as files of their own.

mod figures;
mod gather;

use crate::inputs::{InputArgs, Inputs};
use crate::progress::Busy;
use crate::{files, terminal};
use anechoic_report::{HtmlReport, html};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Make one HTML file of a recording: every detour over time with its story, sources, what it costs at scale
///
/// The file holds all that it needs: it opens from disk and asks no network for anything.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  anechoic report anechoic-20261121T080000 -o report.html\n  anechoic report anechoic-20261121T080000 -o - | ssh desk 'cat > report.html'\n  anechoic report anechoic-20261121T080000 --figures figures      SVG, PNG and captions for a paper",
    mut_arg("recordings", |arg| arg.help("Recordings, or directories of recordings: a part for each. Of several hosts the report opens with the whole"))
)]
pub struct ReportArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Where to write it; - for standard output [default: report.html, but with --figures none]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write its figures to this directory: SVG and PNG, fit for a paper, with their captions
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
    /// Overwrite files
    #[arg(long)]
    force: bool,
}

impl ReportArgs {
    /// Where the HTML goes; nowhere where only figures are asked for.
    fn html(&self) -> Option<&Path> {
        let usual = || self.figures.is_none().then_some(Path::new("report.html"));
        self.output.as_deref().or_else(usual)
    }
}

pub fn run(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let to_stdout = args.html() == Some(Path::new("-"));
    if let Some(path) = args.html().filter(|_| !to_stdout) {
        files::refuse(path, args.force)?;
    }
    if let Some(dir) = &args.figures {
        figures::refuse_full(dir, args.force)?;
    }
    let (report, worst) = gather::gather(&Inputs::open(&args.input.recordings)?)?;
    let mut lines = vec![];
    match args.html() {
        Some(_) if to_stdout => {
            let mut out = terminal::stdout();
            html(&report, &mut out)?;
            out.flush()?;
        }
        Some(path) => {
            let bytes = write(&report, path, args.force)?;
            lines.push(format!("{} · {:.1} MB", path.display(), bytes as f64 / 1e6));
        }
        None => {}
    }
    if let Some(dir) = &args.figures {
        let busy = Busy::with("drawing", false);
        lines.extend(figures::write(&report, dir, args.force)?);
        drop(busy);
    }
    tell(&lines, to_stdout)?;
    Ok(ExitCode::from(worst))
}

/// Says what was written: beside a report on standard output on the other stream.
fn tell(lines: &[String], to_stderr: bool) -> std::io::Result<()> {
    let mut out: Box<dyn Write> =
        if to_stderr { Box::new(std::io::stderr()) } else { Box::new(terminal::stdout()) };
    for line in lines {
        writeln!(out, "{line}")?;
    }
    out.flush()
}

/// Writes the file; gives its size.
fn write(report: &HtmlReport, path: &Path, force: bool) -> anyhow::Result<u64> {
    let named = |error: std::io::Error| files::named(path, &error);
    let mut out = BufWriter::new(files::create(path, force)?);
    html(report, &mut out).map_err(named)?;
    let file = out.into_inner().map_err(|error| named(error.into_error()))?;
    Ok(file.metadata().map_err(named)?.len())
}
