//! An axis of a picture: what it measures, its range, and the position of a value.

use serde::Serialize;

/// The quantity of an axis, which decides how its numbers are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Quantity {
    /// Nanoseconds.
    Time,
    /// Whole numbers.
    Count,
    /// Part of a whole, from 0 to 1.
    Share,
    /// Hertz.
    Frequency,
    /// A plain number, such as a ratio.
    #[default]
    Number,
}

/// A labelled position on an axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Place {
    /// Position on the axis.
    pub at: f64,
    /// Label beside the axis.
    pub name: String,
}

/// Larger values are drawn at the edge: no measurement is as large, and differences stay finite.
const LARGEST: f64 = 1e24;
/// A range narrower relative to its values counts as one value, because its axis ticks would have equal labels.
const NARROWEST: f64 = 1e-7;

/// An axis. Its range is set by [`Axis::over`], or found by [`Axis::around`] when it is drawn.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Axis {
    /// Label of the axis.
    pub label: String,
    /// How its numbers are written.
    pub quantity: Quantity,
    /// Whether the axis is logarithmic.
    pub log: bool,
    /// Names in place of numbers, in rising order; empty for an axis of numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<Place>,
    /// Lowest and highest value, if they are set.
    #[serde(skip)]
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// Returns a logarithmic axis.
    pub(crate) fn log(label: &str, quantity: Quantity) -> Self {
        Self { log: true, ..Self::linear(label, quantity) }
    }

    /// Returns a linear axis.
    pub(crate) fn linear(label: &str, quantity: Quantity) -> Self {
        Self { label: label.into(), quantity, ..Self::default() }
    }

    /// Returns a linear axis with names.
    pub(crate) fn named(label: &str, names: Vec<Place>) -> Self {
        Self { names, ..Self::linear(label, Quantity::Number) }
    }

    /// Returns the lowest and the highest value.
    pub(crate) fn ends(&self) -> (f64, f64) {
        self.range.unwrap_or(if self.log { (1.0, 10.0) } else { (0.0, 1.0) })
    }

    /// Returns the minimum and maximum of the values that can be drawn: numbers, which must be positive on a
    /// logarithmic axis.
    fn extremes(&self, values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
        let shown = |v: &f64| v.is_finite() && (!self.log || *v > 0.0);
        let least = if self.log { 1.0 / LARGEST } else { -LARGEST };
        values.into_iter().filter(shown).map(|v| v.clamp(least, LARGEST)).fold(None, |range, v| {
            Some(range.map_or((v, v), |(l, h): (f64, f64)| (l.min(v), h.max(v))))
        })
    }

    /// Sets the exact range of these values; a single value is placed in the middle.
    pub(crate) fn over(self, values: impl IntoIterator<Item = f64>) -> Self {
        let range = self.extremes(values).map(|(low, high)| match (low, self.log) {
            _ if high - low > NARROWEST * high.abs().max(low.abs()) => (low, high),
            (_, true) => (low / 2.0, low * 2.0),
            (0.0, false) => (0.0, 1.0),
            (_, false) if self.quantity == Quantity::Count => (low - 1.0, low + 1.0),
            (_, false) => (low - low.abs() / 10.0, low + low.abs() / 10.0),
        });
        Self { range: Some(range.unwrap_or(self.ends())), ..self }
    }

    /// Extends the range to the next round values, so that every extreme lies between two labels.
    pub(crate) fn rounded(self, most_ticks: usize) -> Self {
        let (low, high) = self.ends();
        let (from, to) = if self.log {
            (round_down(low), 1.0 / round_down(1.0 / high))
        } else {
            let step = step(low, high, most_ticks, self.quantity);
            ((low / step + 1e-6).floor() * step, (high / step - 1e-6).ceil() * step)
        };
        // Where rounding fails (the edge of what floats can distinguish), the exact range is as good.
        let range = if from < to { (from, to) } else { (low, high) };
        Self { range: Some(range), ..self }
    }

    /// Sets the range, if it is not set, to that of these values and of its names, with a small margin.
    pub(crate) fn around(&self, values: impl IntoIterator<Item = f64>) -> Self {
        let range = self.range.unwrap_or_else(|| {
            let named = self.names.iter().map(|place| place.at);
            let found = self.extremes(values.into_iter().chain(named));
            found.map_or(self.ends(), |(low, high)| self.with_room(low, high))
        });
        Self { range: Some(range), ..self.clone() }
    }

    fn with_room(&self, low: f64, high: f64) -> (f64, f64) {
        if !self.names.is_empty() {
            return (low - 0.6, high + 0.6);
        }
        if !self.log {
            let room = Some((high - low) * 0.04).filter(|room| *room > 0.0);
            let room = room.unwrap_or(if high == 0.0 { 1.0 } else { high.abs() });
            let from = if low >= 0.0 && low <= 0.3 * high { 0.0 } else { low - room };
            return (from, high + room);
        }
        if low == high {
            return (low / 2.0, high * 2.0);
        }
        // A count of one stands above the edge, where counts of none are.
        let below = if self.quantity == Quantity::Count { 1.5 } else { 1.15 };
        (low / below, high * 1.15)
    }

    /// Returns the position of a value from 0 (lowest) to 1 (highest); values outside are at the edge.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let (low, high) = self.ends();
        let place = match self.log {
            false => (value - low) / (high - low),
            true if value <= low => 0.0,
            true => (value / low).ln() / (high / low).ln(),
        };
        if place.is_nan() { 0.0 } else { place.clamp(0.0, 1.0) }
    }
}

/// Returns the step of 1, 2 or 5 times a power of ten that divides the range into at most `most` parts.
pub(super) fn step(low: f64, high: f64, most: usize, quantity: Quantity) -> f64 {
    let least = (high - low) / most.max(1) as f64;
    let power = 10f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
    let step = steps.into_iter().find(|&step| step >= least * (1.0 - 1e-9)).unwrap_or(least);
    if quantity == Quantity::Count { step.max(1.0) } else { step }
}

/// Returns the largest of 1, 2, 5, 10, 20, … that does not exceed a positive value.
fn round_down(value: f64) -> f64 {
    let power = 10f64.powf((value.log10() + 1e-9).floor());
    let digits = [5.0, 2.0, 1.0];
    digits
        .map(|digit| digit * power)
        .into_iter()
        .find(|&v| v <= value * (1.0 + 1e-9))
        .unwrap_or(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_a_place() {
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, f64::MAX];
        for axis in [Axis::log("", Quantity::Time), Axis::linear("", Quantity::Time)] {
            for axis in [axis.around(odd), axis.clone().over(odd), axis.over(odd).rounded(5)] {
                let (low, high) = axis.ends();
                assert!(low < high && low.is_finite() && high.is_finite(), "{low} {high}");
                for value in odd {
                    assert!((0.0..=1.0).contains(&axis.place(value)), "{value}");
                }
            }
        }
    }
}
