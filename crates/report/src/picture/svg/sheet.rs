//! The sheet that figures are drawn on: sizes, fonts, and the basic elements of all drawings.
//!
//! Sizes are in points of paper, with text seven points high. The page shows the same in larger units.

use crate::palette::{Color, SHAPES};
use maud::{Markup, PreEscaped, html};
use std::fmt::Write;

/// Points per millimetre.
const MM: f64 = 72.0 / 25.4;
/// Width of one column of a paper in points: 8.5 cm.
pub(super) const COLUMN: f64 = 85.0 * MM;
/// Width of both columns: 17.5 cm.
pub(super) const PAGE: f64 = 175.0 * MM;

/// Sizes of text, in points.
pub(super) const TEXT: f64 = 7.0;
pub(super) const SMALL: f64 = 6.0;

/// Fonts in order of preference; the last ones are on nearly every Linux system.
const FONTS: &str =
    "Helvetica, Arial, 'Liberation Sans', 'Nimbus Sans', 'DejaVu Sans', 'Noto Sans', sans-serif";

/// A sheet to draw a chart on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sheet {
    /// Its width, in points.
    pub width: f64,
    /// Height of the area for data, in points.
    pub height: f64,
    /// Whether it is for the page, whose style sheet has the colours and whose markup has the legend.
    pub screen: bool,
}

/// A column of a paper.
pub(super) const PAPER: Sheet = Sheet { width: COLUMN, height: 135.0, screen: false };

/// Sheets for the page, narrow to wide, with their names in the style sheet, which shows the one that fits.
pub(super) const SCREENS: [(&str, Sheet); 4] = [
    ("narrow", Sheet { width: 195.0, height: 120.0, screen: true }),
    ("middle", Sheet { width: 285.0, height: 125.0, screen: true }),
    ("broad", Sheet { width: 420.0, height: 140.0, screen: true }),
    ("broadest", Sheet { width: 610.0, height: 150.0, screen: true }),
];

impl Sheet {
    fn of_theme(self, variable: &'static str, paper: &'static str) -> &'static str {
        if self.screen { variable } else { paper }
    }

    /// Returns the colour of the frame.
    pub(super) fn ink(self) -> &'static str {
        self.of_theme("var(--muted)", INK)
    }

    /// Returns the colour of the grid.
    pub(super) fn grid(self) -> &'static str {
        self.of_theme("var(--rule)", "#dddddd")
    }

    /// Returns the colour of lines other than data: thresholds.
    pub(super) fn faint(self) -> &'static str {
        self.of_theme("var(--muted)", "#777777")
    }

    /// Returns the colour of a curve.
    pub(super) fn color(self, color: Color) -> String {
        if self.screen { format!("var(--c-{})", color.name) } else { color.light.to_owned() }
    }

    /// Draws a text that stays readable on top of lines.
    pub(super) fn on_top(self, at: (f64, f64), anchor: Anchor, content: &str) -> Markup {
        let halo = self.of_theme("var(--paper)", "#ffffff");
        // Twice: not every program knows that a line may lie below the letters that it goes around.
        html! {
            text x=(number(at.0)) y=(number(at.1)) text-anchor=[anchor.name()] font-size=(number(SMALL))
                stroke=(halo) stroke-width="2" stroke-linejoin="round" aria-hidden="true" { (text(content)) }
            (line(at, anchor, SMALL, content))
        }
    }
}

/// Text on paper.
pub(super) const INK: &str = "#222222";

/// Patterns of lines by number, which differ without colour.
const DASHES: [&str; SHAPES] = ["", "4 1.6", "1.2 1.4", "5 1.4 1.2 1.4", "8 2", "2.4 1.2"];

/// A drawing and its size, in points.
#[derive(Debug)]
pub(super) struct Drawing {
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
    /// Elements.
    pub body: Markup,
}

impl Drawing {
    /// Returns the file, with a description for screen readers.
    pub(super) fn file(&self, description: &str) -> String {
        let (width, height) = (self.width, self.height);
        let cm = |points: f64| format!("{}mm", number(points / MM));
        let markup = html! {
            svg xmlns="http://www.w3.org/2000/svg" width=(cm(width)) height=(cm(height))
                viewBox=(format!("0 0 {} {}", number(width), number(height))) role="img"
                font-family=(FONTS) font-size=(number(TEXT)) fill=(INK) {
                desc { (text(description)) }
                rect width=(number(width)) height=(number(height)) fill="#ffffff" {}
                (self.body)
            }
        };
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", markup.into_string())
    }

