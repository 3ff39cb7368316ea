//! Samples told as what they lost against the best one: a millisecond and 10 ns more is "10 ns".

use crate::units::count;
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
            Fixed::Work => time_beside(value, seen),
            Fixed::Time => units_of_work(value),
        }
    }
}

/// An amount of time or work, three digits.
pub(crate) fn amount(fixed: Fixed, lost: f64) -> String {
    if fixed == Fixed::Work { time(lost) } else { units_of_work(lost) }
}

/// Units of work: whole ones, and a decimal where there are few.
fn units_of_work(units: f64) -> String {
    let whole = units.round() == units || units.abs() >= 99.95;
    if whole { count(units.max(0.0).round() as u64) } else { format!("{units:.1}") }
}

/// Time in three digits: `0.12 ns`, `9.78 ns`, `412 ns`, `1.23 µs`, `45.6 ms`.
pub(crate) fn time(ns: f64) -> String {
    let (unit, name) = unit(ns.abs() * 1.0005);
    let number = ns / unit;
    match number.abs() {
        0.0 => "0".into(),
        ..9.995 => format!("{number:.2} {name}"),
        ..99.95 => format!("{number:.1} {name}"),
        ..9_999.5 => format!("{number:.0} {name}"),
        _ => format!("{} {name}", count(number.abs().round() as u64)),
    }
}

/// Two times with one unit: `131–142 ns`.
pub(crate) fn time_range(low_ns: f64, high_ns: f64) -> String {
    let (unit, name) = unit(high_ns.abs() * 1.0005);
    let decimals = match high_ns / unit {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    // A dash beside a minus sign would read as one.
    let to = if low_ns < 0.0 { " to " } else { "–" };
    format!("{:.decimals$}{to}{:.decimals$} {name}", low_ns / unit, high_ns / unit)
}

/// A time with two digits of something smaller: 1,012,345 ns beside 12,345 ns is `1.012 ms`.
pub(crate) fn time_beside(ns: f64, seen_ns: f64) -> String {
    let (unit, name) = unit(ns.abs() * 1.000_000_5);
    let digits = if seen_ns > 0.0 { 1 - (seen_ns / unit).log10().floor() as i32 } else { 3 };
    let decimals = digits.clamp(1, 6) as usize;
    format!("{:.decimals$} {name}", ns / unit)
}

fn unit(ns: f64) -> (f64, &'static str) {
    match ns {
        ..1e3 => (1.0, "ns"),
        ..1e6 => (1e3, "µs"),
        ..1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let cases = [
            (0.0, "0"),
            (0.123, "0.12 ns"),
            (9.783, "9.78 ns"),
            (130.2, "130 ns"),
            (999.8, "1.00 µs"),
            (12_345.0, "12.3 µs"),
            (8_123_456.0, "8.12 ms"),
            (2.5e9, "2.50 s"),
            (2.5e13, "25,000 s"),
        ];
        for (ns, expected) in cases {
            assert_eq!(time(ns), expected, "{ns} ns");
        }
        let beside = [
            (1_012_345.0, 12_345.0, "1.012 ms"),
            (1_000_234.0, 12.0, "1.000234 ms"),
            (1_000_234.0, 130.0, "1.00023 ms"),
            (100_020.0, 800.0, "100.02 µs"),
            (1.0e9, 3.0e8, "1.00 s"),
            (999_999_990.0, 30_000.0, "1.000000 s"),
            (41.2, 0.0, "41.200 ns"),
        ];
        for (ns, seen, expected) in beside {
            assert_eq!(time_beside(ns, seen), expected, "{ns} ns beside {seen} ns");
        }
        assert_eq!(time_range(131.0, 142.4), "131–142 ns");
        assert_eq!(time_range(-180.0, 1_260.0), "-0.18 to 1.26 µs");
        assert_eq!(time_range(980.0, 1_020.0), "0.98–1.02 µs");
    }
}
