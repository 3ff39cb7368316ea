//! The frame of a chart: the positions of values between its edges, and the texts beside it.

use super::sheet::{self, Anchor, BROKEN, Path, Sheet, TEXT, number, width};
use crate::picture::axis::{Axis, Place};
use crate::picture::ticks::Tick;
use maud::{Markup, html};

/// An axis on a drawing.
#[derive(Debug, Clone)]
pub(super) struct Scale {
    /// The axis, with its range.
    pub axis: Axis,
    /// Position of its lowest value, in points.
    pub from: f64,
    /// Position of its highest value.
    pub to: f64,
}

impl Scale {
    /// Returns the position of a value; values outside are at the edge.
    pub(super) fn at(&self, value: f64) -> f64 {
        self.from + self.axis.place(value) * (self.to - self.from)
    }

    fn position(&self, place: f64) -> f64 {
        self.from + place * (self.to - self.from)
    }
}

/// The texts at an axis.
#[derive(Debug)]
pub(super) struct Ticks {
    /// Labelled values.
    pub major: Vec<Tick>,
    /// Values with only a small mark.
    pub minor: Vec<f64>,
}

/// Largest number of labels on an axis.
const MOST: usize = 8;
/// Largest width of a name at an axis, relative to the drawing.
pub(super) const NAME: f64 = 0.4;
/// Smallest distance of text from the edge of the drawing.
const EDGE: f64 = 1.0;
/// Smallest part of the width of a frame that texts leave free.
const NARROWEST: f64 = 0.85;

/// Returns the width of a label in points; superscript digits are smaller.
fn label_width(label: &str) -> f64 {
    let (base, raised, rest) = parts(label);
    width(&signed(base), TEXT) + width(&raised, TEXT * RAISED) + width(rest, TEXT)
}

/// Relative size of superscript digits.
const RAISED: f64 = 0.72;

/// Splits a label into the text before its superscript digits, these digits, and the rest.
fn parts(label: &str) -> (&str, String, &str) {
    const DIGITS: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";
    let is_raised = |c: char| c == '⁻' || DIGITS.contains(c);
    let start = label.find(is_raised).unwrap_or(label.len());
    let (base, rest) = label.split_at(start);
    let end = rest.find(|c| !is_raised(c)).unwrap_or(rest.len());
    let digits = rest[..end].chars().map(|c| match DIGITS.chars().position(|raised| raised == c) {
        Some(digit) => char::from(b'0' + digit as u8),
        None => '−',
    });
    (base, digits.collect(), &rest[end..])
}

/// Returns a label with the minus sign of a number; the hyphens of names stay.
fn signed(label: &str) -> String {
    match label.strip_prefix('-') {
        Some(number) if number.starts_with(|first: char| first.is_ascii_digit()) => {
            format!("−{number}")
        }
        _ => label.to_owned(),
    }
}

/// Draws a label with its baseline at this height.
fn label(at: (f64, f64), anchor: Anchor, content: &str) -> Markup {
    let (base, raised, rest) = parts(content);
    let base = signed(base);
    if raised.is_empty() {
        return sheet::line(at, anchor, TEXT, &base);
    }
    let up = number(0.36 * TEXT);
    html! {
        text x=(number(at.0)) y=(number(at.1)) text-anchor=[anchor.name()] {
            (base) tspan dy=(format!("-{up}")) font-size=(number(TEXT * RAISED)) { (raised) }
            @if !rest.is_empty() { tspan dy=(up) { (rest) } }
        }
    }
}

impl Ticks {
    /// Returns as many axis ticks as fit along a vertical axis of this length, on a drawing of this width.
    pub(super) fn upright(axis: &Axis, points: f64, paper: f64) -> Self {
        if !axis.names.is_empty() {
            return Self { major: named(axis, &axis.names, paper), minor: vec![] };
        }
        let apart = |pair: &[Tick]| (pair[1].place - pair[0].place) * points >= TEXT * 1.5;
        let major = axis.ticks(MOST, |ticks| ticks.windows(2).all(apart));
        Self { minor: axis.minor(&major), major }
    }

    /// Returns as many axis ticks as fit along a horizontal axis of this length.
    fn level(axis: &Axis, points: f64, paper: f64) -> Self {
        let half = |tick: &Tick| label_width(&tick.label) / 2.0;
        let apart = |left: &Tick, right: &Tick| (right.place - left.place) * points;
        let clear =
            |left: &Tick, right: &Tick| apart(left, right) >= half(left) + half(right) + 5.0;
        if axis.names.is_empty() {
            let major =
                axis.ticks(MOST, |ticks| ticks.windows(2).all(|pair| clear(&pair[0], &pair[1])));
            return Self { minor: axis.minor(&major), major };
        }
        // Of names only those that do not meet the one before.
        let mut kept: Vec<Tick> = vec![];
        for tick in named(axis, &axis.names, paper) {
            if kept.last().is_none_or(|before| clear(before, &tick)) {
                kept.push(tick);
            }
        }
        Self { major: kept, minor: vec![] }
    }

