//! Axes: where a value lies, and which values are written beside the line.

use super::labels::{Label, labels};
use super::paper::{self, Anchor, COLUMN, FAINT, GRID, INK, Path, TEXT, number, width};
use crate::html::chart::{Axis, Place, Quantity};
use maud::{Markup, html};

/// From values to places on paper.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub low: f64,
    pub high: f64,
    pub log: bool,
    /// Where `low` lies,
    pub from: f64,
    /// and where `high`.
    pub to: f64,
}

impl Scale {
    /// The place of a value; that of one outside is at the edge.
    pub(super) fn at(&self, value: f64) -> f64 {
        let part = if self.log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 };
        self.from + part * (self.to - self.from)
    }
}

/// Larger values are damage, and would leave no room for others.
const MOST: f64 = 1e30;

/// The ends of an axis: the data's, with a little room.
pub(super) fn ends(axis: &Axis, values: impl Iterator<Item = f64>) -> (f64, f64) {
    let named = axis.names.iter().map(|place| place.at);
    let fits = |value: &f64| value.abs() <= MOST && (!axis.log || *value >= 1.0 / MOST);
    let (low, high) = values
        .chain(named)
        .filter(fits)
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        return if axis.log { (1.0, 10.0) } else { (0.0, 1.0) };
    }
    if !axis.names.is_empty() {
        return (low - 0.6, high + 0.6);
    }
    if !axis.log {
        let room = Some((high - low) * 0.04).filter(|room| *room > 0.0);
        let room = room.unwrap_or(if high == 0.0 { 1.0 } else { high.abs() });
        let from = if low >= 0.0 && low <= 0.3 * high { 0.0 } else { low - room };
        return (from, high + room);
    }
    if low == high {
        return (low / 2.0, high * 2.0);
    }
    // A count of one stands above the edge, where those of none are.
    let below = if axis.quantity == Quantity::Count { 1.5 } else { 1.15 };
    (low / below, high * 1.15)
}

/// What is written at an axis.
#[derive(Debug)]
pub(super) struct Ticks {
    /// Values with a text,
    pub major: Vec<(f64, Label)>,
    /// and those with a small mark alone.
    pub minor: Vec<f64>,
}

/// A name at an axis is at most so wide.
const NAME: f64 = COLUMN * 0.4;
/// No text is nearer to the edge of the paper.
const EDGE: f64 = 1.0;
/// Texts may take so much of the width of a frame, no more: this part is left.
const NARROWEST: f64 = 0.85;
/// Decades that still have small marks between them.
const MARKED_DECADES: i32 = 9;

impl Ticks {
    /// As many ticks as have room along so many points. Texts of a horizontal axis take their width, others a line.
    pub(super) fn new(axis: &Axis, (low, high): (f64, f64), points: f64, horizontal: bool) -> Self {
        let scale = Scale { low, high, log: axis.log, from: 0.0, to: points };
        if !axis.names.is_empty() {
            return Self { major: named(&axis.names, &scale, horizontal), minor: vec![] };
        }
        let mut written = vec![];
        for most in (2..=8).rev() {
            let values = values(axis.log, low, high, most);
            let texts = labels(axis.quantity, axis.log, &values);
            written = values.into_iter().zip(texts).collect();
            if fit(&written, &scale, horizontal) {
                break;
            }
        }
        let minor = if axis.log { between(low, high, &written) } else { vec![] };
        Self { major: written, minor }
    }

    /// The ticks of a horizontal axis, and where it ends: at `right`, or as much before it as keeps the last text within
    /// so many points of paper. A text that stands out all the same is left out.
    pub(super) fn across(
        axis: &Axis,
        ends: (f64, f64),
        (left, right): (f64, f64),
        paper: f64,
    ) -> (Self, f64) {
        let scale = |to: f64| Scale { low: ends.0, high: ends.1, log: axis.log, from: left, to };
        let over = |ticks: &Self, to: f64| {
            let end =
                |(value, label): &(f64, Label)| scale(to).at(*value) + label.width() / 2.0 + EDGE;
            ticks.major.iter().map(end).fold(0.0, f64::max) - paper
        };
        let mut to = right;
        let mut ticks = Self::new(axis, ends, to - left, true);
        // Narrower, other values may be written.
        for _ in 0..3 {
            let room = over(&ticks, to).min(to - left - (right - left) * NARROWEST);
            if room <= 0.0 {
                break;
            }
            to -= room;
            ticks = Self::new(axis, ends, to - left, true);
        }
        let (scale, reach) = (scale(to), |label: &Label| label.width() / 2.0 + EDGE);
        let within = |(value, label): &(f64, Label)| {
            let at = scale.at(*value);
            at - reach(label) >= 0.0 && at + reach(label) <= paper + 1e-6
        };
        ticks.major.retain(within);
        (ticks, to)
    }

    /// How wide the widest text is.
    pub(super) fn width(&self) -> f64 {
        self.major.iter().map(|(_, label)| label.width()).fold(0.0, f64::max)
    }
}

