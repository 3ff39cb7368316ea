//! One series' samples, taken one by one.

use crate::samples::figures::Figures;
use crate::samples::measured::{SeriesFacts, SeriesResult};
use anechoic_recording::run::Outcome;
use anechoic_recording::{Run, Sample, Series};

/// What is added up over one series' samples.
#[derive(Debug)]
pub(crate) struct SeriesOf {
    facts: SeriesFacts,
}

impl SeriesOf {
    /// Nothing yet.
    pub(crate) fn new(series: &Series, outcome: &Outcome, run: &Run) -> Self {
        Self { facts: SeriesFacts::of(series, outcome, run) }
    }

    /// Adds the next samples.
    pub(crate) fn add(&mut self, samples: &[Sample]) {
        self.facts.samples += samples.len() as u64;
    }

    /// What they say.
    pub(crate) fn finish(self) -> SeriesResult {
        SeriesResult {
            facts: self.facts,
            distribution: None,
            steadiness: None,
            pace: None,
            fine: None,
            figures: Figures::default(),
        }
    }
}
