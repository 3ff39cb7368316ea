//! The report of recordings, which begins with a paper if they are the sets of its suite.

use super::SUITES;
use super::judged::{Judged, Names};
use super::row::{Done, Suite, WHOLE, Wanted, left_out};
use super::settings::is_of;
use crate::exit;
use crate::inputs::Inputs;
use crate::page::{self, Known};
use anechoic_recording::{Problem, Recording};
use anechoic_report::results::Found;
use anechoic_report::{HtmlPart, HtmlReport, Study};
use std::path::Path;

/// Computes the report of these recordings, or of copies without what names their owner: that of `chosen`, or of the suite
/// whose directory it is. What is `known` is not computed again. Also returns the exit code of what is wrong with some of
/// them.
pub(super) fn report(
    chosen: Option<&'static Suite>,
    inputs: &Inputs,
    redact: bool,
    known: &[Known],
) -> Result<(HtmlReport, u8), Problem> {
    let redacted = redact.then(|| inputs.redacted()).transpose()?;
    let copies = redacted.as_ref().map(|(_, copies)| copies);
    let names = copies.map_or(Names::Own, Names::Of);
    let suite = chosen.or_else(|| whose(inputs));
    let judged = suite.and_then(|suite| Some((suite, Judged::from_inputs(suite, inputs, names)?)));
    let (mut report, mut worst) = page::gather(copies.unwrap_or(inputs), judged.is_some(), known)?;
    if let Some((suite, judged)) = judged.filter(|_| !report.recordings.is_empty()) {
        // Copies are sorted by their hosts.
        let judged = judged.in_order(copies.map(Inputs::originals));
        let recordings = &copies.unwrap_or(inputs).recordings;
        let (study, whole) = study(suite, judged, recordings, &report.recordings);
        report.study = Some(study);
        worst = if whole { worst } else { worst.max(exit::WARNING) };
    } else {
        report.notes = notes(inputs, redact);
    }
    Ok((report, worst))
}

/// Returns the suite whose directory the user named: every recording in it was measured by that suite.
pub(super) fn whose(inputs: &Inputs) -> Option<&'static Suite> {
    let place = inputs.place()?;
    let (suite, dir) = set_of(inputs.recordings.first()?)?;
    let is_set = |recording: &Recording| {
        set_of(recording).is_some_and(|(its, its_dir)| its.id == suite.id && its_dir == dir)
    };
    let mut all = inputs.recordings.iter();
    all.all(|recording| recording.dir() != place && is_set(recording)).then_some(suite)
}

/// Returns the suite that measured a recording, and the directory that holds its sets.
fn set_of(recording: &Recording) -> Option<(&'static Suite, &Path)> {
    let suite = SUITES.iter().find(|suite| is_of(suite, &recording.run().command))?;
    Some((suite, recording.dir().parent()?))
}

/// Names the suites of which these recordings hold sets, where the report is not of one suite.
fn notes(inputs: &Inputs, redact: bool) -> Vec<String> {
    if let [one] = &inputs.recordings[..]
        && inputs.place() == Some(one.dir())
    {
        return vec![]; // It was named by itself.
    }
    let mut found: Vec<(&Suite, &Path, u64)> = vec![];
    for (suite, dir) in inputs.recordings.iter().filter_map(set_of) {
        match found.iter_mut().find(|(its, its_dir, _)| its.id == suite.id && *its_dir == dir) {
            Some((.., sets)) => *sets += 1,
            None => found.push((suite, dir, 1)),
        }
    }
    let notes = found.into_iter().map(|(suite, dir, sets)| {
        let dir = if redact { "DIR".to_owned() } else { dir.display().to_string() };
        let sets = anechoic_report::counted(sets, "recording is a set", "recordings are sets");
        let id = suite.id;
        format!(
            "{sets} of the suite {id}; `anechoic suite {id} --show {dir} --html FILE` shows its paper's numbers beside the measured ones."
        )
    });
    notes.collect()
}

impl Judged {
    /// Returns the same with the names in the order of these indices.
    fn in_order(self, order: Option<Vec<usize>>) -> Self {
        let Some(order) = order else { return self };
        let names = order.iter().map(|&at| self.names.get(at).cloned().flatten()).collect();
        Self { names, ..self }
    }
}

