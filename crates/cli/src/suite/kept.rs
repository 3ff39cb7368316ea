//! The sets of a suite that exist: `--resume` keeps those that are complete, `--show` shows them.

use super::judged::{Judged, Names, OTHER_OPTIONS, unlike};
use super::row::{Results, Set, Suite, add_up};
use crate::exit;
use crate::inputs::Inputs;
use anechoic_recording::machine::Machine;
use anechoic_recording::run::RunState;
use anechoic_recording::{Problem, ProblemKind, Recording, Run};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Reads the sets of a suite that was measured before: the recordings that were measured as the first of them was. One
/// that cannot be read hides no other.
pub(super) fn read_sets(suite: &Suite, dir: &Path, quiet: bool) -> Result<Results, Problem> {
    let inputs = Inputs::below(dir)?;
    let worst = inputs.report_unread();
    let Some(Judged { names, lacking }) = Judged::from_inputs(suite, &inputs, Names::Own) else {
        let why = format!("{} has no set of `anechoic suite {}`", dir.display(), suite.id);
        return Err(ProblemKind::Usage.problem(why, "name the directory of that suite"));
    };
    let worst = if lacking.is_empty() { worst } else { worst.max(exit::WARNING) };
    let mut read = Results { done: vec![], lacking, worst };
    for (recording, name) in inputs.recordings.iter().zip(&names) {
        let Some(name) = name else { continue };
        match add_up(suite, recording, quiet) {
            Ok(done) => read.done.push(done),
            Err(error) => read.left_out(name, &error),
        }
    }
    Ok(read)
}

/// Returns the complete sets of an earlier attempt, and removes those that were interrupted.
pub(super) fn complete(
    suite: &Suite,
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
        if let Some(what) = differs(suite, set, recording.run(), machine) {
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
fn differs(suite: &Suite, set: &Set, run: &Run, machine: &Machine) -> Option<&'static str> {
    let plan = &set.plan;
    let cpus: Vec<u32> = run.cpus.iter().map(|cpu| cpu.cpu).collect();
    if run.method != plan.experiment.method || cpus != plan.experiment.cpus() {
        return Some(OTHER_OPTIONS);
    }
    unlike(suite, run, &plan.command, machine, env!("CARGO_PKG_VERSION"))
}
