//! The samples of a method: [`measure`] reads them once and says how each series is distributed.
//!
//! Everything is kept in ticks, or in units of work, until a series is complete.

pub mod distribution;
pub mod figures;
pub mod fine;
pub mod measured;
pub mod pace;
mod series_of;
pub mod steadiness;
mod stream;

pub use measured::{CpuSamples, Fixed, Measured, SeriesFacts, SeriesResult};
pub use stream::visit;

use crate::coverage::losses;
use crate::error::AnalyzeError;
use crate::facts::Facts;
use crate::passes::read_losses;
use anechoic_recording::run::{NotAvailable, Outcome};
use anechoic_recording::{Clock, Recording, Series};
use series_of::SeriesOf;
use std::collections::BTreeMap;

/// Summarises a recording of a method. Reads its samples once, in bounded memory.
///
/// # Errors
/// [`AnalyzeError::Read`] where a file is damaged.
pub fn measure(recording: &Recording) -> Result<Measured, AnalyzeError> {
    let run = recording.run();
    let known = recording.series()?;
    let mut series: Vec<SeriesOf> = known.iter().map(|(s, o)| SeriesOf::new(s, o, run)).collect();
    let strangers = visit(recording, &known, |at, samples| series[at].add(samples))?;
    let mut not_available = vec![];
    if strangers > 0 {
        not_available.push(without_series(strangers));
    }
    let series: Vec<SeriesResult> = series.into_iter().map(SeriesOf::finish).collect();
    let windows = windows(&known);
    let wall = windows.iter().map(|(_, first, last)| last.saturating_sub(*first)).sum();
    let longest = windows.iter().map(|(_, first, last)| last.saturating_sub(*first)).max();
    Ok(Measured {
        run: Facts::of(run, longest.unwrap_or(0)),
        method: run.method.clone(),
        series,
        losses: losses(&read_losses(recording)?, &windows, wall),
        not_available,
    })
}

/// From the first to the last sample of each CPU that series were pinned to.
fn windows(known: &[(Series, Outcome)]) -> Vec<(u32, u64, u64)> {
    let mut windows = BTreeMap::<u32, (u64, u64)>::new();
    for (series, outcome) in known {
        let Some(cpu) = series.cpu else { continue };
        let (first, last) = windows.entry(cpu).or_insert((u64::MAX, 0));
        *first = outcome.first_ticks.min(*first);
        *last = outcome.last_ticks.max(*last);
    }
    windows.into_iter().map(|(cpu, (first, last))| (cpu, first, last)).collect()
}

fn without_series(samples: u64) -> NotAvailable {
    NotAvailable {
        what: format!("{samples} samples"),
        why: "they belong to no series that the recording describes".into(),
        remedy: "verify the recording, or measure again".into(),
    }
}

/// Ticks as nanoseconds, to a thousandth.
pub(crate) fn ns(ticks: u64, clock: &Clock) -> f64 {
    (clock.seconds(ticks) * 1e12).round() / 1e3
}
