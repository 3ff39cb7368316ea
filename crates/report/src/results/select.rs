//! Selects the results for given recordings.

use super::described::{Grouping, Methods};
use super::row::AnyRow;
use super::{RESULTS, find};
use anechoic_recording::{Recording, methods};

/// A property of a row that returns methods.
type MethodsOf = fn(&'static dyn AnyRow) -> Methods;

/// A result to compute and the recordings for it.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    /// The row of the result.
    pub row: &'static dyn AnyRow,
    /// The recordings.
    pub recordings: Vec<&'a Recording>,
}

/// Returns what `anechoic summary` shows of recordings, in order: several hosts together, a job once, other recordings
/// one by one, their iterations, and repeated runs last. `many_hosts` is whether the recordings are, or should be, from several hosts.
#[must_use]
pub fn for_summary<'a>(recordings: &[&'a Recording], many_hosts: bool) -> Vec<Job<'a>> {
    let methods_of: MethodsOf = <dyn AnyRow>::in_summary;
    let together = RESULTS.iter().copied().find(|row| {
        row.grouping() == Grouping::Hosts
            && recordings.iter().all(|recording| covers(*row, methods_of, recording))
    });
    if let Some(row) = together.filter(|_| many_hosts) {
        return vec![Job { row, recordings: recordings.to_vec() }];
    }
    let (mut jobs, mut beside): (Vec<Job<'a>>, Vec<Job<'a>>) = (vec![], vec![]);
    for &recording in recordings {
        let first = RESULTS.iter().copied().find(|row| {
            matches!(row.grouping(), Grouping::Each | Grouping::Job)
                && covers(*row, methods_of, recording)
        });
        let marked = RESULTS.iter().copied().filter(|row| {
            row.in_summary() == Methods::Marked && covers(*row, methods_of, recording)
        });
        beside.extend(marked.map(|row| Job { row, recordings: vec![recording] }));
        let Some(row) = first else { continue };
        let known = jobs.iter_mut().find(|job| job.row.id() == row.id());
        match known.filter(|_| row.grouping() == Grouping::Job) {
            Some(job) => job.recordings.push(recording),
            None => jobs.push(Job { row, recordings: vec![recording] }),
        }
    }
    jobs.extend(beside);
    jobs.extend(groups(Grouping::Runs, methods_of, recordings));
    jobs
}

/// Returns what a report computes for a single recording. `job_together` is whether jobs are shown for all hosts
/// together instead.
#[must_use]
pub fn for_report(recording: &Recording, job_together: bool) -> Vec<&'static dyn AnyRow> {
    let alone = RESULTS.iter().copied().filter(|row| stands_alone(*row, job_together));
    alone.filter(|row| covers(*row, <dyn AnyRow>::in_report, recording)).collect()
}

/// Returns whether a row is for single recordings; a job is where it is not shown for all hosts together.
fn stands_alone(row: &dyn AnyRow, job_together: bool) -> bool {
    match row.grouping() {
        Grouping::Each => true,
        Grouping::Job => !job_together,
        Grouping::Hosts | Grouping::Runs | Grouping::Listed | Grouping::Beside | Grouping::Live => {
            false
        }
    }
}

/// Returns what a report computes for recordings together: for several hosts, for a job on several hosts, and for
/// repeated runs. A report of several series shows none of them as a series.
#[must_use]
pub fn together_for_report<'a>(recordings: &[&'a Recording], many_hosts: bool) -> Vec<Job<'a>> {
    let groupings = [Grouping::Job, Grouping::Hosts, Grouping::Runs];
    let wanted = groupings.into_iter().filter(|&grouping| many_hosts || grouping == Grouping::Runs);
    let jobs: Vec<Job<'a>> =
        wanted.flat_map(|grouping| groups(grouping, <dyn AnyRow>::in_report, recordings)).collect();
    let is_alone =
        |job: &&Job<'_>| jobs.iter().filter(|other| other.row.id() == job.row.id()).count() == 1;
    jobs.iter().filter(is_alone).cloned().collect()
}

/// Returns the rows of the results that a result is computed from.
pub fn needed(row: &dyn AnyRow) -> impl Iterator<Item = &'static dyn AnyRow> {
    row.needs().iter().filter_map(|id| find(id))
}

/// Returns the results of this grouping. The result for several hosts also exists for a single one, if others are
/// missing.
fn groups<'a>(
    grouping: Grouping,
    methods_of: MethodsOf,
    recordings: &[&'a Recording],
) -> Vec<Job<'a>> {
    let fewest = if grouping == Grouping::Hosts { 1 } else { 2 };
    let mut jobs = vec![];
    for row in RESULTS.iter().copied().filter(|row| row.grouping() == grouping) {
        let covered =
            recordings.iter().copied().filter(|recording| covers(row, methods_of, recording));
        let recordings: Vec<&Recording> = covered.collect();
        let together = match grouping {
            Grouping::Runs => series(recordings),
            _ => vec![recordings],
        };
        let enough = together.into_iter().filter(|recordings| recordings.len() >= fewest);
        jobs.extend(enough.map(|recordings| Job { row, recordings }));
    }
    jobs
}

/// Returns the series of repeated runs, each with its recordings: those of one series lie in one directory. None if one of the
/// recordings is of a single run.
fn series(recordings: Vec<&Recording>) -> Vec<Vec<&Recording>> {
    let mut series: Vec<Vec<&Recording>> = vec![];
    if recordings.iter().any(|recording| recording.run().repetition.is_none()) {
        return series;
    }
    for recording in recordings {
        let place = recording.dir().parent();
        match series.iter_mut().find(|runs| runs[0].dir().parent() == place) {
            Some(runs) => runs.push(recording),
            None => series.push(vec![recording]),
        }
    }
    series
}

/// Returns whether a row applies to a recording.
fn covers(row: &'static dyn AnyRow, methods_of: MethodsOf, recording: &Recording) -> bool {
    let method = &*recording.run().method;
    let named =
        |methods: Methods| matches!(methods, Methods::Only(methods) if methods.contains(&method));
    match methods_of(row) {
        Methods::None => false,
        Methods::All => true,
        Methods::Except(methods) => !methods.contains(&method),
        Methods::Marked => {
            recording.run().program.as_ref().is_some_and(|program| program.marked.is_some())
        }
        // Those have no samples.
        Methods::Others if methods::WHOLE.contains(&method) => false,
        Methods::Others => {
            !RESULTS.iter().any(|row| row.grouping() != Grouping::Hosts && named(methods_of(*row)))
        }
        methods => named(methods),
    }
}
