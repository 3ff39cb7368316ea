//! The text of netgauge's selfish pattern.

use super::importer::CPU;
use super::lines::{time_ns, wrong};
use super::recorded::{empty, new_dir};
use super::{Imported, Importer, Lines, Read};
use crate::options::Answers;
use crate::problem::{Problem, ProblemKind};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The row of the format.
pub(super) static IMPORTER: Importer = Importer {
    id: "netgauge",
    title: "netgauge's selfish text",
    details: "It is what `netgauge -x noise --method selfish` writes and LogGOPSim replays: the start of a detour and its \
              duration in nanoseconds, separated by a tab. The loop's iteration is taken from the comment that has the minimal \
              cycle length. A line of duration 0 is no detour: the measurement lasted up to that time. The detours must have the \
              period and the overhead that the closing comments state. If runs were appended to the file, whose times begin \
              again at 0, each becomes a recording: run-001, run-002 and so on.",
    options: &[CPU],
    examples: "  anechoic import netgauge ng.out.0 -o selfish",
    read: Read::Runs(import),
};

/// The comments that have what a run must come to.
const OVERHEAD: &str = "CPU overhead due to noise:";
const PERIOD: &str = "Measurement period:";
const ITERATION: &str = "Minimal cycle length [ns]:";
/// More runs than anyone appends to a file.
const MOST_RUNS: usize = 1_000;
/// The last digit that netgauge writes of both.
const DIGIT: f64 = 0.01;

/// What is known of a run of the file.
#[derive(Debug, Default)]
struct Pass {
    /// The loop's iteration, rounded to nanoseconds.
    iteration_ns: u64,
    /// Start of the first line; absent before it.
    first_ns: Option<u64>,
    /// End of the last detour, or the time of the last line.
    reached_ns: u64,
    lost_ns: f64,
    /// What its closing comments state: percent, and seconds.
    overhead: Option<f64>,
    period_s: Option<f64>,
}

/// A line that is not a comment: start and duration in whole nanoseconds.
type Line = (u64, u64);

/// Returns what a comment states under this name, without its unit.
fn stated<'c>(comment: &'c str, name: &str, unit: &str) -> Option<&'c str> {
    let text = comment.strip_prefix(name)?.trim();
    Some(text.strip_suffix(unit).unwrap_or(text).trim())
}

fn number(text: &str) -> Result<f64, Problem> {
    text.parse().map_err(|_| wrong(format!("'{text}' is no number")))
}

impl Pass {
    /// Takes a comment.
    fn comment(&mut self, comment: &str) -> Result<(), Problem> {
        if let Some(text) = stated(comment, OVERHEAD, "%") {
            self.overhead = Some(number(text)?);
        } else if let Some(text) = stated(comment, PERIOD, "s") {
            self.period_s = Some(number(text)?);
        } else if let Some(text) = stated(comment, ITERATION, "") {
            self.iteration_ns = time_ns(text, 1)?;
        }
        Ok(())
    }

    /// Returns whether this line begins another run.
    fn ends_before(&self, (start_ns, _): Line) -> bool {
        self.reached_ns > 0 && start_ns == 0
    }

    /// Takes a line whose duration was `exact_ns` before it was rounded.
    fn add(&mut self, (start_ns, duration_ns): Line, exact_ns: f64) {
        self.first_ns.get_or_insert(start_ns);
        let whole_ns =
            if duration_ns > 0 { duration_ns.saturating_add(self.iteration_ns) } else { 0 };
        self.reached_ns = self.reached_ns.max(start_ns.saturating_add(whole_ns));
        self.lost_ns += exact_ns;
    }

    /// Refuses a run whose detours do not come to what its closing comments state. `number` is that of the run.
    fn check(&self, number: usize) -> Result<(), Problem> {
        let ns = self.reached_ns.saturating_sub(self.first_ns.unwrap_or(0)) as f64;
        let compare = |what: &str, stated: f64, found: f64, unit: &str| {
            // Half a digit is netgauge's rounding, the rest that of ends to whole nanoseconds, which counts in short files.
            let same = (stated - found).abs() <= 0.6 * DIGIT + 1e-3 * found;
            let why = format!(
                "run {number} states {what} of {stated} {unit}, and its lines come to {found:.2} {unit}"
            );
            let remedy = "the file is not whole, or was changed: take netgauge's own file";
            if same { Ok(()) } else { Err(ProblemKind::Data.problem(why, remedy)) }
        };
        if let Some(stated) = self.period_s {
            compare("a measurement period", stated, ns / 1e9, "s")?;
        }
        match self.overhead.filter(|_| ns > 0.0) {
            Some(stated) => compare("an overhead", stated, 100.0 * self.lost_ns / ns, "%"),
            None => Ok(()),
        }
    }
}

