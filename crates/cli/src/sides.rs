//! Groups of recordings that are compared with each other: sides, or configurations.

use crate::inputs::Inputs;
use anechoic_recording::{Problem, ProblemKind, Recording};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Groups of recordings, each named on the command line as one argument.
#[derive(Debug)]
pub(crate) struct Sides<'a> {
    arguments: &'a [String],
    /// The recordings of each group; several are repeated runs.
    pub inputs: Vec<Inputs>,
}

impl<'a> Sides<'a> {
    /// Opens the recordings of each argument: a recording, several separated by commas, or a directory of them.
    ///
    /// # Errors
    /// A path has no recording, or a recording is named twice in a group.
    pub fn open(arguments: &'a [String]) -> Result<Self, Problem> {
        let inputs = arguments.iter().map(open).collect::<Result<Vec<Inputs>, Problem>>()?;
        Ok(Self { arguments, inputs })
    }

    /// Refuses a recording that is named twice, in several groups or in one.
    ///
    /// # Errors
    /// There is one.
    pub(crate) fn refuse_overlap(&self) -> Result<(), Problem> {
        refuse_overlap(self.inputs.iter())
    }

    /// Reports what could not be read, and returns the exit code for it.
    pub(crate) fn report_unread(&self) -> u8 {
        self.inputs.iter().map(Inputs::report_unread).max().unwrap_or(0)
    }

    /// Returns names for the groups: the last part of the first path of each, or all of the argument if they are alike.
    pub fn names(&self) -> Vec<String> {
        let names: Vec<String> = self.arguments.iter().map(|argument| short(argument)).collect();
        let distinct: BTreeSet<&String> = names.iter().collect();
        if distinct.len() == names.len() { names } else { self.arguments.to_vec() }
    }
}

/// Returns the last part of the first path of an argument.
fn short(argument: &str) -> String {
    let first = argument.split(',').next().unwrap_or(argument).trim_end_matches('/');
    let name = Path::new(first).file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| first.to_owned())
}

/// Refuses a recording that is named twice, in several groups or in one.
///
/// # Errors
/// There is one.
pub(crate) fn refuse_overlap<'a>(groups: impl Iterator<Item = &'a Inputs>) -> Result<(), Problem> {
    let mut seen = BTreeSet::new();
    for dir in groups.flat_map(|inputs| &inputs.recordings).map(Recording::dir) {
        if !seen.insert(dir.canonicalize().unwrap_or_else(|_| dir.to_owned())) {
            let why = format!("{} is named twice", dir.display());
            return Err(ProblemKind::Usage.problem(why, "name each run once"));
        }
    }
    Ok(())
}

/// Opens the runs of a group. A path with a comma in its name is one recording.
pub(crate) fn open(configuration: &String) -> Result<Inputs, Problem> {
    let whole = Path::new(configuration);
    let paths: Vec<PathBuf> = match whole.exists() {
        true => vec![whole.to_owned()],
        false => configuration.split(',').map(PathBuf::from).collect(),
    };
    let inputs = Inputs::open(&paths)?;
    let dirs: BTreeSet<PathBuf> = inputs
        .recordings
        .iter()
        .filter_map(|recording| recording.dir().canonicalize().ok())
        .collect();
    if dirs.len() < inputs.recordings.len() {
        let why = format!("{configuration}: a recording is named twice");
        return Err(ProblemKind::Usage.problem(why, "name each run once"));
    }
    Ok(inputs)
}
