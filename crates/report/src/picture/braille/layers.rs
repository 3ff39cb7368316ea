//! The content between the axes: curves, bars, points, and letters on them.

use super::EIGHTHS;
use super::canvas::{ACROSS, DOWN};
use super::frame::Frame;
use crate::picture::axis::Axis;
use crate::picture::chart::{Chart, Curve, Draw};
use crate::style::Tone;
use std::collections::HashMap;

/// Distance in cells between two letters of one curve.
const SPACING: usize = 16;
/// Number of steps in which a straight line between two points is drawn.
const BETWEEN: u32 = 40;
/// Signs of points without a letter, by shape.
const SIGNS: [char; 6] = ['●', '■', '▲', '◆', '×', '○'];
/// Largest number of signs beside each other.
const MOST_BESIDE: usize = 6;

/// The sign of the points of a curve.
pub(super) fn sign(curve: &Curve) -> char {
    curve.letter.unwrap_or(SIGNS[curve.shape % SIGNS.len()])
}

/// The sign of a point that is alone among dots.
const LONE: char = '•';
/// More points than this are dots, unless they have letters.
const CROWD: usize = 100;

/// Returns whether a curve has too many points for a sign at each.
pub(super) fn is_crowded(curve: &Curve) -> bool {
    curve.x.len() > CROWD && curve.letter.is_none()
}

/// Whether signs at one horizontal position have columns of their own, and how many.
#[derive(Debug, Clone, Copy)]
pub(super) struct Columns {
    beside: bool,
    all: usize,
}

impl Columns {
    pub(super) fn new(chart: &Chart) -> Self {
        let all = chart.curves.iter().filter(|curve| curve.draw == Draw::Points).count();
        Self { beside: chart.beside && all <= MOST_BESIDE, all }
    }
}

/// Distributes a histogram over `columns` columns of an axis.
///
/// A bar wider than a column is spread evenly over its columns, so that its edges do not create a pattern; a bar within
/// a column belongs to it.
pub(super) fn held(bars: &Curve, axis: &Axis, columns: usize) -> Vec<f64> {
    let mut held = vec![0.0; columns];
    let finite = |(count, (low, high)): &(&f64, &(f64, f64))| {
        **count > 0.0 && low.is_finite() && high.is_finite()
    };
    for (&count, &(low, high)) in bars.y.iter().zip(&bars.spans).filter(finite) {
        let place = |value: f64| axis.place(value) * columns as f64;
        let (from, to) = (place(low.min(high)), place(high.max(low)));
        let last = columns - 1;
        let (first, end) = ((from as usize).min(last), (to as usize).min(last));
        if first == end {
            held[first] += count;
            continue;
        }
        for (column, held) in held.iter_mut().enumerate().take(end + 1).skip(first) {
            let covered = to.min((column + 1) as f64) - from.max(column as f64);
            *held += count * (covered / (to - from)).max(0.0);
        }
    }
    held
}

impl Frame {
    /// Draws a horizontal line of dots.
    pub(super) fn level(&mut self, value: f64) {
        let y = self.y_dot(value);
        let dots = self.canvas.columns * ACROSS;
        (0..dots).step_by(3).for_each(|x| self.canvas.dot(x, y, Tone::Quiet));
    }

    /// Draws all curves except points: first their lines, then letters on them.
    pub(super) fn curves(&mut self, chart: &Chart) {
        let mut traces = vec![];
        for curve in &chart.curves {
            match curve.draw {
                Draw::Points => {}
                Draw::Line | Draw::Ribbon | Draw::Steps => traces.push((curve, self.line(curve))),
                Draw::Spikes => self.spikes(curve),
                Draw::Segments => self.segments(curve),
                Draw::Bars => self.bars(curve),
            }
        }
        let all = traces.len();
        for (number, (curve, trace)) in traces.iter().enumerate() {
            if let Some(letter) = curve.letter {
                self.letters(trace, letter, number * SPACING / all, curve.tone());
            }
        }
    }

    /// Draws a curve from its first point to its last; returns the row of dots in each column of dots.
    fn line(&mut self, curve: &Curve) -> Vec<Option<usize>> {
        let trace = self.trace(curve);
        let mut before = None;
        for (x, y) in trace.iter().enumerate() {
            if let Some(y) = *y {
                self.canvas.line(x, before.unwrap_or(y), y, curve.tone());
            }
            before = *y;
        }
        trace
    }

    /// Returns the row of dots in each column of dots; nothing before the first point and after the last.
    fn trace(&self, curve: &Curve) -> Vec<Option<usize>> {
        let (columns, rows) = (self.canvas.columns * ACROSS, self.canvas.rows * DOWN);
        let finite = curve.points().filter(|(x, y)| x.is_finite() && y.is_finite());
        let mut places: Vec<(f64, f64)> =
            finite.map(|(x, y)| (self.x.place(x), self.y.place(y))).collect();
        if matches!(curve.draw, Draw::Line | Draw::Ribbon) {
            places = straight(&places);
        }
        let dots = places.into_iter().map(|(x, y)| {
            let down = (1.0 - y) * (rows - 1) as f64;
            ((x * (columns - 1) as f64).round() as usize, down.round() as usize)
        });
        let dots: Vec<(usize, usize)> = dots.collect();
        let mut trace = vec![None; columns];
        for pair in dots.windows(2) {
            let ((from, y), (to, _)) = (pair[0], pair[1]);
            (from..to).for_each(|x| trace[x] = Some(y));
        }
        if let Some(&(x, y)) = dots.last() {
            trace[x] = Some(y);
        }
        trace
    }