/// Passes each line with the place of its run among all, from 0, and what is known of that up to it. Returns what is known
/// of each run.
fn each(
    lines: &mut Lines,
    mut take: impl FnMut(usize, &Pass, Line) -> Result<(), Problem>,
) -> Result<Vec<Pass>, Problem> {
    let (mut before, mut pass) = (vec![], Pass::default());
    lines.each(|text| {
        if let Some(comment) = text.strip_prefix('#') {
            return pass.comment(comment.trim());
        }
        let mut fields = text.split_whitespace();
        let (Some(start), Some(duration), None) = (fields.next(), fields.next(), fields.next())
        else {
            return Err(wrong("a line has a start and a duration"));
        };
        let line = (time_ns(start, 1)?, time_ns(duration, 1)?);
        if pass.ends_before(line) {
            pass.check(before.len() + 1)?;
            // The comments before a run stand behind the one before it.
            let next = Pass { iteration_ns: pass.iteration_ns, ..Pass::default() };
            before.push(std::mem::replace(&mut pass, next));
            if before.len() == MOST_RUNS {
                return Err(wrong(format!("it has more than {MOST_RUNS} runs")));
            }
        }
        pass.add(line, duration.parse().unwrap_or_default());
        take(before.len(), &pass, line)
    })?;
    pass.check(before.len() + 1).map_err(|problem| lines.about(problem))?;
    before.push(pass);
    Ok(before)
}

/// A run of netgauge's selfish pattern, as its file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetgaugeRun {
    /// Length of the measurement, in ns.
    pub length_ns: u64,
    /// Start and duration of each detour, in ns; the loop's iteration is not part of it.
    pub detours: Vec<(u64, u64)>,
}

/// Reads all runs of a file; `None` if it has no comment of netgauge. It may have runs that netgauge appended to it.
///
/// # Errors
/// The file cannot be read, has no detour, or a run differs from what its closing comments state.
pub fn netgauge_runs(file: &Path) -> Result<Option<Vec<NetgaugeRun>>, Problem> {
    if !is_netgauges(file)? {
        return Ok(None);
    }
    let mut detours: Vec<Vec<(u64, u64)>> = vec![];
    let passes = each(&mut Lines::open_regular(file)?, |place, _, (start_ns, duration_ns)| {
        detours.resize_with(place + 1, Vec::new);
        if duration_ns > 0 {
            detours[place].push((start_ns, duration_ns));
        }
        Ok(())
    })?;
    let runs = passes.iter().zip(detours).filter(|(pass, _)| pass.reached_ns > 0);
    let runs: Vec<NetgaugeRun> =
        runs.map(|(pass, detours)| NetgaugeRun { length_ns: pass.reached_ns, detours }).collect();
    if runs.is_empty() {
        return Err(no_detour(file));
    }
    Ok(Some(runs))
}

/// Returns whether a text has a comment that netgauge writes.
fn is_netgauges(file: &Path) -> Result<bool, Problem> {
    let mut is_netgauges = false;
    let read = Lines::open_regular(file)?.each(|line| {
        let comment = line.strip_prefix('#').map_or("", str::trim);
        is_netgauges |= [OVERHEAD, PERIOD, ITERATION].iter().any(|name| comment.starts_with(name));
        Ok(())
    });
    match read {
        // Whoever reads other formats finds what is wrong with the file.
        Err(problem) if problem.kind == ProblemKind::Data => Ok(false),
        read => read.map(|()| is_netgauges),
    }
}

fn no_detour(file: &Path) -> Problem {
    ProblemKind::Data.problem("it has no detour", "check the format").about(file.display())
}

/// Makes a recording of each run of a file.
fn import(file: &Path, answers: &Answers, dir: &Path) -> Result<u64, Problem> {
    let passes = each(&mut Lines::open_regular(file)?, |_, _, _| Ok(()))?;
    import_runs(file, passes, answers, dir)
}

