//! A chart: two axes, and curves between them.

use super::axis::Axis;
use crate::palette::{self, Color, SHAPES};
use crate::style::Tone;
use serde::Serialize;

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Draw {
    /// Straight lines from point to point.
    Line,
    /// Each value holds up to the next point.
    Steps,
    /// Points alone; with spans, an error bar at each.
    Points,
    /// A line from the axis to each point.
    Spikes,
    /// A line from the first to the second point, from the third to the fourth, and so on: intervals.
    Segments,
    /// A band from the lower to the upper end of each span, with the points as a line in it.
    Band {
        /// How far along the horizontal axis each point reaches.
        width: f64,
    },
    /// Upright bars over the spans, which lie along the horizontal axis: counts of a histogram.
    Bars,
}

/// A curve.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Curve {
    /// What it is, in words.
    pub name: String,
    /// Its colour.
    pub color: Color,
    /// The number of its shape; lines get patterns by their place.
    pub shape: usize,
    /// How it is drawn.
    pub draw: Draw,
    /// Whether the area under it is filled.
    pub area: bool,
    /// Horizontal places of its points, rising except for segments.
    pub x: Vec<f64>,
    /// Vertical places of its points.
    pub y: Vec<f64>,
    /// From where to where each point reaches: bars horizontally, points and bands vertically. Empty where points have no extent.
    #[serde(skip)]
    pub spans: Vec<(f64, f64)>,
    /// The name of each point; empty where they have none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// What stands for it in the terminal, where colour alone does not tell curves apart.
    #[serde(skip)]
    pub letter: Option<char>,
}

impl Curve {
    /// A curve in the colour and the shape of its number.
    pub(crate) fn numbered(number: usize, name: String, draw: Draw, points: &[(f64, f64)]) -> Self {
        let (color, shape) = (palette::of_curve(number), palette::pattern(number));
        Self::colored(color, shape, name, draw, points)
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
        let (spans, labels) = (vec![], vec![]);
        let shape = shape % SHAPES;
        Self { name, color, shape, draw, area: false, x, y, spans, labels, letter: None }
    }

    /// The same curve with a letter that stands for it in the terminal.
    pub(crate) fn lettered(self, letter: Option<char>) -> Self {
        Self { letter, ..self }
    }

    /// The same curve with the extent of each point.
    pub(crate) fn spanning(self, spans: Vec<(f64, f64)>) -> Self {
        Self { spans, ..self }
    }

    /// Its points.
    pub(crate) fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.x.iter().copied().zip(self.y.iter().copied())
    }

    /// Values of the horizontal axis that it covers.
    pub(super) fn across(&self) -> impl Iterator<Item = f64> {
        let spans = if self.draw == Draw::Bars { &self.spans[..] } else { &[] };
        self.x.iter().copied().chain(spans.iter().flat_map(|(from, to)| [*from, *to]))
    }

    /// Values of the vertical axis that it covers.
    pub(super) fn along(&self) -> impl Iterator<Item = f64> {
        let spans = if self.draw == Draw::Bars { &[] } else { &self.spans[..] };
        self.y.iter().copied().chain(spans.iter().flat_map(|(low, high)| [*low, *high]))
    }

    /// Its colour in the terminal.
    pub(super) fn tone(&self) -> Tone {
        match self.draw {
            Draw::Band { .. } | Draw::Bars | Draw::Spikes => Tone::Bar,
            _ => palette::curve_number(self.color).map_or(Tone::Quiet, Tone::Series),
        }
    }
}

/// A place with a label.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Mark {
    /// Its horizontal place.
    pub x: f64,
    /// Its vertical place: that of the curve there.
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
    /// Curves; later ones lie on top.
    pub curves: Vec<Curve>,
    /// Places with labels, the most important first.
    pub marks: Vec<Mark>,
    /// A horizontal line, such as a threshold or a median.
    pub level: Option<f64>,
    /// Whether a diagonal line shows where both axes are equal.
    pub diagonal: bool,
    /// What distinguishes it from other figures of its section; empty where it is the only one.
    #[serde(skip)]
    pub name: String,
    /// Its heading in the terminal.
    #[serde(skip)]
    pub title: String,
    /// Rows of the terminal between its axes.
    #[serde(skip)]
    pub rows: usize,
    /// Whether letters of different curves at one horizontal place stand beside each other in the terminal.
    #[serde(skip)]
    pub beside: bool,
    /// What the terminal says below it.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// Rows of the terminal, where no other number is asked for.
pub(crate) const ROWS: usize = 10;

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
            name: String::new(),
            title: String::new(),
            rows: ROWS,
            beside: false,
            notes: vec![],
        }
    }

    /// The chart with this name.
    pub(crate) fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The chart with this heading and so many rows in the terminal.
    pub(crate) fn titled(self, title: impl Into<String>, rows: usize) -> Self {
        Self { title: title.into(), rows, ..self }
    }

    /// Whether there is nothing to draw.
    pub(crate) fn is_empty(&self) -> bool {
        self.curves.iter().all(|curve| curve.x.is_empty())
    }

    /// Both axes, with ranges that hold everything that is drawn.
    pub(super) fn axes(&self) -> (Axis, Axis) {
        let mut x = self.x.around(self.curves.iter().flat_map(Curve::across));
        let mut y = self.y.around(self.curves.iter().flat_map(Curve::along).chain(self.level));
        let points = |curve: &Curve| matches!(curve.draw, Draw::Points);
        if !x.log && self.x.range.is_none() && self.curves.iter().any(points) {
            // Shapes stand beside the frame, not on it.
            x.range = x.range.map(|(low, high)| (low - (high - low) * 0.02, high));
        }
        if y.log && self.y.range.is_none() && !self.marks.is_empty() {
            // Room for the labels above the highest.
            y.range = y.range.map(|(low, high)| (low, high * (high / low).powf(0.08)));
        }
        (x, y)
    }
}
