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
pub(super) const SCREENS: [(&str, Sheet); 3] = [
    ("narrow", Sheet { width: 195.0, height: 120.0, screen: true }),
    ("middle", Sheet { width: 285.0, height: 125.0, screen: true }),
    ("broad", Sheet { width: 420.0, height: 140.0, screen: true }),
];

impl Sheet {
    fn theme_color(self, variable: &'static str, paper: &'static str) -> &'static str {
        if self.screen { variable } else { paper }
    }

    /// Returns the colour of the frame.
    pub(super) fn ink(self) -> &'static str {
        self.theme_color("var(--muted)", INK)
    }

    /// Returns the colour of the grid.
    pub(super) fn grid(self) -> &'static str {
        self.theme_color("var(--rule)", "#dddddd")
    }

    /// Returns the colour of lines other than data: thresholds.
    pub(super) fn faint(self) -> &'static str {
        self.theme_color("var(--muted)", "#777777")
    }

    /// Returns the colour of a curve.
    pub(super) fn color(self, color: Color) -> String {
        if self.screen { format!("var(--c-{})", color.name) } else { color.light.to_owned() }
    }

    /// Draws a text that stays readable on top of lines.
    pub(super) fn on_top(self, at: (f64, f64), anchor: Anchor, content: &str) -> Markup {
        let halo = self.theme_color("var(--paper)", "#ffffff");
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

/// Pattern of the lines of a threshold, a median or a diagonal.
pub(super) const BROKEN: &str = "3 2";

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

/// Rounds a coordinate to tenths of a point; what is not a number becomes 0.
fn tenths(value: f64) -> i64 {
    if value.is_finite() { (value * 10.0).round() as i64 } else { 0 }
}

/// Formats tenths of a point without the zero before the point: `.3`, `-12.5`, `4`.
fn brief_number(tenths: i64) -> String {
    let (sign, size) = (if tenths < 0 { "-" } else { "" }, tenths.unsigned_abs());
    match (size / 10, size % 10) {
        (whole, 0) => format!("{sign}{whole}"),
        (0, part) => format!("{sign}.{part}"),
        (whole, part) => format!("{sign}{whole}.{part}"),
    }
}

/// Removes characters that XML does not allow.
pub(super) fn text(text: &str) -> String {
    let allowed = |c: char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
    text.chars().map(|c| if allowed(c) { c } else { '?' }).collect()
}

/// Estimates the width of a text in points, for the widest of the possible fonts.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(em).sum::<f64>() * size
}

/// Returns the width of a character as a part of the size of the font.
fn em(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.33,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' => 0.41,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' => 0.95,
        'A'..='Z' => 0.70,
        _ => 0.62,
    }
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
    /// For the page: the last position in tenths of a point, from which the next is written.
    short: Option<Short>,
}

/// The state of a path that is written briefly: in tenths of a point, each position relative to the one before.
#[derive(Debug, Default)]
struct Short {
    at: (i64, i64),
    /// Where the last [`Path::to`] went.
    from: (i64, i64),
    /// The last letter, which the same step need not repeat.
    letter: char,
}

impl Short {
    /// Writes a step; one that goes nowhere is left out.
    fn step(&mut self, letter: char, x: f64, y: f64, steps: &mut String) {
        let to = (tenths(x), tenths(y));
        let (dx, dy) = (to.0 - self.at.0, to.1 - self.at.1);
        let (letter, numbers) = match (letter, dx, dy) {
            ('M', ..) => ('m', [Some(dx), Some(dy)]),
            (_, 0, 0) => return,
            (_, _, 0) => ('h', [Some(dx), None]),
            (_, 0, _) => ('v', [None, Some(dy)]),
            _ => ('l', [Some(dx), Some(dy)]),
        };
        if letter == 'm' {
            self.from = to;
        }
        // Further positions after a move are lines.
        let repeats =
            letter != 'm' && (letter == self.letter || (letter, self.letter) == ('l', 'm'));
        if !repeats {
            steps.push(letter);
        }
        for (place, number) in numbers.into_iter().flatten().map(brief_number).enumerate() {
            if (repeats || place > 0) && !number.starts_with('-') {
                steps.push(' ');
            }
            *steps += &number;
        }
        (self.at, self.letter) = (to, letter);
    }
}

