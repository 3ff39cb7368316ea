//! Samples expressed as their loss relative to the best one: a millisecond plus 10 ns is "10 ns".

use crate::units::{count, fine, fine_beside};
use anechoic_analyze::samples::distribution::Distribution;
use anechoic_analyze::samples::{Fixed, SeriesFacts};

/// How the values of one series are expressed as losses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loss {
    pub fixed: Fixed,
    pub best: f64,
    /// Nanoseconds per lost unit; 1 if the work is fixed.
    unit_ns: f64,
}

impl Loss {
    pub(crate) fn new(facts: &SeriesFacts, distribution: &Distribution) -> Self {
        match facts.fixed {
            Fixed::Work => Self { fixed: Fixed::Work, best: distribution.min, unit_ns: 1.0 },
            Fixed::Time => {
                let best = distribution.max;
                let unit_ns = if best > 0.0 { facts.grain_ns as f64 / best } else { 0.0 };
                Self { fixed: Fixed::Time, best, unit_ns }
            }
        }
    }

    /// Returns losses relative to this best value, of which each unit is this many ns.
    #[cfg(test)]
    pub(crate) fn from_best(fixed: Fixed, best: f64, unit_ns: f64) -> Self {
        Self { fixed, best, unit_ns }
    }

    /// Returns the loss of a sample in time or units of work.
    pub(crate) fn lost(&self, value: f64) -> f64 {
        match self.fixed {
            Fixed::Work => (value - self.best).max(0.0),
            Fixed::Time => (self.best - value).max(0.0),
        }
    }

    /// Returns the loss of a sample in ns; for fixed time, the part of the window that the missing work would have
    /// taken.
    pub(crate) fn ns(&self, value: f64) -> f64 {
        self.lost(value) * self.unit_ns
    }

    /// Writes the loss of a sample.
    pub(crate) fn text(&self, value: f64) -> String {
        amount(self.fixed, self.lost(value))
    }

    /// Returns the worst sample of a distribution.
    pub(crate) fn worst(&self, distribution: &Distribution) -> f64 {
        match self.fixed {
            Fixed::Work => distribution.max,
            Fixed::Time => distribution.min,
        }
    }

    /// Returns the value that this share of the samples reaches or beats.
    pub(crate) fn quantile(&self, distribution: &Distribution, share: f64) -> Option<f64> {
        let share = if self.fixed == Fixed::Work { share } else { 1.0 - share };
        distribution.quantile(share).map(|quantile| quantile.value)
    }

    /// Writes a value with enough digits to show its loss, or one of size `seen`.
    pub(crate) fn value(&self, value: f64, seen: f64) -> String {
        match self.fixed {
            Fixed::Work => fine_beside(value, seen),
            Fixed::Time => units_of_work(value),
        }
    }
}

/// Writes an amount of time or work with three digits.
pub(crate) fn amount(fixed: Fixed, lost: f64) -> String {
    if fixed == Fixed::Work { fine(lost) } else { units_of_work(lost) }
}

/// Writes units of work, with a decimal if there are few.
fn units_of_work(units: f64) -> String {
    let whole = units.round() == units || units.abs() >= 99.95;
    if whole { count(units.max(0.0).round() as u64) } else { format!("{units:.1}") }
}
