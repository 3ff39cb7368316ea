//! The report of recordings, which begins with a paper if they are the sets of its suite.

use super::kept::{is_of, stranger};
use super::row::{Done, Suite, set_name};
use crate::inputs::Inputs;
use crate::page;
use anechoic_recording::{Problem, Recording};
use anechoic_report::{HtmlPart, HtmlReport, Study, View};

/// Computes the report of these recordings, or of copies without what names their owner. Also returns the exit code of
/// what is wrong with some of them.
pub(super) fn report(
    suites: &[&'static Suite],
    inputs: &Inputs,
    redact: bool,
) -> Result<(HtmlReport, u8), Problem> {
    // A set that is named by itself stands for itself. The copies have neither the command that measured a set nor its
    // name.
    let is_named = |recording: &Recording| inputs.place() == Some(recording.dir());
    let sets = Sets::among(suites, &inputs.recordings);
    let sets = sets.filter(|_| !inputs.recordings.iter().any(is_named));
    let redacted = redact.then(|| inputs.redacted()).transpose()?;
    let inputs = redacted.as_ref().map_or(inputs, |(_, copies)| copies);
    let (mut report, worst) = page::gather(inputs)?;
    if !report.recordings.is_empty() {
        // Copies are sorted by their hosts.
        let originals = redacted.as_ref().map(|(_, copies)| copies.originals());
        report.study = sets.map(|sets| sets.in_order(originals).study(&report.recordings));
    }
    Ok((report, worst))
}

/// Recordings of which some are the sets of a suite.
#[derive(Debug)]
struct Sets {
    suite: &'static Suite,
    /// For each recording the name of its set; absent if it is no set of the suite.
    names: Vec<Option<String>>,
}

impl Sets {
    /// Returns the sets of the first suite that measured one of these recordings; nothing if none was measured by a suite.
    fn among(suites: &[&'static Suite], recordings: &[Recording]) -> Option<Self> {
        let by = |suite: &&&'static Suite| {
            recordings.iter().map(Recording::run).find(|run| is_of(suite, run))
        };
        let (suite, first) = suites.iter().find_map(|suite| Some((*suite, by(&suite)?)))?;
        let name = |recording: &Recording| {
            let run = recording.run();
            let is_set =
                suite.result(&run.method).is_some() && stranger(suite, run, first).is_none();
            is_set.then(|| set_name(recording))
        };
        Some(Self { suite, names: recordings.iter().map(name).collect() })
    }

    /// Returns the sets in the order of these indices, if there are any.
    fn in_order(self, order: Option<Vec<usize>>) -> Self {
        let Some(order) = order else { return self };
        let names = order.iter().map(|&at| self.names.get(at).cloned().flatten()).collect();
        Self { names, ..self }
    }

    /// Returns the experiments of the paper from the results of the same recordings.
    fn study(&self, parts: &[HtmlPart]) -> Study {
        let done = self.names.iter().zip(parts).filter_map(|(name, part)| {
            let (name, run) = (name.clone()?, part.run.clone()?);
            let row = self.suite.result(&run.method)?;
            let found = part.found.iter().find(|found| found.row().id() == row.id())?.clone();
            Some(Done { name, found, run })
        });
        let view = View { width: 120, all: true, ..View::default() };
        (self.suite.study)(&done.collect::<Vec<Done>>(), &view)
    }
}
