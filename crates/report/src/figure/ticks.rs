//! Ticks at round values: steps of 1, 2 or 5, or decades, with labels in one unit.

use crate::figure::axis::{Axis, Quantity};
use crate::units;

/// A place on an axis and what stands beside it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    /// From 0 (lowest) to 1 (highest).
    pub place: f64,
    pub label: String,
}

/// Characters of a label, at most; a longer one is written with an exponent.
const LABEL: usize = 12;
/// Up to this ratio a logarithmic axis has ticks at 1, 2 and 5 of each decade, not only at decades.
const FEW_DECADES: f64 = 1001.0;

/// The step of 1, 2 or 5 that parts the range in at most so many.
pub(crate) fn step(low: f64, high: f64, most: usize, quantity: Quantity) -> f64 {
    let least = (high - low) / most.max(1) as f64;
    let power = 10f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
    let step = steps.into_iter().find(|&step| step >= least * (1.0 - 1e-9)).unwrap_or(least);
    if quantity == Quantity::Count { step.max(1.0) } else { step }
}

/// Sets of ticks at equal differences, the densest first.
pub(crate) fn linear(axis: &Axis, most: usize) -> Vec<Vec<Tick>> {
    let set = |most: usize| {
        let step = step(axis.low, axis.high, most, axis.quantity);
        let first = (axis.low / step - 1e-6).ceil();
        let values = (0..=most).map(|number| (first + number as f64) * step);
        let values: Vec<f64> = values.take_while(|&v| v <= axis.high + step * 1e-6).collect();
        let labels = labels(axis.quantity, &values, step);
        let tick = |(&value, label)| Tick { place: axis.place(value), label };
        values.iter().zip(labels).map(tick).collect()
    };
    (1..=most).rev().map(set).collect()
}

/// Sets of ticks at equal ratios, the densest first. Less than a decade has them at equal differences.
pub(crate) fn logarithmic(axis: &Axis, most: usize) -> Vec<Vec<Tick>> {
    let ratio = axis.high / axis.low;
    if ratio < 10.0 {
        return linear(axis, most);
    }
    let inside = |v: &f64| *v >= axis.low * (1.0 - 1e-9) && *v <= axis.high * (1.0 + 1e-9);
    let (first, last) = (axis.low.log10().floor() as i32, axis.high.log10().ceil() as i32);
    let set = |digits: &[f64], stride: i32| -> Vec<Tick> {
        let decades = (first..=last).filter(|decade| decade % stride == 0);
        let values = decades.flat_map(|decade| digits.iter().map(move |d| d * 10f64.powi(decade)));
        let tick =
            |value| Tick { place: axis.place(value), label: round_label(axis.quantity, value) };
        values.filter(inside).map(tick).collect()
    };
    let fine = (ratio < FEW_DECADES).then(|| set(&[1.0, 2.0, 5.0], 1));
    let coarse = (1..=(last - first).max(1)).map(|stride| set(&[1.0], stride));
    fine.into_iter().chain(coarse).filter(|ticks| ticks.len() <= most + 1).collect()
}

/// Labels of values that lie a step apart, all in the unit of the largest.
fn labels(quantity: Quantity, values: &[f64], step: f64) -> Vec<String> {
    let largest = values.iter().fold(0.0f64, |most, v| most.max(v.abs()));
    let (unit, name) = unit(quantity, largest);
    let decimals = (-(step / unit).log10() - 1e-9).ceil().clamp(0.0, 9.0) as usize;
    let label = |&value: &f64| {
        let number = value / unit;
        let zero = number.abs() < 0.5 * 10f64.powi(-(decimals as i32));
        let text = match decimals {
            _ if zero => return "0".into(),
            0 if number.abs() < 1e15 => whole(number),
            _ => format!("{number:.decimals$}"),
        };
        short(format!("{text}{name}"), number, name)
    };
    values.iter().map(label).collect()
}

/// Label of 1, 2 or 5 times a power of ten.
fn round_label(quantity: Quantity, value: f64) -> String {
    let (unit, name) = unit(quantity, value);
    let number = value / unit;
    let exponent = value.log10().floor() as i32;
    let digit = (value / 10f64.powi(exponent)).round();
    let plain = matches!(quantity, Quantity::Time | Quantity::Frequency);
    match number {
        0.000_9..99_999.0 if plain || number > 0.000_9 => {
            let decimals = (-(number * 1.000_001).log10().floor()).max(0.0) as usize;
            let text = if decimals == 0 { whole(number) } else { format!("{number:.decimals$}") };
            format!("{text}{name}")
        }
        _ if plain => short(String::new(), number, name),
        _ if digit == 1.0 => format!("10{}", superscript(exponent)),
        _ => format!("{digit}·10{}", superscript(exponent)),
    }
}

/// The text, or the number with an exponent where the text is long or empty.
fn short(text: String, number: f64, name: &str) -> String {
    let fits = !text.is_empty() && text.chars().count() <= LABEL;
    if fits { text } else { format!("{number:.2e}{name}") }
}

/// The unit that a value of this size is told in, and its name behind a number.
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
        (Quantity::Count | Quantity::Share | Quantity::Ratio, _) => (1.0, ""),
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
    use crate::figure::axis::Scale;

    fn told(quantity: Quantity, scale: Scale, low: f64, high: f64, most: usize) -> String {
        let axis = Axis { quantity, scale, low, high };
        let ticks = axis.ticks(most, |_| true);
        ticks.iter().map(|tick| tick.label.as_str()).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn ticks_are_round() {
        use Quantity::{Count, Frequency, Ratio, Share, Time};
        use Scale::{Linear, Log};
        let cases = [
            ("seconds", Time, Linear, 0.0, 10e9, 5, "0 | 2 s | 4 s | 6 s | 8 s | 10 s"),
            ("part of a second", Time, Linear, 0.0, 1.2e9, 3, "0 | 0.5 s | 1.0 s"),
            (
                "a narrow range",
                Time,
                Linear,
                1_000_010.0,
                1_000_090.0,
                4,
                "1.00002 ms | 1.00004 ms | 1.00006 ms | 1.00008 ms",
            ),
            ("below 0", Time, Linear, -1_500.0, 1_500.0, 3, "-1 µs | 0 | 1 µs"),
            ("whole things", Count, Linear, 3.0, 5.0, 10, "3 | 4 | 5"),
            ("thousands", Count, Linear, 0.0, 20_000.0, 2, "0 | 10,000 | 20,000"),
            ("decades", Time, Log, 10.0, 1e6, 6, "10 ns | 100 ns | 1 µs | 10 µs | 100 µs | 1 ms"),
            ("every other decade", Time, Log, 10.0, 1e8, 4, "100 ns | 10 µs | 1 ms | 100 ms"),
            (
                "1, 2, 5",
                Frequency,
                Log,
                100.0,
                2_000.0,
                9,
                "100 Hz | 200 Hz | 500 Hz | 1 kHz | 2 kHz",
            ),
            ("less than a decade", Ratio, Log, 2.0, 4.0, 2, "2 | 3 | 4"),
            ("small shares", Share, Log, 1e-5, 1.0, 6, "10⁻⁵ | 10⁻⁴ | 0.001 | 0.01 | 0.1 | 1"),
            ("many", Count, Log, 1.0, 1e6, 3, "1 | 100 | 10,000 | 10⁶"),
            ("no room", Count, Log, 1.0, 1e6, 1, "1 | 10,000"),
        ];
        for (name, quantity, scale, low, high, most, expected) in cases {
            assert_eq!(told(quantity, scale, low, high, most), expected, "case: {name}");
        }
    }
}
