//! Computes results of recordings and prints them, for `summary` and at the end of every measuring command.

use crate::files::NewFile;
use crate::inputs::Inputs;
use crate::progress::Busy;
use crate::terminal::WhileRead;
use crate::{exit, terminal};
use anechoic_analyze::threads::in_order_at_most;
use anechoic_recording::options::Answers;
use anechoic_recording::{Problem, Recording};
use anechoic_report::results::variance::VARIANCE;
use anechoic_report::results::{
    AnyRow, Findings, Found, Grouping, Input, Job, LeftOut, for_summary, needed,
};
use anechoic_report::{Style, View, shown};
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

// How a reading command shows its results. No doc comment: clap would print it as the command's help.
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// Print JSON, one document per result
    #[arg(long)]
    json: bool,
    /// Show every row, not only the first ones
    #[arg(long)]
    pub all: bool,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

impl ShowArgs {
    /// Opens the printer for the requested output.
    ///
    /// # Errors
    /// Fails if the file already exists or cannot be written.
    pub(crate) fn printer(&self) -> Result<Printer, Problem> {
        let mut printer = Printer::stdout(self.json, self.all);
        if let Some(path) = &self.output {
            let file = NewFile::create(path, self.force)?;
            let out = file.file().try_clone().map_err(|error| Problem::unwritable(path, &error))?;
            printer.out = Box::new(WhileRead::new(BufWriter::new(out)));
            printer.file = Some((file, path.clone()));
        }
        Ok(printer)
    }
}

/// Prints results as text or JSON.
pub struct Printer {
    out: Box<dyn Write>,
    json: bool,
    all: bool,
    /// The file that is written instead of standard output, and its path.
    file: Option<(NewFile, PathBuf)>,
    /// Whether the recordings are removed at the end, so that their paths lead nowhere.
    unsaved: bool,
    /// Whether a screen is only the sentences with which it begins, in one line.
    quiet: bool,
}

impl Printer {
    /// Prints to standard output; `all` shows every row of the screens.
    pub fn stdout(json: bool, all: bool) -> Self {
        Self {
            out: Box::new(terminal::stdout()),
            json,
            all,
            file: None,
            unsaved: false,
            quiet: false,
        }
    }

    /// Prints to standard error, where a command has the standard output.
    pub(crate) fn stderr(json: bool) -> Self {
        Self { out: Box::new(terminal::stderr()), ..Self::stdout(json, false) }
    }

    /// Returns this printer, which leaves out the paths of recordings that are not kept.
    pub(crate) fn unsaved(self, unsaved: bool) -> Self {
        Self { unsaved, ..self }
    }

    /// Returns this printer, which prints one line instead of a screen: the recording and the sentences with which it begins.
    pub(crate) fn quiet(self, quiet: bool) -> Self {
        Self { quiet, ..self }
    }

    /// Returns whether it prints JSON.
    pub fn json(&self) -> bool {
        self.json
    }

    /// Prints where the next of several results comes from, unless it is JSON or not kept.
    ///
    /// # Errors
    /// Returns errors of writing.
    fn name(&mut self, place: &Path) -> Result<(), Problem> {
        if !self.json && !self.unsaved && !self.quiet {
            writeln!(self.out, "\n{}:\n", shown(place))?;
        }
        Ok(())
    }

    /// Prints what else can be shown.
    fn note(&mut self, text: &str) -> Result<(), Problem> {
        if !self.json && !self.quiet && !self.unsaved {
            writeln!(self.out, "{text}")?;
        }
        Ok(())
    }

    /// Separates a result from the one before, of the same recording.
    fn gap(&mut self) -> Result<(), Problem> {
        if !self.json && !self.quiet {
            writeln!(self.out)?;
        }
        Ok(())
    }

