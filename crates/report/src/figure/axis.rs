//! One axis of a figure: its range, where a value stands on it, and its ticks.

use crate::figure::ticks::{Tick, linear, logarithmic};

/// How values are laid out along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Equal distances are equal differences.
    Linear,
    /// Equal distances are equal ratios. What is not above the lowest value stands on the edge.
    Log,
}

/// What an axis counts, which decides its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Nanoseconds.
    Time,
    /// Things, in whole numbers.
    Count,
    /// Part of all, 0 to 1.
    Share,
    /// Hertz.
    Frequency,
    /// Times something else.
    Ratio,
}

/// Values beyond this are drawn on the edge: no measurement is as large, and differences stay finite.
const LARGEST: f64 = 1e24;
/// A range narrower than this part of its values is one value: ticks in it could not be told apart.
const NARROWEST: f64 = 1e-7;

/// An axis from its lowest to its highest value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Axis {
    pub quantity: Quantity,
    pub scale: Scale,
    pub low: f64,
    pub high: f64,
}

impl Axis {
    /// The axis that shows all of these. What is not a number, and on a logarithmic axis what is
    /// not above 0, counts for nothing. One value alone stands in the middle.
    pub(crate) fn over(
        quantity: Quantity,
        scale: Scale,
        values: impl IntoIterator<Item = f64>,
    ) -> Self {
        let shown = |v: &f64| v.is_finite() && (scale == Scale::Linear || *v > 0.0);
        let least = if scale == Scale::Log { 1.0 / LARGEST } else { -LARGEST };
        let range = values
            .into_iter()
            .filter(shown)
            .map(|v| v.clamp(least, LARGEST))
            .fold(None, |range, v| {
                Some(range.map_or((v, v), |(l, h): (f64, f64)| (l.min(v), h.max(v))))
            });
        let (low, high) = match (range, scale) {
            (None, Scale::Linear) => (0.0, 1.0),
            (None, Scale::Log) => (1.0, 10.0),
            (Some((low, high)), _) if high - low > NARROWEST * high.abs().max(low.abs()) => {
                (low, high)
            }
            (Some((low, _)), Scale::Log) => (low / 2.0, low * 2.0),
            (Some((0.0, _)), Scale::Linear) => (0.0, 1.0),
            (Some((low, _)), Scale::Linear) if quantity == Quantity::Count => {
                (low - 1.0, low + 1.0)
            }
            (Some((low, _)), Scale::Linear) => (low - low.abs() / 10.0, low + low.abs() / 10.0),
        };
        Self { quantity, scale, low, high }
    }

    /// The same axis out to the next round values: every extreme lies between two labels.
    pub(crate) fn rounded(self, most_ticks: usize) -> Self {
        let (low, high) = match self.scale {
            Scale::Linear => {
                let step =
                    crate::figure::ticks::step(self.low, self.high, most_ticks, self.quantity);
                ((self.low / step + 1e-6).floor() * step, (self.high / step - 1e-6).ceil() * step)
            }
            Scale::Log => (round_down(self.low), 1.0 / round_down(1.0 / self.high)),
        };
        // Where rounding fails (the edge of what floats can tell apart), the exact range is as good.
        if low < high { Self { low, high, ..self } } else { self }
    }

    /// Where a value stands, from 0 (lowest) to 1 (highest); on the edge where it lies beyond.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let place = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log if value <= self.low => 0.0,
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        if place.is_nan() { 0.0 } else { place.clamp(0.0, 1.0) }
    }

    /// The most ticks whose labels `fit`.
    pub(crate) fn ticks(&self, most: usize, fit: impl Fn(&[Tick]) -> bool) -> Vec<Tick> {
        let candidates = match self.scale {
            Scale::Linear => linear(self, most),
            Scale::Log => logarithmic(self, most),
        };
        candidates.into_iter().find(|ticks| fit(ticks)).unwrap_or_default()
    }
}

/// The next of 1, 2, 5, 10, 20, … that is not above a positive value.
fn round_down(value: f64) -> f64 {
    let power = 10f64.powf((value.log10() + 1e-9).floor());
    let digits = [5.0, 2.0, 1.0];
    digits
        .map(|digit| digit * power)
        .into_iter()
        .find(|&v| v <= value * (1.0 + 1e-9))
        .unwrap_or(power)
}