    /// Returns the drawing for the page, with the names in its style sheet and the data that the script needs.
    pub(super) fn inline(&self, class: &str, facts: &[(&str, String)]) -> Markup {
        let facts: String =
            facts.iter().map(|(name, value)| format!(" data-{name}=\"{value}\"")).collect();
        let size = format!("{} {}", number(self.width), number(self.height));
        let head = format!(
            "<svg class=\"{class}\" viewBox=\"0 0 {size}\" font-size=\"7\" aria-hidden=\"true\"{facts}>"
        );
        html! { (PreEscaped(head)) (self.body) (PreEscaped("</svg>")) }
    }
}

/// Formats a coordinate to a hundredth of a point; what is not a number becomes 0.
pub(super) fn number(value: f64) -> String {
    let rounded = if value.is_finite() { (value * 100.0).round() / 100.0 } else { 0.0 };
    // Without the sign of −0.
    (rounded + 0.0).to_string()
}

/// Removes characters that XML does not allow.
pub(super) fn text(text: &str) -> String {
    let allowed = |c: char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
    text.chars().map(|c| if allowed(c) { c } else { '?' }).collect()
}

/// Estimates the width of a text in points, for the widest of the possible fonts.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.33,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' => 0.41,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' => 0.95,
        'A'..='Z' => 0.70,
        _ => 0.62,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// Cuts a text to at most this width in points.
pub(super) fn fitted(text: &str, size: f64, points: f64) -> String {
    if width(text, size) <= points {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        if width(&kept, size) + width("…", size) + width(&c.to_string(), size) > points {
            break;
        }
        kept.push(c);
    }
    format!("{}…", kept.trim_end())
}

/// Opacity of an area under a curve.
pub(super) const FAINT: f64 = 0.15;

/// A path in progress.
#[derive(Debug, Default)]
pub(super) struct Path {
    steps: String,
}

impl Path {
    /// Moves to a position without drawing.
    pub(super) fn to(&mut self, x: f64, y: f64) -> &mut Self {
        self.step('M', x, y)
    }

    /// Draws a line to a position.
    pub(super) fn line(&mut self, x: f64, y: f64) -> &mut Self {
        self.step('L', x, y)
    }

    /// Draws a line back to the last [`Path::to`].
    pub(super) fn close(&mut self) -> &mut Self {
        self.steps.push('Z');
        self
    }

    /// Draws a rectangle between two corners, at least a fifth of a point wide and high.
    pub(super) fn rectangle(&mut self, a: (f64, f64), b: (f64, f64)) -> &mut Self {
        let (left, right) = (a.0.min(b.0), a.0.max(b.0).max(a.0.min(b.0) + 0.2));
        let (top, bottom) = (a.1.min(b.1), a.1.max(b.1).max(a.1.min(b.1) + 0.2));
        self.to(left, top).line(right, top).line(right, bottom).line(left, bottom).close()
    }

    fn step(&mut self, letter: char, x: f64, y: f64) -> &mut Self {
        // Writing to a string cannot fail.
        let _ = write!(self.steps, "{letter}{} {}", number(x), number(y));
        self
    }

    /// Draws the outline of a shape around a position: circle, square, triangle, diamond, cross, ring.
    pub(super) fn shape(&mut self, shape: usize, x: f64, y: f64, r: f64) -> &mut Self {
        let n = number;
        let (x, y) = (|by: f64| n(x + by * r), |by: f64| n(y + by * r));
        let step = match shape % SHAPES {
            1 => format!("M{} {}h{w}v{w}h-{w}z", x(-0.9), y(-0.9), w = n(1.8 * r)),
            2 => format!("M{} {}l{} {}h-{}z", x(0.0), y(-1.15), n(1.1 * r), n(2.0 * r), n(2.2 * r)),
            3 => format!("M{} {}l{r} {r}-{r} {r}-{r}-{r}z", x(0.0), y(-1.25), r = n(1.25 * r)),
            4 => format!("M{} {}l{w} {w}m0-{w}l-{w} {w}", x(-0.9), y(-0.9), w = n(1.8 * r)),
            _ => format!("M{} {}a{r} {r} 0 1 1 0 .01z", x(-1.0), y(0.0), r = n(r)),
        };
        self.steps += &step;
        self
    }

