//! Axis ticks at round values: steps of 1, 2 or 5, or decades, with labels in one unit.

use super::axis::{Axis, Quantity, step};
use crate::style::{clip, plain};
use crate::units;
use std::ops::Range;

/// A labelled value on an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    /// The value.
    pub value: f64,
    /// Position from 0 (lowest) to 1 (highest).
    pub place: f64,
    /// Label; powers of ten have superscript digits.
    pub label: String,
}

/// Longest label in characters; longer ones are written with an exponent.
const LABEL: usize = 12;
/// Up to this ratio a logarithmic axis has ticks at 1, 2 and 5 of each decade, not only at decades.
const FEW_DECADES: f64 = 1001.0;

impl Axis {
    /// Returns the most axis ticks whose labels `fit`, at most about `most`.
    pub(crate) fn ticks(&self, most: usize, fit: impl Fn(&[Tick]) -> bool) -> Vec<Tick> {
        candidates(self, most).into_iter().find(|ticks| fit(ticks)).unwrap_or_default()
    }

    /// Returns the positions of unlabelled marks between the ticks of a logarithmic axis.
    pub(crate) fn minor(&self, ticks: &[Tick]) -> Vec<f64> {
        if self.log { between(self, ticks) } else { vec![] }
    }
}

/// Returns sets of axis ticks, the densest first.
fn candidates(axis: &Axis, most: usize) -> Vec<Vec<Tick>> {
    if !axis.names.is_empty() {
        return (1..=axis.names.len()).map(|stride| named(axis, stride)).collect();
    }
    let (low, high) = axis.ends();
    if !axis.log || high / low < 10.0 {
        return linear(axis, most);
    }
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let fine = (high / low < FEW_DECADES).then(|| decadic(axis, &[1, 2, 5], 1));
    let coarse = (1..=(last - first).max(1)).map(|stride| decadic(axis, &[1], stride));
    fine.into_iter().chain(coarse).filter(|ticks| ticks.len() <= most + 1).collect()
}

/// Returns axis ticks at multiples of powers of ten, for one of each `stride` powers.
fn decadic(axis: &Axis, digits: &[u32], stride: i32) -> Vec<Tick> {
    let values = powers(axis, digits, stride);
    // Where numbers go so far that only powers of ten are short, those from a thousand on are powers, too.
    let plain = if values.iter().any(|value| !PLAIN.contains(value)) { SHORT } else { PLAIN };
    let ticks = values.into_iter().map(|value| Tick {
        value,
        place: axis.place(value),
        label: round_label(axis.quantity, value, &plain),
    });
    ticks.collect()
}

/// Returns every `stride`-th name of an axis.
fn named(axis: &Axis, stride: usize) -> Vec<Tick> {
    let ticks = axis.names.iter().step_by(stride).map(|place| Tick {
        value: place.at,
        place: axis.place(place.at),
        label: clip(&plain(&place.name), LABEL),
    });
    ticks.collect()
}

/// Returns sets of equidistant axis ticks, the densest first.
fn linear(axis: &Axis, most: usize) -> Vec<Vec<Tick>> {
    (1..=most).rev().map(|most| equidistant(axis, most)).collect()
}

/// Returns at most `most` equidistant axis ticks beside the first.
fn equidistant(axis: &Axis, most: usize) -> Vec<Tick> {
    let (low, high) = axis.ends();
    let step = step(low, high, most, axis.quantity);
    let first = (low / step - 1e-6).ceil();
    let values = (0..=most).map(|number| (first + number as f64) * step);
    let values: Vec<f64> = values.take_while(|&v| v <= high + step * 1e-6).collect();
    let labels = labels(axis.quantity, &values, step);
    let tick = |(&value, label)| Tick { value, place: axis.place(value), label };
    values.iter().zip(labels).map(tick).collect()
}