/// Names, cut to what has room beside a figure; side by side only those that do not meet.
fn named(places: &[Place], scale: &Scale, horizontal: bool) -> Vec<(f64, Label)> {
    let mut kept: Vec<(f64, Label)> = vec![];
    for place in places {
        let name = Label::Text(paper::fitted(&place.name, TEXT, NAME));
        kept.push((place.at, name));
        if horizontal && !fit(&kept[kept.len().saturating_sub(2)..], scale, true) {
            kept.pop();
        }
    }
    kept
}

/// Whether no two texts meet.
fn fit(ticks: &[(f64, Label)], scale: &Scale, horizontal: bool) -> bool {
    ticks.windows(2).all(|pair| {
        let [(a, left), (b, right)] = pair else { return true };
        let needed =
            if horizontal { (left.width() + right.width()) / 2.0 + 5.0 } else { TEXT * 1.5 };
        (scale.at(*b) - scale.at(*a)).abs() >= needed
    })
}

/// Round values within the ends of an axis, at most so many where that can be.
fn values(log: bool, low: f64, high: f64, most: usize) -> Vec<f64> {
    if log {
        let factors: [&[u32]; 2] = [&[1, 2, 5], &[1]];
        // Two texts are few, but where they are far apart nothing else is round.
        let least = if high / low < 10.0 { 3 } else { 2 };
        for of in factors {
            let found = powers(low, high, of, 1);
            if (least..=most).contains(&found.len()) {
                return found;
            }
        }
        let decades = powers(low, high, &[1], 1).len();
        if decades >= least {
            let every = decades.div_ceil(most) as i32;
            return powers(low, high, &[1], every);
        }
    }
    round_steps(low, high, most)
}

/// Multiples of powers of ten between two values; of each so many powers one.
fn powers(low: f64, high: f64, factors: &[u32], every: i32) -> Vec<f64> {
    let (from, to) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let of = |power: &i32| power.rem_euclid(every) == 0;
    let exact = |power: i32, factor: &u32| format!("{factor}e{power}").parse().unwrap_or(f64::NAN);
    let all = (from..=to).filter(of).flat_map(|power| factors.iter().map(move |f| exact(power, f)));
    all.filter(|value| (low..=high).contains(value)).collect()
}

/// Equal steps of 1, 2 or 5 times a power of ten.
fn round_steps(low: f64, high: f64, most: usize) -> Vec<f64> {
    let least = (high - low) / most as f64;
    let power = 10f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let Some(step) = step.into_iter().find(|step| step.is_finite() && *step >= least * 0.999)
    else {
        return vec![low];
    };
    let (first, last) = ((low / step).ceil(), (high / step + 1e-9).floor());
    let count = (last - first).clamp(0.0, 50.0) as u32;
    (0..=count).map(|at| (first + f64::from(at)) * step).collect()
}

/// Places of small marks: 2 to 9 times each power of ten, less what is written.
fn between(low: f64, high: f64, written: &[(f64, Label)]) -> Vec<f64> {
    let decades = high.log10().ceil() - low.log10().floor();
    let factors: &[u32] =
        if decades > f64::from(MARKED_DECADES) { &[1] } else { &[1, 2, 3, 4, 5, 6, 7, 8, 9] };
    let mut found = powers(low, high, factors, 1);
    found.retain(|value| written.iter().all(|(at, _)| at != value));
    found
}

/// The room that data has: the frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

/// Length of the marks at an axis.
const MARK: f64 = 2.6;
/// Room below the frame for texts and name of the horizontal axis.
pub(super) const BELOW: f64 = MARK + TEXT + 3.0 + TEXT + 4.0;

/// Room left of the frame for texts and name of the vertical axis.
pub(super) fn beside(ticks: &Ticks, axis: &Axis) -> f64 {
    let name = if axis.label.is_empty() { 0.0 } else { TEXT + 4.0 };
    3.0 + name + ticks.width() + 3.0 + MARK
}

impl Frame {
    /// Lines of the grid, which lie below the data.
    pub(super) fn grid(&self, x: &Ticks, y: &Ticks, scales: (&Scale, &Scale)) -> Markup {
        let mut path = Path::default();
        for (value, _) in &x.major {
            let at = scales.0.at(*value);
            path.to(at, self.top).line(at, self.bottom);
        }
        for (value, _) in &y.major {
            let at = scales.1.at(*value);
            path.to(self.left, at).line(self.right, at);
        }
        path.stroked(GRID, 0.4, "")
    }

    /// The frame itself.
    pub(super) fn outline(&self) -> Markup {
        html! { rect x=(number(self.left)) y=(number(self.top)) width=(number(self.right - self.left)) height=(number(self.bottom - self.top)) fill="none" stroke=(INK) stroke-width="0.6" {} }
    }

