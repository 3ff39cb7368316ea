//! The detour or the wait that ended a run before its time, and what came before it.

use crate::fold::Fold;
use crate::longest::{LongDetour, long_detour};
use crate::split::SplitDetour;
use crate::story::{DetourStory, name_threads, story};
use crate::timeline::MOST_ROWS;
use crate::waits::{LongWait, wait_that_met};
use anechoic_recording::stop::{Kept, Stop, StopCondition, StoppedBy};
use anechoic_recording::{Problem, Recording, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Number of earlier detours that are kept.
const BEFORE: usize = 5;
/// Earlier detours began within this time before the one that ended the run.
const WITHIN_NS: u64 = 100_000_000;

/// The condition that was to end a run, and the detour or the wait that met it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stopped {
    /// The condition.
    pub condition: StopCondition,
    /// When the detour or the wait that met it began, in ns since the run's start; absent if the run ended otherwise.
    pub after_ns: Option<u64>,
    /// The second in which too much was lost, of which that detour is the longest; absent if another condition was met, or
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<StoppedSecond>,
    /// The wait of a thread that met it; absent if another condition was met, or none, or if it could not be saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<LongWait>,
    /// That detour, with what happened in it; of a wait the detour of its CPU that has most of it. Absent if the run ended
    /// otherwise, or it could not be saved.
    pub detour: Option<DetourStory>,
    /// The detours of the same CPU in the 100 ms before it, the last five in order.
    pub before: Vec<LongDetour>,
    /// What is kept of the time before; absent if that is all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
}

/// A second in which a program lost more than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoppedSecond {
    /// When it began, in ns since the run's start; below 0 if it began before the part that is kept.
    pub start_ns: i64,
    /// The time that the program lost in it, without what the tool itself took, in ns.
    pub lost_ns: u64,
    /// The time in which it executed or lost time, in ns.
    pub wanted_ns: u64,
}

/// Returns that what is kept of a run is no sample of it; absent unless it dropped all but the part before the detour for
/// which it waited.
#[must_use]
pub fn no_sample(run: &Run) -> Option<String> {
    run.kept_after_stop()?;
    let condition = run.stop_on.as_ref()?.condition;
    Some(format!(
        "only the part before the {} that ended the run ({condition}) is kept: its shares and rates do not hold for the \
         whole run",
        condition.awaited()
    ))
}

impl Stopped {
    /// Returns whether a limit was exceeded, which ended the run: a detour was too long, or too much was lost.
    #[must_use]
    pub fn found(&self) -> bool {
        self.after_ns.is_some() && !matches!(self.condition, StopCondition::Count(_))
    }
}

/// Finds the detour that ended a run.
#[derive(Debug)]
pub(crate) struct StoppedBuilder<'a> {
    run: &'a Run,
    met: Option<StoppedBy>,
    /// Earlier detours are of no interest before this.
    since_ticks: u64,
    found: Option<DetourStory>,
    /// How much of the wait that ended the run lies in it.
    shared_ticks: u64,
    before: VecDeque<LongDetour>,
}

impl<'a> StoppedBuilder<'a> {
    pub(crate) fn new(run: &'a Run) -> Self {
        let met = run.stop_on.as_ref().and_then(|stop| stop.met);
        let since = met.map_or(0, |met| met.start_ticks);
        let since_ticks = since.saturating_sub(run.clock.ticks(WITHIN_NS));
        Self { run, met, since_ticks, found: None, shared_ticks: 0, before: VecDeque::new() }
    }

    /// Returns what was found; `None` if the run had no condition.
    ///
    /// # Errors
    /// The kernel events are damaged.
    pub(crate) fn finish(self, recording: &Recording) -> Result<Option<Stopped>, Problem> {
        let Some(Stop { condition, met, kept }) = &self.run.stop_on else { return Ok(None) };
        let clock = &self.run.clock;
        let since_start = |ticks: u64| clock.ns(ticks.saturating_sub(self.run.start_ticks));
        let second = met.and_then(|met| met.second).map(|second| StoppedSecond {
            start_ns: match self.run.start_ticks.checked_sub(second.start_ticks) {
                Some(earlier) if earlier > 0 => -clock.ns(earlier).cast_signed(),
                _ => since_start(second.start_ticks).cast_signed(),
            },
            lost_ns: clock.ns(second.lost_ticks),
            wanted_ns: clock.ns(second.wanted_ticks),
        });
        let mut detour = self.found;
        name_threads(detour.as_mut_slice(), recording)?;
        Ok(Some(Stopped {
            condition: *condition,
            after_ns: met.as_ref().map(|met| since_start(met.start_ticks)),
            second,
            wait: met.as_ref().map_or(Ok(None), |met| wait_that_met(recording, met))?,
            detour,
            before: self.before.into(),
            kept: *kept,
        }))
    }
}

impl Fold for StoppedBuilder<'_> {
    fn detour(&mut self, detour: &SplitDetour<'_>) {
        let view = &detour.view;
        let Some(met) = self.met.filter(|met| met.cpu == view.cpu) else { return };
        let before = self.since_ticks..met.start_ticks;
        let (from, to) = (view.start_ticks.max(met.start_ticks), view.end_ticks.min(met.end_ticks));
        let shared_ticks = to.saturating_sub(from);
        let is_it = match met.thread {
            Some(_) => shared_ticks > self.shared_ticks,
            None => view.start_ticks == met.start_ticks,
        };
        if is_it {
            self.shared_ticks = shared_ticks;
            self.found = Some(story(view, self.run, MOST_ROWS));
        } else if before.contains(&view.start_ticks) {
            if self.before.len() == BEFORE {
                self.before.pop_front();
            }
            self.before.push_back(long_detour(view, self.run));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::Split;
    use crate::testing::{clock_ns, detour};
    use anechoic_lab::builders::run;
    use anechoic_recording::DetourView;

    #[test]
    fn the_detour_and_those_shortly_before_it_are_found() {
        let mut run = run("detours", clock_ns(), vec![]);
        let ms = 1_000_000;
        let met = StoppedBy {
            cpu: 0,
            start_ticks: 300 * ms,
            end_ticks: 301 * ms,
            second: None,
            thread: None,
        };
        let condition = StopCondition::Longer(500_000);
        run.stop_on = Some(Stop { condition, met: Some(met), kept: None });
        let mut builder = StoppedBuilder::new(&run);
        let starts_ms = [10, 199, 201, 210, 220, 230, 240, 250, 300, 310];
        for (cpu, start_ms) in [0, 1].into_iter().flat_map(|cpu| starts_ms.map(|ms| (cpu, ms))) {
            let view = DetourView { cpu, ..detour(start_ms * ms, ms) };
            builder.detour(&Split::default().split(view));
        }
        let found = builder.found.as_ref().map(|story| (story.cpu, story.start_ns));
        assert_eq!(found, Some((0, 300 * ms)));
        let before: Vec<u64> = builder.before.iter().map(|story| story.start_ns / ms).collect();
        assert_eq!(before, [210, 220, 230, 240, 250], "the last five, of this CPU");
    }
}
