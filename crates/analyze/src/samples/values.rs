//! Raw values of samples and their conversion to the units of a result.

use anechoic_recording::{Clock, Fixed, Sample};

/// Converts raw values (counter ticks, or units of work) to results (ns, or units of work).
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    fixed: Fixed,
    pub(crate) per_raw: f64,
    step: u64,
}

impl Scale {
    /// Returns the conversion for series in which `fixed` is fixed.
    #[must_use]
    pub fn new(fixed: Fixed, clock: &Clock) -> Self {
        match fixed {
            Fixed::Work => {
                Self { fixed, per_raw: clock.seconds(1) * 1e9, step: clock.step_ticks().max(1) }
            }
            Fixed::Time => Self { fixed, per_raw: 1.0, step: 1 },
        }
    }

    /// Returns what is fixed.
    #[must_use]
    pub fn fixed(&self) -> Fixed {
        self.fixed
    }

    /// Returns the smallest difference of two raw values: a step of the counter, or a unit of work.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Returns a sample's raw value.
    #[must_use]
    pub fn raw(&self, sample: &Sample) -> u64 {
        match self.fixed {
            Fixed::Work => sample.end_ticks.saturating_sub(sample.start_ticks),
            Fixed::Time => sample.count,
        }
    }

    /// Converts a raw value or a difference, rounded to a thousandth.
    #[must_use]
    pub fn value(&self, raw: f64) -> f64 {
        (raw * self.per_raw * 1e3).round() / 1e3
    }
}
