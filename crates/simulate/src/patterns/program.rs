//! What one rank does, step after step.

use crate::schedule::{Action, Builder};
use anechoic_recording::Problem;
use std::sync::Arc;

/// A message of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// The other rank.
    pub(crate) peer: u32,
    /// Length of the message.
    pub(crate) bytes: u64,
    /// Its tag.
    pub(crate) tag: u32,
}

/// Ranks that do a collective operation among themselves, numbered from its root on.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// Their number.
    pub(crate) ranks: u32,
    /// Those that take part, in the order of their numbers before the root is put first; absent if all ranks do.
    pub(crate) members: Option<Arc<[u32]>>,
    /// The number of the root.
    pub(crate) root: u32,
    /// The tag of all messages.
    pub(crate) tag: u32,
}

impl Group {
    /// Returns the number, counted from the root, of the member with this number.
    fn counted_from_root(&self, number: u32) -> u32 {
        let (ranks, root) = (u64::from(self.ranks), u64::from(self.root));
        ((u64::from(number) + ranks - root) % ranks) as u32
    }

    /// Returns the rank of the member with this number, counted from the root.
    fn rank(&self, number: u32) -> u32 {
        let number = (u64::from(number) + u64::from(self.root)) % u64::from(self.ranks);
        self.members.as_ref().map_or(number as u32, |members| members[number as usize])
    }
}

/// Adds the operations of a rank. Each step waits until all of the step before it has ended.
#[derive(Debug)]
pub(crate) struct Program<'a> {
    builder: &'a mut Builder,
    /// The rank, or its number in the group that does a collective operation.
    pub(crate) rank: u32,
    /// The group that does a collective operation.
    group: Option<Group>,
    /// The operations of the last step.
    last: Vec<u32>,
    /// A message that was posted since. The next step waits for its start only.
    posted: Option<u32>,
    step: Vec<u32>,
    problem: Option<Problem>,
}

impl<'a> Program<'a> {
    /// Begins the rank that the builder is at.
    pub(crate) fn new(builder: &'a mut Builder) -> Self {
        let rank = builder.rank();
        let (group, posted, problem) = (None, None, None);
        Self { builder, rank, group, last: vec![], posted, step: vec![], problem }
    }

    /// Adds a computation.
    pub(crate) fn compute(&mut self, ns: u64) {
        if ns > 0 {
            self.add(Action::Compute { ns });
            self.end_step();
        }
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, to: Part) {
        self.exchange(&[to], &[]);
    }

    /// Receives a message.
    pub(crate) fn receive(&mut self, from: Part) {
        self.exchange(&[], &[from]);
    }

    /// Sends and receives messages at once.
    pub(crate) fn exchange(&mut self, to: &[Part], from: &[Part]) {
        for &Part { peer, bytes, tag } in from {
            let (from, tag) = self.placed(peer, tag);
            self.add(Action::Receive { from, bytes, tag });
        }
        for &Part { peer, bytes, tag } in to {
            let (to, tag) = self.placed(peer, tag);
            self.add(Action::Send { to, bytes, tag });
        }
        self.end_step();
    }

    /// Begins to send or receive a message, and goes on. Returns its operation for [`Self::wait`].
    pub(crate) fn post(&mut self, action: Action) -> Option<u32> {
        let number = self.add(action)?;
        self.step.clear();
        self.last.clear();
        self.posted = Some(number);
        Some(number)
    }

    /// Makes the next step also wait for these operations.
    pub(crate) fn wait(&mut self, operations: impl Iterator<Item = u32>) {
        self.last.extend(operations);
    }

    /// Adds a collective operation of a group in which the rank has this number.
    pub(crate) fn collective(
        &mut self,
        group: Group,
        number: u32,
        collective: impl FnOnce(&mut Self),
    ) {
        let rank = std::mem::replace(&mut self.rank, group.counted_from_root(number));
        self.group = Some(group);
        collective(self);
        self.group = None;
        self.rank = rank;
    }

    /// Returns the rank and the tag of a message within the group, if there is one.
    fn placed(&self, peer: u32, tag: u32) -> (u32, u32) {
        self.group.as_ref().map_or((peer, tag), |group| (group.rank(peer), group.tag))
    }

    /// Adds an operation to the step, and returns its number unless there was a problem.
    fn add(&mut self, action: Action) -> Option<u32> {
        if self.problem.is_some() {
            return None;
        }
        match self.builder.add(action) {
            Ok(number) => {
                self.last.iter().for_each(|&before| self.builder.after(number, before));
                self.posted.iter().for_each(|&before| self.builder.after_start(number, before));
                self.step.push(number);
                Some(number)
            }
            Err(problem) => {
                self.problem = Some(problem);
                None
            }
        }
    }

    /// Makes the operations since the last step a step.
    fn end_step(&mut self) {
        if !self.step.is_empty() {
            std::mem::swap(&mut self.last, &mut self.step);
            self.step.clear();
            self.posted = None;
        }
    }

    /// Returns whether an operation could not be added. What follows is ignored.
    pub(crate) fn has_failed(&self) -> bool {
        self.problem.is_some()
    }

    /// Ends the rank; returns the first problem of its operations.
    pub(crate) fn finish(self) -> Result<(), Problem> {
        self.problem.map_or(Ok(()), Err)
    }
}