    /// Puts letters on a curve, evenly spaced and at its end, unless another letter is there.
    fn letters(&mut self, trace: &[Option<usize>], letter: char, offset: usize, tone: Tone) {
        let drawn =
            |column: &usize| trace[column * ACROSS].or(trace[column * ACROSS + 1]).is_some();
        let Some(last) = (0..self.canvas.columns).rev().find(drawn) else { return };
        let spaced = (offset..last.saturating_sub(1)).step_by(SPACING);
        for column in spaced.chain([last]) {
            let y = trace[column * ACROSS].or(trace[column * ACROSS + 1]);
            if let Some(row) = y.map(|y| y / DOWN).filter(|&row| !self.canvas.taken(column, row)) {
                self.canvas.put(column, row, letter, tone);
            }
        }
    }

    /// Draws a line from the axis to each point.
    fn spikes(&mut self, curve: &Curve) {
        let foot = self.canvas.rows * DOWN - 1;
        for (x, y) in curve.points().filter(|(x, _)| x.is_finite()) {
            self.canvas.line(self.x_dot(x), foot, self.y_dot(y), curve.tone());
        }
    }

    /// Draws the line from every other point to the next.
    fn segments(&mut self, curve: &Curve) {
        let points: Vec<(f64, f64)> = curve.points().collect();
        for ends in points.chunks_exact(2) {
            let dots = |(x, y): (f64, f64)| (self.x_dot(x), self.y_dot(y));
            let (one, other) = (dots(ends[0]), dots(ends[1]));
            let ((left, from), (right, to)) = (one.min(other), one.max(other));
            let mut before = from;
            for x in left..=right {
                let part = (x - left) as f64 / (right - left).max(1) as f64;
                let sloped = from as f64 + (to as f64 - from as f64) * part;
                let y = if left == right { to } else { sloped.round() as usize };
                self.canvas.line(x, before, y, curve.tone());
                before = y;
            }
        }
    }

    /// Draws a bar of each column's height; one that is not empty has at least an eighth of a cell.
    fn bars(&mut self, curve: &Curve) {
        let rows = self.canvas.rows;
        let heights = held(curve, &self.x, self.canvas.columns);
        for (column, &height) in heights.iter().enumerate().filter(|(_, height)| **height > 0.0) {
            let eighths = (self.y.place(height) * (rows * 8) as f64).round() as usize;
            let eighths = eighths.clamp(1, rows * 8);
            for row in 0..eighths.div_ceil(8) {
                let filled = (eighths - row * 8).min(8);
                self.canvas.put(column, rows - 1 - row, EIGHTHS[filled], curve.tone());
            }
        }
    }

    /// Draws each point as a dot, and one that is alone in its cell as a sign, because it stands out.
    fn crowd(&mut self, curve: &Curve) {
        let mut cells: HashMap<(usize, usize), u32> = HashMap::new();
        for (x, y) in curve.points().filter(|(x, y)| x.is_finite() && y.is_finite()) {
            let (x, y) = (self.x_dot(x), self.y_dot(y));
            *cells.entry((x / ACROSS, y / DOWN)).or_default() += 1;
            self.canvas.dot(x, y, curve.tone());
        }
        for ((column, row), _) in cells.into_iter().filter(|(_, points)| *points == 1) {
            self.canvas.put(column, row, LONE, curve.tone());
        }
    }

    /// Puts the sign of a curve at each of its points, with its error bar; `place` is its index among such curves.
    pub(super) fn points(&mut self, curve: &Curve, columns: &Columns, place: usize) {
        if columns.all == 1 && is_crowded(curve) {
            return self.crowd(curve);
        }
        for (at, (x, y)) in curve.points().enumerate() {
            let column = self.x_dot(x) / ACROSS;
            let column = if columns.beside {
                let most = self.canvas.columns.saturating_sub(columns.all);
                column.saturating_sub(columns.all / 2).min(most) + place
            } else {
                column
            };
            if let Some(&(low, high)) = curve.spans.get(at) {
                let (low, high) = (self.y_dot(low), self.y_dot(high));
                self.canvas.line(column * ACROSS, low, high, curve.tone());
            }
            self.canvas.put(column, self.y_dot(y) / DOWN, sign(curve), curve.tone());
        }
    }
}

/// Returns positions on the straight lines between positions.
fn straight(places: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let between = places.windows(2).flat_map(|pair| between(pair[0], pair[1]));
    between.chain(places.last().copied()).collect()
}

/// Returns positions on a straight line, with its begin and without its end.
fn between((x, y): (f64, f64), (to_x, to_y): (f64, f64)) -> impl Iterator<Item = (f64, f64)> {
    (0..BETWEEN).map(move |step| {
        let part = f64::from(step) / f64::from(BETWEEN);
        (x + (to_x - x) * part, y + (to_y - y) * part)
    })
}
