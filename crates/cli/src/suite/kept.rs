//! The sets of a suite that were measured before: which are kept, which belong to it, and which are missing.

use super::row::Set;
use anechoic_recording::machine::Machine;
use anechoic_recording::run::RunState;
use anechoic_recording::{Problem, ProblemKind, Recording, Run, create_dir_all};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::path::Path;

/// Locks the directory of a suite while it is measured, so that no other suite takes its running set for one that was
/// interrupted. The directory is made if it does not exist.
pub(super) fn lock(dir: &Path) -> Result<File, Problem> {
    let unwritable = |error| Problem::unwritable(dir, &error);
    create_dir_all(dir).map_err(unwritable)?;
    let lock = File::open(dir).map_err(unwritable)?;
    // Some file systems have no locks; there nothing protects the sets.
    if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
        let why = format!("another suite is being measured into {}", dir.display());
        return Err(
            ProblemKind::Usage.problem(why, "wait for its end, or name a new directory with -o")
        );
    }
    Ok(lock)
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
    let other = [
        (
            run.method != plan.experiment.method
                || cpus != plan.experiment.cpus()
                || settings(&run.command) != settings(&plan.command),
            "with other options",
        ),
        (run.machine.host != machine.host, "on another machine"),
        (run.machine.kernel != machine.kernel, "with another kernel"),
        (run.tool_version != env!("CARGO_PKG_VERSION"), "by another version of anechoic"),
    ];
    other.into_iter().find(|(differs, _)| *differs).map(|(_, what)| what)
}

/// Returns the words of a command that decide what a suite measures: neither where it writes nor what it shows.
fn settings(command: &[String]) -> Vec<&str> {
    let mut words = command.iter().skip(1).map(String::as_str);
    let mut settings = vec![];
    while let Some(word) = words.next() {
        match word {
            "-o" | "--output" => drop(words.next()),
            "--resume" | "-q" | "--quiet" | "--json" => {}
            _ if word.starts_with("--output=") || word.starts_with("-o") => {}
            _ => settings.push(word),
        }
    }
    settings
}

/// The sets of a suite as the first of its recordings was to be measured.
pub(super) struct Belonging {
    first: Run,
    /// The names of all sets, if the command of that recording shows them.
    names: Option<BTreeSet<String>>,
}

impl Belonging {
    /// Begins with the first recording; `sets` are those that its command asks for.
    pub(super) fn of(first: &Run, sets: Option<Vec<Set>>) -> Self {
        let names = sets.map(|sets| sets.into_iter().map(|set| set.name).collect());
        Self { first: first.clone(), names }
    }

    /// Checks that a recording is a set of this suite.
    ///
    /// # Errors
    /// It was measured with other options, or the suite has no such set.
    pub(super) fn check(&self, recording: &Recording) -> Result<(), Problem> {
        let wrong = |why: &str| {
            ProblemKind::Data
                .problem(why, "move it to another directory")
                .about(recording.dir().display())
        };
        if settings(&recording.run().command) != settings(&self.first.command) {
            return Err(wrong(
                "it was measured with other options than the first set of this suite",
            ));
        }
        let name = recording.dir().file_name().unwrap_or_default().to_string_lossy();
        match &self.names {
            Some(names) if !names.contains(&*name) => Err(wrong("this suite has no such set")),
            _ => Ok(()),
        }
    }

    /// Returns the sets that are not among the measured ones, as a sentence; nothing if all are there.
    pub(super) fn missing<'n>(&self, done: impl Iterator<Item = &'n str>) -> Option<String> {
        let names = self.names.as_ref()?;
        let done: BTreeSet<&str> = done.collect();
        let missing: Vec<&str> =
            names.iter().map(String::as_str).filter(|name| !done.contains(name)).collect();
        let are = if missing.len() == 1 { "is" } else { "are" };
        let sentence = || {
            format!(
                "{} of {} sets {are} missing: {}",
                missing.len(),
                names.len(),
                missing.join(", ")
            )
        };
        (!missing.is_empty()).then(sentence)
    }
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
            ("anechoic suite loops -o d --resume --samples 1000", false),
            ("anechoic suite loops -o d --resume", false),
        ];
        for (line, same) in cases {
            assert_eq!(settings(&words(line)) == settings(&first), same, "{line}");
        }
    }
}