/// Returns multiples of powers of ten on an axis, for one of each `stride` powers.
fn powers(axis: &Axis, digits: &[u32], stride: i32) -> Vec<f64> {
    let (low, high) = axis.ends();
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let inside = |v: &f64| *v >= low * (1.0 - 1e-9) && *v <= high * (1.0 + 1e-9);
    let decades = (first..=last).filter(|decade| decade % stride == 0);
    // Parsed, a value is the nearest number to the one that is written.
    let exact = |decade: i32, d: &u32| format!("{d}e{decade}").parse().unwrap_or(f64::NAN);
    let values = decades.flat_map(|decade| digits.iter().map(move |d| exact(decade, d)));
    values.filter(inside).collect()
}

/// Largest number of decades of an axis with marks at 2 to 9 between them.
const MARKED_DECADES: f64 = 9.0;

/// Returns unlabelled values: 2 to 9 times each power of ten.
fn between(axis: &Axis, written: &[Tick]) -> Vec<f64> {
    let (low, high) = axis.ends();
    let many = high.log10().ceil() - low.log10().floor() > MARKED_DECADES;
    let digits: &[u32] = if many { &[1] } else { &[1, 2, 3, 4, 5, 6, 7, 8, 9] };
    let mut found = powers(axis, digits, 1);
    found.retain(|value| written.iter().all(|tick| tick.value != *value));
    found
}

/// Returns labels of equidistant values, all in the unit of the largest.
fn labels(quantity: Quantity, values: &[f64], step: f64) -> Vec<String> {
    let largest = values.iter().fold(0.0f64, |most, v| most.max(v.abs()));
    let (unit, name) = unit(quantity, largest);
    let decimals = (-(step / unit).log10() - 1e-9).ceil().clamp(0.0, 9.0) as usize;
    values.iter().map(|value| number_label(value / unit, decimals, name)).collect()
}

/// Returns the label of a number with this many decimals in a unit.
fn number_label(number: f64, decimals: usize, unit: &str) -> String {
    let zero = number.abs() < 0.5 * 10f64.powi(-(decimals as i32));
    let text = match decimals {
        _ if zero => return "0".into(),
        0 if number.abs() < 1e15 => whole(number),
        _ => format!("{number:.decimals$}"),
    };
    short(format!("{text}{unit}"), number, unit)
}

/// Range of numbers that are written in full; others are powers of ten.
const PLAIN: Range<f64> = 0.000_9..99_999.0;
/// Range of numbers that are written in full beside powers of ten.
const SHORT: Range<f64> = 0.009..999.0;

/// Returns the label of 1, 2 or 5 times a power of ten. `plain` is the range of numbers without a unit that are written
/// in full.
fn round_label(quantity: Quantity, value: f64, plain: &Range<f64>) -> String {
    let (unit, name) = unit(quantity, value);
    let number = value / unit;
    let plain = if name.is_empty() { plain } else { &PLAIN };
    match number {
        _ if plain.contains(&number) => {
            let decimals = (-(number * 1.000_001).log10().floor()).max(0.0) as usize;
            let text = if decimals == 0 { whole(number) } else { format!("{number:.decimals$}") };
            format!("{text}{name}")
        }
        _ if matches!(quantity, Quantity::Time | Quantity::Frequency) => {
            short(String::new(), number, name)
        }
        _ => {
            let exponent = (number.log10() + 1e-9).floor() as i32;
            let digit = (number / 10f64.powi(exponent)).round();
            let times = if digit == 1.0 { String::new() } else { format!("{digit}·") };
            format!("{times}10{}{name}", superscript(exponent))
        }
    }
}

/// Returns the text, or the number with an exponent if the text is long or empty.
fn short(text: String, number: f64, name: &str) -> String {
    let fits = !text.is_empty() && text.chars().count() <= LABEL;
    if fits { text } else { format!("{number:.2e}{name}") }
}

/// Returns the unit of a value of this size, and its name after a number.
fn unit(quantity: Quantity, value: f64) -> (f64, &'static str) {
    let value = value * 1.000_001;
    match (quantity, value) {
        (Quantity::Time, ..1e3) => (1.0, " ns"),
        (Quantity::Time, ..1e6) => (1e3, " µs"),
        (Quantity::Time, ..1e9) => (1e6, " ms"),
        (Quantity::Time, _) => (1e9, " s"),
        (Quantity::Frequency, ..1e3) => (1.0, " Hz"),
        (Quantity::Frequency, ..1e6) => (1e3, " kHz"),
        (Quantity::Frequency, _) => (1e6, " MHz"),
        (Quantity::Share, _) => (0.01, " %"),
        (Quantity::Count | Quantity::Number, _) => (1.0, ""),
    }
}

