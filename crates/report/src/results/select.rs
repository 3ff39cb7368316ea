//! Selects the results for given recordings.

use super::described::{Grouping, Methods};
use super::row::AnyRow;
use super::{RESULTS, find};
use anechoic_recording::{Recording, methods};

/// A property of a row that returns methods.
type Of = fn(&'static dyn AnyRow) -> Methods;

/// A result to compute and the recordings for it.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    /// The row of the result.
    pub row: &'static dyn AnyRow,
    /// The recordings.
    pub recordings: Vec<&'a Recording>,
}

/// Returns what `anechoic summary` shows of recordings, in order: several hosts together, a job once, other recordings
/// one by one, and repeated runs last. `many_hosts` is whether the recordings are, or should be, from several hosts.
#[must_use]
pub fn for_summary<'a>(recordings: &[&'a Recording], many_hosts: bool) -> Vec<Job<'a>> {
    let of: Of = <dyn AnyRow>::in_summary;
    let together = |row: &&'static dyn AnyRow| {
        row.grouping() == Grouping::Hosts
            && recordings.iter().all(|recording| covers(*row, of, recording))
    };
    if let Some(row) = RESULTS.iter().copied().find(together).filter(|_| many_hosts) {
        return vec![Job { row, recordings: recordings.to_vec() }];
    }
    let mut jobs: Vec<Job<'a>> = vec![];
    for &recording in recordings {
        let shows = |row: &&'static dyn AnyRow| {
            matches!(row.grouping(), Grouping::Each | Grouping::Job) && covers(*row, of, recording)
        };
        let Some(row) = RESULTS.iter().copied().find(shows) else { continue };
        let known = jobs.iter_mut().find(|job| job.row.id() == row.id());
        match known.filter(|_| row.grouping() == Grouping::Job) {
            Some(job) => job.recordings.push(recording),
            None => jobs.push(Job { row, recordings: vec![recording] }),
        }
    }
    jobs.extend(groups(Grouping::Runs, of, recordings));
    jobs
}

/// Returns what a report computes for a single recording. `job_together` is whether jobs are shown for all hosts
/// together instead.
#[must_use]
pub fn for_report(recording: &Recording, job_together: bool) -> Vec<&'static dyn AnyRow> {
    let alone = |row: &&'static dyn AnyRow| match row.grouping() {
        Grouping::Each => true,
        Grouping::Job => !job_together,
        Grouping::Hosts | Grouping::Runs | Grouping::Listed | Grouping::Beside | Grouping::Live => {
            false
        }
    };
    let covered = |row: &&'static dyn AnyRow| covers(*row, <dyn AnyRow>::in_report, recording);
    RESULTS.iter().copied().filter(alone).filter(covered).collect()
}

/// Returns what a report computes for recordings together: for several hosts, for a job on several hosts, and for
/// repeated runs.
#[must_use]
pub fn together_for_report<'a>(recordings: &[&'a Recording], many_hosts: bool) -> Vec<Job<'a>> {
    let groupings = [Grouping::Job, Grouping::Hosts, Grouping::Runs];
    let wanted = groupings.into_iter().filter(|&of| many_hosts || of == Grouping::Runs);
    wanted.flat_map(|of| groups(of, <dyn AnyRow>::in_report, recordings)).collect()
}

/// Returns the rows of the results that a result is computed from.
pub fn needed(row: &dyn AnyRow) -> impl Iterator<Item = &'static dyn AnyRow> {
    row.needs().iter().filter_map(|id| find(id))
}

/// Returns the results of this grouping. The result for several hosts also exists for a single one, if others are
/// missing.
fn groups<'a>(grouping: Grouping, of: Of, recordings: &[&'a Recording]) -> Vec<Job<'a>> {
    let fewest = if grouping == Grouping::Hosts { 1 } else { 2 };
    let job = |row: &'static dyn AnyRow| {
        let of_row = recordings.iter().copied().filter(|recording| covers(row, of, recording));
        let recordings: Vec<&Recording> = of_row.collect();
        let repeated = recordings.iter().all(|recording| recording.run().repetition.is_some());
        let whole = grouping != Grouping::Runs || repeated;
        (whole && recordings.len() >= fewest).then_some(Job { row, recordings })
    };
    RESULTS.iter().copied().filter(|row| row.grouping() == grouping).filter_map(job).collect()
}

/// Returns whether a row applies to a recording.
fn covers(row: &'static dyn AnyRow, of: Of, recording: &Recording) -> bool {
    let method = &*recording.run().method;
    let named = |methods: Methods| match methods {
        Methods::Only(methods) => methods.contains(&method),
        Methods::None | Methods::Others | Methods::All => false,
    };
    match of(row) {
        Methods::None => false,
        Methods::All => true,
        // Those have no samples.
        Methods::Others if methods::WHOLE.contains(&method) => false,
        Methods::Others => {
            !RESULTS.iter().any(|row| row.grouping() != Grouping::Hosts && named(of(*row)))
        }
        methods => named(methods),
    }
}
