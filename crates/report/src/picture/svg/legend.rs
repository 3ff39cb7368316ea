//! The legend below a figure.

use super::sheet::{self, Anchor, FAINT, PAPER, Path, TEXT, fitted, number, tint, width};
use crate::palette::Color;
use crate::picture::chart::Draw;
use maud::{Markup, html};

/// One entry.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub text: String,
    /// Its colour.
    pub color: Color,
    /// Number of its shape or pattern.
    pub pattern: usize,
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
    fn key_width(&self) -> f64 {
        if self.draw == Draw::Points { 8.0 } else { 18.0 }
    }

    fn key(&self, x: f64, middle: f64) -> Markup {
        let solid = !matches!(self.draw, Draw::Line | Draw::Steps);
        let dashes = if solid { "" } else { sheet::dashes(self.pattern) };
        let (mut line, right) = (Path::default(), x + self.key_width() - 3.0);
        if self.draw == Draw::Points {
            let shape = line.shape(self.pattern, x + 2.6, middle, 2.1);
            return shape.shapes(self.pattern, self.color.light, 1.6);
        }
        if self.draw == Draw::Bars {
            return line
                .rectangle((x, middle - 2.5), (right, middle + 2.5))
                .shaded(self.color, PAPER);
        }
        html! {
            @if self.area { rect x=(number(x)) y=(number(middle)) width=(number(right - x)) height="3" fill=(tint(self.color.light, FAINT)) {} }
            (line.to(x, middle).line(right, middle).stroked(self.color.light, 1.1, dashes))
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
