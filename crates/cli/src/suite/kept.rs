//! The sets of a suite that exist: `--resume` keeps those that are complete, `--show` shows them.

use super::row::{Results, Set, Suite, add_up, set_name};
use crate::exit;
use crate::options::answers;
use anechoic_measure::experiment::Host;
use anechoic_recording::machine::Machine;
use anechoic_recording::run::RunState;
use anechoic_recording::{Problem, ProblemKind, Recording, Run, find_each};
use clap::FromArgMatches;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const OTHER_OPTIONS: &str = "with other options";

/// Reads the sets of a suite that was measured before: the recordings that were measured as the first of them was. What
/// is left out or missing is named on stderr; one that cannot be read hides no other.
pub(super) fn read_sets(suite: &Suite, dir: &Path, quiet: bool) -> Result<Results, Problem> {
    let mut read = Results { done: Vec::new(), worst: 0 };
    let mut found = Vec::new();
    for recording in find_each(dir)? {
        match recording {
            Ok(recording) => found.push(recording),
            Err(error) => read.worst = read.worst.max(exit::print_error(&error)),
        }
    }
    found.retain(|recording| suite.result(&recording.run().method).is_some());
    let Some(first) = found.iter().map(Recording::run).find(|run| is_of(suite, run)).cloned()
    else {
        if read.worst != 0 {
            return Ok(read);
        }
        let why = format!("{} has no set of `anechoic suite {}`", dir.display(), suite.id);
        return Err(ProblemKind::Usage.problem(why, "name the directory of that suite"));
    };
    let mut sets = Vec::new();
    for recording in found {
        match stranger(suite, recording.run(), &first) {
            None => sets.push(recording),
            Some(how) => {
                eprintln!(
                    "anechoic: {} is left out: it was measured {how}",
                    recording.dir().display()
                );
                read.worst = read.worst.max(exit::WARNING);
            }
        }
    }
    if let Some(missing) = missing(suite, &first, &sets) {
        eprintln!("anechoic: {}: {missing}", dir.display());
        read.worst = read.worst.max(exit::WARNING);
    }
    for recording in &sets {
        match add_up(suite, recording, quiet) {
            Ok(done) => read.done.push(done),
            Err(error) => read.worst = read.worst.max(exit::print_error(&error)),
        }
    }
    Ok(read)
}

/// Returns whether a recording was made by this suite.
pub(super) fn is_of(suite: &Suite, run: &Run) -> bool {
    settings(&run.command).starts_with(&["suite", suite.id])
}

/// Returns how a recording was measured, if not as a set of the suite of `first`.
pub(super) fn stranger(suite: &Suite, run: &Run, first: &Run) -> Option<String> {
    if !is_of(suite, run) {
        return Some(format!("by `{}`", run.command.join(" ")));
    }
    let unlike = unlike(run, &first.command, &first.machine, &first.tool_version);
    unlike.map(|how| format!("{how} than the first set"))
}

/// Names the sets that the command of `first` measures and that are not there or not complete.
fn missing(suite: &Suite, first: &Run, sets: &[Recording]) -> Option<String> {
    let complete: BTreeSet<String> =
        sets.iter().filter(|set| set.run().state == RunState::Complete).map(set_name).collect();
    let planned = match planned(suite, first, sets) {
        Ok(planned) => planned,
        Err(problem) => {
            return Some(format!("the sets that are missing cannot be named here: {problem}"));
        }
    };
    let missing: Vec<&str> =
        planned.iter().map(|set| &set.name[..]).filter(|name| !complete.contains(*name)).collect();
    let (left, all) = (missing.len(), planned.len());
    let verb = if left == 1 { "is" } else { "are" };
    let names = missing.join(", ");
    (left > 0).then(|| format!("{left} of {all} sets {verb} missing or not complete: {names}; --resume measures what is missing"))
}