    /// Returns the path as a line.
    pub(super) fn stroked(&self, color: &str, width: f64, dashes: &str) -> Markup {
        if self.steps.is_empty() {
            return html! {};
        }
        let dashes = (!dashes.is_empty()).then_some(dashes);
        html! { path d=(self.steps) fill="none" stroke=(color) stroke-width=(number(width)) stroke-linejoin="round" stroke-dasharray=[dashes] {} }
    }

    /// Returns the path filled.
    pub(super) fn filled(&self, color: &str) -> Markup {
        if self.steps.is_empty() {
            return html! {};
        }
        html! { path d=(self.steps) fill=(color) {} }
    }

    /// Returns the path filled with a faint shade of a colour.
    pub(super) fn shaded(&self, color: Color, sheet: Sheet) -> Markup {
        match sheet.screen {
            true if self.steps.is_empty() => html! {},
            true => html! { path d=(self.steps) fill=(sheet.color(color)) fill-opacity=(FAINT) {} },
            // Not every program that shows a file can see through things.
            false => self.filled(&tint(color.light, FAINT)),
        }
    }

    /// Returns shapes of this number, filled, or as lines if they have no area.
    pub(super) fn shapes(&self, shape: usize, color: &str, r: f64) -> Markup {
        if hollow(shape) { self.stroked(color, (r * 0.5).max(0.4), "") } else { self.filled(color) }
    }
}

/// Returns whether a shape consists of lines only.
fn hollow(shape: usize) -> bool {
    shape % SHAPES >= 4
}

/// Returns the pattern of a line.
pub(super) fn dashes(number: usize) -> &'static str {
    DASHES[number % DASHES.len()]
}

/// Anchor of a text: start, middle or end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    /// Returns its name in SVG; that of the start is the default.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self::Start => None,
            Self::Middle => Some("middle"),
            Self::End => Some("end"),
        }
    }
}

/// Draws a line of text with its baseline at this height.
pub(super) fn line(at: (f64, f64), anchor: Anchor, size: f64, content: &str) -> Markup {
    let size = (size != TEXT).then(|| number(size));
    html! { text x=(number(at.0)) y=(number(at.1)) text-anchor=[anchor.name()] font-size=[size] { (text(content)) } }
}

/// Draws a line of text that goes up (by 90°) or slants up (by less).
pub(super) fn turned(at: (f64, f64), degrees: f64, anchor: Anchor, content: &str) -> Markup {
    let (x, y) = (number(at.0), number(at.1));
    html! { text x=(x) y=(y) text-anchor=[anchor.name()] transform=(format!("rotate({} {x} {y})", number(-degrees))) { (text(content)) } }
}

/// Lightens a colour; `part` of it, from 0 to 1, remains on white paper.
pub(super) fn tint(color: &str, part: f64) -> String {
    let channel = |at: usize| {
        let byte = color.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        (255.0 - (255.0 - f64::from(byte.unwrap_or(0))) * part).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", channel(1), channel(3), channel(5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_finite() {
        let cases = [1.0, 1.005, -0.001, 12.345_6, f64::NAN, f64::INFINITY].map(number);
        assert_eq!(cases, ["1", "1", "0", "12.35", "0", "0"]);
    }

    #[test]
    fn texts_are_cut_where_they_end() {
        assert_eq!(fitted("timer", 7.0, 100.0), "timer");
        let cut = fitted("a thread with a long name", 7.0, 40.0);
        assert!(cut.ends_with('…') && width(&cut, 7.0) <= 40.0, "{cut}");
        assert_eq!(text("a\u{7}\u{ffff}b\n"), "a??b?");
    }

    #[test]
    fn tints() {
        assert_eq!(tint("#000000", 0.5), "#808080");
        assert_eq!([tint("#d55e00", 1.0), tint("#d55e00", 0.0)], ["#d55e00", "#ffffff"]);
    }
}