/// Reads the file again, of which this is known.
fn import_runs(
    file: &Path,
    passes: Vec<Pass>,
    answers: &Answers,
    dir: &Path,
) -> Result<u64, Problem> {
    if passes.iter().all(|pass| pass.reached_ns == 0) {
        return Err(no_detour(file));
    }
    if passes.len() > 1 {
        new_dir(dir)?;
    }
    let mut runs = Runs { file, answers, dir, passes, current: None, detours: 0 };
    let mut lines = Lines::open_regular(file)?;
    let written = lines.modified();
    let read = each(&mut lines, |place, pass, line| runs.add(place, pass, line, written));
    let unchanged = read.and_then(|again| match runs.are_same(&again) {
        true => runs.finish(written),
        false => Err(changed().about(file.display())),
    });
    match unchanged {
        Ok(()) => Ok(runs.detours),
        Err(problem) => {
            runs.discard();
            Err(problem)
        }
    }
}

/// The file must be the same each time, because its runs are placed by their number and their lengths.
fn changed() -> Problem {
    let remedy = "import it when netgauge has ended";
    ProblemKind::Data.problem("the file changed while it was read", remedy)
}

/// The recordings of the runs of a file.
struct Runs<'a> {
    file: &'a Path,
    answers: &'a Answers,
    dir: &'a Path,
    passes: Vec<Pass>,
    /// The place of the run that is read, and its recording.
    current: Option<(usize, Imported)>,
    detours: u64,
}

impl Runs<'_> {
    fn add(
        &mut self,
        place: usize,
        pass: &Pass,
        (start_ns, duration_ns): Line,
        written: Option<SystemTime>,
    ) -> Result<(), Problem> {
        if place >= self.passes.len() {
            return Err(changed());
        }
        let cpu = u32::try_from(self.answers.one::<u64>("cpu")?).unwrap_or(u32::MAX);
        if self.current.as_ref().is_none_or(|(run, _)| *run != place) {
            self.finish(written)?;
            let mut imported = match self.passes.len() {
                1 => Imported::create(self.dir, self.file, IMPORTER.id, self.answers)?,
                _ => {
                    let own = self.dir.join(format!("run-{:03}", place + 1));
                    Imported::create(&own, self.file, IMPORTER.id, self.answers)?
                }
            };
            imported.iteration(pass.iteration_ns);
            let (_, imported) = self.current.insert((place, imported));
            imported.watched(cpu, self.passes[place].reached_ns)?;
        }
        match &mut self.current {
            Some((_, imported)) if duration_ns > 0 => imported.add(cpu, start_ns, duration_ns),
            _ => Ok(()),
        }
    }

    /// Returns whether the file had the same runs when it was read again.
    fn are_same(&self, again: &[Pass]) -> bool {
        let lengths =
            |passes: &[Pass]| passes.iter().map(|pass| pass.reached_ns).collect::<Vec<_>>();
        lengths(&self.passes) == lengths(again)
    }

    /// Removes what was written.
    fn discard(self) {
        if let Some((_, imported)) = self.current {
            imported.discard();
        }
        if self.passes.len() > 1 {
            empty(self.dir); // as it was before
        }
    }

    /// Completes the recording of the run that was read, which ended when the file was written, less the length of later
    /// runs.
    fn finish(&mut self, written: Option<SystemTime>) -> Result<(), Problem> {
        let Some((place, imported)) = self.current.take() else { return Ok(()) };
        let later_ns = self.passes[place + 1..].iter().map(|pass| pass.reached_ns);
        let later = Duration::from_nanos(later_ns.fold(0, u64::saturating_add));
        let ended = written.and_then(|written| written.checked_sub(later));
        self.detours = self.detours.saturating_add(imported.finish(ended)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_that_changes_between_both_readings_is_refused() {
        let place = tempfile::tempdir().expect("a directory");
        let (file, dir) = (place.path().join("ng.out"), place.path().join("r"));
        let run = "0\t300\n1000\t300\n";
        let answers = Answers::read(&IMPORTER.all_options(), &[]).expect("options");
        let more_runs = run.repeat(2);
        let longer = format!("{run}5000\t300\n");
        for (name, before, after) in [
            ("a run was appended", run, &*more_runs),
            ("a run was removed", &more_runs, run),
            ("a run became longer", run, &longer),
            ("the last run became longer", &more_runs, &format!("{more_runs}5000\t300\n")),
        ] {
            fs::write(&file, before).expect("written");
            let lines = &mut Lines::open_regular(&file).expect("a file");
            let passes = each(lines, |_, _, _| Ok(())).expect("runs");
            fs::write(&file, after).expect("written");
            let refused = import_runs(&file, passes, &answers, &dir).expect_err(name);
            assert!(refused.why.contains("changed while it was read"), "{name}: {}", refused.why);
            let left = dir.read_dir().map_or(0, Iterator::count);
            assert_eq!(left, 0, "{name}: nothing is left");
        }
    }
}
