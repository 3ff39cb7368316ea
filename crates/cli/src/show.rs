//! Computing results of recordings and printing them: what `summary` does, and every measuring command at its end.

use crate::inputs::Inputs;
use crate::progress::Busy;
use crate::{exit, files, terminal};
use anechoic_recording::{Problem, Recording};
use anechoic_report::results::{
    AnyRow, Findings, Found, Grouping, Input, Job, LeftOut, for_summary, needed,
};
use anechoic_report::{Style, View};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

// How a reading command shows its results. No doc comment: it would become the help of the command.
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// Print JSON, one document a result
    #[arg(long)]
    json: bool,
    /// Show every row, not only the first
    #[arg(long)]
    pub all: bool,
    /// Write to this file, not to standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite the file
    #[arg(long, requires = "output")]
    force: bool,
}

impl ShowArgs {
    /// Where results go.
    ///
    /// # Errors
    /// Where the file is there already or cannot be written.
    pub(crate) fn printer(&self) -> anyhow::Result<Printer> {
        let mut printer = Printer::stdout(self.json, self.all);
        if let Some(path) = &self.output {
            let file = files::create(path, self.force)?;
            printer.out = Box::new(BufWriter::new(file));
            printer.to_file = true;
        }
        Ok(printer)
    }
}

/// Prints results as text or JSON.
pub struct Printer {
    out: Box<dyn Write>,
    json: bool,
    all: bool,
    to_file: bool,
}

impl Printer {
    /// To standard output; `all` shows every row of the screens.
    pub fn stdout(json: bool, all: bool) -> Self {
        Self { out: Box::new(terminal::stdout()), json, all, to_file: false }
    }

    /// The same with every row.
    pub(crate) fn showing_all(self) -> Self {
        Self { all: true, ..self }
    }

    /// Whether it prints JSON.
    pub fn json(&self) -> bool {
        self.json
    }

    /// Prints a result of what lies at `place`, and gives the exit code that it calls for.
    ///
    /// # Errors
    /// Those of writing.
    pub fn print(&mut self, found: &Found, place: Option<&Path>) -> anyhow::Result<u8> {
        let mut view = View { all: self.all, ..terminal::view(place) };
        if self.to_file {
            view.style = Style { color: false };
        }
        match self.json {
            true => found.json(&mut self.out)?,
            false => found.screen(&view).write(&view, &mut self.out)?,
        }
        Ok(exit::of(found.verdict()))
    }

    /// Prints what is still held back.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(mut self) -> anyhow::Result<()> {
        Ok(self.out.flush()?)
    }
}

/// Shows the recording in `dir`, or those in it, as `anechoic summary` does.
pub fn recorded(dir: &Path, json: bool, all: bool, quiet: bool) -> anyhow::Result<ExitCode> {
    let inputs = Inputs::open(&[dir.to_owned()])?;
    summaries(&inputs, Printer::stdout(json, all), quiet)
}

/// Shows what each recording comes to, by the screen of its method; what is wrong with one does not hide the others.
pub fn summaries(inputs: &Inputs, mut printer: Printer, quiet: bool) -> anyhow::Result<ExitCode> {
    let mut worst = inputs.report_unread();
    let recordings: Vec<&Recording> = inputs.recordings.iter().collect();
    let mut known = Known::default();
    for job in for_summary(&recordings, inputs.of_many_hosts()) {
        if job.row.grouping() == Grouping::Runs && printer.json() {
            continue; // its numbers are in the documents of the runs
        }
        let place = match job.row.grouping() {
            Grouping::Each => Some(job.recordings[0].dir()),
            _ => inputs.place(),
        };
        let busy = Busy::with("adding up", quiet);
        let (found, code) = known.compute(&job, &inputs.left_out());
        drop(busy);
        worst = worst.max(code);
        worst = worst.max(match found {
            Ok(found) => printer.print(&found, place)?,
            Err(problem) => exit::tell_problem(&problem),
        });
    }
    printer.finish()?;
    Ok(ExitCode::from(worst))
}

/// Shows this result of each recording.
pub fn each(
    row: &'static dyn AnyRow,
    inputs: &Inputs,
    mut printer: Printer,
) -> anyhow::Result<ExitCode> {
    let mut worst = inputs.report_unread();
    for recording in &inputs.recordings {
        let busy = Busy::with("adding up", false);
        let found = row.compute(&Input::of(&[recording]));
        drop(busy);
        worst = worst.max(match found {
            Ok(found) => printer.print(&found, Some(recording.dir()))?,
            // The others are still worth seeing.
            Err(problem) => exit::tell_problem(&problem),
        });
    }
    printer.finish()?;
    Ok(ExitCode::from(worst))
}

/// Results that were computed already, by the directory of their recording.
#[derive(Debug, Default)]
pub struct Known(Vec<(PathBuf, Findings)>);

impl Known {
    /// Computes a result, those that it needs of each recording first. What is wrong with one of several recordings is
    /// reported, and gives an exit code; the others are added up without it.
    pub fn compute(&mut self, job: &Job<'_>, unread: &[LeftOut]) -> (Result<Found, Problem>, u8) {
        let (mut left_out, mut worst) = (unread.to_vec(), 0);
        let mut of = vec![];
        for recording in &job.recordings {
            let at = self.of(recording);
            match complete(recording, job.row, &mut self.0[at].1) {
                Ok(()) => of.push(at),
                Err(problem) => {
                    let (place, why) = (recording.dir().to_owned(), problem.to_string());
                    left_out.push(LeftOut { place, why });
                    // Of repeated runs that has been reported before.
                    if job.row.grouping() != Grouping::Runs {
                        worst = worst.max(exit::tell_problem(&problem));
                    }
                }
            }
        }
        let before: Vec<&Findings> = of.iter().map(|&at| &self.0[at].1).collect();
        let (recordings, left_out) = (&job.recordings[..], &left_out[..]);
        let found = job.row.compute(&Input { left_out, before: &before, ..Input::of(recordings) });
        if let (Ok(found), [recording]) = (&found, recordings) {
            let at = self.of(recording);
            self.0[at].1.add(found.clone());
        }
        (found, worst)
    }

    /// Where the results of this recording are.
    fn of(&mut self, recording: &Recording) -> usize {
        let known = self.0.iter().position(|(dir, _)| dir == recording.dir());
        known.unwrap_or_else(|| {
            self.0.push((recording.dir().to_owned(), Findings::default()));
            self.0.len() - 1
        })
    }
}

/// Computes what a result needs of this recording and is not known yet.
fn complete(
    recording: &Recording,
    row: &dyn AnyRow,
    findings: &mut Findings,
) -> Result<(), Problem> {
    for needed in needed(row) {
        if !findings.has(needed.id()) {
            findings.add(needed.compute(&Input::of(&[recording]))?);
        }
    }
    Ok(())
}
