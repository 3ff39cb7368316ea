//! Measures the sets of a suite one after the other, keeps those that are complete, and reads them again.

use super::row::{Done, Set, Suite};
use crate::exit;
use crate::progress::Busy;
use crate::setup::record;
use crate::stop;
use anechoic_measure::experiment::{Cell, Sample, Samples, Work};
use anechoic_measure::run::BETWEEN;
use anechoic_recording::run::RunState;
use anechoic_recording::{Problem, ProblemKind, Recording, find};
use anechoic_report::published::CMT_LEAST_REPETITIONS;
use anechoic_report::results::Input;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The sets that exist, and the exit code of what prevented the others.
pub(super) struct Results {
    pub done: Vec<Done>,
    pub worst: u8,
}

/// Computes the result of a set.
fn add_up(suite: &Suite, recording: &Recording, quiet: bool) -> Result<Done, Problem> {
    let _busy = Busy::with("adding up", quiet);
    let row = suite.result(&recording.run().method).ok_or_else(|| {
        let why = format!("it is a recording of {}", recording.run().method);
        ProblemKind::Usage
            .problem(why, "name the directory of that suite")
            .about(recording.dir().display())
    })?;
    Ok(Done::of(recording, row.compute(&Input::of(&[recording]))?))
}

/// Reads the sets of a suite that was measured before.
pub(super) fn read_sets(suite: &Suite, dir: &Path, quiet: bool) -> Result<Results, Problem> {
    let mut read = Results { done: Vec::new(), worst: 0 };
    let fits = |recording: &&Recording| suite.result(&recording.run().method).is_some();
    for recording in find(dir)?.iter().filter(fits) {
        match add_up(suite, recording, quiet) {
            Ok(done) => read.done.push(done),
            Err(error) => read.worst = read.worst.max(exit::print_error(&error)),
        }
    }
    if read.done.is_empty() && read.worst == 0 {
        let methods: Vec<&str> = suite.results.iter().map(|(method, _)| *method).collect();
        let why = format!("{} has no recording of `{}`", dir.display(), methods.join("`, `"));
        return Err(ProblemKind::Usage.problem(why, "name the directory of that suite"));
    }
    Ok(read)
}

/// Measures one set after the other; if one fails, the sets before it are still shown.
pub(super) fn measure_sets(
    suite: &Suite,
    sets: &[Set],
    dir: &Path,
    resume: bool,
    quiet: bool,
) -> Result<Results, Problem> {
    if !resume && dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        let why = format!("{} is not empty", dir.display());
        let remedy = "name a new directory with -o, measure what is missing with --resume, or show what is in it with --show";
        return Err(ProblemKind::Usage.problem(why, remedy));
    }
    let mut kept = if resume { complete(sets, dir)? } else { BTreeMap::new() };
    if !quiet {
        announce(sets, &kept);
    }
    let stop = stop::flag()?;
    let mut results = Results { done: Vec::new(), worst: 0 };
    for set in sets {
        let recorded = match kept.remove(&set.name) {
            Some(recording) => Ok(recording),
            None => record(&set.plan, &dir.join(&set.name), &stop, quiet),
        };
        match recorded.and_then(|recording| add_up(suite, &recording, quiet)) {
            Ok(done) => results.done.push(done),
            Err(error) => {
                results.worst = exit::print_error(&error);
                break;
            }
        }
        if stop.load(Ordering::Acquire) {
            results.worst = results.worst.max(exit::WARNING);
            break;
        }
    }
    Ok(results)
}

/// Prints how many sets are left and how long they last.
fn announce(sets: &[Set], kept: &BTreeMap<String, Recording>) {
    let left: Vec<&Set> = sets.iter().filter(|set| !kept.contains_key(&set.name)).collect();
    let seconds = left.iter().map(|set| seconds(set)).sum::<f64>().ceil();
    // A condition ends a run early; nothing else does.
    let bound = if left.iter().any(|set| set.plan.stop_on.is_some()) { "most" } else { "least" };
    let time = anechoic_report::long_time(Duration::from_secs_f64(seconds).as_nanos() as u64);
    let number = anechoic_report::counted(left.len() as u64, "set", "sets");
    let kept = if kept.is_empty() { String::new() } else { format!(", {} kept", kept.len()) };
    eprintln!("{number}, at {bound} {time}{kept}");
}

/// Returns the complete sets of an earlier attempt, and removes those that were interrupted.
fn complete(sets: &[Set], dir: &Path) -> Result<BTreeMap<String, Recording>, Problem> {
    let (mut done, mut interrupted) = (BTreeMap::new(), vec![]);
    for set in sets {
        let dir = dir.join(&set.name);
        if dir.read_dir().map_or(true, |mut entries| entries.next().is_none()) {
            continue;
        }
        let recording = Recording::open(&dir)?;
        if !is_alike(set, &recording)? {
            let why = format!("{} was measured with other options", dir.display());
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

/// Returns whether a recording has the method, the CPUs, the number of series, the threshold and the noise of a set.
fn is_alike(set: &Set, recording: &Recording) -> Result<bool, Problem> {
    let (run, experiment) = (recording.run(), &set.plan.experiment);
    let cpus: Vec<u32> = run.cpus.iter().map(|cpu| cpu.cpu).collect();
    let sampling = experiment.cells.iter().filter(|cell| cell.sample().is_some());
    let loops = |cell: &Cell| cell.on.cpus().len().max(1) * cell.copies as usize;
    let series = sampling.map(loops).sum::<usize>() * experiment.blocks as usize;
    Ok(run.method == experiment.method
        && cpus == experiment.cpus()
        && recording.series()?.len() == series
        && run.stop_on.as_ref().map(|stop| stop.condition) == set.plan.stop_on
        && run.injections.len() == experiment.injections().len())
}

/// Returns how long a set lasts without noise; with a stopping rule, the shortest time.
fn seconds(set: &Set) -> f64 {
    let experiment = &set.plan.experiment;
    let of_cell = |cell: &Cell| match cell.work {
        Work::Watch(watch) => watch.duration.as_secs_f64(),
        Work::Sample(sample) => of_sample(&sample),
    };
    let between = BETWEEN.as_secs_f64() * experiment.cells.len() as f64;
    (experiment.cells.iter().map(of_cell).sum::<f64>() + between) * f64::from(experiment.blocks)
}

fn of_sample(sample: &Sample) -> f64 {
    let count = match sample.samples {
        _ if sample.maiv_ppm.is_some() => CMT_LEAST_REPETITIONS,
        Samples::Count(count) => count,
        Samples::Within { time, .. } | Samples::Fill(time) => return time.as_secs_f64(),
    };
    sample.amount.length().unwrap_or_default().as_secs_f64() * count as f64
}
