//! `anechoic report`: a recording as one file of HTML.

use crate::progress::Busy;
use crate::{exit, terminal};
use anechoic_predict::phases::{Ask, BUDGET, Noise, predict};
use anechoic_predict::ticks::{model, table_of};
use anechoic_recording::run::NotAvailable;
use anechoic_recording::{Recording, find};
use anechoic_report::{HtmlPart, HtmlReport, html, html_budget};
use std::fs::OpenOptions;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Make one HTML file of a recording: every detour over time with its story, sources, what it costs at scale
///
/// The file holds all that it needs: it opens from disk and asks no network for anything.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  anechoic report anechoic-20261121T080000 -o report.html\n  anechoic report anechoic-20261121T080000 -o - | ssh desk 'cat > report.html'"
)]
pub struct ReportArgs {
    /// A recording, or a directory of recordings: a part for each
    recording: PathBuf,
    /// Where to write it; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Overwrite the file
    #[arg(long)]
    force: bool,
}

/// Recordings in one file, at most: more have too little room each.
const MOST: usize = 32;

pub fn run(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let recordings = find(&args.recording)?;
    if recordings.len() > MOST {
        let text = format!(
            "{} holds {} recordings, and a report up to {MOST}; name one of them, or a directory of fewer",
            args.recording.display(),
            recordings.len()
        );
        return Err(exit::Usage(text).into());
    }
    let to_stdout = args.output == Path::new("-");
    if !to_stdout && !args.force && args.output.exists() {
        let file = args.output.display();
        return Err(exit::Usage(format!("{file} exists; --force overwrites it")).into());
    }
    let busy = Busy::with("adding up", false);
    let report = gather(&recordings)?;
    drop(busy);
    if to_stdout {
        let mut out = terminal::stdout();
        html(&report, &mut out)?;
        out.flush()?;
    } else {
        let bytes = write(&report, &args.output, args.force)?;
        let mut out = terminal::stdout();
        writeln!(out, "{} · {:.1} MB", args.output.display(), bytes as f64 / 1e6)?;
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the file; gives its size.
fn write(report: &HtmlReport, path: &Path, force: bool) -> anyhow::Result<u64> {
    let mut options = OpenOptions::new();
    options.write(true);
    // A file that came meanwhile is not ours to overwrite.
    let options =
        if force { options.create(true).truncate(true) } else { options.create_new(true) };
    let named = |error: std::io::Error| {
        std::io::Error::new(error.kind(), format!("{}: {error}", path.display()))
    };
    let file = options.open(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => anyhow::Error::from(exit::Usage(format!(
            "{} exists; --force overwrites it",
            path.display()
        ))),
        _ => named(error).into(),
    })?;
    let mut out = BufWriter::new(file);
    html(report, &mut out).map_err(named)?;
    let file = out.into_inner().map_err(|error| named(error.into_error()))?;
    Ok(file.metadata().map_err(named)?.len())
}

fn gather(recordings: &[Recording]) -> anyhow::Result<HtmlReport> {
    let parts = recordings.iter().map(|recording| part(recording, recordings.len()));
    let parts = parts.collect::<anyhow::Result<Vec<HtmlPart>>>()?;
    let summaries: Vec<_> = parts.iter().filter_map(|part| part.summary.clone()).collect();
    let repeated = summaries.len() > 1 && summaries.iter().all(|s| s.run.repetition.is_some());
    let repeat = anechoic_analyze::summarize_many(&summaries).filter(|_| repeated);
    Ok(HtmlReport { recordings: parts, repeat })
}

/// All that one recording says. A damaged table is an error; what only cannot be computed of it is said in the report.
fn part(recording: &Recording, of: usize) -> anyhow::Result<HtmlPart> {
    let run = recording.run();
    let name =
        recording.dir().file_name().map_or("recording".into(), |name| name.to_string_lossy());
    let mut part = HtmlPart {
        name: name.into_owned(),
        run: run.clone(),
        summary: None,
        timeline: None,
        phases: None,
        measured: None,
        interference: None,
        ticks: None,
        not_available: vec![],
    };
    let mut missing = vec![];
    match &*run.method {
        "detours" => part.phases = told("slowdown at scale", phases(recording), &mut missing)?,
        "interference" => part.interference = Some(anechoic_analyze::interference(recording)?),
        "serial" => {
            let table = table_of(recording).map_err(anyhow::Error::from);
            part.ticks = told("serial tick model", table, &mut missing)?.map(|table| model(&table));
        }
        _ => {
            let mut measured = anechoic_analyze::measure(recording)?;
            anechoic_analyze::spectrum::add_spectra(recording, &mut measured)?;
            part.measured = Some(measured);
        }
    }
    let summary = anechoic_analyze::summarize(recording).map_err(anyhow::Error::from);
    part.summary = told("lost time and its sources", summary, &mut missing)?;
    if part.summary.is_some() {
        part.timeline = Some(anechoic_analyze::timeline(recording, html_budget(of))?);
    }
    part.not_available = missing;
    Ok(part)
}

/// A result; or, where it cannot be had of this recording, nothing and a line in the report.
fn told<T>(
    what: &str,
    result: anyhow::Result<T>,
    missing: &mut Vec<NotAvailable>,
) -> anyhow::Result<Option<T>> {
    let error = match result {
        Ok(found) => return Ok(Some(found)),
        Err(error) => error,
    };
    // What is damaged is not shown as if it were merely absent.
    if exit::code(&error) == exit::DATA && !has_no_window(&error) {
        return Err(error);
    }
    let text = error.to_string();
    let (why, remedy) = text.split_once("; ").unwrap_or((&text, ""));
    missing.push(NotAvailable { what: what.into(), why: why.into(), remedy: remedy.into() });
    Ok(None)
}

/// Whether a prediction failed only because too little was recorded.
fn has_no_window(error: &anyhow::Error) -> bool {
    use anechoic_predict::phases::PhasesError;
    matches!(error.downcast_ref(), Some(PhasesError::NoWindow { .. }))
}

fn phases(recording: &Recording) -> anyhow::Result<anechoic_predict::phases::PhaseModel> {
    let noise = Noise::read(&[recording.dir().to_owned()], None)?;
    let ranks = (0..=7).map(|decade| 10u64.pow(decade)).collect();
    let ask =
        Ask { grains_ns: vec![100_000, 1_000_000, 10_000_000], ranks, seed: 1, budget: BUDGET };
    Ok(predict(&noise, &ask)?)
}
