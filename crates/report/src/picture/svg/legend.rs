//! The legend below a figure.

use super::sheet::{self, Anchor, BROKEN, FAINT, PAPER, Path, TEXT, fitted, number, tint, width};
use crate::picture::chart::{Curve, Draw};
use maud::{Markup, html};

/// One entry.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub text: String,
    /// Its colour.
    pub color: &'static str,
    /// Number of the shape of points.
    pub shape: usize,
    /// Pattern of a line.
    pub dashes: &'static str,
    /// Whether to draw a shape for points, or a piece of the line.
    pub draw: Draw,
    /// Whether the area below the line is filled.
    pub area: bool,
}

/// Height of a line of entries.
const ROW: f64 = TEXT + 3.0;
/// Space for the symbol before its text, and between entries.
const GAP: f64 = 10.0;

impl Entry {
    /// Returns the entry of a curve.
    pub(super) fn from_curve(curve: &Curve, pattern: usize) -> Self {
        let (text, color, shape) = (curve.name.clone(), curve.color.light, pattern);
        let dashes = sheet::dashes(pattern);
        Self { text, color, shape, dashes, draw: curve.draw, area: curve.area }
    }

    /// Returns the entry of the level of a chart.
    pub(super) fn from_level(name: &str) -> Self {
        let (text, color) = (name.to_owned(), PAPER.faint());
        Self { text, color, shape: 0, dashes: BROKEN, draw: Draw::Line, area: false }
    }

    fn key_width(&self) -> f64 {
        if self.draw == Draw::Points { 8.0 } else { 18.0 }
    }

    fn key(&self, x: f64, middle: f64) -> Markup {
        let (mut line, right) = (Path::default(), x + self.key_width() - 3.0);
        let color = self.color;
        if self.draw == Draw::Points {
            let shape = line.shape(self.shape, x + 2.6, middle, 2.1);
            return shape.shapes(self.shape, color, 1.6);
        }
        if self.draw == Draw::Bars {
            line.rectangle((x, middle - 2.5), (right, middle + 2.5));
            return html! { (line.filled(&tint(color, FAINT))) (line.stroked(color, 0.8, self.dashes)) };
        }
        html! {
            @if self.area { rect x=(number(x)) y=(number(middle)) width=(number(right - x)) height="3" fill=(tint(color, FAINT)) {} }
            (line.to(x, middle).line(right, middle).stroked(color, 1.1, self.dashes))
        }
    }
}

/// Places the entries from left to right and down in this width; returns them with their height.
pub(super) fn legend(entries: &[Entry], left: f64, top: f64, room: f64) -> (Markup, f64) {
    let (mut x, mut row) = (left, 0.0);
    let mut placed = vec![];
    for entry in entries {
        let text = fitted(&entry.text, TEXT, room - entry.key_width());
        let taken = entry.key_width() + width(&text, TEXT);
        if x > left && x + taken > left + room {
            (x, row) = (left, row + 1.0);
        }
        let base = top + row * ROW + TEXT;
        placed.push(html! {
            (entry.key(x, base - TEXT * 0.35))
            (sheet::line((x + entry.key_width(), base), Anchor::Start, TEXT, &text))
        });
        x += taken + GAP;
    }
    let height = if entries.is_empty() { 0.0 } else { (row + 1.0) * ROW };
    (html! { @for entry in &placed { (entry) } }, height)
}