/// Returns the sets that the recorded command of a suite measures.
fn planned(suite: &Suite, first: &Run, sets: &[Recording]) -> Result<Vec<Set>, Problem> {
    let words = settings(&first.command);
    let refused = |error: clap::Error| {
        let why = format!("`{}` is no command of this version", first.command.join(" "));
        let remedy = error.to_string().lines().next().unwrap_or_default().to_owned();
        ProblemKind::Data.problem(why, remedy)
    };
    let matches = super::command(suite).try_get_matches_from(&words[1..]).map_err(refused)?;
    let common = super::CommonArgs::from_arg_matches(&matches).map_err(refused)?;
    let measured = || {
        sets.iter()
            .flat_map(|set| set.run().cpus.iter().map(|cpu| cpu.cpu))
            .collect::<BTreeSet<u32>>()
    };
    let cpus = common.cpus.map_or_else(|| measured().into_iter().collect(), |list| list.0);
    (suite.sets)(&answers(suite.options, &matches), &Host { cpus, machine: first.machine.clone() })
}

/// Returns the complete sets of an earlier attempt, and removes those that were interrupted.
pub(super) fn complete(
    sets: &[Set],
    dir: &Path,
    machine: &Machine,
) -> Result<BTreeMap<String, Recording>, Problem> {
    let (mut done, mut interrupted) = (BTreeMap::new(), vec![]);
    for set in sets {
        let dir = dir.join(&set.name);
        if dir.read_dir().map_or(true, |mut entries| entries.next().is_none()) {
            continue;
        }
        let recording = Recording::open(&dir)?;
        if let Some(what) = differs(set, recording.run(), machine) {
            let why = format!("{} was measured {what}", dir.display());
            return Err(ProblemKind::Usage.problem(why, "name a new directory with -o"));
        }
        match recording.run().state {
            RunState::Complete => drop(done.insert(set.name.clone(), recording)),
            _ => interrupted.push(dir),
        }
    }
    for dir in interrupted {
        fs::remove_dir_all(&dir).map_err(|error| Problem::unwritable(&dir, &error))?;
    }
    Ok(done)
}

/// Returns how a recording was measured otherwise than a set would be here and now.
fn differs(set: &Set, run: &Run, machine: &Machine) -> Option<&'static str> {
    let plan = &set.plan;
    let cpus: Vec<u32> = run.cpus.iter().map(|cpu| cpu.cpu).collect();
    if run.method != plan.experiment.method || cpus != plan.experiment.cpus() {
        return Some(OTHER_OPTIONS);
    }
    unlike(run, &plan.command, machine, env!("CARGO_PKG_VERSION"))
}

/// Returns what keeps a recording from being a set of the suite that this command, machine and version measured.
fn unlike(run: &Run, command: &[String], machine: &Machine, version: &str) -> Option<&'static str> {
    let other = [
        (settings(&run.command) != settings(command), OTHER_OPTIONS),
        (run.machine.host != machine.host, "on another machine"),
        (run.machine.kernel != machine.kernel, "with another kernel"),
        (run.tool_version != version, "by another version of anechoic"),
    ];
    other.into_iter().find(|(differs, _)| *differs).map(|(_, what)| what)
}

/// How words begin that say where a suite writes.
const ELSEWHERE: [&str; 4] = ["--output=", "-o", "--html=", "--figures="];

/// Returns the words of a command that decide what a suite measures: neither where it writes nor what it shows.
fn settings(command: &[String]) -> Vec<&str> {
    let mut words = command.iter().skip(1).map(String::as_str);
    let mut settings = vec![];
    while let Some(word) = words.next() {
        match word {
            "-o" | "--output" | "--html" | "--figures" => drop(words.next()),
            "--resume" | "-q" | "--quiet" | "--json" | "--force" => {}
            _ if ELSEWHERE.iter().any(|of| word.starts_with(of)) => {}
            _ => settings.push(word),
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_suite_writes_is_no_setting() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let first = words("anechoic suite loops -o d --samples 100");
        let cases = [
            ("./anechoic suite loops --resume --output=e --samples 100 -q --json", true),
            ("anechoic suite loops -oe --samples 100 --resume", true),
            ("anechoic suite loops --html p.html -o d --figures=f --force --samples 100", true),
            ("anechoic suite loops -o d --resume --samples 1000", false),
            ("anechoic suite loops -o d --resume", false),
        ];
        for (line, same) in cases {
            assert_eq!(settings(&words(line)) == settings(&first), same, "{line}");
        }
    }
}
