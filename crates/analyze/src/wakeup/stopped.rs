//! The wake-up that ended a run before its time.

use super::long::{LongWakeup, name_all, read};
use super::rows;
use crate::timeline::MOST_ROWS;
use anechoic_recording::stop::{Kept, StopCondition};
use anechoic_recording::{Problem, Recording};
use schemars::JsonSchema;
use serde::Serialize;

/// The condition that was to end a run, and the wake-up that met it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StoppedWakeup {
    /// The condition.
    pub condition: StopCondition,
    /// When that wake-up was due, in ns since the run's start; absent if the run ended otherwise.
    pub after_ns: Option<u64>,
    /// The wake-up, with what happened in it; absent if the run ended otherwise, or it could not be saved.
    pub wakeup: Option<LongWakeup>,
    /// What is kept of the time before; absent if that is all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
}

/// Finds the wake-up that ended a run; `None` if no condition was to end it.
///
/// # Errors
/// A file is damaged.
pub(super) fn stopped(recording: &Recording) -> Result<Option<StoppedWakeup>, Problem> {
    let run = recording.run();
    let Some(stop) = &run.stop_on else { return Ok(None) };
    let mut found = vec![];
    if let Some(met) = stop.met {
        rows::each(recording, |woken| {
            let sample = woken.sample;
            if (sample.cpu, sample.start_ticks, sample.end_ticks)
                == (met.cpu, met.start_ticks, met.end_ticks)
            {
                found.push(read(woken, run, MOST_ROWS));
            }
        })?;
    }
    name_all(&mut found, recording)?;
    let since_start = |ticks: u64| run.clock.ns(ticks.saturating_sub(run.start_ticks));
    Ok(Some(StoppedWakeup {
        condition: stop.condition,
        after_ns: stop.met.map(|met| since_start(met.start_ticks)),
        wakeup: found.pop(),
        kept: stop.kept,
    }))
}