    /// Returns the axis ticks of a horizontal axis, and its end: `right`, or less so that the last label stays on the
    /// paper. A label that still sticks out is left out.
    pub(super) fn across(axis: &Axis, (left, right): (f64, f64), paper: f64) -> (Self, f64) {
        let reach = |tick: &Tick| label_width(&tick.label) / 2.0 + EDGE;
        let mut to = right;
        let mut ticks = Self::level(axis, to - left, paper);
        // Narrower, other values may be written.
        for _ in 0..3 {
            let ends = ticks.major.iter().map(|tick| left + tick.place * (to - left) + reach(tick));
            let over = ends.fold(0.0, f64::max) - paper;
            let room = over.min(to - left - (right - left) * NARROWEST);
            if room <= 0.0 {
                break;
            }
            to -= room;
            ticks = Self::level(axis, to - left, paper);
        }
        ticks.major.retain(|tick| {
            let at = left + tick.place * (to - left);
            at - reach(tick) >= 0.0 && at + reach(tick) <= paper + 5e-3
        });
        (ticks, to)
    }

    /// Returns the space left of the frame for labels and name of a vertical axis.
    pub(super) fn beside(&self, axis: &Axis) -> f64 {
        let name = if axis.label.is_empty() { 0.0 } else { TEXT + 4.0 };
        let widest = self.major.iter().map(|tick| label_width(&tick.label)).fold(0.0, f64::max);
        3.0 + name + widest + 3.0 + MARK
    }
}

/// Returns names as axis ticks, cut to what fits beside a chart.
fn named(axis: &Axis, places: &[Place], paper: f64) -> Vec<Tick> {
    let ticks = places.iter().map(|place| Tick {
        value: place.at,
        place: axis.place(place.at),
        label: sheet::fitted(&place.name, TEXT, paper * NAME),
    });
    ticks.collect()
}

/// The area for data: the frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
    /// The sheet that it is drawn on.
    pub sheet: Sheet,
}

/// Length of the marks at an axis.
const MARK: f64 = 2.6;
/// Space below the frame for labels and name of the horizontal axis.
pub(super) const BELOW: f64 = MARK + TEXT + 3.0 + TEXT + 4.0;

impl Frame {
    /// Draws the lines of the grid, below the data.
    pub(super) fn grid(&self, x: (&Ticks, &Scale), y: (&Ticks, &Scale)) -> Markup {
        let mut path = Path::on(self.sheet);
        for tick in &x.0.major {
            let at = x.1.position(tick.place);
            path.to(at, self.top).line(at, self.bottom);
        }
        for tick in &y.0.major {
            let at = y.1.position(tick.place);
            path.to(self.left, at).line(self.right, at);
        }
        path.stroked(self.sheet.grid(), 0.4, "")
    }

    /// Draws the frame.
    pub(super) fn outline(&self) -> Markup {
        html! { rect x=(number(self.left)) y=(number(self.top)) width=(number(self.right - self.left)) height=(number(self.bottom - self.top)) fill="none" stroke=(self.sheet.ink()) stroke-width="0.6" {} }
    }

    /// Draws the horizontal axis: marks, labels, and its name.
    pub(super) fn horizontal(&self, ticks: &Ticks, scale: &Scale) -> Markup {
        let mut marks = Path::on(self.sheet);
        for tick in &ticks.major {
            let at = scale.position(tick.place);
            marks.to(at, self.bottom).line(at, self.bottom + MARK);
        }
        for value in &ticks.minor {
            marks
                .to(scale.at(*value), self.bottom)
                .line(scale.at(*value), self.bottom + MARK * 0.6);
        }
        let (base, wide) = (self.bottom + MARK + TEXT, self.sheet.width);
        let name = sheet::fitted(&scale.axis.label, TEXT, wide - 2.0 * EDGE);
        let half = width(&name, TEXT) / 2.0 + EDGE;
        let middle = ((self.left + self.right) / 2.0).min(wide - half).max(half);
        html! {
            (marks.stroked(self.sheet.ink(), 0.5, ""))
            @for tick in &ticks.major { (label((scale.position(tick.place), base), Anchor::Middle, &tick.label)) }
            (sheet::line((middle, base + TEXT + 3.0), Anchor::Middle, TEXT, &name))
        }
    }

