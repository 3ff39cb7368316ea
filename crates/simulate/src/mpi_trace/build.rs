//! The schedule of traced ranks.

use super::collectives::Meeting;
use super::communicators::Communicators;
use super::handles::Peer;
use super::steps::{Message, RankTrace, What};
use super::tags::Tags;
use crate::patterns::program::{Group, Part, Program};
use crate::schedule::{ANY_RANK, Action, Builder, Schedule};
use anechoic_recording::Problem;

/// Returns the schedule of the traced ranks, this many times. Copies exchange their messages among themselves, and do
/// collective operations of all ranks together.
///
/// # Errors
/// There are too many operations, or one is too long.
pub(super) fn schedule(
    traces: &[RankTrace],
    communicators: &Communicators,
    tags: &mut Tags,
    copies: u32,
) -> Result<Schedule, Problem> {
    let ranks = traces.len() as u32;
    let mut builder = Builder::new(ranks * copies);
    for copy in 0..copies {
        for (rank, trace) in traces.iter().enumerate() {
            let place =
                Place { rank: rank as u32, first: copy * ranks, ranks, copies, communicators };
            let mut program = Program::new(&mut builder);
            let line = add(&mut program, trace, place, tags);
            program.finish().map_err(|problem| trace.problem(line, problem))?;
            builder.end_rank()?;
        }
    }
    builder.finish()
}

/// Where a simulated rank is.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    /// The traced rank.
    rank: u32,
    /// The first rank of its copy.
    first: u32,
    /// Number of traced ranks.
    ranks: u32,
    copies: u32,
    communicators: &'a Communicators,
}

/// Adds what a rank does, up to the first problem, and returns the line of the last step.
fn add(program: &mut Program<'_>, trace: &RankTrace, place: Place<'_>, tags: &mut Tags) -> u32 {
    let mut begun: Vec<Option<u32>> = vec![];
    let (mut line, mut before_ns) = (0, 0);
    for step in &trace.steps {
        line = step.line;
        before_ns += step.before_ns;
        if let What::End(numbers) = &step.what {
            if !numbers.is_empty() {
                program.compute(std::mem::take(&mut before_ns));
                program.wait(numbers.iter().filter_map(|&number| begun[number as usize]));
            }
            continue;
        }
        program.compute(std::mem::take(&mut before_ns));
        let to = |message: &Message, tags: &mut Tags| place.sent(message, tags);
        match &step.what {
            What::Send(message) => {
                to(message, tags).into_iter().for_each(|part| program.send(part));
            }
            What::Buffer(message) => {
                to(message, tags).and_then(|part| program.post(sending(part)));
            }
            What::Receive(message) => {
                place.received(message, tags).into_iter().for_each(|part| program.receive(part));
            }
            What::Exchange(both) => {
                let (to, from) = (to(&both[0], tags), place.received(&both[1], tags));
                program.exchange(to.as_slice(), from.as_slice());
            }
            What::Begin { sends: true, message } => {
                begun.push(to(message, tags).and_then(|part| program.post(sending(part))));
            }
            What::Begin { sends: false, message } => {
                let part = place.received(message, tags);
                begun.push(part.and_then(|part| program.post(receiving(part))));
            }
            What::Meet(meeting) => place.meet(program, meeting, tags),
            What::End(_) => {}
        }
        if program.has_failed() {
            return line;
        }
    }
    program.compute(before_ns + trace.after_ns);
    line
}

fn sending(Part { peer, bytes, tag }: Part) -> Action {
    Action::Send { to: peer, bytes, tag }
}

fn receiving(Part { peer, bytes, tag }: Part) -> Action {
    Action::Receive { from: peer, bytes, tag }
}

impl Place<'_> {
    /// Returns the communicator that the rank numbers so.
    fn communicator(&self, number: u32) -> u32 {
        self.communicators.known[self.rank as usize][number as usize]
    }

    /// Returns a message that the rank sends, if anybody gets it.
    fn sent(&self, message: &Message, tags: &mut Tags) -> Option<Part> {
        let communicator = self.communicator(message.communicator);
        let Peer::Rank(to) = message.peer else { return None };
        let to = self.communicators.rank(communicator, to);
        let tag = tags.message(to, communicator, message.tag);
        Some(Part { peer: self.first + to, bytes: message.bytes, tag })
    }

    /// Returns a message that the rank receives, if anybody sends it.
    fn received(&self, message: &Message, tags: &mut Tags) -> Option<Part> {
        let communicator = self.communicator(message.communicator);
        let peer = match message.peer {
            Peer::Rank(from) => self.first + self.communicators.rank(communicator, from),
            Peer::Any => ANY_RANK,
            Peer::Nobody => return None,
        };
        let tag = tags.message(self.rank, communicator, message.tag);
        Some(Part { peer, bytes: message.bytes, tag })
    }

    /// Adds a collective operation. Those of all traced ranks become operations of all copies.
    fn meet(&self, program: &mut Program<'_>, meeting: &Meeting, tags: &mut Tags) {
        let communicator = self.communicator(meeting.communicator);
        let tag = tags.collective(communicator);
        let root = meeting.root;
        let (group, number) = match &self.communicators.all[communicator as usize].members {
            None => {
                let ranks = self.ranks * self.copies;
                (Group { ranks, members: None, root, tag }, self.first + self.rank)
            }
            Some(members) => {
                let own = members.iter().position(|&member| member == self.rank).unwrap_or(0);
                let ranks = members.len() as u32;
                let shifted = members.iter().map(|member| self.first + member).collect();
                (Group { ranks, members: Some(shifted), root, tag }, own as u32)
            }
        };
        let ranks = group.ranks;
        program.collective(group, number, |program| meeting.add(program, ranks));
    }
}
