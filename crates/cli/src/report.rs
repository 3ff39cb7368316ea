//! `anechoic report`: a recording as one file of HTML, or its figures as files of their own.

mod figures;
mod files;

use crate::merge::DataSet;
use crate::progress::Busy;
use crate::{exit, terminal};
use anechoic_analyze::cluster::host_name;
use anechoic_analyze::{Readings, Wanted};
use anechoic_predict::bsp::{Bsp, bsp};
use anechoic_predict::phases::{Ask, BUDGET, Noise, predict};
use anechoic_predict::ticks::{model, table_of};
use anechoic_recording::run::NotAvailable;
use anechoic_recording::{Problem, ProblemKind, Recording};
use anechoic_report::{HtmlNotShown, HtmlPart, HtmlReport, html, html_budget};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Make one HTML file of a recording: every detour over time with its story, sources, what it costs at scale
///
/// The file holds all that it needs: it opens from disk and asks no network for anything.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  anechoic report anechoic-20261121T080000 -o report.html\n  anechoic report anechoic-20261121T080000 -o - | ssh desk 'cat > report.html'\n  anechoic report anechoic-20261121T080000 --figures figures      SVG, PNG and captions for a paper"
)]
pub struct ReportArgs {
    /// A recording, or a directory of recordings: a part for each. Of several hosts the report opens with the whole
    recording: PathBuf,
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

/// Recordings in one file, at most: more have too little room each.
const MOST: usize = 32;
/// CPUs of a recording whose periods are looked for, at most: those that lost most.
const PERIODS: usize = 4;

pub fn run(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let to_stdout = args.html() == Some(Path::new("-"));
    if let Some(path) = args.html().filter(|_| !to_stdout) {
        files::refuse(path, args.force)?;
    }
    if let Some(dir) = &args.figures {
        figures::refuse_full(dir, args.force)?;
    }
    let busy = Busy::with("adding up", false);
    let (report, worst) = gather(&args.recording)?;
    drop(busy);
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

/// All that the recordings in `dir` say; and the exit code of what is wrong with some of them.
fn gather(dir: &Path) -> anyhow::Result<(HtmlReport, u8)> {
    let mut set = DataSet::at(dir)?;
    let mut report = HtmlReport::default();
    let mut worst = 0;
    if set.of_many_hosts() {
        match set.cluster(dir) {
            Ok((cluster, code)) => (report.cluster, worst) = (Some(cluster), code),
            // Each by itself is still worth having.
            Err(error) => worst = exit::tell(&error),
        }
        report.job = job(&set.recordings)?;
    } else if !set.unread.is_empty() {
        return Err(set.unread.remove(0).1);
    }
    let recordings = set.recordings;
    let Some(first) = recordings.first() else {
        return Err(Problem::no_recording_below(dir).into());
    };
    if recordings.len() <= MOST {
        parts(&recordings, dir, &mut report)?;
    } else if report.cluster.is_some() || report.job.is_some() {
        let (host, recordings) = (first.dir().display(), recordings.len() as u64);
        let example = format!("anechoic report {host} -o {}.html", host_name(first));
        report.not_shown = Some(HtmlNotShown { recordings, most: MOST as u64, example });
    } else {
        let text = format!(
            "{} holds {} recordings, and a report up to {MOST}; name one of them, or a directory of fewer",
            dir.display(),
            recordings.len()
        );
        return Err(exit::Usage(text).into());
    }
    Ok((report, worst))
}

/// The bulk-synchronous job of several hosts, if that is what they ran.
fn job(recordings: &[Recording]) -> anyhow::Result<Option<Bsp>> {
    let of_job = recordings.iter().filter(|recording| recording.run().method == "bsp");
    let of_job = of_job.map(|recording| Recording::open(recording.dir()));
    let of_job = of_job.collect::<Result<Vec<_>, _>>()?;
    Ok(if of_job.len() > 1 { Some(bsp(&of_job)?) } else { None })
}

/// The recordings one by one, and what repeated runs say together.
fn parts(recordings: &[Recording], dir: &Path, report: &mut HtmlReport) -> anyhow::Result<()> {
    let told_together = report.job.is_some();
    let parts = recordings.iter().map(|recording| {
        let mut part = part(recording, recordings.len(), told_together)?;
        // Those deeper in the directory are known by where they are.
        let below = recording.dir().strip_prefix(dir).ok();
        if let Some(below) = below.filter(|below| below.components().count() > 1) {
            part.name = below.display().to_string();
        }
        Ok(part)
    });
    let parts = parts.collect::<anyhow::Result<Vec<HtmlPart>>>()?;
    let summaries: Vec<_> = parts.iter().filter_map(|part| part.summary.clone()).collect();
    let repeated = summaries.len() > 1 && summaries.iter().all(|s| s.run.repetition.is_some());
    report.repeat = anechoic_analyze::summarize_many(&summaries).filter(|_| repeated);
    report.recordings = parts;
    Ok(())
}

/// All that one recording says. A damaged table is an error; what only cannot be computed of it is said in the report.
/// A job that is told together is not told of each host again.
fn part(recording: &Recording, of: usize, told_together: bool) -> anyhow::Result<HtmlPart> {
    let run = recording.run();
    let name =
        recording.dir().file_name().map_or("recording".into(), |name| name.to_string_lossy());
    let mut part = HtmlPart::of(name.into_owned(), run.clone());
    let mut missing = vec![];
    match &*run.method {
        "detours" => part.phases = told("slowdown at scale", phases(recording), &mut missing)?,
        "bsp" if told_together => {}
        "bsp" => {
            let found = bsp(std::slice::from_ref(recording)).map_err(anyhow::Error::from);
            part.bsp = told("what noise cost the job", found, &mut missing)?;
        }
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
    let wanted = Wanted { timeline: Some(html_budget(of)), periods: PERIODS };
    let readings = Readings::of(recording, wanted, &mut |_| {}).map_err(anyhow::Error::from);
    if let Some(readings) = told("lost time and its sources", readings, &mut missing)? {
        part.summary = Some(readings.summary);
        part.timeline = readings.timeline;
        part.periods = readings.periods;
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
    let problem: Problem = error.downcast()?;
    if problem.kind == ProblemKind::Data {
        return Err(problem.into());
    }
    missing.push(problem.not_available(what));
    Ok(None)
}

fn phases(recording: &Recording) -> anyhow::Result<anechoic_predict::phases::PhaseModel> {
    let noise = Noise::read(&[recording.dir().to_owned()], None)?;
    let ranks = (0..=7).map(|decade| 10u64.pow(decade)).collect();
    let ask =
        Ask { grains_ns: vec![100_000, 1_000_000, 10_000_000], ranks, seed: 1, budget: BUDGET };
    Ok(predict(&noise, &ask)?)
}
