//! Which recordings are the sets of a suite, and what keeps them from being the whole suite.

use super::row::{Set, Suite, left_out, set_name};
use super::settings::{is_of, matches, settings};
use crate::inputs::Inputs;
use crate::options::answers;
use anechoic_measure::experiment::Host;
use anechoic_recording::machine::Machine;
use anechoic_recording::run::RunState;
use anechoic_recording::{Problem, ProblemKind, Recording, Run};
use clap::FromArgMatches;
use std::collections::BTreeSet;
use std::path::Path;

/// How a recording was measured whose options are not those of the other sets.
pub(super) const OTHER_OPTIONS: &str = "with other options";

/// The recordings of a directory as one suite sees them.
#[derive(Debug)]
pub(super) struct Judged {
    /// For each recording the name of its set; absent if it is no set of the suite.
    pub names: Vec<Option<String>>,
    /// What is missing, damaged, not complete or left out, in whole sentences.
    pub lacking: Vec<String>,
}

/// How recordings are named in what is written about them.
#[derive(Debug, Clone, Copy)]
pub(super) enum Names<'a> {
    /// By their directories.
    Own,
    /// By those of their copies in these inputs, in which nothing names an owner.
    Of(&'a Inputs),
}

impl Names<'_> {
    /// Returns a reason that may name an owner, after a colon; nothing if no owner may be named.
    fn private(self, why: &str) -> String {
        match self {
            Self::Own => format!(": {}", why.trim_end_matches('.')),
            Self::Of(_) => String::new(),
        }
    }
}

impl Judged {
    /// Judges these recordings; the sets are those that were measured as the first of them. Returns nothing if the suite
    /// measured none of them.
    pub(super) fn from_inputs(suite: &Suite, inputs: &Inputs, names: Names<'_>) -> Option<Self> {
        let recordings = &inputs.recordings;
        let is_set = |recording: &&Recording| {
            suite.result(&recording.run().method).is_some()
                && is_of(suite, &recording.run().command)
        };
        let first = recordings.iter().find(is_set)?.run();
        let why: Vec<Option<String>> = recordings
            .iter()
            .map(|recording| stranger(suite, recording.run(), first, names))
            .collect();
        let sets: Vec<&Recording> = recordings
            .iter()
            .zip(&why)
            .filter(|(_, why)| why.is_none())
            .map(|(recording, _)| recording)
            .collect();
        let planned = planned(suite, first, &sets);
        let shown = |(index, recording): (usize, &Recording)| {
            let own = set_name(recording);
            let is_of_suite = planned.iter().flatten().any(|set| set.name == own);
            match names {
                Names::Of(copies) if !is_of_suite => copied(copies, index),
                _ => own,
            }
        };
        let shown: Vec<String> = recordings.iter().enumerate().map(shown).collect();
        let mut lacking = match &planned {
            Ok(planned) => missing(planned, inputs),
            Err(problem) => {
                let why = names.private(&problem.to_string());
                vec![format!("The sets that are missing cannot be named here{why}.")]
            }
        };
        for ((recording, name), why) in recordings.iter().zip(&shown).zip(&why) {
            lacking.extend(match why {
                Some(why) => Some(left_out(name, why)),
                None => not_complete(recording.run(), name, names),
            });
        }
        let unread = match names {
            Names::Own => &inputs.unread,
            Names::Of(copies) => &copies.unread,
        };
        let unread = unread.iter();
        lacking.extend(unread.map(|(place, why)| left_out(&last(place), &why.to_string())));
        let names = shown.into_iter().zip(why).map(|(name, why)| why.is_none().then_some(name));
        Some(Self { names: names.collect(), lacking })
    }
}

/// Returns the name of a directory.
fn last(place: &Path) -> String {
    place.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the name of the copy of this recording.
fn copied(copies: &Inputs, original: usize) -> String {
    let at = copies.originals().iter().position(|&number| number == original);
    at.map_or_else(|| format!("recording {}", original + 1), |at| set_name(&copies.recordings[at]))
}

/// Returns why a recording is not a set of the suite that measured `first`; nothing if it is one.
fn stranger(suite: &Suite, run: &Run, first: &Run, names: Names<'_>) -> Option<String> {
    if !is_of(suite, &run.command) || suite.result(&run.method).is_none() {
        return Some(match names {
            _ if run.command.is_empty() => "it names no command".to_owned(),
            Names::Own => format!("it was measured by `{}`", run.command.join(" ")),
            Names::Of(_) => "it was measured by another command".to_owned(),
        });
    }
    let unlike = unlike(suite, run, &first.command, &first.machine, &first.tool_version);
    unlike.map(|how| format!("it was measured {how} than the first set"))
}

/// Returns what keeps a recording from being a set of the suite that this command, machine and version measured.
pub(super) fn unlike(
    suite: &Suite,
    run: &Run,
    command: &[String],
    machine: &Machine,
    version: &str,
) -> Option<&'static str> {
    let other = [
        (settings(suite, &run.command) != settings(suite, command), OTHER_OPTIONS),
        (run.machine.host != machine.host, "on another machine"),
        (run.machine.kernel != machine.kernel, "with another kernel"),
        (run.tool_version != version, "by another version of anechoic"),
    ];
    other.into_iter().find(|(differs, _)| *differs).map(|(_, what)| what)
}

/// Names the planned sets that are not there. One that is damaged or was measured otherwise is there: it is named as left
/// out, and `--resume` would refuse to measure it.
fn missing(planned: &[Set], inputs: &Inputs) -> Vec<String> {
    let unread = inputs.unread.iter().map(|(place, _)| last(place));
    let there: BTreeSet<String> = inputs.recordings.iter().map(set_name).chain(unread).collect();
    let missing: Vec<&str> =
        planned.iter().map(|set| &set.name[..]).filter(|name| !there.contains(*name)).collect();
    if missing.is_empty() {
        return vec![];
    }
    let verb = if missing.len() == 1 { "is" } else { "are" };
    vec![format!(
        "{} of {} sets {verb} missing: {}. `--resume` measures what is missing.",
        missing.len(),
        planned.len(),
        missing.join(", ")
    )]
}

/// States why a set is not complete; nothing if it is.
fn not_complete(run: &Run, name: &str, names: Names<'_>) -> Option<String> {
    let how = match &run.state {
        RunState::Complete => return None,
        RunState::Interrupted(why) => format!("was interrupted{}", names.private(why)),
        RunState::Running => "was cut off".to_owned(),
    };
    Some(format!("{name} is not complete, because it {how}."))
}

/// Returns the sets that the recorded command of a suite measures.
fn planned(suite: &Suite, first: &Run, sets: &[&Recording]) -> Result<Vec<Set>, Problem> {
    let refused = |error: clap::Error| {
        let why = format!("`{}` is no command of this version", first.command.join(" "));
        let remedy = error.to_string().lines().next().unwrap_or_default().to_owned();
        ProblemKind::Data.problem(why, remedy)
    };
    let matches = matches(suite, &first.command).map_err(refused)?;
    let common = super::CommonArgs::from_arg_matches(&matches).map_err(refused)?;
    // A suite of one CPU may have sets on more.
    let measured = || {
        let fewest = sets.iter().map(|set| &set.run().cpus).min_by_key(|cpus| cpus.len());
        fewest.into_iter().flatten().map(|cpu| cpu.cpu).collect()
    };
    let cpus = common.cpus.map_or_else(measured, |list| list.0);
    (suite.sets)(&answers(suite.options, &matches), &Host { cpus, machine: first.machine.clone() })
}