    /// The horizontal axis: marks, texts, and its name, on so many points of paper.
    pub(super) fn horizontal(
        &self,
        axis: &Axis,
        ticks: &Ticks,
        scale: &Scale,
        wide: f64,
    ) -> Markup {
        let mut marks = Path::default();
        for (value, _) in &ticks.major {
            marks.to(scale.at(*value), self.bottom).line(scale.at(*value), self.bottom + MARK);
        }
        for value in &ticks.minor {
            marks
                .to(scale.at(*value), self.bottom)
                .line(scale.at(*value), self.bottom + MARK * 0.6);
        }
        let base = self.bottom + MARK + TEXT;
        let name = paper::fitted(&axis.label, TEXT, wide - 2.0 * EDGE);
        let half = width(&name, TEXT) / 2.0 + EDGE;
        let middle = ((self.left + self.right) / 2.0).min(wide - half).max(half);
        html! {
            (marks.stroked(INK, 0.5, ""))
            @for (value, label) in &ticks.major { (label.at((scale.at(*value), base), Anchor::Middle)) }
            (paper::line((middle, base + TEXT + 3.0), Anchor::Middle, TEXT, &name))
        }
    }

    /// Marks and texts of the vertical axis.
    pub(super) fn vertical_ticks(&self, ticks: &Ticks, scale: &Scale) -> Markup {
        let mut marks = Path::default();
        for (value, _) in &ticks.major {
            marks.to(self.left, scale.at(*value)).line(self.left - MARK, scale.at(*value));
        }
        for value in &ticks.minor {
            marks.to(self.left, scale.at(*value)).line(self.left - MARK * 0.6, scale.at(*value));
        }
        let right = self.left - MARK - 1.6;
        html! {
            (marks.stroked(INK, 0.5, ""))
            @for (value, label) in &ticks.major { (label.at((right, scale.at(*value) + TEXT * 0.35), Anchor::End)) }
        }
    }

    /// The name of the vertical axis, along it.
    pub(super) fn vertical_name(&self, name: &str) -> Markup {
        if name.is_empty() {
            return html! {};
        }
        // A long name may go beyond the frame, and begins at its foot then.
        let middle = (self.top + self.bottom) / 2.0;
        let at = middle.max(width(name, TEXT) / 2.0 + 2.0);
        paper::turned((3.0 + TEXT, at), 90.0, Anchor::Middle, name)
    }

    /// A broken line.
    pub(super) fn broken(&self, from: (f64, f64), to: (f64, f64)) -> Markup {
        let mut path = Path::default();
        path.to(from.0, from.1).line(to.0, to.1).stroked(FAINT, 0.7, "3 2")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis, ends: (f64, f64), points: f64) -> Vec<String> {
        let ticks = Ticks::new(axis, ends, points, true);
        ticks.major.iter().map(|(_, label)| label.to_string()).collect()
    }

    #[test]
    fn ticks_are_round_and_have_room() {
        use Quantity::{Count, Frequency, Number, Share, Time};
        let log = |quantity| Axis::log("", quantity);
        let linear = |quantity| Axis::linear("", quantity);
        let cases: [(Axis, (f64, f64), &[&str]); 11] = [
            (log(Time), (80.0, 20_000.0), &["100 ns", "1 µs", "10 µs"]),
            (log(Time), (800.0, 3_000.0), &["1 µs", "1.5 µs", "2 µs", "2.5 µs", "3 µs"]),
            (log(Time), (1.1, 1e10), &["100 ns", "10 µs", "1 ms", "100 ms", "10 s"]),
            (
                log(Count),
                (0.7, 2e7),
                &["10^0", "10^1", "10^2", "10^3", "10^4", "10^5", "10^6", "10^7"],
            ),
            (log(Count), (0.7, 7e3), &["1", "10", "100", "1,000"]),
            (log(Number), (0.98, 1.3), &["1", "1.05", "1.1", "1.15", "1.2", "1.25", "1.3"]),
            (log(Share), (2e-4, 1.1), &["0.1 %", "1 %", "10 %", "100 %"]),
            (linear(Time), (0.0, 3.1e9), &["0", "0.5 s", "1 s", "1.5 s", "2 s", "2.5 s", "3 s"]),
            (linear(Frequency), (0.0, 2_100.0), &["0", "500 Hz", "1000 Hz", "1500 Hz", "2000 Hz"]),
            (linear(Share), (-0.06, 0.21), &["−5 %", "0", "5 %", "10 %", "15 %", "20 %"]),
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
    fn no_value_is_nowhere() {
        let odd = [f64::NAN, f64::INFINITY, -1.0, 0.0];
        for axis in [Axis::log("", Quantity::Time), Axis::linear("", Quantity::Time)] {
            let (low, high) = ends(&axis, odd.into_iter());
            assert!(low < high && low.is_finite() && high.is_finite(), "{low} {high}");
            let scale = Scale { low, high, log: axis.log, from: 10.0, to: 20.0 };
            for value in odd {
                assert!((10.0..=20.0).contains(&scale.at(value)), "{value}");
            }
        }
    }
}
