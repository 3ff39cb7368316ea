//! The frame of a picture in the terminal: title, axes with ticks, and texts above and below the drawing.

use super::canvas::{ACROSS, Canvas, DOWN};
use crate::picture::axis::Axis;
use crate::picture::ticks::Tick;
use crate::style::{Tone, View, clip, plain, width};
use std::io::{self, Write};

/// Largest width of a picture in columns, because wider ones are not easier to read.
pub(super) const WIDEST: usize = 100;
/// Space between two labels of the horizontal axis.
const APART: usize = 2;

/// A picture in progress: layers are drawn on its canvas in turn, then it is written.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    title: String,
    pub x: Axis,
    pub y: Axis,
    pub canvas: Canvas,
    /// Number of columns before the vertical axis.
    gutter: usize,
    /// Rows with labels.
    y_labels: Vec<(usize, String)>,
    /// Texts above the drawing: column and text; earlier ones have precedence.
    pub over: Vec<(usize, String)>,
    /// Meaning of the signs, below the drawing.
    pub key: Vec<(String, Tone)>,
}

impl Frame {
    /// Returns an empty picture as wide as the view.
    pub(super) fn new(title: &str, x: Axis, y: Axis, rows: usize, view: &View<'_>) -> Self {
        let rows = rows.max(2);
        let row = |tick: &Tick| ((1.0 - tick.place) * (rows - 1) as f64).round() as usize;
        // Rows are counted from the top: a tick of a higher value stands at least two rows higher.
        let apart =
            |ticks: &[Tick]| ticks.windows(2).all(|pair| row(&pair[1]) + 2 <= row(&pair[0]));
        let ticks = y.ticks(rows / 2, apart);
        let gutter = ticks.iter().map(|tick| width(&tick.label)).max().unwrap_or(0);
        let columns = view.columns().min(WIDEST) - gutter - 2;
        let y_labels = ticks.iter().map(|tick| (row(tick), tick.label.clone())).collect();
        let canvas = Canvas::new(columns, rows);
        Self { title: plain(title), x, y, canvas, gutter, y_labels, over: vec![], key: vec![] }
    }

    /// Returns the column of dots of a value.
    pub(super) fn x_dot(&self, value: f64) -> usize {
        (self.x.place(value) * (self.canvas.columns * ACROSS - 1) as f64).round() as usize
    }

    /// Returns the row of dots of a value, from the top.
    pub(super) fn y_dot(&self, value: f64) -> usize {
        ((1.0 - self.y.place(value)) * (self.canvas.rows * DOWN - 1) as f64).round() as usize
    }

    /// Writes the picture.
    pub(super) fn write(&self, view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        let style = view.style;
        writeln!(out, "{}", style.paint(Tone::Heading, &clip(&self.title, view.columns())))?;
        if !self.over.is_empty() {
            let names = self.names_over();
            writeln!(out, "{}{names}", " ".repeat(self.gutter + 2))?;
        }
        for row in 0..self.canvas.rows {
            let label = self.y_labels.iter().find(|(at, _)| *at == row);
            let (label, edge) = label.map_or(("", '│'), |(_, label)| (label, '┤'));
            let space = " ".repeat(self.gutter - width(label));
            let edge = style.paint(Tone::Quiet, &format!("{space}{label} {edge}"));
            writeln!(out, "{edge}{}", self.canvas.row(row, style))?;
        }
        write_lower_axis(&self.x, self.gutter, self.canvas.columns, view, out)?;
        write_key(&self.key, self.gutter + 2, view, out)
    }

    /// Returns the line above the drawing: each name over its column, as far as they fit.
    fn names_over(&self) -> String {
        let columns = self.canvas.columns;
        let mut placed: Vec<(usize, &str)> = vec![];
        for (column, name) in &self.over {
            let wide = width(name);
            let start = column.saturating_sub(wide / 2).min(columns.saturating_sub(wide));
            let clear = |(other, text): &(usize, &str)| {
                start > other + width(text) || start + wide < *other
            };
            if wide <= columns && placed.iter().all(clear) {
                placed.push((start, name));
            }
        }
        placed.sort_unstable();
        let mut line = String::new();
        for (start, name) in placed {
            line += &" ".repeat(start - width(&line));
            line += name;
        }
        line
    }
}

/// Writes the meaning of the signs, several on each line.
pub(super) fn write_key(
    key: &[(String, Tone)],
    indent: usize,
    view: &View<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let room = view.columns().min(WIDEST) - indent;
    let mut line = (String::new(), 0);
    for (text, tone) in key {
        let text = clip(&plain(text), room);
        if line.1 > 0 && line.1 + 3 + width(&text) > room {
            writeln!(out, "{}{}", " ".repeat(indent), line.0)?;
            line = (String::new(), 0);
        }
        let gap = if line.1 > 0 { "   " } else { "" };
        line.0 += &format!("{gap}{}", view.style.paint(*tone, &text));
        line.1 += width(gap) + width(&text);
    }
    if line.1 > 0 {
        writeln!(out, "{}{}", " ".repeat(indent), line.0)?;
    }
    Ok(())
}

/// Writes an axis of this many columns and its labels, below a drawing with a margin on its left.
pub(super) fn write_lower_axis(
    axis: &Axis,
    gutter: usize,
    columns: usize,
    view: &View<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let column = |tick: &Tick| (tick.place * (columns - 1) as f64).round() as usize;
    let room = columns + gutter + 2;
    // A label stands under the middle of its tick, and within the picture.
    let wide = |tick: &Tick| width(&tick.label);
    let middle = |tick: &Tick| gutter + 2 + column(tick);
    let start = |tick: &Tick| {
        middle(tick).saturating_sub(wide(tick) / 2).min(room.saturating_sub(wide(tick)))
    };
    let clear = |pair: &[Tick]| start(&pair[0]) + wide(&pair[0]) + APART <= start(&pair[1]);
    let ticks = axis.ticks(columns / 8, |ticks| ticks.windows(2).all(clear));
    let mut rule = vec!['─'; columns];
    let mut labels = String::new();
    for tick in &ticks {
        rule[column(tick)] = '┬';
        labels += &" ".repeat(start(tick) - width(&labels));
        labels += &tick.label;
    }
    let rule = format!("{}└{}", " ".repeat(gutter + 1), rule.into_iter().collect::<String>());
    writeln!(out, "{}", view.style.paint(Tone::Quiet, &rule))?;
    writeln!(out, "{}", view.style.paint(Tone::Quiet, &labels))
}
