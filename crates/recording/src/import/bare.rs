//! Results of the image that measures without an operating system.

mod description;
mod measured;
mod places;
mod text;

use super::{Importer, Read, Recorded};
use crate::bounded::read_file;
use crate::clock::note_on_calibration;
use crate::memory::{Before, catalogue};
use crate::methods;
use crate::problem::{Problem, ProblemKind};
use crate::run::Run;
use description::Common;
use measured::Measured;
use std::collections::BTreeMap;
use std::path::Path;
use text::{Fields, Line, Wrong, lines, problem};

/// The row of the format.
pub(super) static IMPORTER: Importer = Importer {
    id: "bare",
    title: "a result of the image that measures without an operating system",
    details: "The file is result-N.txt of the image's disk, or what its serial port sent (docs/bare.md). A result of several methods \
              becomes a recording for each, in a directory of that name. Every command that reads recordings takes them.",
    examples: "  anechoic import bare result-1.txt -o bare\n  anechoic rank bare/fwq linux",
    options: &[],
    read: Read::Recordings(read),
};

/// The note of preemptions without an operating system.
const PREEMPTIONS: &str = "a preemption was a switch to a second context and back, without interrupt, scheduler and kernel: \
                           what remains of it is what that context did to the caches";
/// More bytes than the image's memory for the result has.
const MOST_BYTES: u64 = 4 << 30;
/// The CPU that runs the image; in version 1 of the text the only one that it measures.
const FIRST_CPU: u32 = 0;

fn read(file: &Path) -> Result<Vec<Recorded>, Problem> {
    let content = match read_file(file, MOST_BYTES) {
        Ok(content) => content,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let why = "there is no such file";
            let found = ProblemKind::NoInput.problem(why, "name the file that the image wrote");
            return Err(found.about(file.display()));
        }
        Err(error) => return Err(Problem::unreadable(file, &error)),
    };
    let content = String::from_utf8_lossy(&content);
    let lines = lines(file, &content)?;
    let whole = Whole::read(&lines).map_err(|wrong| problem(file, wrong))?;
    let recordings = whole.recordings().map_err(|wrong| problem(file, wrong))?;
    match recordings.is_empty() {
        false => Ok(recordings),
        true => {
            let why = "nothing was measured";
            Err(ProblemKind::NoVerdict.problem(why, "").about(file.display()))
        }
    }
}

/// The whole text.
struct Whole<'t> {
    /// What all recordings have in common.
    common: Common,
    measured: Vec<Measured<'t>>,
}

impl<'t> Whole<'t> {
    fn read(lines: &[Line<'t>]) -> Result<Self, Wrong> {
        let mut whole = Whole { common: Common::new(), measured: vec![] };
        let mut planned = None;
        for line in lines {
            match line.word {
                "series" => planned = Some(line.fields()?),
                "ran" => {
                    let (number, ran) = line.fields()?;
                    let series =
                        planned.take().filter(|series: &(u64, Fields<'_>)| series.0 == number);
                    let plan = series.ok_or_else(|| line.wrong("there is no such series"))?.1;
                    let method = plan.text("method")?;
                    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
                    if method.is_empty() || !method.chars().all(is_name) {
                        return Err(line.wrong(&format!("'{method}' is no method")));
                    }
                    let (samples, gaps, word) = (vec![], vec![], "");
                    whole.measured.push(Measured { method, plan, ran, samples, word, gaps });
                }
                word @ ("s" | "t" | "w" | "g") => {
                    let last = whole.measured.last_mut();
                    let measured =
                        last.ok_or_else(|| line.wrong("there is no series before it"))?;
                    if word == "g" {
                        measured.gaps.extend(line.numbers()?);
                    } else {
                        measured.word = word;
                        measured.samples.extend(line.numbers()?);
                    }
                }
                _ => whole.common.take(line)?,
            }
        }
        whole.common.complete();
        if whole.common.run.clock.frequency_millihertz == 0 {
            return Err((1, "it has no rate of the counter".to_owned()));
        }
        Ok(whole)
    }

    /// Returns a recording for each method, in the order of their first series.
    fn recordings(&self) -> Result<Vec<Recorded>, Wrong> {
        let mut methods: Vec<&str> = vec![];
        for measured in &self.measured {
            if !methods.contains(&measured.method) {
                methods.push(measured.method);
            }
        }
        methods.into_iter().map(|method| self.recording(method)).collect()
    }

    /// Returns what readers of the memory experiments must know.
    fn notes_on_memory(&self) -> impl Iterator<Item = String> {
        let mut experiments =
            self.measured.iter().filter_map(|measured| measured.plan.find("experiment"));
        let preempted = experiments.any(preempts);
        let note = preempted.then(|| PREEMPTIONS.to_owned());
        note.into_iter().chain(self.common.assumed_caches.clone())
    }

    fn recording(&self, method: &str) -> Result<Recorded, Wrong> {
        let mut run = Run { method: method.to_owned(), ..self.common.run.clone() };
        if method == methods::MEMORY {
            run.notes.extend(self.notes_on_memory());
        }
        let empty = (vec![], vec![], vec![], vec![], vec![]);
        let (series, samples, detours, losses, counters) = empty;
        let mut recorded = Recorded { run, series, samples, detours, losses, counters };
        let measured = || self.measured.iter().filter(|measured| measured.method == method);
        for (series, measured) in (0..).zip(measured()) {
            measured.add_to(&mut recorded, series, &self.common)?;
        }
        if method == methods::DETOURS {
            subtract_shortest(&mut recorded.run);
        }
        let doubts = measured().map(|measured| measured.plan.find_number("doubt"));
        let doubts: Vec<u64> = doubts.flat_map(Result::transpose).collect::<Result<_, _>>()?;
        if let Some(&ppm) = doubts.iter().max() {
            recorded.run.notes.push(note_on_calibration(ppm as f64 / 1e6));
        }
        let cpus = || recorded.run.cpus.iter();
        recorded.run.start_ticks = cpus().map(|cpu| cpu.first_ticks).min().unwrap_or(0);
        recorded.run.end_ticks = cpus().map(|cpu| cpu.last_ticks).max().unwrap_or(0);
        let (skew, cpus) = (&mut recorded.run.clock.skew, &recorded.run.cpus);
        skew.retain(|skew| cpus.iter().any(|cpu| cpu.cpu == skew.cpu));
        recorded.counters = measured::counters(measured())?;
        Ok(recorded)
    }
}

/// Returns whether the passes of this experiment are preempted.
fn preempts(experiment: &str) -> bool {
    let mut known = catalogue::entries().filter(|entry| entry.id == experiment);
    known.any(|entry| matches!(entry.before, Before::Preempted { .. }))
}

/// Sets one iteration of the loops to the shortest gap of each class of CPUs, as `anechoic run` does: a CPU that is
/// disturbed in every iteration would hide that in its own.
fn subtract_shortest(run: &mut Run) {
    let mean = run.clock.read_mean_ticks as u64;
    let mut shortest: BTreeMap<String, u64> = BTreeMap::new();
    for cpu in &run.cpus {
        let known = shortest.entry(cpu.class.clone()).or_insert(cpu.own_shortest_gap_ticks);
        *known = cpu.own_shortest_gap_ticks.min(*known);
    }
    for cpu in &mut run.cpus {
        let gap = shortest[&cpu.class];
        cpu.shortest_gap_ticks = if gap.saturating_mul(2) < mean { mean } else { gap };
    }
}
