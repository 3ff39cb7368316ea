//! The samples of fixed work of all configurations, for pictures on one axis of absolute time (Radojković 2008, Figures 4
//! to 6, 8 and 9).

use super::points::working_set;
use super::{Configuration, Key};
use crate::samples::series_of::SeriesBuilder;
use crate::samples::{Fixed, SeriesResult, visit};
use anechoic_recording::run::Outcome;
use anechoic_recording::{Problem, Recording, Series};
use std::collections::BTreeMap;

/// The samples of a kernel in all configurations.
#[derive(Debug, Clone, PartialEq)]
pub struct OneByOne {
    /// The work kernel.
    pub kernel: String,
    /// Requested duration of a sample in ns.
    pub grain_ns: u64,
    /// Its series in each configuration, at least one: those of its first recording, in the order of measurement.
    pub series: Vec<Vec<SeriesResult>>,
}

/// Returns the samples of the kernels that all configurations have measured. Memory experiments, fixed time and unpinned
/// series have none.
///
/// # Errors
/// A file is damaged.
pub(super) fn one_by_one(configurations: &[Configuration<'_>]) -> Result<Vec<OneByOne>, Problem> {
    let mut kernels: BTreeMap<Key, Vec<Vec<SeriesResult>>> = BTreeMap::new();
    for (at, configuration) in configurations.iter().enumerate() {
        let Some(recording) = configuration.recordings.first() else { continue };
        for (key, result) in results(recording)? {
            let series = kernels.entry(key).or_insert_with(|| vec![vec![]; configurations.len()]);
            series[at].push(result);
        }
    }
    kernels.retain(|_, series| series.iter().all(|measured| !measured.is_empty()));
    let kernels = kernels.into_iter();
    Ok(kernels
        .map(|(key, series)| OneByOne { kernel: key.experiment, grain_ns: key.grain_ns, series })
        .collect())
}

/// Returns the results of the series that are drawn.
fn results(recording: &Recording) -> Result<Vec<(Key, SeriesResult)>, Problem> {
    let run = recording.run();
    let known: Vec<(Series, Outcome)> = recording.series()?;
    let mut builders: Vec<Option<SeriesBuilder<'_>>> = known
        .iter()
        .map(|(series, outcome)| is_drawn(series).then(|| SeriesBuilder::new(series, outcome, run)))
        .collect();
    if builders.iter().all(Option::is_none) {
        return Ok(vec![]);
    }
    visit(recording, &known, |at, samples| {
        if let Some(builder) = &mut builders[at] {
            builder.add(samples);
        }
    })?;
    let finished = known.iter().zip(builders).filter_map(|((series, _), builder)| {
        Some((Key::from_series(series, run, &[]), builder?.finish()))
    });
    Ok(finished.collect())
}

/// Returns whether the samples of a series are drawn.
fn is_drawn(series: &Series) -> bool {
    series.fixed == Fixed::Work && series.cpu.is_some() && working_set(series).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pinned_series_of_fixed_work_that_are_no_memory_experiments_are_drawn() {
        let work = anechoic_lab::sample::series().swap_remove(0);
        let with = |bytes: u64, experiment: Option<&str>| {
            let mut series = work.clone();
            series.parameters.working_set_bytes = Some(bytes);
            series.parameters.experiment = experiment.map(str::to_owned);
            series
        };
        let cases = [
            ("fixed work", work.clone(), true),
            ("fixed time", Series { fixed: Fixed::Time, ..work.clone() }, false),
            ("not pinned", Series { cpu: None, ..work.clone() }, false),
            ("a memory experiment", with(4_096, Some("reads")), false),
            ("a size without an experiment", with(4_096, None), true),
        ];
        for (name, series, expected) in cases {
            assert_eq!(is_drawn(&series), expected, "case: {name}");
        }
    }
}
