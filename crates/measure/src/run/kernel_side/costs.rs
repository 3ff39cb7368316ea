//! What recording an event and a stack costs, measured before a program is recorded.

use super::{BATCH, KernelSide, missing};
use crate::run::tracing::config;
use crate::run::trial::{self, Rounds};
use anechoic_recording::ProblemKind;
use anechoic_recording::run::{EventCost, Run};

impl KernelSide {
    /// Makes the rounds again that were made without events, and once more with stacks, which it starts if they are wanted: of
    /// `thread`, and of the threads that it starts. Returns what an event cost, and what a stack did.
    pub(in crate::run) fn begin_costs(
        &mut self,
        without: Option<&Rounds>,
        thread: i32,
        run: &mut Run,
    ) -> [Option<EventCost>; 2] {
        let with = without.and_then(|_| trial::make_rounds());
        let events = self.events_in_rounds(with.as_ref());
        let config = config(run);
        self.with_stacks(run, |stacks| stacks.start(config, thread));
        let with_stacks = self.stacks.as_ref().and_then(|_| trial::make_rounds());
        self.events_in_rounds(with_stacks.as_ref());
        let event =
            with.as_ref().zip(without).and_then(|(with, without)| with.cost(without, events));
        if with.is_some() && without.is_some() && events > 0 && event.is_none() {
            let why = "two threads that woke each other took no longer with events than without, because others disturbed them";
            missing(
                run,
                "what recording events costs",
                ProblemKind::Unavailable.problem(why, "record again"),
            );
        }
        let stack = with_stacks.as_ref().zip(with.as_ref());
        [event, stack.and_then(|(more, with)| more.cost(with, trial::SWITCHES))]
    }

    /// Reads the events so far; returns how many of them the rounds made.
    fn events_in_rounds(&mut self, rounds: Option<&Rounds>) -> u64 {
        let (mut events, early) = (0, &mut self.early);
        let (Some(rounds), Some(collector)) = (rounds, self.collector.as_mut()) else { return 0 };
        let read = collector.drain_to(BATCH, &mut |mut batch| {
            events += rounds.take(&mut batch.events);
            early.push(batch);
        });
        if read.is_ok() { events } else { 0 }
    }
}
