//! Whether the traces of all ranks are of the same run: they do the same collective operations in the same order.

use super::collectives::Meeting;
use super::communicators::Communicators;
use super::steps::{RankTrace, What};
use crate::schedule::bad;
use anechoic_recording::Problem;

/// The files are of different programs or runs.
const OF_ONE_RUN: &str = "give the traces of all ranks of one run";

/// The collective operations of a rank in a communicator, with their lines.
type Meetings<'t> = Vec<(u32, &'t Meeting)>;

/// Refuses traces whose collective operations differ.
///
/// # Errors
/// A rank of a communicator does another operation than the others, or does not do one.
pub(super) fn check(traces: &[RankTrace], communicators: &Communicators) -> Result<(), Problem> {
    // For each communicator: the first rank in it that was seen, and its operations.
    let mut first: Vec<Option<(usize, Meetings<'_>)>> = vec![];
    first.resize_with(communicators.all.len(), || None);
    for (rank, trace) in traces.iter().enumerate() {
        let mut own: Vec<Meetings<'_>> = vec![vec![]; communicators.all.len()];
        for step in &trace.steps {
            if let What::Meet(meeting) = &step.what {
                let place = communicators.known[rank][meeting.communicator as usize];
                own[place as usize].push((step.line, meeting));
            }
        }
        for (place, (first, own)) in first.iter_mut().zip(own).enumerate() {
            if !communicators.contains(place as u32, rank as u32) {
                continue;
            }
            match first {
                None => *first = Some((rank, own)),
                Some((other, theirs)) => compare((&traces[*other], theirs), (trace, &own))?,
            }
        }
    }
    Ok(())
}

/// Compares the operations of two ranks of a communicator.
fn compare(
    (first, theirs): (&RankTrace, &[(u32, &Meeting)]),
    (trace, own): (&RankTrace, &[(u32, &Meeting)]),
) -> Result<(), Problem> {
    for (&(line, meeting), &(their_line, their)) in own.iter().zip(theirs) {
        if meeting.common() != their.common() {
            let (ours, theirs) = (describe(meeting), describe(their));
            let why =
                format!("{ours} stands where {} has {theirs} in line {their_line}", first.file);
            return Err(trace.problem(line, bad(why, OF_ONE_RUN)));
        }
    }
    let (trace, other, extra) = match own.len() > theirs.len() {
        true => (trace, first, own.get(theirs.len())),
        false => (first, trace, theirs.get(own.len())),
    };
    match extra {
        None => Ok(()),
        Some((line, meeting)) => {
            let why = format!("{} does not do this {}", other.file, meeting.name);
            Err(trace.problem(*line, bad(why, OF_ONE_RUN)))
        }
    }
}

fn describe(meeting: &Meeting) -> String {
    let (name, root, bytes) = meeting.common();
    format!("{name} (root {root}, {bytes} bytes)")
}
