//! What is written at the ticks of an axis.

use super::paper::{self, Anchor, TEXT, number};
use crate::html::chart::Quantity;
use crate::units::{tick_count, tick_frequency, tick_share, tick_time};
use maud::{Markup, html};
use std::fmt;

/// The text of a tick.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Label {
    /// As it is.
    Text(String),
    /// A power of ten.
    Power(i32),
}

/// The raised part of a power is so much smaller.
const RAISED: f64 = 0.72;

impl Label {
    /// About how wide it is, in points.
    pub(super) fn width(&self) -> f64 {
        match self {
            Self::Text(text) => paper::width(text, TEXT),
            Self::Power(power) => {
                paper::width("10", TEXT) + paper::width(&power.to_string(), TEXT * RAISED)
            }
        }
    }

    /// The text with its base at this height.
    pub(super) fn at(&self, at: (f64, f64), anchor: Anchor) -> Markup {
        match self {
            Self::Text(text) => paper::line(at, anchor, TEXT, text),
            Self::Power(power) => html! {
                text x=(number(at.0)) y=(number(at.1)) text-anchor=[anchor.name()] {
                    "10" tspan dy=(number(-0.36 * TEXT)) font-size=(number(TEXT * RAISED)) { (minus(&power.to_string())) }
                }
            },
        }
    }
}

/// A number with the sign that is as wide as a plus.
fn minus(number: &str) -> String {
    number.replace('-', "−")
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Power(power) => write!(f, "10^{power}"),
        }
    }
}

/// Texts of these values, all of one form.
pub(super) fn labels(quantity: Quantity, log: bool, values: &[f64]) -> Vec<Label> {
    let largest = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    if log && is_far(quantity, values) {
        return values.iter().map(|value| Label::Power(value.log10().round() as i32)).collect();
    }
    let text = |value: &f64| match quantity {
        Quantity::Time if log => tick_time(*value, *value),
        Quantity::Time => tick_time(*value, largest),
        Quantity::Count | Quantity::Number => tick_count(*value),
        Quantity::Share => tick_share(*value),
        Quantity::Frequency => tick_frequency(*value, largest),
    };
    values.iter().map(|value| Label::Text(minus(&text(value)))).collect()
}

/// Whether numbers go so far that only powers of ten are short.
fn is_far(quantity: Quantity, values: &[f64]) -> bool {
    let (least, most) = match quantity {
        Quantity::Time | Quantity::Frequency => return false,
        // Of percent.
        Quantity::Share => (9e-6, f64::INFINITY),
        Quantity::Count | Quantity::Number => (9e-4, 9e4),
    };
    let far = |value: &f64| *value < least || *value > most;
    let is_power = |value: &f64| (value.log10() - value.log10().round()).abs() < 1e-9;
    values.iter().any(far) && values.iter().all(is_power)
}
