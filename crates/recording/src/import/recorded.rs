//! Whole recordings that an import makes of one file: one for each method in it.

use crate::problem::{Problem, ProblemKind};
use crate::recorder::Recorder;
use crate::rows::{Counter, Detour, Loss, Sample, Series};
use crate::run::Run;
use std::fs;
use std::path::Path;

/// A recording that was made from a file.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub(super) run: Run,
    pub(super) series: Vec<Series>,
    pub(super) samples: Vec<Sample>,
    pub(super) detours: Vec<Detour>,
    pub(super) losses: Vec<Loss>,
    pub(super) counters: Vec<Counter>,
}

impl Recorded {
    fn write(&self, dir: &Path) -> Result<(), Problem> {
        let mut recorder = Recorder::create(dir, &self.run)?;
        let appended = recorder
            .append(&self.series)
            .and_then(|()| recorder.append(&self.samples))
            .and_then(|()| recorder.append(&self.detours))
            .and_then(|()| recorder.append(&self.losses))
            .and_then(|()| recorder.append(&self.counters));
        Ok(appended.and(recorder.finish(&self.run))?)
    }
}

/// Makes a directory for several recordings, which must be empty or not exist.
pub(super) fn new_dir(dir: &Path) -> Result<(), Problem> {
    crate::create_dir_all(dir).map_err(|error| Problem::unwritable(dir, &error))?;
    if dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        let why = format!("{} is not empty", dir.display());
        return Err(ProblemKind::CannotWrite.problem(why, "name a new directory with -o"));
    }
    Ok(())
}

/// Removes what is in a directory that was empty before. The directory stays, which may be the user's own.
pub(super) fn empty(dir: &Path) {
    for entry in dir.read_dir().into_iter().flatten().flatten() {
        let path = entry.path();
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
    }
}

/// Writes recordings: the only one into `dir`, several each into a directory of its method. Returns the number of their
/// detours.
pub(super) fn write(recordings: &[Recorded], dir: &Path) -> Result<u64, Problem> {
    if let [only] = recordings {
        only.write(dir)?;
    } else {
        new_dir(dir)?;
        recordings
            .iter()
            .try_for_each(|recording| recording.write(&dir.join(&recording.run.method)))?;
    }
    Ok(recordings.iter().map(|recording| recording.detours.len() as u64).sum())
}
