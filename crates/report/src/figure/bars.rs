//! Layer: a histogram of upright bars.

use crate::figure::plot::Plot;
use crate::style::Tone;

/// How many values lie between two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bin {
    pub low: f64,
    pub high: f64,
    pub count: u64,
}

/// Eighths of a cell, filled from below.
pub(crate) const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// What each of `columns` columns of an axis holds of the bins.
///
/// A bin wider than a column is spread evenly over its columns, so that its edges do not make a
/// pattern of their own; one that lies within a column is its alone.
pub(crate) fn columns(bins: &[Bin], axis: &crate::figure::axis::Axis, columns: usize) -> Vec<f64> {
    let mut held = vec![0.0; columns];
    for bin in
        bins.iter().filter(|bin| bin.count > 0 && bin.low.is_finite() && bin.high.is_finite())
    {
        let place = |value: f64| axis.place(value) * columns as f64;
        let (from, to) = (place(bin.low.min(bin.high)), place(bin.high.max(bin.low)));
        let last = columns - 1;
        let (first, end) = ((from as usize).min(last), (to as usize).min(last));
        if first == end {
            held[first] += bin.count as f64;
            continue;
        }
        for (column, held) in held.iter_mut().enumerate().take(end + 1).skip(first) {
            let covered = to.min((column + 1) as f64) - from.max(column as f64);
            *held += bin.count as f64 * (covered / (to - from)).max(0.0);
        }
    }
    held
}

impl Plot {
    /// Draws a bar of each column's height; one with anything in it shows at least an eighth of a cell.
    pub(crate) fn bars(&mut self, heights: &[f64], tone: Tone) {
        let rows = self.canvas.rows;
        for (column, &height) in heights.iter().enumerate().filter(|(_, height)| **height > 0.0) {
            let eighths = (self.y.place(height) * (rows * 8) as f64).round() as usize;
            let eighths = eighths.clamp(1, rows * 8);
            for row in 0..eighths.div_ceil(8) {
                let filled = (eighths - row * 8).min(8);
                self.canvas.put(column, rows - 1 - row, EIGHTHS[filled], tone);
            }
        }
    }
}
