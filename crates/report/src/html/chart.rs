//! Charts of curves: what the script needs to draw one, its caption and its legend.

use super::data;
use super::page::Page;
use super::picture::Picture;
use crate::palette::{self, Color, SHAPES};
use maud::{Markup, html};
use serde::Serialize;

/// What an axis measures: decides how its numbers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Quantity {
    /// Nanoseconds.
    Time,
    /// How many.
    Count,
    /// Part of a whole, from 0 to 1.
    Share,
    /// Hertz.
    Frequency,
    /// A plain number.
    Number,
}

/// A place on an axis that has a name.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Place {
    /// Where.
    pub at: f64,
    /// What it is called.
    pub name: String,
}

/// One axis.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Axis {
    /// What it shows, in words.
    pub label: String,
    /// How its numbers are written.
    pub quantity: Quantity,
    /// Whether it is logarithmic.
    pub log: bool,
    /// Names that stand in the place of numbers, from the least place on; none where numbers stand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<Place>,
}

impl Axis {
    /// A logarithmic axis.
    pub(crate) fn log(label: &str, quantity: Quantity) -> Self {
        Self { label: label.into(), quantity, log: true, names: vec![] }
    }

    /// A linear axis.
    pub(crate) fn linear(label: &str, quantity: Quantity) -> Self {
        Self { label: label.into(), quantity, log: false, names: vec![] }
    }

    /// A linear axis of things with names.
    pub(crate) fn named(label: &str, names: Vec<Place>) -> Self {
        Self { names, ..Self::linear(label, Quantity::Number) }
    }
}

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Draw {
    /// Straight lines from point to point.
    Line,
    /// Each value holds up to the next point.
    Steps,
    /// Points alone.
    Points,
    /// A line from the axis to each point.
    Spikes,
    /// A line from the first to the second point, from the third to the fourth, and so on: intervals.
    Segments,
}

/// One curve.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Curve {
    /// What it is, in words.
    pub name: String,
    /// The name of its colour in the style sheet.
    pub color: &'static str,
    /// Number of its shape and pattern.
    pub shape: usize,
    /// How it is drawn.
    pub draw: Draw,
    /// Whether the area under it is filled.
    pub area: bool,
    /// Points: x, rising (of segments in any order),
    pub x: Vec<f64>,
    /// and y.
    pub y: Vec<f64>,
    /// What each point is called; none where they have no names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

impl Curve {
    /// A curve in a colour and pattern of its own number.
    pub(crate) fn numbered(number: usize, name: String, draw: Draw, points: &[(f64, f64)]) -> Self {
        let (color, pattern) = (palette::of_curve(number), palette::pattern(number));
        Self::colored(color, pattern, name, draw, points)
    }

    /// A curve in this colour and shape.
    pub(crate) fn colored(
        color: Color,
        shape: usize,
        name: String,
        draw: Draw,
        points: &[(f64, f64)],
    ) -> Self {
        let (x, y) = points.iter().copied().unzip();
        Self {
            name,
            color: color.name,
            shape: shape % SHAPES,
            draw,
            area: false,
            x,
            y,
            labels: vec![],
        }
    }
}

/// A labelled place on the horizontal axis.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Mark {
    /// Where.
    pub x: f64,
    /// How high the label stands: that of the curve there.
    pub y: f64,
    /// What is there.
    pub label: String,
}

/// A chart of curves.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Chart {
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Curves.
    pub curves: Vec<Curve>,
    /// Labelled places.
    pub marks: Vec<Mark>,
    /// A horizontal line: a threshold.
    pub level: Option<f64>,
    /// Whether a line from corner to corner shows where both axes are equal.
    pub diagonal: bool,
    /// Pixels high; 0 for the usual.
    pub height: u32,
    /// What tells it from others of its section; empty where it is the only one.
    #[serde(skip)]
    pub name: String,
}

impl Chart {
    /// A chart of curves and nothing else.
    pub(crate) fn of(x: Axis, y: Axis, curves: Vec<Curve>) -> Self {
        Self {
            x,
            y,
            curves,
            marks: vec![],
            level: None,
            diagonal: false,
            height: 0,
            name: String::new(),
        }
    }

    /// The chart by this name.
    pub(crate) fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The figure with its caption; nothing where there is nothing to draw.
    pub(crate) fn figure(&self, caption: &str, page: &mut Page) -> Markup {
        if self.curves.iter().all(|curve| curve.x.is_empty()) {
            return html! {};
        }
        let id = page.id("chart");
        let number = page.figure();
        page.keep(number, &self.name, caption, || Picture::Chart(self.clone()));
        html! {
            figure.chart {
                div.plot data-chart=(id) tabindex="0" role="img" aria-label=(format!("Chart: {caption}"))
                    style=[(self.height > 0).then(|| format!("min-height:{}px", self.height))] {}
                (self.legend())
                figcaption { b { "Figure " (number) ". " } (caption) }
                (data::element(&id, self))
            }
        }
    }

    fn legend(&self) -> Markup {
        if self.curves.len() < 2 {
            return html! {};
        }
        html! {
            ul.legend aria-label="curves; press to hide" {
                @for (number, curve) in self.curves.iter().enumerate() {
                    li { button type="button" aria-pressed="true" data-curve=(number) {
                        (key(curve.color, curve.shape, curve.draw)) (curve.name)
                    } }
                }
            }
        }
    }
}

/// What stands for a curve in a legend: a piece of its line, or its shape.
pub(crate) fn key(color: &str, number: usize, draw: Draw) -> Markup {
    let dashes = ["", "7 3", "2 3", "7 3 2 3", "12 4", "4 2"];
    html! {
        @if draw == Draw::Points {
            svg.key.point viewBox="7 0 12 12" aria-hidden="true" style=(format!("color:var(--c-{color})")) { (shape(number)) }
        } @else {
            svg.key viewBox="0 0 26 12" aria-hidden="true" style=(format!("color:var(--c-{color})")) {
                line x1="1" y1="6" x2="25" y2="6" stroke="currentColor" stroke-width="2.4"
                    stroke-dasharray=(dashes[number % dashes.len()]) {}
            }
        }
    }
}

/// The outline of a shape: circle, square, triangle, diamond, cross, ring.
fn shape(number: usize) -> Markup {
    html! {
        @match number % SHAPES {
            0 => circle cx="13" cy="6" r="4.2" fill="currentColor" {},
            1 => rect x="9" y="2" width="8" height="8" fill="currentColor" {},
            2 => path d="M13 1.2 L18 10.4 L8 10.4 Z" fill="currentColor" {},
            3 => path d="M13 .8 L18.2 6 L13 11.2 L7.8 6 Z" fill="currentColor" {},
            4 => path d="M9 2 L17 10 M17 2 L9 10" stroke="currentColor" stroke-width="2.2" {},
            _ => circle cx="13" cy="6" r="3.6" fill="none" stroke="currentColor" stroke-width="2" {},
        }
    }
}

/// What stands for a source beside its name.
pub(crate) fn swatch(color: Color, number: usize) -> Markup {
    key(color.name, number, Draw::Points)
}