fn whole(number: f64) -> String {
    let sign = if number < -0.5 { "-" } else { "" };
    format!("{sign}{}", units::count(number.abs().round() as u64))
}

fn superscript(exponent: i32) -> String {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raised = |c: char| c.to_digit(10).map_or('⁻', |digit| digits[digit as usize]);
    exponent.to_string().chars().map(raised).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels_of(quantity: Quantity, log: bool, low: f64, high: f64, most: usize) -> String {
        let axis = Axis { log, range: Some((low, high)), ..Axis::linear("", quantity) };
        let ticks = axis.ticks(most, |_| true);
        ticks.iter().map(|tick| tick.label.as_str()).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn ticks_are_round() {
        use Quantity::{Count, Frequency, Number, Share, Time};
        let linear = [
            ("seconds", Time, 0.0, 10e9, 5, "0 | 2 s | 4 s | 6 s | 8 s | 10 s"),
            ("part of a second", Time, 0.0, 1.2e9, 3, "0 | 0.5 s | 1.0 s"),
            (
                "a narrow range",
                Time,
                1_000_010.0,
                1_000_090.0,
                4,
                "1.00002 ms | 1.00004 ms | 1.00006 ms | 1.00008 ms",
            ),
            ("below 0", Time, -1_500.0, 1_500.0, 3, "-1 µs | 0 | 1 µs"),
            ("whole things", Count, 3.0, 5.0, 10, "3 | 4 | 5"),
            ("thousands", Count, 0.0, 20_000.0, 2, "0 | 10,000 | 20,000"),
            ("shares", Share, -0.06, 0.21, 6, "-5 % | 0 | 5 % | 10 % | 15 % | 20 %"),
            ("kilohertz", Frequency, 0.0, 2_100.0, 5, "0 | 0.5 kHz | 1.0 kHz | 1.5 kHz | 2.0 kHz"),
        ];
        for (name, quantity, low, high, most, expected) in linear {
            assert_eq!(labels_of(quantity, false, low, high, most), expected, "case: {name}");
        }
        let log = [
            ("decades", Time, 10.0, 1e6, 6, "10 ns | 100 ns | 1 µs | 10 µs | 100 µs | 1 ms"),
            ("every other decade", Time, 10.0, 1e8, 4, "100 ns | 10 µs | 1 ms | 100 ms"),
            ("1, 2, 5", Frequency, 100.0, 2_000.0, 9, "100 Hz | 200 Hz | 500 Hz | 1 kHz | 2 kHz"),
            ("less than a decade", Number, 2.0, 4.0, 2, "2 | 3 | 4"),
            (
                "small shares",
                Share,
                1e-7,
                1.0,
                8,
                "10⁻⁵ % | 10⁻⁴ % | 0.001 % | 0.01 % | 0.1 % | 1 % | 10 % | 100 %",
            ),
            ("many", Count, 1.0, 1e6, 3, "1 | 100 | 10⁴ | 10⁶"),
            ("no room", Count, 1.0, 1e6, 1, "1 | 10,000"),
        ];
        for (name, quantity, low, high, most, expected) in log {
            assert_eq!(labels_of(quantity, true, low, high, most), expected, "case: {name}");
        }
    }

    #[test]
    fn marks_between_labels_are_on_logarithmic_axes_alone() {
        let minor = |log, low, high| {
            let axis = Axis { log, range: Some((low, high)), ..Axis::linear("", Quantity::Count) };
            axis.minor(&axis.ticks(8, |_| true))
        };
        assert_eq!(minor(true, 1.0, 1e4)[..9], [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 20.0]);
        assert_eq!(minor(true, 1.0, 1e12).len(), 6, "of many decades those without a label");
        assert!(minor(false, 1.0, 1e4).is_empty());
    }
}
