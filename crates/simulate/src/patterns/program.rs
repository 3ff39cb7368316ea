//! What one rank does, step after step.

use crate::schedule::{Action, Builder};
use anechoic_recording::Problem;

/// A message of a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// The other rank.
    pub(super) peer: u32,
    /// Length of the message.
    pub(super) bytes: u64,
    /// Its tag.
    pub(super) tag: u32,
}

/// Adds the operations of a rank. Each step waits until all of the step before it has ended.
#[derive(Debug)]
pub(super) struct Program<'a> {
    builder: &'a mut Builder,
    /// The rank.
    pub(super) rank: u32,
    /// The operations of the last step.
    last: Vec<u32>,
    step: Vec<u32>,
    problem: Option<Problem>,
}

impl<'a> Program<'a> {
    /// Begins the rank that the builder is at.
    pub(super) fn new(builder: &'a mut Builder) -> Self {
        let rank = builder.rank();
        Self { builder, rank, last: vec![], step: vec![], problem: None }
    }

    /// Adds a computation.
    pub(super) fn compute(&mut self, ns: u64) {
        if ns > 0 {
            self.add(Action::Compute { ns });
            self.end_step();
        }
    }

    /// Sends and receives messages at once.
    pub(super) fn exchange(&mut self, to: &[Part], from: &[Part]) {
        for &Part { peer, bytes, tag } in from {
            self.add(Action::Receive { from: peer, bytes, tag });
        }
        for &Part { peer, bytes, tag } in to {
            self.add(Action::Send { to: peer, bytes, tag });
        }
        self.end_step();
    }

    fn add(&mut self, action: Action) {
        if self.problem.is_some() {
            return;
        }
        match self.builder.add(action) {
            Ok(number) => {
                self.last.iter().for_each(|&before| self.builder.after(number, before));
                self.step.push(number);
            }
            Err(problem) => self.problem = self.problem.take().or(Some(problem)),
        }
    }

    /// Makes the operations since the last step a step.
    fn end_step(&mut self) {
        if !self.step.is_empty() {
            std::mem::swap(&mut self.last, &mut self.step);
            self.step.clear();
        }
    }

    /// Returns whether all operations so far could be added.
    pub(super) fn is_sound(&self) -> bool {
        self.problem.is_none()
    }

    /// Ends the rank; returns the first problem of its operations.
    pub(super) fn finish(self) -> Result<(), Problem> {
        self.problem.map_or(Ok(()), Err)
    }
}
