//! Samples told as what they lost against the best one: a millisecond and 10 ns more is "10 ns".

use crate::units::{count, fine, fine_beside};
use anechoic_analyze::samples::distribution::Distribution;
use anechoic_analyze::samples::{Fixed, SeriesFacts};

/// How the values of one series are told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loss {
    pub fixed: Fixed,
    pub best: f64,
    /// Nanoseconds that one lost unit stands for: itself where the work is fixed.
    unit_ns: f64,
}

impl Loss {
    pub(crate) fn of(facts: &SeriesFacts, distribution: &Distribution) -> Self {
        match facts.fixed {
            Fixed::Work => Self { fixed: Fixed::Work, best: distribution.min, unit_ns: 1.0 },
            Fixed::Time => {
                let best = distribution.max;
                let unit_ns = if best > 0.0 { facts.grain_ns as f64 / best } else { 0.0 };
                Self { fixed: Fixed::Time, best, unit_ns }
            }
        }
    }

    /// What a sample lost: time, or units of work.
    pub(crate) fn of_value(&self, value: f64) -> f64 {
        match self.fixed {
            Fixed::Work => (value - self.best).max(0.0),
            Fixed::Time => (self.best - value).max(0.0),
        }
    }

    /// What a sample lost in ns; of fixed time, the part of the window in which the missing work would have been done.
    pub(crate) fn ns(&self, value: f64) -> f64 {
        self.of_value(value) * self.unit_ns
    }

    /// The loss of a sample, in words.
    pub(crate) fn text(&self, value: f64) -> String {
        amount(self.fixed, self.of_value(value))
    }

    /// The worst sample of a distribution.
    pub(crate) fn worst(&self, distribution: &Distribution) -> f64 {
        match self.fixed {
            Fixed::Work => distribution.max,
            Fixed::Time => distribution.min,
        }
    }

    /// The value that this share of the samples is better than or equal to.
    pub(crate) fn quantile(&self, distribution: &Distribution, share: f64) -> Option<f64> {
        let share = if self.fixed == Fixed::Work { share } else { 1.0 - share };
        let near =
            |q: &&anechoic_analyze::samples::distribution::Quantile| (q.share - share).abs() < 1e-6;
        distribution.quantiles.iter().find(near).map(|quantile| quantile.value)
    }

    /// A value itself, with digits enough to see its loss, or one of this size.
    pub(crate) fn value(&self, value: f64, seen: f64) -> String {
        match self.fixed {
            Fixed::Work => fine_beside(value, seen),
            Fixed::Time => units_of_work(value),
        }
    }
}

/// An amount of time or work, three digits.
pub(crate) fn amount(fixed: Fixed, lost: f64) -> String {
    if fixed == Fixed::Work { fine(lost) } else { units_of_work(lost) }
}

/// Units of work: whole ones, and a decimal where there are few.
fn units_of_work(units: f64) -> String {
    let whole = units.round() == units || units.abs() >= 99.95;
    if whole { count(units.max(0.0).round() as u64) } else { format!("{units:.1}") }
}
