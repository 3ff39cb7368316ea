//! Measures the sets of a suite one after the other and keeps those that are complete.

use super::judged::{Judged, Names};
use super::kept::complete;
use super::row::{Results, Set, Suite, add_up};
use crate::exit;
use crate::files;
use crate::inputs::Inputs;
use crate::setup::{explained, record};
use crate::stop;
use crate::terminal;
use anechoic_measure::experiment::{Cell, Sample, Samples, Work};
use anechoic_measure::run::BETWEEN;
use anechoic_recording::machine::Machine;
use anechoic_recording::{Problem, ProblemKind, Recording, create_dir_all};
use anechoic_report::published::CMT_LEAST_REPETITIONS;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Measures one set after the other; if one cannot be measured, the sets before it are still shown. A damaged one hides no
/// other.
pub(super) fn measure_sets(
    suite: &Suite,
    sets: &[Set],
    dir: &Path,
    resume: Option<&Machine>,
    quiet: bool,
) -> Result<Results, Problem> {
    let _held = hold(dir)?;
    if resume.is_none() && files::is_used(dir) {
        let why = format!("{} is not empty", dir.display());
        let remedy = "name a new directory with -o, measure what is missing with --resume, or show what is in it with --show";
        return Err(ProblemKind::Usage.problem(why, remedy));
    }
    let mut kept = match resume {
        Some(machine) => complete(suite, sets, dir, machine)?,
        None => BTreeMap::new(),
    };
    if !quiet {
        announce(sets, &kept);
    }
    let stop = stop::flag()?;
    let mut results = Results::default();
    for set in sets {
        let recorded = match kept.remove(&set.name) {
            Some(recording) => whole(recording, quiet),
            None => match record(&set.plan, &dir.join(&set.name), &stop, quiet) {
                Err(error) => {
                    results.left_out(&set.name, &error);
                    break;
                }
                measured => measured,
            },
        };
        match recorded.and_then(|recording| add_up(suite, &recording, quiet)) {
            Ok(done) => results.done.push(done),
            Err(error) => results.left_out(&set.name, &error),
        }
        if stop.load(Ordering::Acquire) {
            results.worst = results.worst.max(exit::WARNING);
            break;
        }
    }
    judge(suite, dir, &mut results);
    Ok(results)
}

/// Returns a kept set with its causes: the attempt before may have ended before it explained its last set.
fn whole(recording: Recording, quiet: bool) -> Result<Recording, Problem> {
    match recording.attribution()? {
        Some(_) => Ok(recording),
        None => explained(recording.dir(), quiet),
    }
}

/// Adds what the directory lacks to the results, with the exit code of that.
fn judge(suite: &Suite, dir: &Path, results: &mut Results) {
    let code = match Inputs::below(dir) {
        Ok(inputs) => {
            let unread = inputs.report_unread();
            let judged = Judged::from_inputs(suite, &inputs, Names::Own);
            let lacking = judged.map(|judged| judged.lacking).unwrap_or_default();
            let code = if lacking.is_empty() { unread } else { unread.max(exit::WARNING) };
            results.lacking.extend(lacking);
            code
        }
        // Why nothing was measured has been printed.
        Err(problem) if problem.kind == ProblemKind::NoInput && results.worst > 0 => 0,
        Err(problem) => exit::print_error(&problem),
    };
    results.worst = results.worst.max(code);
}

/// Keeps other suites out of a directory until the file is closed, and makes the directory if there is none. The kernel
/// closes the file of a process that is killed.
///
/// # Errors
/// Fails if a living process measures a suite into the directory.
fn hold(dir: &Path) -> Result<File, Problem> {
    let failed = |error| Problem::unwritable(dir, &error);
    create_dir_all(dir).map_err(failed)?;
    files::lock(dir).map_err(failed)?.ok_or_else(|| {
        let why = format!("another suite is being measured into {}", dir.display());
        ProblemKind::Usage.problem(why, "wait for its end, or name another directory with -o")
    })
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
    terminal::print_note(format_args!("{number}, at {bound} {time}{kept}"));
}

/// Returns how long a set lasts without noise; with a stopping rule, the shortest time.
fn seconds(set: &Set) -> f64 {
    let experiment = &set.plan.experiment;
    let between = BETWEEN.as_secs_f64() * experiment.cells.len() as f64;
    (experiment.cells.iter().map(cell_seconds).sum::<f64>() + between)
        * f64::from(experiment.blocks)
}

/// Returns how long a cell lasts without noise.
fn cell_seconds(cell: &Cell) -> f64 {
    match cell.work {
        Work::Watch(watch) => watch.duration.as_secs_f64(),
        Work::Sample(sample) => sample_seconds(&sample),
        Work::Wake(wake) => wake.interval.as_secs_f64() * wake.expiries as f64,
        Work::Probe(probes) => probes.duration.as_secs_f64(),
    }
}

fn sample_seconds(sample: &Sample) -> f64 {
    let count = match sample.samples {
        _ if sample.maiv_ppm.is_some() => CMT_LEAST_REPETITIONS,
        Samples::Count(count) => count,
        Samples::Within { time, .. } | Samples::Fill(time) => return time.as_secs_f64(),
    };
    sample.amount.length().unwrap_or_default().as_secs_f64() * count as f64
}
