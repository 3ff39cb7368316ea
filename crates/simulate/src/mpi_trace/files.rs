//! The files of a trace: one for each rank, found by their names.

use anechoic_recording::{Problem, ProblemKind};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How the names of liballprof begin if nothing else was asked for.
const USUAL: &str = "pmpi-trace-rank-";
/// The endings of traces.
const ENDINGS: [&str; 2] = [".txt", ".dat"];
/// How liballprof names its files.
const NAMES: &str = "liballprof writes a file for each rank, like pmpi-trace-rank-0.txt";

/// Returns the files of all ranks in order.
///
/// # Errors
/// The directory cannot be read, has no traces or those of several programs, or a rank is missing or exists twice.
pub(super) fn find(directory: &Path) -> Result<Vec<PathBuf>, Problem> {
    let names = names(directory).map_err(|error| {
        ProblemKind::NoInput
            .problem(format!("cannot read it: {error}"), "name a directory of traces")
    })?;
    let mut programs: BTreeMap<(&str, &str), Vec<(u64, &str)>> = BTreeMap::new();
    for name in &names {
        if let Some((begin, rank, ending)) = parts(name) {
            programs.entry((begin, ending)).or_default().push((rank, name));
        }
    }
    let mut ranks = one(&programs, &names)?;
    ranks.sort_unstable();
    check(&ranks)?;
    Ok(ranks.iter().map(|(_, name)| directory.join(name)).collect())
}

/// Returns the names in a directory, without those that are no text.
fn names(directory: &Path) -> std::io::Result<Vec<String>> {
    let mut names = vec![];
    for entry in std::fs::read_dir(directory)? {
        names.extend(entry?.file_name().into_string().ok());
    }
    names.sort_unstable();
    Ok(names)
}

/// Splits the name of a trace into what stands before the rank, the rank, and the ending.
fn parts(name: &str) -> Option<(&str, u64, &str)> {
    let ending = ENDINGS.into_iter().find(|ending| name.ends_with(ending))?;
    let stem = &name[..name.len() - ending.len()];
    let begin = stem.trim_end_matches(|letter: char| letter.is_ascii_digit());
    Some((begin, stem[begin.len()..].parse().ok()?, ending))
}

/// Returns the ranks of the only program, or of that with the usual names.
fn one<'n>(
    programs: &BTreeMap<(&str, &str), Vec<(u64, &'n str)>>,
    names: &[String],
) -> Result<Vec<(u64, &'n str)>, Problem> {
    let usual = programs.get(&(USUAL, ENDINGS[0]));
    if let Some(ranks) = usual.or(programs.values().next().filter(|_| programs.len() == 1)) {
        return Ok(ranks.clone());
    }
    if names.iter().any(|name| name.starts_with("lap2-trace-rank-")) {
        let why = "these traces are from liballprof2, which does not record the sizes of datatypes";
        return Err(ProblemKind::Data.problem(why, "trace the program with liballprof"));
    }
    let mut begins = programs.iter().map(|((begin, ending), _)| format!("{begin}N{ending}"));
    if let (Some(first), Some(second)) = (begins.next(), begins.next()) {
        let why = format!("there are traces of several programs: {first} and {second}");
        return Err(ProblemKind::Usage.problem(why, "move those of one into their own directory"));
    }
    if let Some(name) = names.iter().find(|name| is_packed(name)) {
        let why = format!("{name} is compressed");
        return Err(ProblemKind::Usage.problem(why, "unpack the traces with gunzip or bunzip2"));
    }
    Err(ProblemKind::NoInput.problem("there is no trace of a rank", NAMES))
}

/// Returns whether a file is a compressed trace.
fn is_packed(name: &str) -> bool {
    let inner = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".bz2"));
    inner.and_then(parts).is_some()
}

/// Refuses ranks that are missing or exist twice.
fn check(ranks: &[(u64, &str)]) -> Result<(), Problem> {
    for (expected, &(rank, name)) in ranks.iter().enumerate() {
        let expected = expected as u64;
        if rank < expected {
            let why = format!("rank {rank} has a second trace, {name}");
            return Err(ProblemKind::Data.problem(why, "remove the one of another run"));
        }
        if rank > expected {
            let why = format!("the trace of rank {expected} is missing, and there is {name}");
            return Err(ProblemKind::NoInput.problem(why, "copy the traces of all ranks"));
        }
    }
    Ok(())
}
