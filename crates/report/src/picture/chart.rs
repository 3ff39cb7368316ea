//! A chart: two axes with curves.

use super::axis::Axis;
use crate::palette::{self, Color, SHAPES};
use crate::style::Tone;
use serde::{Serialize, Serializer};

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Draw {
    /// Straight lines between points; with spans, an error bar at each in the report.
    Line,
    /// Each value holds up to the next point.
    Steps,
    /// Points; with spans, an error bar at each.
    Points,
    /// A line from the axis to each point.
    Spikes,
    /// Lines from the first to the second point, from the third to the fourth, and so on, for intervals.
    Segments,
    /// A line through the points in an area between the ends of their spans, both straight from point to point.
    Ribbon,
    /// Vertical bars over the spans, which lie along the horizontal axis: counts of a histogram.
    Bars,
}

/// A curve.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Curve {
    /// Name of the curve.
    pub name: String,
    /// Its colour.
    pub color: Color,
    /// Number of its shape; lines get patterns by their index.
    pub shape: usize,
    /// How it is drawn.
    pub draw: Draw,
    /// Whether the area under it is filled.
    pub area: bool,
    /// Horizontal positions of its points, rising except for segments.
    #[serde(serialize_with = "brief")]
    pub x: Vec<f64>,
    /// Vertical positions of its points.
    #[serde(serialize_with = "brief")]
    pub y: Vec<f64>,
    /// Extent of each point: horizontal for bars, vertical for points, lines and ribbons. Empty if points have no extent.
    #[serde(skip)]
    pub spans: Vec<(f64, f64)>,
    /// Name of each point; empty if they have none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Letter for the curve in the terminal, where colour alone does not distinguish curves.
    #[serde(skip)]
    pub letter: Option<char>,
}

impl Curve {
    /// Returns a curve with the colour and the shape of this number.
    pub(crate) fn numbered(number: usize, name: String, draw: Draw, points: &[(f64, f64)]) -> Self {
        let (color, shape) = (palette::curve_color(number), palette::pattern(number));
        Self::colored(color, shape, name, draw, points)
    }

    /// Returns a curve with this colour and shape.
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

    /// Sets the colour.
    pub(crate) fn recolored(self, color: Color) -> Self {
        Self { color, ..self }
    }

    /// Sets the letter for the curve in the terminal.
    pub(crate) fn lettered(self, letter: Option<char>) -> Self {
        Self { letter, ..self }
    }

    /// Sets the extent of each point.
    pub(crate) fn spanning(self, spans: Vec<(f64, f64)>) -> Self {
        Self { spans, ..self }
    }

    /// Returns its points.
    pub(crate) fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.x.iter().copied().zip(self.y.iter().copied())
    }

    /// Returns the values of the horizontal axis that it covers.
    pub(super) fn across(&self) -> impl Iterator<Item = f64> {
        let spans = if self.draw == Draw::Bars { &self.spans[..] } else { &[] };
        self.x.iter().copied().chain(spans.iter().flat_map(|(from, to)| [*from, *to]))
    }

    /// Returns the values of the vertical axis that it covers.
    pub(crate) fn along(&self) -> impl Iterator<Item = f64> {
        let spans = if self.draw == Draw::Bars { &[] } else { &self.spans[..] };
        self.y.iter().copied().chain(spans.iter().flat_map(|(low, high)| [*low, *high]))
    }

    /// Returns its colour in the terminal.
    pub(super) fn tone(&self) -> Tone {
        match self.draw {
            Draw::Ribbon | Draw::Bars | Draw::Spikes => Tone::Bar,
            _ => palette::curve_number(self.color).map_or(Tone::Quiet, Tone::Series),
        }
    }
}

/// Digits of a value, and parts of the range of all values, below which the page does not show a difference.
const DIGITS: i32 = 5;
/// Whole numbers below this are written without a point.
const WHOLE: f64 = 1e15;

/// Writes values as exactly as the page shows them: to five digits, and to a ten-thousandth of their range.
fn brief<S: Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let range = finite().fold(f64::NEG_INFINITY, f64::max) - finite().fold(f64::INFINITY, f64::min);
    let place = |size: f64| size.log10().floor().clamp(-300.0, 300.0) as i32 - DIGITS + 1;
    to.collect_seq(values.iter().map(|&value| {
        let known = [value.abs(), range].into_iter().filter(|size| size.is_finite() && *size > 0.0);
        match known.map(place).min() {
            // Whole numbers need no point.
            Some(exponent) if exponent >= 0 && value.abs() < WHOLE => {
                let unit = 10f64.powi(exponent);
                Number::Whole(((value / unit).round() * unit) as i64)
            }
            Some(exponent) if exponent >= 0 => Number::Part(value),
            Some(exponent) => {
                let decimals = exponent.unsigned_abs() as usize;
                let text = format!("{value:.decimals$}");
                let rounded = text.parse::<f64>().unwrap_or(value);
                if rounded.fract() == 0.0 && rounded.abs() < WHOLE {
                    Number::Whole(rounded as i64)
                } else {
                    Number::Part(rounded)
                }
            }
            None => Number::Part(value),
        }
    }))
}

