//! Wake-ups with the activities that explain them.

use super::latency;
use anechoic_recording::wakeup::Sleep;
use anechoic_recording::{Activity, ActivityKind, Problem, Recording, Sample, Series};
use std::collections::HashMap;
use std::iter::Peekable;

/// A wake-up with kernel events.
#[derive(Debug, Clone, Copy)]
pub struct Explained<'a> {
    /// Its series.
    pub series: &'a Series,
    /// How its thread slept.
    pub sleep: Sleep,
    /// The wake-up.
    pub sample: &'a Sample,
    /// What went on meanwhile, in time order.
    pub rows: &'a [Activity],
}

/// Returns whether these rows explain all of a wake-up.
pub(crate) fn are_known(sample: &Sample, rows: &[Activity]) -> bool {
    let own = rows.iter().try_fold(0_u64, |sum, row| sum.checked_add(row.self_ticks));
    let known = rows.iter().all(|row| row.kind != ActivityKind::NotAttributable);
    known && own == Some(latency(sample))
}

/// Passes each wake-up to `take`, in time order on each CPU, without those of blocks without events between others with them:
/// those whose latency is reported.
///
/// # Errors
/// A table is damaged.
pub fn each(recording: &Recording, mut take: impl FnMut(&Explained<'_>)) -> Result<(), Problem> {
    let series: HashMap<u32, Series> =
        recording.series()?.into_iter().map(|(series, _)| (series.series, series)).collect();
    for cpu in &recording.run().cpus {
        let mut activities = recording.rows_of_cpu::<Activity>(cpu.cpu).each().peekable();
        for (number, sample) in (0_u64..).zip(recording.rows_of_cpu::<Sample>(cpu.cpu).each()) {
            let sample = &sample?;
            let rows = &rows_of(number, &mut activities)?;
            let Some(series) = series.get(&sample.series) else { continue };
            let sleep = series.parameters.sleep.filter(|_| !series.parameters.events_off);
            let Some(sleep) = sleep else { continue };
            take(&Explained { series, sleep, sample, rows });
        }
    }
    Ok(())
}

/// Takes the rows of this sample of a CPU.
fn rows_of(
    number: u64,
    activities: &mut Peekable<impl Iterator<Item = Result<Activity, Problem>>>,
) -> Result<Vec<Activity>, Problem> {
    let mut rows = Vec::new();
    loop {
        match activities.peek() {
            Some(Ok(next)) if next.detour > number => return Ok(rows),
            None => return Ok(rows),
            _ => {}
        }
        let Some(row) = activities.next().transpose()? else { return Ok(rows) };
        if row.detour == number {
            rows.push(row);
        }
    }
}
