//! What is left when nothing happens any more: who waits for whom.

use super::matching::{Matching, Waiting};
use crate::schedule::{ANY_RANK, ANY_TAG, Schedule};
use anechoic_recording::{Problem, ProblemKind};

/// Ranks that are named in an error.
const NAMED: usize = 5;

/// Refuses a simulation in which operations or messages are left.
pub(super) fn check(schedule: &Schedule, done: u64, matching: &Matching) -> Result<(), Problem> {
    let all = schedule.len() as u64;
    let ranks = || 0..schedule.ranks();
    if done < all {
        let waiting = ranks().filter_map(|rank| {
            let receive = matching.waiting(rank, Waiting::Receives).next()?;
            let tag = with_tag(receive.tag);
            Some(match receive.from {
                ANY_RANK => format!("rank {rank} for any rank{tag}"),
                from => format!("rank {rank} for rank {from}{tag}"),
            })
        });
        let sending = ranks().filter_map(|rank| {
            let message = matching.waiting(rank, Waiting::Messages).next()?;
            Some(format!("rank {} for rank {rank} to receive", message.from))
        });
        let who: Vec<String> = waiting.chain(sending).take(NAMED + 1).collect();
        let why = format!("only {done} of {all} operations were executed: {}", listed(&who));
        return Err(ProblemKind::Data.problem(why, "check that each receive has its send, and that messages longer than S do not wait for each other"));
    }
    let left: Vec<String> = ranks()
        .flat_map(|rank| {
            let messages = matching.waiting(rank, Waiting::Messages);
            messages.map(move |message| {
                format!("from rank {} to rank {rank}{}", message.from, with_tag(message.tag))
            })
        })
        .take(NAMED + 1)
        .collect();
    match left.is_empty() {
        true => Ok(()),
        false => {
            let why = format!("messages are never received: {}", listed(&left));
            Err(ProblemKind::Data.problem(why, "check that each send has its receive"))
        }
    }
}

fn with_tag(tag: u32) -> String {
    match tag {
        0 | ANY_TAG => String::new(),
        tag => format!(" (tag {tag})"),
    }
}

/// Lists what there is, with a mark where there is more.
fn listed(names: &[String]) -> String {
    let more = if names.len() > NAMED { ", …" } else { "" };
    names[..names.len().min(NAMED)].join(", ") + more
}
