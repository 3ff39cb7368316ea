//! A long wake-up with what happened in it, in order.

use super::causes::{Parts, TickParts};
use super::kind::Kind;
use super::{latency, rows};
use crate::story::{DetourStory, name_threads, story};
use anechoic_recording::{Activity, Clock, DetourView, Problem, Recording, Run, Sample};
use schemars::JsonSchema;
use serde::Serialize;

/// A long wake-up.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LongWakeup {
    /// How its thread slept.
    pub kind: Kind,
    /// Number of expiries that passed meanwhile.
    pub overruns: u64,
    /// Its parts; absent if not all of its time is known.
    pub parts: Option<Parts>,
    /// What happened in it, from the programmed expiry on.
    pub story: DetourStory,
}

/// Returns a wake-up with what happened in it: this number of activities at most.
pub(super) fn read(woken: &rows::Explained<'_>, run: &Run, activities: usize) -> LongWakeup {
    LongWakeup {
        kind: Kind::from(&woken.sleep),
        overruns: woken.sample.count.saturating_sub(1),
        parts: parts(woken.sample, woken.rows, woken.sleep.waker.is_some(), &run.clock),
        story: story(&view(woken), run, activities),
    }
}

/// Adds to wake-ups the names of the threads that they show.
///
/// # Errors
/// The names are damaged.
pub(super) fn name_all(wakeups: &mut [LongWakeup], recording: &Recording) -> Result<(), Problem> {
    let mut stories: Vec<DetourStory> = wakeups.iter().map(|long| long.story.clone()).collect();
    name_threads(&mut stories, recording)?;
    wakeups.iter_mut().zip(stories).for_each(|(long, story)| long.story = story);
    Ok(())
}

/// Returns the wake-up as an interval whose activities can be listed in order.
fn view<'a>(woken: &rows::Explained<'a>) -> DetourView<'a> {
    let sample = woken.sample;
    DetourView {
        cpu: sample.cpu,
        index: sample.index,
        start_ticks: sample.start_ticks,
        end_ticks: sample.end_ticks,
        lost_ticks: latency(sample),
        stint: 0,
        activities: woken.rows,
    }
}

/// Returns the parts of a wake-up, by a call or by a timer; absent if not all of its time is known.
pub(crate) fn parts(
    sample: &Sample,
    rows: &[Activity],
    by_call: bool,
    clock: &Clock,
) -> Option<Parts> {
    let known = rows::are_known(sample, rows);
    TickParts::new(sample, rows, by_call).filter(|_| known)?.mean(1, clock.seconds(1) * 1e9)
}