/// A number as it is written.
#[derive(Serialize)]
#[serde(untagged)]
enum Number {
    Whole(i64),
    Part(f64),
}

/// A labelled position.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Mark {
    /// Horizontal position.
    pub x: f64,
    /// Vertical position: that of the curve there.
    pub y: f64,
    /// Label.
    pub label: String,
}

/// A chart of curves.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Chart {
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Curves; later ones are drawn on top.
    pub curves: Vec<Curve>,
    /// Labelled positions, the most important first.
    pub marks: Vec<Mark>,
    /// A horizontal line, such as a threshold or a median.
    pub level: Option<f64>,
    /// Its name in the legend; empty if the legend leaves it out.
    #[serde(skip)]
    pub level_name: &'static str,
    /// Whether a diagonal shows where both axes are equal.
    pub diagonal: bool,
    /// Name that distinguishes it from other figures of its section; empty if it is the only one.
    #[serde(skip)]
    pub name: String,
    /// Title in the terminal.
    #[serde(skip)]
    pub title: String,
    /// Number of rows between its axes in the terminal.
    #[serde(skip)]
    pub rows: usize,
    /// Whether different curves at one position stand beside each other in the terminal: letters in columns, or, with
    /// names, each height in a line.
    #[serde(skip)]
    pub beside: bool,
    /// Notes below it in the terminal.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// Default number of rows in the terminal.
pub(crate) const ROWS: usize = 10;

impl Chart {
    /// Returns a chart with these axes and curves.
    pub(crate) fn new(x: Axis, y: Axis, curves: Vec<Curve>) -> Self {
        Self { x, y, curves, rows: ROWS, ..Self::default() }
    }

    /// Sets the name.
    pub(crate) fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Sets title and number of rows in the terminal.
    pub(crate) fn titled(self, title: impl Into<String>, rows: usize) -> Self {
        Self { title: title.into(), rows, ..self }
    }

    /// Returns the name of the level, if it is drawn and named.
    pub(crate) fn level_name(&self) -> Option<&'static str> {
        self.level.map(|_| self.level_name).filter(|name| !name.is_empty())
    }

    /// Returns how many things a legend explains: the curves that have points, and the level.
    pub(crate) fn explained(&self) -> usize {
        let curves = self.curves.iter().filter(|curve| !curve.x.is_empty());
        curves.count() + usize::from(self.level_name().is_some())
    }

    /// Returns whether there is nothing to draw.
    pub(crate) fn is_empty(&self) -> bool {
        self.curves.iter().all(|curve| curve.x.is_empty())
    }

    /// Returns whether it has spikes, which would cross labels between them.
    pub(super) fn has_spikes(&self) -> bool {
        self.curves.iter().any(|curve| curve.draw == Draw::Spikes)
    }

    /// Returns both axes with ranges that contain everything that is drawn.
    pub(super) fn axes(&self) -> (Axis, Axis) {
        let x = self.x.around(self.curves.iter().flat_map(Curve::across));
        let mut y = self.y.around(self.curves.iter().flat_map(Curve::along).chain(self.level));
        if y.log && self.y.range.is_none() && !self.marks.is_empty() {
            // Room for the labels above the highest: those of spikes all stand there.
            let lines = if self.has_spikes() { self.marks.len().min(3) } else { 1 };
            let room = 0.03 + 0.05 * lines as f64;
            y.range = y.range.map(|(low, high)| (low, high * (high / low).powf(room)));
        }
        (x, y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_as_exact_as_the_page_shows_them() {
        let written = |values: &[f64]| {
            let points: Vec<(f64, f64)> = values.iter().map(|&value| (0.0, value)).collect();
            let curve = Curve::numbered(0, String::new(), Draw::Line, &points);
            serde_json::to_value(curve).expect("JSON")["y"].to_string()
        };
        let cases: [(&[f64], &str); 8] = [
            (&[114.744_166_666_738_85, 0.0], "[114.74,0]"),
            (&[11_089_470.0, 24_275_840.0], "[11089000,24276000]"),
            // Differences that are small beside the values are kept.
            (&[1_000_310.25, 1_000_311.75], "[1000310.25,1000311.75]"),
            (&[1e-7, 0.123_456_789], "[1e-7,0.12346]"),
            (&[-0.000_123_456_7, 1.0], "[-0.00012346,1]"),
            (&[5.0, 5.0], "[5,5]"),
            (&[f64::NAN, f64::INFINITY, 1.0], "[null,null,1]"),
            (&[1e300, -1e-300], "[1e+300,-1e-300]"),
        ];
        for (values, expected) in cases {
            assert_eq!(written(values), expected, "{values:?}");
        }
    }
}