impl Path {
    /// Returns an empty path for this sheet; those of the page are brief, because it has each drawing in several widths.
    pub(super) fn on(sheet: Sheet) -> Self {
        Self { short: sheet.screen.then(Short::default), ..Self::default() }
    }

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
        if let Some(short) = &mut self.short {
            (short.at, short.letter) = (short.from, 'Z');
        }
        self
    }

    /// Draws a rectangle between two corners, at least a fifth of a point wide and high.
    pub(super) fn rectangle(&mut self, a: (f64, f64), b: (f64, f64)) -> &mut Self {
        let (left, right) = (a.0.min(b.0), a.0.max(b.0).max(a.0.min(b.0) + 0.2));
        let (top, bottom) = (a.1.min(b.1), a.1.max(b.1).max(a.1.min(b.1) + 0.2));
        self.to(left, top).line(right, top).line(right, bottom).line(left, bottom).close()
    }

    fn step(&mut self, letter: char, x: f64, y: f64) -> &mut Self {
        match &mut self.short {
            Some(short) => short.step(letter, x, y, &mut self.steps),
            // Writing to a string cannot fail.
            None => drop(write!(self.steps, "{letter}{} {}", number(x), number(y))),
        }
        self
    }

    /// Draws a dot without extent, which is as large as the line that it is drawn with is wide.
    pub(super) fn dot(&mut self, x: f64, y: f64) -> &mut Self {
        self.to(x, y);
        self.steps += "h0";
        if let Some(short) = &mut self.short {
            short.letter = 'h';
        }
        self
    }

    /// Draws the outline of a shape around a position: circle, square, triangle, diamond, cross, ring.
    pub(super) fn shape(&mut self, shape: usize, x: f64, y: f64, r: f64) -> &mut Self {
        let brief = self.short.is_some();
        let n = |value: f64| if brief { brief_number(tenths(value)) } else { number(value) };
        let (x, y) = (|by: f64| x + by * r, |by: f64| y + by * r);
        let ((x, y), outline) = match shape % SHAPES {
            1 => ((x(-0.9), y(-0.9)), format!("h{w}v{w}h-{w}z", w = n(1.8 * r))),
            2 => ((x(0.0), y(-1.15)), format!("l{} {}h-{}z", n(1.1 * r), n(2.0 * r), n(2.2 * r))),
            3 => ((x(0.0), y(-1.25)), format!("l{r} {r}-{r} {r}-{r}-{r}z", r = n(1.25 * r))),
            4 => ((x(-0.9), y(-0.9)), format!("l{w} {w}m0-{w}l-{w} {w}", w = n(1.8 * r))),
            _ => ((x(-1.0), y(0.0)), format!("a{r} {r} 0 1 1 0 .01z", r = n(r))),
        };
        self.to(x, y);
        self.steps += &outline;
        if let Some(short) = &mut self.short {
            short.letter = 'z';
            if shape % SHAPES == 4 {
                short.at.1 += tenths(1.8 * r); // It ends at its lower left corner.
            }
        }
        self
    }

    /// Returns the path as a line.
    pub(super) fn stroked(&self, color: &str, width: f64, dashes: &str) -> Markup {
        if self.steps.is_empty() {
            return html! {};
        }
        let dashes = (!dashes.is_empty()).then_some(dashes);
        // On the page the style sheet says so once.
        let join = self.short.is_none().then_some("round");
        html! { path d=(self.steps) fill="none" stroke=(color) stroke-width=(number(width)) stroke-linejoin=[join] stroke-dasharray=[dashes] {} }
    }

    /// Returns the dots of the path, round or square.
    pub(super) fn dotted(&self, color: &str, width: f64, square: bool) -> Markup {
        if self.steps.is_empty() {
            return html! {};
        }
        let cap = if square { "square" } else { "round" };
        html! { path d=(self.steps) fill="none" stroke=(color) stroke-width=(number(width)) stroke-linecap=(cap) {} }
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
    let [red, green, blue] = [1, 3, 5].map(|at| {
        let byte = color.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        (255.0 - (255.0 - f64::from(byte.unwrap_or(0))) * part).round() as u8
    });
    format!("#{red:02x}{green:02x}{blue:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_finite() {
        let cases = [1.0, 1.005, -0.001, 12.345_6, f64::NAN, f64::INFINITY].map(number);
        assert_eq!(cases, ["1", "1", "0", "12.35", "0", "0"]);
    }

    /// Follows a brief path and returns where each of its lines begins and ends, in tenths.
    fn lines(path: &str) -> Vec<((i64, i64), (i64, i64))> {
        let (mut at, mut from, mut lines) = ((0, 0), (0, 0), vec![]);
        let starts: Vec<usize> = path
            .char_indices()
            .filter(|(_, c)| c.is_ascii_alphabetic())
            .map(|(start, _)| start)
            .collect();
        for (number, &start) in starts.iter().enumerate() {
            let end = starts.get(number + 1).copied().unwrap_or(path.len());
            let numbers = path[start + 1..end].replace('-', " -");
            let values: Vec<i64> = numbers
                .split_whitespace()
                .map(|text| tenths(text.parse::<f64>().expect("a number")))
                .collect();
            let steps: Vec<(i64, i64)> = match &path[start..=start] {
                "h" => values.iter().map(|&x| (x, 0)).collect(),
                "v" => values.iter().map(|&y| (0, y)).collect(),
                "Z" => vec![(from.0 - at.0, from.1 - at.1)],
                _ => values.chunks(2).map(|pair| (pair[0], pair[1])).collect(),
            };
            for (place, (x, y)) in steps.into_iter().enumerate() {
                let to = (at.0 + x, at.1 + y);
                match &path[start..=start] {
                    "m" if place == 0 => from = to,
                    _ => lines.push((at, to)),
                }
                at = to;
            }
        }
        lines
    }

    #[test]
    fn a_brief_path_goes_where_the_other_goes() {
        let screen = SCREENS[0].1;
        let mut path = Path::on(screen);
        path.to(10.0, 20.0).line(10.04, 20.0).line(12.34, 20.0).line(12.34, 19.5);
        path.line(13.0, 18.0).line(0.0, -3.25).close().to(1.0, 1.0).line(2.0, 2.0).line(3.5, 1.0);
        assert_eq!(path.steps, "m10 20h2.3v-.5l.7-1.5-13-21.3Zm-9-19 1 1 1.5-1");
        let expected = [
            ((100, 200), (123, 200)),
            ((123, 200), (123, 195)),
            ((123, 195), (130, 180)),
            ((130, 180), (0, -33)),
            ((0, -33), (100, 200)),
            ((10, 10), (20, 20)),
            ((20, 20), (35, 10)),
        ];
        assert_eq!(lines(&path.steps), expected);
        // However many steps: none adds the rounding of the one before.
        let mut path = Path::on(screen);
        for at in (0..1_000).map(f64::from) {
            path.line(at * 0.149, at * -0.333);
        }
        assert_eq!(lines(&path.steps).last().expect("lines").1, (1_489, -3_327));
        let mut path = Path::on(screen);
        for at in (0..50).map(f64::from) {
            path.shape(4, at * 1.77, 9.0, 1.1);
        }
        let crosses = lines(&path.steps);
        let (from, to) = crosses[crosses.len() - 2];
        assert_eq!(
            ((from.0 + to.0) / 2, (from.1 + to.1) / 2),
            (867, 90),
            "the last is in its place"
        );
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