    /// Draws marks and labels of the vertical axis.
    pub(super) fn vertical_ticks(&self, ticks: &Ticks, scale: &Scale) -> Markup {
        let mut marks = Path::on(self.sheet);
        for tick in &ticks.major {
            let at = scale.position(tick.place);
            marks.to(self.left, at).line(self.left - MARK, at);
        }
        for value in &ticks.minor {
            marks.to(self.left, scale.at(*value)).line(self.left - MARK * 0.6, scale.at(*value));
        }
        let right = self.left - MARK - 1.6;
        html! {
            (marks.stroked(self.sheet.ink(), 0.5, ""))
            @for tick in &ticks.major { (label((right, scale.position(tick.place) + TEXT * 0.35), Anchor::End, &tick.label)) }
        }
    }

    /// Draws the name of the vertical axis along it.
    pub(super) fn vertical_name(&self, name: &str) -> Markup {
        if name.is_empty() {
            return html! {};
        }
        // A long name may go beyond the frame, and begins at its foot then.
        let middle = (self.top + self.bottom) / 2.0;
        let at = middle.max(width(name, TEXT) / 2.0 + 2.0);
        sheet::turned((3.0 + TEXT, at), 90.0, Anchor::Middle, name)
    }

    /// Draws a dashed line.
    pub(super) fn broken(&self, from: (f64, f64), to: (f64, f64)) -> Markup {
        let mut path = Path::on(self.sheet);
        path.to(from.0, from.1).line(to.0, to.1).stroked(self.sheet.faint(), 0.7, BROKEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::axis::Quantity;

    fn texts(axis: &Axis, ends: (f64, f64), points: f64) -> Vec<String> {
        let axis = Axis { range: Some(ends), ..axis.clone() };
        let ticks = Ticks::level(&axis, points, points);
        ticks.major.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_and_have_room() {
        use Quantity::{Count, Frequency, Number, Share, Time};
        let log = |quantity| Axis::log("", quantity);
        let linear = |quantity| Axis::linear("", quantity);
        let cases: [(Axis, (f64, f64), &[&str]); 11] = [
            (log(Time), (80.0, 20_000.0), &["100 ns", "1 µs", "10 µs"]),
            (log(Time), (800.0, 3_000.0), &["1 µs", "2 µs", "3 µs"]),
            (log(Time), (1.1, 1e10), &["100 ns", "10 µs", "1 ms", "100 ms", "10 s"]),
            (log(Count), (0.7, 2e7), &["1", "10", "100", "10³", "10⁴", "10⁵", "10⁶", "10⁷"]),
            (log(Count), (0.7, 7e2), &["1", "2", "5", "10", "20", "50", "100", "200", "500"]),
            (log(Number), (0.98, 1.3), &["1.00", "1.05", "1.10", "1.15", "1.20", "1.25", "1.30"]),
            (log(Share), (2e-4, 1.1), &["0.1 %", "1 %", "10 %", "100 %"]),
            (
                linear(Time),
                (0.0, 3.1e9),
                &["0", "0.5 s", "1.0 s", "1.5 s", "2.0 s", "2.5 s", "3.0 s"],
            ),
            (linear(Frequency), (0.0, 2_100.0), &["0", "0.5 kHz", "1.0 kHz", "1.5 kHz", "2.0 kHz"]),
            (linear(Share), (-0.06, 0.21), &["-5 %", "0", "5 %", "10 %", "15 %", "20 %"]),
            (linear(Number), (5.0, 5.0), &[]),
        ];
        for (axis, ends, expected) in cases {
            let found = texts(&axis, ends, 190.0);
            if !expected.is_empty() {
                assert_eq!(found, expected, "{axis:?} {ends:?}");
            }
        }
    }

    #[test]
    fn only_numbers_have_a_minus_sign() {
        for (label, expected) in [
            ("-40 ns", "−40 ns"),
            ("P-90", "P-90"),
            ("preemption-read-random-5", "preemption-read-random-5"),
            ("-reg", "-reg"),
        ] {
            assert_eq!(signed(label), expected);
            let drawn = super::label((0.0, 0.0), Anchor::End, label).into_string();
            assert!(drawn.contains(expected), "{drawn}");
            assert_eq!(label_width(label), width(expected, TEXT), "as wide as it is drawn");
        }
    }

    #[test]
    fn raised_digits_are_raised() {
        assert_eq!(parts("2·10⁻¹² %"), ("2·10", "−12".into(), " %"));
        assert_eq!(parts("10 ms"), ("10 ms", String::new(), ""));
        let text = label((0.0, 0.0), Anchor::Start, "10⁶").into_string();
        assert!(text.contains(">10<tspan") && text.contains(">6</tspan>"), "{text}");
    }
}
