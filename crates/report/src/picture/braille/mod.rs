//! Pictures for the terminal, made of braille dots, blocks and letters.
//!
//! Shapes suffice to read everything; colour only helps. No line is wider than the view.

mod canvas;
mod frame;
mod heat;
mod layers;
mod rows;
#[cfg(test)]
mod tests;

use crate::picture::Picture;
use crate::picture::axis::{Axis, Quantity};
use crate::picture::chart::{Chart, Curve, Draw, Mark};
use crate::style::{Tone, View};
use canvas::ACROSS;
use frame::Frame;
pub(crate) use heat::PART;
use layers::{Columns, held};
use std::borrow::Cow;
use std::io::{self, Write};

/// Character cells filled from below, in eighths.
pub(crate) const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Ratio of the fullest to the emptiest column of a histogram from which on the axis is logarithmic.
const STEEP: f64 = 100.0;
/// Number of axis ticks to which the axis of a histogram's counts is rounded.
const TICKS: usize = 5;

impl Picture {
    /// Prints the picture as wide as the view, after an empty line.
    ///
    /// # Errors
    /// Those of `out`.
    pub(crate) fn print(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out)?;
        match self {
            Picture::Chart(chart) => write(chart, view, out),
            Picture::Heat(heat) => heat::write(heat, view, out),
            // Too many detours for characters: `longest` shows those that matter.
            Picture::Timeline(_) => Ok(()),
        }
    }
}

fn write(chart: &Chart, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let chart = &lettered(chart);
    if !chart.y.names.is_empty() {
        return rows::write(chart, view, out);
    }
    let (x, y) = chart.axes();
    let bars = chart.curves.iter().find(|curve| curve.draw == Draw::Bars);
    let y = match bars.filter(|_| chart.y.range.is_none()) {
        Some(bars) => counts(bars, &x, view),
        None => y,
    };
    let mut frame = Frame::new(&chart.title, x, y, chart.rows, view);
    let columns = Columns::new(chart);
    if let Some(level) = chart.level {
        frame.level(level);
    }
    frame.curves(chart);
    for (place, curve) in chart.curves.iter().filter(|curve| curve.draw == Draw::Points).enumerate()
    {
        frame.points(curve, &columns, place);
    }
    let mut marks: Vec<&Mark> = chart.marks.iter().collect();
    // The highest have precedence where there is no place for all.
    marks.sort_by(|a, b| b.y.total_cmp(&a.y));
    frame.over =
        marks.iter().map(|mark| (frame.x_dot(mark.x) / ACROSS, mark.label.clone())).collect();
    frame.key = key(chart);
    frame.write(view, out)
}

/// Returns the chart with letters for its lines if there are several, which colour alone would distinguish.
fn lettered(chart: &Chart) -> Cow<'_, Chart> {
    let is_line = |curve: &Curve| matches!(curve.draw, Draw::Line | Draw::Steps);
    let lines = || chart.curves.iter().filter(|curve| is_line(curve));
    if lines().count() < 2 || lines().any(|curve| curve.letter.is_some()) {
        return Cow::Borrowed(chart);
    }
    let mut chart = chart.clone();
    let lines = chart.curves.iter_mut().filter(|curve| is_line(curve));
    lines.zip('a'..='z').for_each(|(curve, letter)| curve.letter = Some(letter));
    Cow::Owned(chart)
}

/// Returns the axis of the counts in the columns of a histogram. It depends on the heights of the columns, and its
/// labels determine the number of columns, so it is computed for about this many.
fn counts(bars: &Curve, x: &Axis, view: &View<'_>) -> Axis {
    let rough = held(bars, x, view.columns().min(90) - 10);
    let high = rough.iter().copied().fold(0.0, f64::max);
    let least = rough.iter().copied().filter(|count| *count > 0.0).fold(high, f64::min);
    if high > STEEP * least.max(1.0) {
        Axis::log("", Quantity::Count).over([0.5, high])
    } else {
        Axis::linear("", Quantity::Count).over([0.0, high]).rounded(TICKS)
    }
}

/// Returns the meaning of the signs: the name of each curve, and the notes.
fn key(chart: &Chart) -> Vec<(String, Tone)> {
    let mut key = vec![];
    for curve in &chart.curves {
        let (name, tone) = (&curve.name, curve.tone());
        match (curve.draw, curve.letter) {
            // The name of a series begins with its letter.
            (_, Some(letter)) if name.starts_with(&format!("{letter} · ")) => {
                key.push((name.clone(), tone));
            }
            (_, Some(letter)) => key.push((format!("{letter} {name}"), tone)),
            (Draw::Points, _) if chart.curves.len() == 1 && layers::is_crowded(curve) => {}
            (Draw::Bars | Draw::Spikes, _) if chart.curves.len() == 1 => {}
            (Draw::Bars | Draw::Spikes, _) => key.push((format!("⣿ {name}"), tone)),
            (Draw::Segments, _) if is_upright(curve) => key.push((format!("⢸ {name}"), tone)),
            (Draw::Line | Draw::Ribbon | Draw::Segments, _) => {
                key.push((format!("⠤ {name}"), tone))
            }
            (Draw::Points, _) => key.push((format!("{} {name}", layers::sign(curve)), tone)),
            (Draw::Steps, _) => key.push((name.clone(), tone)),
        }
    }
    key.extend(chart.notes.iter().map(|note| (note.clone(), Tone::Quiet)));
    key
}

/// Returns whether all segments of a curve are vertical.
fn is_upright(curve: &Curve) -> bool {
    curve.x.chunks_exact(2).all(|ends| ends[0] == ends[1])
}