    /// Returns how it shows a result of the recordings in `place`.
    pub(crate) fn view<'a>(&self, place: Option<&'a Path>) -> View<'a> {
        let place = place.filter(|_| !self.unsaved);
        let mut view = View { all: self.all, ..terminal::view(place) };
        if self.file.is_some() {
            view.style = Style { color: terminal::is_colored(false) };
        }
        view
    }

    /// Prints a result of the recordings in `place` and returns its exit code.
    ///
    /// # Errors
    /// Returns errors of writing.
    pub fn print(&mut self, found: &Found, place: Option<&Path>) -> Result<u8, Problem> {
        let view = self.view(place);
        let written = match one_line(found, view.path).filter(|_| self.quiet) {
            _ if self.json => found.json(&mut self.out),
            Some(line) => writeln!(self.out, "{line}"),
            None => found.screen(&view).write(&view, &mut self.out),
        };
        written.map_err(|error| match &self.file {
            Some((_, path)) => Problem::unwritable(path, &error),
            None => error.into(),
        })?;
        Ok(exit::verdict_code(found.verdict()))
    }

    /// Prints a result, or why there is none, which does not hide other results; returns the exit code.
    ///
    /// # Errors
    /// Returns errors of writing.
    pub(crate) fn print_result(
        &mut self,
        found: Result<Found, Problem>,
        place: Option<&Path>,
    ) -> Result<u8, Problem> {
        found.map_or_else(
            |problem| Ok(exit::print_error(&problem)),
            |found| self.print(&found, place),
        )
    }

    /// Prints the only result, of the recording in `place` if there is one, and returns the command's exit code.
    ///
    /// # Errors
    /// Returns errors of writing.
    pub(crate) fn print_one(
        mut self,
        found: &Found,
        place: Option<&Path>,
    ) -> Result<ExitCode, Problem> {
        let code = self.print(found, place)?;
        self.finish()?;
        Ok(ExitCode::from(code))
    }

    /// Writes what is still buffered, and completes the file if there is one.
    ///
    /// # Errors
    /// Returns errors of writing.
    pub fn finish(mut self) -> Result<(), Problem> {
        let written = self.out.flush();
        let Some((file, path)) = self.file else { return Ok(written?) };
        written.map_err(|error| Problem::unwritable(&path, &error))?;
        file.complete().map(drop)
    }
}

/// What one line adds about a result that is doubtful. The exit code may be another one: `record` passes on its command's.
const DOUBTFUL: &str = " Something about it is doubtful; without --quiet the screen states what.";

/// Returns the recording in `place`, if it is kept, and the sentences with which the screen of a result begins: also that it
/// is competition, and which source took most. Absent if the result has none.
pub(crate) fn one_line(found: &Found, place: Option<&Path>) -> Option<String> {
    let sentences = found.headline();
    if sentences.is_empty() {
        return None;
    }
    let place = place.map(|place| format!("{}: ", shown(place))).unwrap_or_default();
    let is_doubtful = exit::verdict_code(found.verdict()) != 0;
    Some(format!("{place}{}{}", sentences.join(" "), if is_doubtful { DOUBTFUL } else { "" }))
}

/// Shows the recording in `dir`, or the recordings in it, like `anechoic summary`; returns the exit code.
pub fn recorded(dir: &Path, printer: Printer, quiet: bool) -> Result<u8, Problem> {
    summaries(&Inputs::open(&[dir.to_owned()])?, printer.quiet(quiet), quiet)
}

/// Shows the results of each recording on the screen of its method; an error in one does not hide the others. Of repeated runs the
/// screen shows what they have in common, and each of them only if all is asked for; without a program also the newest, because
/// what they have in common names no source.
///
/// Returns the exit code.
pub fn summaries(inputs: &Inputs, mut printer: Printer, quiet: bool) -> Result<u8, Problem> {
    let mut worst = inputs.report_unread();
    let recordings: Vec<&Recording> = inputs.recordings.iter().collect();
    let mut known = ComputedResults::default();
    let jobs = for_summary(&recordings, inputs.has_many_hosts());
    let repeated = jobs.iter().filter(|job| job.row.grouping() == Grouping::Runs);
    let left_out = repeated.flat_map(|job| {
        let newest = usize::from(job.row.id() != VARIANCE.id);
        job.recordings.iter().rev().skip(newest).rev()
    });
    let repeated: Vec<&Path> = left_out.map(|run| run.dir()).collect();
    let brief = !printer.json() && !printer.all;
    let is_left_out = |job: &Job<'_>| {
        brief && job.recordings.len() == 1 && repeated.contains(&job.recordings[0].dir())
    };
    let printed = jobs.iter().filter(|job| !is_left_out(job));
    let places: Vec<&Path> = printed.map(|job| job.recordings[0].dir()).collect();
    let several = places.windows(2).any(|pair| pair[0] != pair[1]);
    let mut last = None;
    for job in jobs {
        if printer.json() && !job.row.in_json() {
            continue;
        }
        let place = match &job.recordings[..] {
            [recording] => Some(recording.dir()),
            [first, ..] if job.row.grouping() == Grouping::Runs => first.dir().parent(),
            _ => inputs.place(),
        };
        let busy = Busy::with("adding up", quiet);
        let (found, code) = known.compute(&job, &inputs.left_out());
        drop(busy);
        worst = worst.max(code);
        if is_left_out(&job) {
            let verdict = |found: Found| exit::verdict_code(found.verdict());
            let code = found.map_or_else(|problem| exit::print_error(&problem), verdict);
            if code != 0 {
                let run = shown(job.recordings[0].dir());
                printer.note(&format!(
                    "{run}: something about it is doubtful; `anechoic summary {run}` states what\n"
                ))?;
            }
            worst = worst.max(code);
            continue;
        }
        let is_next = last.replace(job.recordings[0].dir()) == Some(job.recordings[0].dir());
        match place.filter(|_| several) {
            _ if is_next && job.recordings.len() == 1 => printer.gap()?,
            Some(place) => printer.name(place)?,
            None => {}
        }
        worst = worst.max(printer.print_result(found, place)?);
    }
    if let Some(run) = repeated.first().filter(|_| brief) {
        printer.note(&format!("`anechoic summary {}` shows one run, `--all` each", shown(run)))?;
    }
    printer.finish()?;
    Ok(worst)
}

