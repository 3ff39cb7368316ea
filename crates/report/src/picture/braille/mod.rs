//! Pictures for the terminal, of braille dots, blocks and letters.
//!
//! Everything can be read from shapes; colour only helps. No line is wider than the view.

mod canvas;
mod frame;
mod layers;
mod rows;
#[cfg(test)]
mod tests;

use crate::picture::axis::{Axis, Quantity};
use crate::picture::chart::{Chart, Curve, Draw};
use crate::style::{Tone, View};
use canvas::ACROSS;
use frame::Frame;
use layers::{Columns, held};
use std::io::{self, Write};

/// Eighths of a cell, filled from below.
pub(crate) const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The fullest column of a histogram this many times over the emptiest needs a logarithmic axis.
const STEEP: f64 = 100.0;
/// Ticks to which the axis of a histogram's counts is rounded.
const TICKS: usize = 5;

impl Chart {
    /// Prints the chart as wide as the view, an empty line before it.
    ///
    /// # Errors
    /// Those of `out`.
    pub(crate) fn print(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out)?;
        write(self, view, out)
    }
}

fn write(chart: &Chart, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
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
    let columns = Columns::of(chart);
    if let Some(level) = chart.level {
        frame.level(level);
    }
    frame.curves(chart);
    for (place, curve) in chart.curves.iter().filter(|of| of.draw == Draw::Points).enumerate() {
        frame.points(curve, &columns, place);
    }
    frame.over =
        chart.marks.iter().map(|mark| (frame.x_dot(mark.x) / ACROSS, mark.label.clone())).collect();
    frame.key = key(chart);
    frame.write(view, out)
}

/// The axis of what the columns of a histogram hold. Heights of the columns decide it, and its labels decide how many
/// columns there are: this is of about so many.
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

/// What signs mean: those of each curve, and the notes.
fn key(chart: &Chart) -> Vec<(String, Tone)> {
    let mut key = vec![];
    for curve in &chart.curves {
        let (name, tone) = (&curve.name, curve.tone());
        match (curve.draw, curve.letter) {
            (_, Some(letter)) => key.push((format!("{letter} {name}"), tone)),
            (Draw::Band { .. }, _) => key
                .extend([("⣿ least to most".into(), tone), (format!("━ {name}"), Tone::Series(1))]),
            (Draw::Bars | Draw::Spikes, _) if chart.curves.len() == 1 => {}
            (Draw::Bars | Draw::Spikes, _) => key.push((format!("⣿ {name}"), tone)),
            (Draw::Line | Draw::Segments, _) => key.push((format!("⠤ {name}"), tone)),
            (Draw::Points, _) => key.push((format!("{} {name}", layers::sign(curve)), tone)),
            (Draw::Steps, _) => key.push((name.clone(), tone)),
        }
    }
    key.extend(chart.notes.iter().map(|note| (note.clone(), Tone::Quiet)));
    key
}