/// Returns the experiments of the paper from the results of the same recordings, and whether nothing is lacking.
fn study(
    suite: &Suite,
    judged: Judged,
    recordings: &[Recording],
    parts: &[HtmlPart],
) -> (Study, bool) {
    let Judged { names, mut lacking } = judged;
    let mut done = vec![];
    for ((name, part), recording) in names.into_iter().zip(parts).zip(recordings) {
        let Some(name) = name else { continue };
        let Some(wanted) = suite.result(&recording.run().method) else { continue };
        match result(wanted, part, recording) {
            Ok(found) => done.push(Done { name, ..Done::new(recording, found) }),
            Err(why) => lacking.push(left_out(&name, &why)),
        }
    }
    let whole = lacking.is_empty();
    (suite.studied(&done, lacking, &WHOLE), whole)
}

/// Returns a result of a recording: the one on its page, if that is what the suite needs.
///
/// # Errors
/// Why it is not there.
fn result(wanted: &Wanted, part: &HtmlPart, recording: &Recording) -> Result<Found, String> {
    let title = wanted.row.title();
    if !wanted.is_usual() {
        // A problem may name the owner's directory.
        return wanted.compute(recording).map_err(|problem| problem.not_available(title).why);
    }
    let found = part.found.iter().find(|found| found.row().id() == wanted.row.id());
    found.cloned().ok_or_else(|| why(part, title))
}

/// Returns why a result of a recording is not there.
fn why(part: &HtmlPart, title: &str) -> String {
    let known = part.not_available.iter().find(|missing| missing.what == title);
    known.map_or_else(|| format!("there is no result: {title}"), |missing| missing.why.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anechoic_lab::builders::{clock, cpu_run, run};
    use anechoic_recording::Recorder;

    /// Writes a recording that this command made.
    fn write(dir: &Path, command: &str) {
        let mut run = run("detours", clock(1_000_000_000), vec![cpu_run(0, (0, 1_000), 20)]);
        run.command = command.split(' ').map(str::to_owned).collect();
        Recorder::create(dir, &run).expect("writable").finish(&run).expect("writable");
    }

    const SELFISH: &str = "anechoic suite selfish -o anywhere";

    #[test]
    fn a_directory_is_a_suite_s_where_every_recording_is_one_of_its_sets() {
        let place = tempfile::tempdir().expect("a directory");
        let at = |name: &str| place.path().join(name);
        let recordings = [
            ("suite/run-01", SELFISH),
            ("suite/run-02", SELFISH),
            // One run of a suite among others.
            ("stray/before", "anechoic run"),
            ("stray/run-01", SELFISH),
            // Two suites, of which none is the first.
            ("both/run-01", SELFISH),
            ("both/none", "anechoic suite ferreira -o both"),
            // Recordings of no suite.
            ("other/one", "anechoic run"),
        ];
        for (name, command) in recordings {
            write(&at(name), command);
        }
        let read = |dir: &Path| {
            let inputs = Inputs::open(&[dir.to_owned()]).expect("recordings");
            (whose(&inputs).map(|suite| suite.id), notes(&inputs, false))
        };
        assert_eq!(read(&at("suite")).0, Some("selfish"));
        assert_eq!(read(&at("suite/run-01")), (None, vec![]), "one set by itself");
        assert_eq!(read(&at("other")), (None, vec![]));
        let note = |sets: &str, id: &str, dir: &str| {
            let dir = at(dir).display().to_string();
            format!(
                "{sets} of the suite {id}; `anechoic suite {id} --show {dir} --html FILE` shows its paper's numbers beside the measured ones."
            )
        };
        let one = "1 recording is a set";
        assert_eq!(read(&at("stray")), (None, vec![note(one, "selfish", "stray")]));
        let both = vec![note(one, "ferreira", "both"), note(one, "selfish", "both")];
        assert_eq!(read(&at("both")), (None, both.clone()));
        // Sets of one suite in several directories would have the same names.
        let stray = vec![note(one, "selfish", "stray")];
        let suite = vec![note("2 recordings are sets", "selfish", "suite")];
        assert_eq!(read(place.path()), (None, [both, stray, suite].concat()));
        let inputs = Inputs::open(&[at("stray")]).expect("recordings");
        assert!(notes(&inputs, true)[0].contains("--show DIR --html"), "no path");
    }
}