/// Shows this result for each recording, with the answers to its options if it has any.
pub fn each(
    row: &'static dyn AnyRow,
    answers: Option<&Answers>,
    inputs: &Inputs,
    printer: Printer,
) -> Result<ExitCode, Problem> {
    each_by(|_| row, answers, inputs, printer)
}

/// Shows for each recording the result that `row` chooses, with the answers to its options if it has any.
pub(crate) fn each_by(
    row: impl Fn(&Recording) -> &'static dyn AnyRow,
    answers: Option<&Answers>,
    inputs: &Inputs,
    mut printer: Printer,
) -> Result<ExitCode, Problem> {
    let mut worst = inputs.report_unread();
    for recording in &inputs.recordings {
        let busy = Busy::with("adding up", false);
        let found =
            row(recording).compute(&Input { answers, ..Input::from_recordings(&[recording]) });
        drop(busy);
        worst = worst.max(printer.print_result(found, Some(recording.dir()))?);
    }
    printer.finish()?;
    Ok(ExitCode::from(worst))
}

/// Results that are already computed, by the directory of their recording.
#[derive(Debug, Default)]
pub(crate) struct ComputedResults(BTreeMap<PathBuf, Findings>);

/// The largest number of recordings that are read at a time; each needs memory.
const MOST_AT_ONCE: usize = 4;

impl ComputedResults {
    /// Computes a result, after the results that it needs from each recording. An error in one of several
    /// recordings is reported and returned as an exit code; the result is then computed without it.
    pub fn compute(&mut self, job: &Job<'_>, unread: &[LeftOut]) -> (Result<Found, Problem>, u8) {
        let (mut left_out, mut worst) = (unread.to_vec(), 0);
        let (mut complete, none) = (vec![], Findings::default());
        let lacking = in_order_at_most(MOST_AT_ONCE, job.recordings.len(), |at| {
            let recording = job.recordings[at];
            lacking(recording, job.row, self.0.get(recording.dir()).unwrap_or(&none))
        });
        for (recording, found) in job.recordings.iter().zip(lacking) {
            match found {
                Ok(found) => {
                    let all = self.0.entry(recording.dir().to_owned()).or_default();
                    found.into_iter().for_each(|one| all.add(one));
                    complete.push(recording.dir());
                }
                Err(problem) => {
                    let (place, why) = (recording.dir().to_owned(), problem.to_string());
                    left_out.push(LeftOut { place, why });
                    // For repeated runs this has already been reported.
                    if job.row.grouping() != Grouping::Runs {
                        worst = worst.max(exit::print_error(&problem));
                    }
                }
            }
        }
        let before: Vec<&Findings> = complete.into_iter().map(|dir| &self.0[dir]).collect();
        let (recordings, left_out) = (&job.recordings[..], &left_out[..]);
        let found = job.row.compute(&Input {
            left_out,
            before: &before,
            ..Input::from_recordings(recordings)
        });
        if let (Ok(found), [recording]) = (&found, recordings) {
            self.0.entry(recording.dir().to_owned()).or_default().add(found.clone());
        }
        (found, worst)
    }
}

/// Computes the results that `row` needs from this recording and that are not among the known ones.
fn lacking(
    recording: &Recording,
    row: &dyn AnyRow,
    known: &Findings,
) -> Result<Vec<Found>, Problem> {
    let lacking = needed(row).filter(|needed| !known.has(needed.id()));
    lacking.map(|needed| needed.compute(&Input::from_recordings(&[recording]))).collect()
}
